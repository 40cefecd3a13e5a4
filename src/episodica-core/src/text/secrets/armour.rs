//! Private keys between lines of dashes, also where a program has put a number or a mark before
//! each line, and where only the beginning or the end is shown.

use std::ops::Range;

use regex::Regex;

use super::FoundSecret;
use super::named::clip_text;
use crate::fork::ForkLazy;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";
/// Most bytes of a name such as `OPENSSH PRIVATE KEY`.
const MAX_NAME: usize = 40;
/// Most bytes between the lines that begin and end a key.
const MAX_ARMOUR: usize = 16 << 10;
/// Least letters of a line of code; only the last lines of a key, and one that is cut off, are
/// shorter.
const FULL_LINE: usize = 40;
/// Least letters of a line that is cut off.
const CUT_LINE: usize = 16;
/// Most bytes that a program prints before a line and after it.
const MAX_BEFORE: usize = 32;
const MAX_BEHIND: usize = 6;
/// Most headers, and most bytes of one.
const MOST_HEADERS: usize = 8;
const MAX_HEADER: usize = 200;
/// Most short lines at the end of a key: the rest, and the checksum of PGP.
const MOST_SHORT: usize = 2;

/// The ends of lines, also as JSON writes them, JSON in JSON, and texts in code.
static LINE_END: ForkLazy<Regex> = ForkLazy::new(|| {
    let end = r#"(?:\\+r)?\\+n(?:["'].{0,6}\n)?|\r?\n"#;
    Regex::new(end).expect("invariant: a constant")
});

/// Private keys. Without its end, a key ends with its last line of code.
pub(super) fn find_armour(text: &str, found: &mut Vec<FoundSecret>) {
    let (mut at, mut free) = (0, 0);
    while let Some(dashes) = text[at..].find(DASHES) {
        let run = text[at + dashes..].bytes().take_while(|byte| *byte == b'-').count();
        // A dash before a label is the mark of a line that was removed.
        at += dashes + run;
        let start = at - DASHES.len();
        let (label, key) = if let Some(body) = label_end(text, start, BEGIN) {
            (body, key_end(text, body).map(|end| (start, end)))
        } else if let Some(end) = label_end(text, start, END) {
            (end, key_start(text, free, start).map(|first| (first, end)))
        } else {
            continue;
        };
        at = label;
        if let Some((start, end)) = key {
            found.push(FoundSecret { start, end, kind: "private key" });
            at = end;
        }
        free = at;
    }
}

/// The end of a label of a private key that begins with `sign` at `start`.
fn label_end(text: &str, start: usize, sign: &str) -> Option<usize> {
    let name = text[start..].strip_prefix(sign)?;
    let length = clip_text(name, MAX_NAME + DASHES.len()).find(DASHES)?;
    name[..length].contains("PRIVATE KEY").then_some(start + sign.len() + length + DASHES.len())
}

/// The last label of a key in a line, perhaps after a mark.
fn last_label(text: &str, line: Range<usize>) -> Option<usize> {
    let before = clip_text(&text[line.clone()], MAX_BEFORE + END.len()).find(END)?;
    label_end(text, line.start + before, END)
}

/// The end of the key whose first label ends at `body`.
fn key_end(text: &str, body: usize) -> Option<usize> {
    let limit = body + clip_text(&text[body..], MAX_ARMOUR).len();
    let code = text[body..limit].find(|c| !is_code(c)).map_or(limit, |end| body + end);
    let has_code = || runs(&text[body..code]).any(|run| run.len() >= CUT_LINE);
    label_end(text, code, END)
        .filter(|_| has_code())
        .or_else(|| end_of_lines(text, body, limit))
        .or_else(|| end_of_words(text, body, code))
}

/// A character of encoded keys, their headers, and line ends as JSON writes them.
fn is_code(c: char) -> bool {
    is_base64(c) || matches!(c, '\n' | '\r' | ' ' | '\t' | '\\' | ':' | ',' | '"' | '>')
}

pub(super) fn is_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=')
}

