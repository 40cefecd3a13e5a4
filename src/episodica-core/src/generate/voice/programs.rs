//! Finds what a program put into a message: tags, code, comments, data, and blocks under headers
//! that programs write.

use std::collections::HashMap;
use std::ops::Range;

use super::chats::clock;
use super::headers::{ProgramBlock, entries, starts_with_any};
use super::pieces::Line;
use crate::model::SaidBy;

/// Maximum length of a tag, in bytes.
const MAX_TAG: usize = 300;

/// The ranges of a text that a program wrote, or that a person typed into a program's tag (these
/// have the voice `own`). They may overlap: the later one counts.
pub(super) fn written_by_programs(
    text: &str,
    lines: &[Line],
    own: SaidBy,
) -> Vec<(Range<usize>, SaidBy)> {
    let mut found = Vec::new();
    if is_json(text) {
        return vec![(0..text.len(), SaidBy::Application)];
    }
    blocks(text, lines, own, &mut found);
    if text.contains(['<', '[']) {
        tagged(text, lines, own, &mut found);
    }
    found
}

fn is_json(text: &str) -> bool {
    let text = text.trim();
    let is_closed = text.starts_with('{') && text.ends_with('}')
        || text.starts_with('[') && text.ends_with(']') && text.contains('{');
    is_closed && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Finds fenced code, quoted and tabular lines, and blocks under headers.
fn blocks(text: &str, lines: &[Line], own: SaidBy, found: &mut Vec<(Range<usize>, SaidBy)>) {
    let mut fence: Option<&str> = None;
    let mut block: Option<ProgramBlock> = None;
    let mut mail: Option<usize> = None;
    // The paragraph below a header of the person's own words.
    let mut own_block = None;
    let mut has_words = false;
    let mut is_patch = false;
    let levels = lines.iter().filter(|line| has_level(&text[line.range.clone()])).count();
    for (number, line) in lines.iter().enumerate() {
        let bare = &text[line.range.clone()];
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        if fence.is_some() || mark.is_some() {
            found.push((line.range.clone(), SaidBy::Application));
            match fence {
                None => fence = mark.filter(|mark| !bare[mark.len()..].contains(*mark)),
                Some(open) if mark == Some(open) => fence = None,
                Some(_) => {}
            }
            continue;
        }
        if mail != Some(line.block)
            && let Some(head) = mail_head(text, lines, number)
        {
            mail = Some(line.block);
            found.push((head, SaidBy::Person));
        }
        if block.as_mut().is_some_and(|block| block.is_over(text, lines, number, has_words)) {
            block = None;
        }
        if let Some(label) = starts_with_any(bare, "own") {
            block = None;
            let start = line.range.start;
            found.push((start..start + label, SaidBy::Application));
            found.push((start + label..line.range.end, own));
            if bare[label..].trim().is_empty() {
                own_block = lines.get(number + 1).map(|next| next.block);
            }
            continue;
        }
        block = block.or_else(|| ProgramBlock::beginning(text, lines, number));
        is_patch = begins_patch(bare) || is_patch && bare.starts_with(['+', '-', '@']);
        let is_program = is_patch
            || is_program_line(bare)
            || levels > 1 && has_level(bare)
            || bare.starts_with('#') && stands_by_code(text, lines, number);
        if block.is_some() || is_program {
            found.push((line.range.clone(), SaidBy::Application));
        } else if is_quoted(bare) {
            found.push((line.range.clone(), SaidBy::Quoted));
        } else if number > 0 && (bare == "--" || bare.starts_with("Sent from my ")) {
            // A signature.
            found.push((line.range.start..text.len(), SaidBy::Quoted));
        } else {
            has_words = true;
            if own_block == Some(line.block) {
                found.push((line.range.clone(), own));
            }
        }
    }
}

/// The paragraph from the fields of a mail on, if line `number` is the first of them.
fn mail_head(text: &str, lines: &[Line], number: usize) -> Option<Range<usize>> {
    let line = &lines[number];
    let bare = &text[line.range.clone()];
    let is_field = |line: &Line| is_mail_field(&text[line.range.clone()]);
    let next = lines.get(number + 1).filter(|next| next.block == line.block);
    // "From: Tom <tom@mail.example>" leaves no doubt alone.
    let is_addressed = bare.ends_with('>') && bare.contains('@');
    if !is_field(line) || !(is_addressed || next.is_some_and(is_field)) {
        return None;
    }
    let inside = |other: &&Line| other.block == line.block;
    let end = lines[number..].iter().take_while(inside).last().unwrap_or(line);
    Some(line.range.start..end.range.end)
}

/// The place after the paragraph with the fields of the first mail.
pub(super) fn after_mail(text: &str, lines: &[Line]) -> Option<usize> {
    let mut numbers = 0..lines.len();
    numbers.find_map(|number| mail_head(text, lines, number)).map(|head| head.end)
}

/// "Subject: …": the name of a field as mail programs write it, and a value.
fn is_mail_field(line: &str) -> bool {
    let bare = line.trim_start_matches(['>', '*', ' ']);
    let Some((name, value)) = bare.split_once([':', '：']) else { return false };
    let name = name.trim_matches(['*', ' ', '\u{a0}', '\u{202f}']);
    !value.trim().is_empty() && entries("mail").any(|known| name == known)
}

/// True for a line that a program wrote: a row of a table, a part of a JSON text, an event.
fn is_program_line(line: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    line.starts_with(['|', '{', '}'])
        || line.strip_prefix("System: [").is_some_and(|time| time.starts_with(is_digit))
        || line.starts_with("[{")
        || line.matches('|').count() > 1
        || line.starts_with('"') && (line.contains("\":") || line.contains("\" :"))
        || is_event(line)
        || is_log_line(line)
        || is_comment(line)
}

/// True for a head of a patch, as programs that compare files write it.
fn begins_patch(line: &str) -> bool {
    ["diff --git ", "@@ -", "--- a/"].into_iter().any(|head| line.starts_with(head))
}

/// True for a comment of most languages, also in a patch: "+// …". One mark alone begins a heading
/// or an item of a list, too.
fn is_comment(line: &str) -> bool {
    let code = line.strip_prefix(['+', '-']);
    let is_marked = |line: &str| ["//", "/*", "*/"].into_iter().any(|mark| line.starts_with(mark));
    is_marked(line) || code.is_some_and(|code| is_marked(code) || code.starts_with("# "))
}

/// True if the line before or after, in the same paragraph, is code.
fn stands_by_code(text: &str, lines: &[Line], number: usize) -> bool {
    let block = lines[number].block;
    let beside = [number.checked_sub(1), Some(number + 1)].into_iter().flatten();
    let mut beside = beside.filter_map(|at| lines.get(at)).filter(|line| line.block == block);
    beside.any(|line| is_code(&text[line.range.clone()]))
}

/// "const a = 1;", "print(x)", "rows = load(path)".
fn is_code(line: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let rest = line.trim_start_matches(is_part);
    let is_named = rest.len() < line.len();
    line.ends_with([';', '{', '}'])
        || is_named && rest.starts_with('(') && line.trim_end_matches(':').ends_with(')')
        || is_named && rest.starts_with(" = ")
}

/// "[cron:7f] …", "[tool_call id=3]": a bracket whose first word has the form of an identifier.
fn is_event(line: &str) -> bool {
    let Some((word, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once([']', ' ']))
    else {
        return false;
    };
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.contains([':', '_'])
        && word.bytes().all(|c| c.is_ascii_alphanumeric() || b":_-./".contains(&c))
        && !word.ends_with(':')
}

/// "2024-03-12 10:04:01 INFO user said: …", "10:04:01.331 [main] WARN …", "Nov 28 10:04:01 host
/// chat[7]: …".
fn is_log_line(line: &str) -> bool {
    let start = line.trim_start_matches('[');
    let is_dated = start.get(..10).is_some_and(|date| {
        date.bytes().enumerate().all(|(at, c)| match at {
            4 | 7 => c == b'-' || c == b'/',
            _ => c.is_ascii_digit(),
        })
    });
    let is_timed = || clock(start).is_some_and(|clock| clock.start == 0);
    let mut words = start.split([' ', '\t', ']', '[']).filter(|word| !word.is_empty());
    (is_dated || is_timed()) && words.by_ref().take(4).any(is_level) || is_of_syslog(line)
}

/// The level of a log's line: "WARN", "INFO:".
fn is_level(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphabetic());
    matches!(word, "TRACE" | "DEBUG" | "INFO" | "WARN" | "WARNING" | "ERROR" | "FATAL")
}

/// True for a month, a day, a time, a host and a process.
fn is_of_syslog(line: &str) -> bool {
    let mut words = line.split(' ').filter(|word| !word.is_empty());
    let month = words
        .next()
        .is_some_and(|word| word.len() == 3 && word.bytes().all(|c| c.is_ascii_alphabetic()));
    let day = words
        .next()
        .is_some_and(|word| word.len() <= 2 && word.bytes().all(|c| c.is_ascii_digit()));
    let time = words.next().is_some_and(|word| word.len() == 8 && clock(word).is_some());
    month && day && time && words.nth(1).is_some_and(|process| process.ends_with("]:"))
}

/// "[ERROR] no route": a level in brackets. People write one, too, so a log has several.
fn has_level(line: &str) -> bool {
    let label = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    label.is_some_and(|(label, _)| is_level(label) || is_level(&label.to_ascii_uppercase()))
}

fn is_quoted(line: &str) -> bool {
    line.starts_with(['>', '＞']) || line.starts_with("&gt;")
}

/// A tag: `<name …>`, `</name>`, `[name]`.
struct Tag<'t> {
    range: Range<usize>,
    name: &'t str,
    closes: bool,
}

