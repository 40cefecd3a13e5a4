//! The values under `data` and `stringData` of Kubernetes' secrets, in YAML and in JSON.

use std::ops::Range;

use regex::Regex;

use super::FoundSecret;
use super::named::{is_example, is_reference};
use crate::fork::ForkLazy;

/// Keys under which Kubernetes itself holds no secret.
const OPEN_KEYS: &[&str] = &["ca.crt", "tls.crt", "namespace", "username"];

/// A JSON object in one line, perhaps within a text of JSON: its kind, its values, a pair of these.
static PARTS: ForkLazy<[Regex; 3]> = ForkLazy::new(|| {
    [
        r#""kind\\*"\s*:\s*\\*"(\w+)"#,
        r#""(?:data|stringData)\\*"\s*:\s*\{([^{}]*)\}"#,
        r#""([^"\\]+)\\*"\s*:\s*\\*"([^"\\]*)"#,
    ]
    .map(|part| Regex::new(part).expect("invariant: a constant"))
});

/// A line without the number that a program may print before it.
struct Line<'a> {
    at: usize,
    /// The spaces before the body; "- " counts, too.
    indent: usize,
    body: &'a str,
    /// Whether it begins an item of a list.
    is_item: bool,
}

impl Line<'_> {
    fn is_kind(&self, indent: usize) -> bool {
        self.indent == indent && pair_of(self.body).is_some_and(|(key, _)| key == "kind")
    }
}

pub(super) fn find_in_manifests(text: &str, found: &mut Vec<FoundSecret>) {
    if !text.contains("Secret") {
        return;
    }
    let lines: Vec<Line> = lines_of(text).collect();
    for (at, line) in lines.iter().enumerate() {
        if pair_of(line.body) == Some(("kind", "Secret")) {
            find_in_blocks(&lines[manifest_around(&lines, at)], line.indent, found);
        } else if line.body.contains("Secret") {
            find_in_line(line, found);
        }
    }
}

fn lines_of(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().map(move |line| {
        let shown = &line[number_length(line)..];
        let mut body = shown.trim();
        let is_item = body.starts_with("- ");
        while let Some(rest) = body.strip_prefix("- ") {
            body = rest.trim_start();
        }
        let at = body.as_ptr() as usize - text.as_ptr() as usize;
        let indent = body.as_ptr() as usize - shown.as_ptr() as usize;
        Line { at, indent, body, is_item }
    })
}

/// The length of the number that a program has put before a line, such as "  12→".
fn number_length(line: &str) -> usize {
    let rest = line.trim_start();
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let sign = ['→', '\t', '│', '|', ':'].into_iter().find(|sign| after.starts_with(*sign));
    let has_number = after.len() < rest.len();
    sign.filter(|_| has_number).map_or(0, |sign| line.len() - after.len() + sign.len_utf8())
}

/// The lines of the manifest whose kind stands in a line.
fn manifest_around(lines: &[Line], kind: usize) -> Range<usize> {
    let level = lines[kind].indent;
    let is_outside =
        |line: &Line| !line.body.is_empty() && line.indent < level || line.body.starts_with("---");
    let is_first = |line: &Line| line.is_item && line.indent == level;
    let (mut from, mut to) = (kind, kind + 1);
    while from > 0 && !is_first(&lines[from]) {
        let above = &lines[from - 1];
        if is_outside(above) || above.is_kind(level) {
            break;
        }
        from -= 1;
    }
    while let Some(below) = lines.get(to) {
        if is_outside(below) || is_first(below) || below.is_kind(level) {
            break;
        }
        to += 1;
    }
    from..to
}

/// The values below `data:` and `stringData:` of the manifest whose names stand at `level`.
fn find_in_blocks(lines: &[Line], level: usize, found: &mut Vec<FoundSecret>) {
    let mut inside: Option<(bool, usize)> = None;
    // A text over several lines: whether it is a secret, its start and end.
    let mut block: Option<(usize, usize)> = None;
    let mut is_open = false;
    for line in lines {
        if line.body.is_empty() {
            continue;
        }
        let is_deeper = inside.is_some_and(|(_, indent)| indent > 0 && line.indent > indent);
        if is_deeper {
            let end = line.at + line.body.len();
            block = block.map_or(Some((line.at, end)), |(start, _)| Some((start, end)));
            continue;
        }
        if let Some((start, end)) = block.take().filter(|_| !is_open) {
            found.push(FoundSecret { start, end, kind: "secret key" });
        }
        let Some((key, value)) = pair_of(line.body) else { continue };
        if line.indent <= level {
            let is_encoded = key == "data";
            inside = (line.indent == level && (is_encoded || key == "stringData"))
                .then_some((is_encoded, 0));
            continue;
        }
        let Some((is_encoded, indent)) = &mut inside else { continue };
        *indent = line.indent;
        is_open = OPEN_KEYS.contains(&key);
        if !is_open && is_secret(value, *is_encoded) {
            let start = line.at + value.as_ptr() as usize - line.body.as_ptr() as usize;
            found.push(FoundSecret { start, end: start + value.len(), kind: "secret key" });
        }
    }
    if let Some((start, end)) = block.filter(|_| !is_open) {
        found.push(FoundSecret { start, end, kind: "secret key" });
    }
}

/// The values of a secret in one line of JSON.
fn find_in_line(line: &Line, found: &mut Vec<FoundSecret>) {
    let [kind, block, pair] = &*PARTS;
    let mut kinds = kind.captures_iter(line.body).map(|kind| kind.extract::<1>().1[0]).peekable();
    let is_of_secrets = kinds.peek().is_some()
        && kinds.all(|kind| matches!(kind, "Secret" | "SecretList" | "List"));
    if !is_of_secrets {
        return;
    }
    for values in block.captures_iter(line.body).filter_map(|block| block.get(1)) {
        for one in pair.captures_iter(values.as_str()) {
            let (_, [key, value]) = one.extract();
            if !OPEN_KEYS.contains(&key) && is_secret(value, true) {
                let start = line.at + value.as_ptr() as usize - line.body.as_ptr() as usize;
                found.push(FoundSecret { start, end: start + value.len(), kind: "secret key" });
            }
        }
    }
}

/// The name and the value of a line of YAML, or of JSON with a line for each.
fn pair_of(body: &str) -> Option<(&str, &str)> {
    let (key, value) = body.split_once(": ").or_else(|| Some((body.strip_suffix(':')?, "")))?;
    let value = value.trim().trim_end_matches(',');
    let is_quoted = value.starts_with(['"', '\'']);
    let value =
        if is_quoted { value } else { value.split(" #").next().unwrap_or(value).trim_end() };
    Some((key.trim_matches(['"', '\'']), value.trim_matches(['"', '\''])))
}

/// A value, but no block, no place to be filled and no example.
fn is_secret(value: &str, is_encoded: bool) -> bool {
    let is_base64 = || {
        value.len().is_multiple_of(4)
            && value.bytes().all(|c| c.is_ascii_alphanumeric() || b"+/=".contains(&c))
    };
    value.len() >= 4
        && !value.contains("{{")
        && !value.contains("**")
        && (is_encoded && is_base64() || !is_reference(value) && !is_example(value))
}