/// The end of a key in lines, each perhaps after a mark.
fn end_of_lines(text: &str, body: usize, limit: usize) -> Option<usize> {
    let mut lines = lines_of(text, body, limit).peekable();
    if lines.next().is_none_or(|rest| rest.len() > MAX_BEHIND) {
        return None;
    }
    let (mut end, mut mark) = (None, "");
    let (mut headers, mut short) = (0, 0);
    while let Some(line) = lines.next() {
        if let Some(label) = last_label(text, line.clone()) {
            return end.map(|_| label);
        }
        let shown = &text[line.clone()];
        if let Some(code) = full_line(shown).filter(|_| short == 0) {
            end = Some(line.start + code.end);
            mark = &shown[..code.start];
            if shown.len() - code.end > MAX_BEHIND {
                break;
            }
        } else if let Some(code) = short_line(shown).filter(|_| end.is_some()) {
            short += 1;
            if short > MOST_SHORT || !are_alike(&shown[..code.start], mark) {
                break;
            }
            let is_before_label =
                lines.peek().is_some_and(|next| last_label(text, next.clone()).is_some());
            if is_mixed(&shown[code.clone()]) || shown[..code.end].ends_with('=') || is_before_label
            {
                end = Some(line.start + code.end);
            }
        } else if end.is_none() && headers < MOST_HEADERS && is_header(shown) {
            headers += 1;
        } else {
            break;
        }
    }
    end
}

/// The end of a key whose words stand in one line.
fn end_of_words(text: &str, body: usize, code: usize) -> Option<usize> {
    let words = runs(&text[body..code]).skip_while(|word| word.len() < CUT_LINE);
    let is_key = |word: &Range<usize>| word.len() >= CUT_LINE;
    let last = words.take_while(is_key).last()?;
    is_mixed(&text[body..body + last.end]).then_some(body + last.end)
}

/// Where the code begins that ends before the label at `label`, of a key whose beginning is not
/// shown.
fn key_start(text: &str, free: usize, label: usize) -> Option<usize> {
    let mut least = free.max(label.saturating_sub(MAX_ARMOUR));
    while !text.is_char_boundary(least) {
        least += 1;
    }
    let mut lines: Vec<Range<usize>> = lines_of(text, least, label).collect();
    let mut mark = &text[lines.pop()?];
    if mark.len() > MAX_BEFORE {
        return None;
    }
    let (mut start, mut is_full, mut short) = (None, false, 0);
    for line in lines.into_iter().rev() {
        let shown = &text[line.clone()];
        if let Some(code) = full_line(shown) {
            start = Some(line.start + code.start);
            mark = &shown[..code.start];
            is_full = true;
            continue;
        }
        let Some(code) = short_line(shown) else { break };
        if !are_alike(&shown[..code.start], mark) || !is_full && short == MOST_SHORT {
            break;
        }
        if code.len() >= CUT_LINE && is_mixed(&shown[code.clone()]) {
            start = Some(line.start + code.start);
        }
        if is_full {
            break; // The first line that is shown is cut off.
        }
        short += 1;
    }
    start
}

/// Whether a program has put the same before two lines, but for their numbers.
fn are_alike(mark: &str, other: &str) -> bool {
    // "+" and "/" before a line are read as a part of its code.
    let is_sign = |c: &char| !c.is_whitespace() && !c.is_ascii_digit() && !"+/".contains(*c);
    mark.chars().filter(is_sign).eq(other.chars().filter(is_sign))
}

/// The lines of a part of a text.
fn lines_of(text: &str, from: usize, to: usize) -> impl Iterator<Item = Range<usize>> {
    let ends = LINE_END.find_iter(&text[from..to]).map(|end| end.range());
    let ends = ends.chain(std::iter::once(to - from..to - from));
    ends.scan(from, move |start, end| {
        let line = *start..from + end.start;
        *start = from + end.end;
        Some(line)
    })
}

/// The code of a line of full length, after a mark.
fn full_line(line: &str) -> Option<Range<usize>> {
    runs(line).take_while(|run| run.start <= MAX_BEFORE).find(|run| run.len() >= FULL_LINE)
}

/// The code at the end of a shorter line, after a mark.
fn short_line(line: &str) -> Option<Range<usize>> {
    if line.len() > MAX_BEFORE + FULL_LINE + MAX_BEHIND {
        return None;
    }
    let run = runs(line).last()?;
    (run.start <= MAX_BEFORE && line.len() - run.end <= MAX_BEHIND).then_some(run)
}

/// A header of a key, or an empty line: at most a mark.
fn is_header(line: &str) -> bool {
    let letters = line.bytes().filter(u8::is_ascii_alphanumeric).count();
    letters <= MAX_BEHIND || line.len() <= MAX_HEADER && line.contains(": ")
}

/// The words of base64 of a text.
fn runs(text: &str) -> impl Iterator<Item = Range<usize>> {
    let words = text.split(|c| !is_base64(c)).filter(|word| !word.is_empty());
    words.map(|word| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        start..start + word.len()
    })
}

/// Code has letters of both cases and digits.
fn is_mixed(code: &str) -> bool {
    let has = |is: fn(&u8) -> bool| code.bytes().any(|byte| is(&byte));
    has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
}