/// Finds text between tags, comments, and text after a tag that stands alone in its line.
fn tagged(text: &str, lines: &[Line], own: SaidBy, found: &mut Vec<(Range<usize>, SaidBy)>) {
    let mut open: HashMap<&str, Vec<Range<usize>>> = HashMap::new();
    let (mut pairs, mut at) = (Vec::new(), 0);
    while let Some(offset) = text[at..].find(['<', '[']) {
        let start = at + offset;
        if text[start..].starts_with("<!--") {
            let end = text[start..].find("-->").map_or(text.len(), |length| start + length + 3);
            found.push((start..end, SaidBy::Application));
            at = end;
            continue;
        }
        let Some(tag) = tag(text, start) else {
            at = start + 1;
            continue;
        };
        at = tag.range.end;
        if tag.closes {
            if let Some(opening) = open.get_mut(tag.name).and_then(Vec::pop) {
                pairs.push((opening, tag));
            }
        } else if !text[tag.range.clone()].ends_with("/>") {
            open.entry(tag.name).or_default().push(tag.range);
        }
    }
    pairs.sort_unstable_by_key(|(opening, tag)| (opening.start, usize::MAX - tag.range.end));
    for (opening, closing) in pairs {
        if is_formatting(closing.name) {
            continue;
        }
        found.push((opening.start..closing.range.end, SaidBy::Application));
        if entries("own-tag").any(|name| closing.name.eq_ignore_ascii_case(name)) {
            found.push((opening.end..closing.range.start, own));
        }
    }
    let mut unclosed: Vec<Range<usize>> = open.into_values().flatten().collect();
    unclosed.sort_unstable_by_key(|range| range.start);
    for range in unclosed.into_iter().filter(|range| text[range.clone()].starts_with('<')) {
        let place = lines.partition_point(|line| line.range.end <= range.start);
        let Some(line) = lines.get(place).filter(|line| line.range.start == range.start) else {
            continue;
        };
        // Chats on IRC and subtitles name a speaker in this form: "<tom> I moved."
        let alone = line.range.end == range.end;
        let is_void = matches!(&text[range.clone()], "<br>" | "<hr>" | "<p>" | "<li>" | "<div>");
        let end = if alone && !is_void { text.len() } else { line.range.end };
        let voice = if alone || is_void { SaidBy::Application } else { SaidBy::Person };
        found.push((range.start..end, voice));
    }
}

