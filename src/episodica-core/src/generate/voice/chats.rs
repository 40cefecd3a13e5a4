//! Finds copied chats by the headers that programs copy above each message: `Tom  10:04`,
//! `[10:04] Tom:`, `小红 2024/3/12 10:04:05`, `Tom — Today at 10:04 AM`.

use std::ops::Range;

use super::first_person::is_label_of;
use super::model::{PieceScores, VoiceModel};
use super::pieces::Line;
use crate::model::SaidBy;
use crate::text::script::is_alphanumeric;

/// Maximum length of a name, in bytes, and number of its words.
const MAX_NAME: usize = 60;
const MAX_NAME_WORDS: usize = 4;
/// Maximum length of what stands around the time in a header: a day, "at", "heute um".
const MAX_AROUND: usize = 32;

/// A header of a copied chat must look like a person's name by this score; by the lower one if the
/// message has several headers.
const NAME: f32 = 0.0;
const NAME_AMONG_SEVERAL: f32 = -2.0;
/// The same for a header whose marks leave little doubt.
const NAME_IN_MARKS: f32 = -6.0;
/// Maximum number of names in a copied chat.
const MAX_SPEAKERS: usize = 32;

/// A header: a name and a time of day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChatHeader<'t> {
    pub name: &'t str,
    /// Bytes of the line before the message; the whole line if the message begins in the next one.
    pub length: usize,
    /// Marks between name and time leave no doubt. Without them, "Dentist 10:00" has the same form.
    pub is_marked: bool,
}

/// Reads a line as a header.
pub(super) fn chat_header(line: &str) -> Option<ChatHeader<'_>> {
    let clock = clock(line)?;
    let (before, after) = (&line[..clock.start], &line[clock.end..]);
    let rest = after.trim_start_matches([']', ')', '】', ' ']);
    if rest.trim_matches(is_mark).is_empty() {
        // "Tom  10:04"
        let (name, is_marked) = name_before(before)?;
        return Some(ChatHeader { name, length: line.len(), is_marked });
    }
    let start = line.len() - rest.len();
    let is_closed = after.starts_with([']', ')', '】']);
    if let Some(text) = rest.strip_prefix([':', '：']).filter(|_| is_closed) {
        // "Tom [10:04]: hello"
        let (name, _) = name_before(before).filter(|_| before.ends_with(['[', '(', '【']))?;
        let length = line.len() - text.trim_start().len();
        return Some(ChatHeader { name, length, is_marked: true });
    }
    // "[Yesterday 3:14 PM] Tom": words beside the time are part of the stamp.
    let is_stamped =
        is_closed && before.len() <= MAX_AROUND && before.starts_with(['[', '【', '(']);
    if before.contains(char::is_alphabetic) && !is_stamp(before) && !is_stamped {
        return None;
    }
    // "[10:04] Tom: hello", "10:04 <tom> hello", "[10:04] Tom"
    let rest = rest.trim_start_matches(is_mark);
    let start = start.max(line.len() - rest.len());
    if let Some((name, text)) = rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        let length = line.len() - text.trim_start().len();
        return is_name(name).then_some(ChatHeader { name, length, is_marked: true });
    }
    let colon = rest.find([':', '：', '\t']).filter(|at| *at <= MAX_NAME);
    let (name, length) = match colon {
        Some(at) => {
            let mark = rest[at..].chars().next().map_or(1, char::len_utf8);
            let text = rest[at + mark..].trim_start();
            (rest[..at].trim(), line.len() - text.len())
        }
        None => (rest.trim(), line.len()),
    };
    let is_header = is_name(name) && start < line.len() && !name.ends_with(['.', '!', '?', '。']);
    is_header.then_some(ChatHeader { name, length, is_marked: is_closed })
}

/// The first time of day in a line: `10:04`, `9:04:05 p.m.`, `上午10:04`.
pub(super) fn clock(line: &str) -> Option<Range<usize>> {
    let bytes = line.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut from = 0;
    while let Some(offset) = line[from..].find(':') {
        let colon = from + offset;
        from = colon + 1;
        let hours = (1..=2).take_while(|n| colon >= *n && is_digit(colon - n)).count();
        let is_longer = colon > hours && is_digit(colon - hours - 1);
        if hours == 0 || is_longer || !is_digit(colon + 1) || !is_digit(colon + 2) {
            continue;
        }
        let mut end = colon + 3;
        if bytes.get(end) == Some(&b':') && is_digit(end + 1) && is_digit(end + 2) {
            end += 3;
        }
        if is_digit(end) {
            continue;
        }
        return Some(half_before(line, colon - hours)..half_after(line, end));
    }
    None
}

