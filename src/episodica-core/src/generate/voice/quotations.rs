//! Finds text in quotation marks.

use std::ops::Range;

use crate::text::is_cjk;

use super::first_person::speaks_of_self;

/// A quotation with fewer words is taken for a name or a title, unless it is in the first person.
const SPEECH_WORDS: usize = 3;
/// Same limit for scripts without spaces, in characters.
const SPEECH_CHARACTERS: usize = 5;
/// Maximum length of a quotation, in bytes.
const MAX_QUOTATION: usize = 4_000;
/// Quotation marks that can open, each with those that close it.
const PAIRS: [(char, &[char]); 11] = [
    ('"', &['"']),
    ('“', &['”', '“']),
    ('”', &['”']),
    ('„', &['“', '”', '"']),
    ('«', &['»']),
    ('»', &['«', '»']),
    ('「', &['」']),
    ('『', &['』']),
    ('‘', &['’']),
    ('‚', &['‘', '’']),
    ('\'', &['\'']),
];
/// The first pairs: without a closing mark they reach to the end of the paragraph.
const OPEN_ENDED: usize = 8;

/// A quotation mark in a text.
struct Mark {
    at: usize,
    end: usize,
    mark: char,
    opens: bool,
    closes: bool,
}

/// The ranges inside quotation marks that are not names or titles, in order.
pub(super) fn quotations(text: &str) -> Vec<Range<usize>> {
    let marks = marks(text);
    let (mut found, mut from) = (Vec::new(), 0);
    // For each pair, the first mark that may still close a quotation: a scan starts nowhere twice.
    let mut next = [0; PAIRS.len()];
    for (number, open) in marks.iter().enumerate() {
        if !open.opens || open.at < from {
            continue;
        }
        let Some(pair) = PAIRS.iter().position(|(mark, _)| *mark == open.mark) else { continue };
        let closes = |mark: &Mark| mark.closes && PAIRS[pair].1.contains(&mark.mark);
        let place = &mut next[pair];
        *place = (*place).max(number + 1);
        while marks.get(*place).is_some_and(|mark| !closes(mark)) {
            *place += 1;
        }
        let close = marks.get(*place).filter(|mark| mark.at - open.end <= MAX_QUOTATION);
        let inside = match close {
            Some(close) => open.end..close.at,
            None if pair < OPEN_ENDED && *place >= marks.len() => {
                open.end..paragraph_end(text, open.end)
            }
            None => continue,
        };
        from = close.map_or(inside.end, |close| close.end);
        if is_speech(&text[inside.clone()]) {
            found.push(inside);
        }
    }
    found
}

/// The quotation marks of a text.
fn marks(text: &str) -> Vec<Mark> {
    let mut found = Vec::new();
    let mut before = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, mark)) = chars.next() {
        let after = chars.peek().map(|(_, after)| *after);
        if is_mark(mark) {
            let is_single = matches!(mark, '\'' | '‘' | '’' | '‚');
            let inside_word =
                |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_cjk(c));
            found.push(Mark {
                at,
                end: at + mark.len_utf8(),
                mark,
                // After a letter or digit the mark is an apostrophe, or stands for inches.
                opens: !inside_word(before)
                    && after.is_some_and(|c| !c.is_whitespace() || mark == '«'),
                closes: !is_single
                    || after.is_none_or(|c| !c.is_alphanumeric())
                        && before.is_some_and(|c| !c.is_whitespace()),
            });
        }
        before = Some(mark);
    }
    found
}

fn is_mark(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | '“' | '”' | '„' | '«' | '»' | '「' | '」' | '『' | '』' | '‘' | '’' | '‚'
    )
}

/// The ranges between three quotation marks in a row, as prompts part a text from the question
/// about it. Without the closing ones, they reach to the end if they begin or end a line.
pub(super) fn triple_quoted(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for mark in ["\"\"\"", "'''"] {
        let mut at = 0;
        while let Some(start) = text[at..].find(mark).map(|offset| at + offset + mark.len()) {
            let before = text[..start - mark.len()].trim_end_matches([' ', '\t']);
            let stands_apart = before.is_empty()
                || before.ends_with('\n')
                || text[start..].trim_start_matches([' ', '\t', '\r']).starts_with('\n');
            let end = text[start..].find(mark).map(|length| start + length);
            match end {
                Some(end) => found.push(start..end),
                None if stands_apart => found.push(start..text.len()),
                None => {}
            }
            at = end.map_or(text.len(), |end| end + mark.len());
        }
    }
    found
}

/// The end of the paragraph at a place.
fn paragraph_end(text: &str, at: usize) -> usize {
    text[at..].find("\n\n").map_or(text.len(), |length| at + length)
}

fn is_speech(text: &str) -> bool {
    if text.contains(is_cjk) {
        return text.chars().filter(|c| c.is_alphanumeric()).count() >= SPEECH_CHARACTERS
            || speaks_of_self(text);
    }
    let words = || text.split_whitespace();
    let capital = |word: &str| word.len() < 4 || word.starts_with(|c: char| !c.is_lowercase());
    let opens = text.starts_with(|c: char| c.is_uppercase() || c.is_numeric());
    let is_title = opens && words().all(capital) && !text.ends_with(['.', '!', '?', ',']);
    words().count() >= SPEECH_WORDS && !is_title || speaks_of_self(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &str) -> Vec<&str> {
        quotations(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn speech_in_quotation_marks_is_found() {
        for (text, found) in [
            ("He said \"I live in Bonn\" and laughed.", &["I live in Bonn"][..]),
            (
                "Er sagte „Ich wohne in Bonn“, dann „ich nicht”.",
                &["Ich wohne in Bonn", "ich nicht"],
            ),
            ("Elle dit « J'habite à Bonn ».", &[" J'habite à Bonn "]),
            ("小红说：“我住在波恩。”好", &["我住在波恩。"]),
            ("'I live in Bonn' was the title", &["I live in Bonn"]),
            ("She wrote “I moved to Bonn\nand stay\n\nOk", &["I moved to Bonn\nand stay"]),
            ("My dog is called \"Berlin\".", &[]),
            ("I'm 5'10\" tall, my parents' house is 6' wide", &[]),
            ("My favourite book is \"Goodbye to Berlin\".", &[]),
        ] {
            assert_eq!(quoted(text), found, "{text}");
        }
    }

    #[test]
    fn texts_between_three_marks_are_found() {
        for (text, found) in [
            ("Context: \"\"\"I live in Bonn\"\"\" Where?", &["I live in Bonn"][..]),
            ("a\n'''\nI live in Bonn\n\nHe \"too\"\n'''\nb", &["\nI live in Bonn\n\nHe \"too\"\n"]),
            ("\"\"\"\nI live in Bonn", &["\nI live in Bonn"]),
            ("Text: \"\"\"\r\nI live in Bonn", &["\r\nI live in Bonn"]),
            ("My mark is \"\"\" and I live in Bonn", &[]),
        ] {
            let ranges = triple_quoted(text).into_iter().map(|range| &text[range]);
            assert_eq!(ranges.collect::<Vec<_>>(), found, "{text}");
        }
    }

    #[test]
    fn many_open_marks_take_linear_time() {
        for mark in ["„", " 'a", "“x", "\"", "« a"] {
            let _ = quotations(&mark.repeat(300_000));
        }
    }
}