/// Tags that only show how a person's words look.
fn is_formatting(name: &str) -> bool {
    matches!(
        name,
        "b" | "i"
            | "u"
            | "s"
            | "em"
            | "strong"
            | "del"
            | "ins"
            | "mark"
            | "small"
            | "sub"
            | "sup"
            | "span"
            | "font"
            | "center"
            | "a"
            | "url"
            | "size"
            | "color"
    )
}

/// The tag at a place.
fn tag(text: &str, start: usize) -> Option<Tag<'_>> {
    let (open, close) = if text.as_bytes()[start] == b'<' { ('<', '>') } else { ('[', ']') };
    let inner = &text[start + 1..];
    let closes = inner.starts_with('/');
    let name_start = start + 1 + usize::from(closes);
    let name = &text[name_start..];
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let length = name.find(|c: char| !is_of_name(c)).unwrap_or(name.len());
    let name = &name[..length];
    let first = name.chars().next()?;
    if !(first.is_alphabetic() || first == '_') || name.contains("://") || name.contains('@') {
        return None;
    }
    let rest = &text[name_start + length..];
    let mut limit = MAX_TAG.min(rest.len());
    while !rest.is_char_boundary(limit) {
        limit -= 1;
    }
    let end = rest[..limit].find(close)?;
    let attributes = &rest[..end];
    // Attributes follow a space; the names of brackets stand alone or have a value: `[quote=Tom]`.
    let is_tag = attributes.is_empty()
        || attributes == "/"
        || open == '<' && attributes.starts_with(char::is_whitespace) && !attributes.contains('<')
        || open == '[' && attributes.starts_with('=');
    is_tag.then(|| Tag { range: start..name_start + length + end + 1, name, closes })
}