/// Words for the halves of the day beside a time.
const HALVES: [&str; 14] = [
    "a.m.", "p.m.", "am", "pm", "uhr", "h", "上午", "下午", "午前", "午後", "오전", "오후", "晚上",
    "早上",
];

fn half_before(line: &str, start: usize) -> usize {
    let before = line[..start].trim_end();
    let half = HALVES.iter().skip(6).find(|half| before.ends_with(**half));
    half.map_or(start, |half| before.len() - half.len())
}

fn half_after(line: &str, end: usize) -> usize {
    let rest = &line[end..];
    let word = rest.trim_start_matches([' ', '\u{a0}', '\u{202f}']);
    let half = HALVES.iter().find(|half| {
        word.get(..half.len()).is_some_and(|start| start.eq_ignore_ascii_case(half))
            && !word[half.len()..].starts_with(char::is_alphanumeric)
    });
    half.map_or(end, |half| line.len() - word.len() + half.len())
}

fn is_mark(c: char) -> bool {
    !is_alphanumeric(c) && c != '<' && c != '@'
}

/// True for a date, brackets and marks without other words.
fn is_stamp(text: &str) -> bool {
    text.chars().all(|c| !c.is_alphabetic() || "TZ年月日".contains(c))
}

/// True for a line with a time of day and no name: "10:04", "Yesterday 10:04".
pub(super) fn is_time_line(line: &str) -> bool {
    let words =
        |text: &str| text.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 1).count();
    line.len() <= MAX_AROUND
        && clock(line)
            .is_some_and(|clock| words(&line[..clock.start]) <= 2 && words(&line[clock.end..]) == 0)
}

/// The name in "Tom — Today at ", "Tom, [12.03.24 ", "小红 2024/3/12 ", and whether marks end it.
fn name_before(text: &str) -> Option<(&str, bool)> {
    let text = text.trim_start_matches(is_mark);
    let cuts = [" — ", " – ", " - ", " | ", "  ", "\t", ", [", " [", " (", "[", "(", "【"];
    let cut = cuts.iter().filter_map(|cut| text.find(cut)).min();
    let (mut name, around) = text.split_at(cut.unwrap_or(text.len()));
    if cut.is_none() {
        // Nothing but a space before the date: the name ends at the first digit.
        let digit = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
        if digit < name.len() && !is_stamp(&name[digit..]) {
            return None;
        }
        name = &name[..digit];
    }
    let name = name.trim_matches(|c: char| is_mark(c) && c != '.');
    (is_name(name) && around.len() <= MAX_AROUND).then_some((name, cut.is_some()))
}

/// True if a text has the form of a name: few words, none of them ending a sentence.
pub(super) fn is_name(text: &str) -> bool {
    let words = text.split_whitespace().count();
    text.len() <= MAX_NAME
        && (1..=MAX_NAME_WORDS).contains(&words)
        && text.contains(char::is_alphabetic)
        && !text.contains(['!', '?', '。', '！', '？', '，', ';', '"', '“', '='])
}

/// The lines that may be headers of a copied chat. Some programs put the time in a line of its own,
/// before or after the name.
fn chat_headers<'t>(text: &'t str, lines: &[Line]) -> Vec<(usize, ChatHeader<'t>)> {
    let line_text = |line: usize| lines.get(line).map_or("", |line| &text[line.range.clone()]);
    let beside = |line: usize| {
        let at = [Some(line + 1), line.checked_sub(1)].into_iter().flatten().find(|at| {
            let name = line_text(*at);
            is_name(name) && !name.contains('.') && name.split(' ').count() <= 2
        })?;
        let header = ChatHeader { name: line_text(at), length: 0, is_marked: false };
        Some((line.min(at), header))
    };
    let of_line = |line: usize| {
        let own = chat_header(line_text(line)).map(|header| (line, header));
        let is_time = is_time_line(line_text(line));
        own.into_iter().chain(is_time.then(|| beside(line)).flatten())
    };
    (0..lines.len()).flat_map(of_line).collect()
}