#[cfg(test)]
mod tests {
    use super::super::pieces::lines;
    use super::*;

    fn own(text: &str) -> String {
        let mut voices = vec![SaidBy::User; text.len()];
        for (range, voice) in written_by_programs(text, &lines(text), SaidBy::User) {
            voices[range].fill(voice);
        }
        let own = text.bytes().zip(voices).filter(|(_, voice)| *voice == SaidBy::User);
        String::from_utf8(own.map(|(byte, _)| byte).collect()).expect("whole characters")
    }

    #[test]
    fn what_programs_write_is_found() {
        for (text, left) in [
            ("a <document>I moved</document> b", "a  b"),
            ("<a1><b1>x</b1> y</a1> z", " z"),
            ("<context>\nI moved\n\nmore", ""),
            ("<user_query>I moved</user_query>", "I moved"),
            ("[quote=Tom]I moved[/quote] ok", " ok"),
            ("text <!-- my doctor --> more", "text  more"),
            ("text <!-- my doctor", "text "),
            ("```\nI moved\n```\nok", "\n\n\nok"),
            ("{\"a\": \"I moved\"}", ""),
            ("[cron:7f] I moved", ""),
            ("<tom> I moved\nme too", "\nme too"),
            ("I <3 you, 2 < 3 > 1, <b>I moved</b>, [1] [x] a[i]", ""),
            ("> I moved\nok", "\nok"),
            ("10:14:02.331 [main] INFO Bot - I moved\nok", "\nok"),
            ("Nov 28 09:14:02 web-1 chat[771]: user: I moved\nok", "\nok"),
            ("[INFO] I moved\n[error] I have a dog\nok", "\n\nok"),
            ("[INFO] I moved", "[INFO] I moved"),
            ("10:14 I moved\nMay 3 10:14:02 I moved", "10:14 I moved\nMay 3 10:14:02 I moved"),
        ] {
            let kept = own(text);
            let left = if left.is_empty() && text.starts_with("I <3") { text } else { left };
            assert_eq!(kept, left, "{text}");
        }
    }
}