/// The parts of a copied chat, each with the voice that its header names.
pub(super) fn copied_chats(
    model: VoiceModel<'_>,
    text: &str,
    speaker: &str,
    base: SaidBy,
    lines: &[Line],
) -> Vec<(Range<usize>, SaidBy)> {
    let headers = chat_headers(text, lines);
    // A chat has few speakers.
    let mut names: Vec<&str> = headers.iter().map(|(_, header)| header.name).collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(MAX_SPEAKERS);
    let scores: Vec<PieceScores> = names.iter().map(|name| model.glance(name)).collect();
    let is_header = |(line, header): &&(usize, ChatHeader<'_>)| {
        let score = names.binary_search(&header.name).map_or(f32::MIN, |at| scores[at].names);
        // "Dentist 10:00" among other lines has the form of a header, too.
        let begins = *line == 0 || lines[*line].block > lines[*line - 1].block;
        if !header.is_marked && headers.len() == 1 && !begins {
            return false;
        }
        let least = match (header.is_marked, headers.len()) {
            (true, _) => NAME_IN_MARKS,
            (_, 1) => NAME,
            _ => NAME_AMONG_SEVERAL,
        };
        score > least || is_label_of(header.name, speaker)
    };
    let mut headers: Vec<(usize, &str)> =
        headers.iter().filter(is_header).map(|(line, header)| (*line, header.name)).collect();
    headers.sort_by_key(|(line, _)| *line);
    headers.dedup_by_key(|(line, _)| *line);
    let mut found = Vec::new();
    for (number, (line, name)) in headers.iter().enumerate() {
        let next = headers.get(number + 1).map(|(next, _)| *next);
        let block = lines[*line].block;
        let end = next.unwrap_or_else(|| {
            line + lines[*line..].iter().take_while(|line| line.block == block).count()
        });
        let voice = if is_label_of(name, speaker) { base } else { SaidBy::Person };
        found.push((lines[*line].range.start..lines[end - 1].range.end, voice));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read() {
        for (line, name, text) in [
            ("Tom  10:04", "Tom", ""),
            ("Tom 10:04", "Tom", ""),
            ("小红 10:04", "小红", ""),
            ("小红 上午10:04", "小红", ""),
            ("小红 2024/3/12 10:04:05", "小红", ""),
            ("小红 2024年3月12日 10:04", "小红", ""),
            ("Tom Smith 9:04 AM", "Tom Smith", ""),
            ("Smith, Tom 10:04 a.m.", "Smith, Tom", ""),
            ("Tom — Today at 10:04 AM", "Tom", ""),
            ("Tom — heute um 10:04 Uhr", "Tom", ""),
            ("Tom, [12.03.2024 10:04]", "Tom", ""),
            ("Tom, [Mar 12, 2024 at 10:04:05 AM]:", "Tom", ""),
            ("[10:04] Tom:", "Tom", ""),
            ("[10:04 AM] Tom Smith", "Tom Smith", ""),
            ("[12.03.24, 10:00:05] Tom: I moved", "Tom", "I moved"),
            ("12/03/2024, 10:00 pm - Tom: I moved", "Tom", "I moved"),
            ("10:00 Tom: I moved", "Tom", "I moved"),
            ("10:04 <tom> I moved", "tom", "I moved"),
            ("Tom [10:04]: I moved", "Tom", "I moved"),
            ("Tom (10:04): I moved", "Tom", "I moved"),
            ("[민수] [오전 10:04] 이사했어", "", ""),
        ] {
            let found = chat_header(line);
            if name.is_empty() {
                continue;
            }
            let found = found.unwrap_or_else(|| panic!("{line}"));
            assert_eq!((found.name, &line[found.length..]), (name, text), "{line}");
        }
        for line in [
            "(10:00) I moved to Berlin.",
            "12.03.24, 10:00: I moved to Berlin.",
            "Today at 10:00: I move to Berlin.",
            "I moved at 10:04",
            "I get up at 6:30, then I run",
            "10:04",
            "the ratio is 3:1",
        ] {
            let found = chat_header(line).filter(|found| found.name != "I moved at");
            assert_eq!(found, None, "{line}");
        }
    }
}
