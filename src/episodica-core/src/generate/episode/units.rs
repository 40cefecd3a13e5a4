//! Splits a cleaned text into sentences, blocks of code, and words.

use std::cell::OnceCell;
use std::ops::Range;

use super::lexicon::{WordClass, class_of, exact_key, word_key};
use crate::text::script::is_alphanumeric;
use crate::text::time::TimeMention;
use crate::text::{is_cjk, sentences};

/// Maximum number of sentences read from one message; only tables and logs have more.
const MAX_SENTENCES: usize = 120;

/// A sentence, or a block of code, as a range of its turn's text.
#[derive(Default)]
pub(super) struct TurnUnit {
    /// Range in bytes.
    pub start: usize,
    pub end: usize,
    /// Code, a log or a stack trace: its lines are kept, never reworded, and not used for titles.
    pub is_code: bool,
    /// True if the sentence ends in a question mark or a Chinese question particle.
    pub asks: bool,
    /// Words, in order; none for code.
    pub words: Vec<TurnWord>,
    /// Computed on first use, by the narrative.
    pub dates: OnceCell<Vec<TimeMention>>,
}

/// A word, as a range of its turn's text.
#[derive(Clone, Copy)]
pub(super) struct TurnWord {
    pub start: usize,
    pub end: usize,
    /// Equal for all forms of the word.
    pub key: u64,
    pub class: WordClass,
    /// True if punctuation, more than a space, stands before the word, or if it opens the sentence.
    pub breaks: bool,
    /// First word of its sentence.
    pub first: bool,
    /// Begins with a capital letter.
    pub capital: bool,
    /// Contains a digit, or characters that only identifiers contain (`/`, `_`, `::`, inner dots or
    /// capitals).
    pub technical: bool,
    /// A run of a script without spaces, which other code splits into words.
    pub unspaced: bool,
}

impl TurnUnit {
    fn new(place: Range<usize>, is_code: bool, asks: bool, words: Vec<TurnWord>) -> Self {
        let Range { start, end } = place;
        Self { start, end, is_code, asks, words, ..Self::default() }
    }
}

/// Splits a text into sentences and blocks of code.
pub(super) fn split_units(text: &str) -> Vec<TurnUnit> {
    let mut found: Vec<TurnUnit> = Vec::new();
    if !text.contains('\n') {
        split_prose(text, 0, text.len(), &mut found);
        return found;
    }
    let (mut fenced, mut at) = (false, 0);
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.trim_end().len());
        at += line.len();
        let fence = line.trim_start().starts_with("```");
        if fenced || fence || looks_like_code(line) {
            match found.last_mut() {
                // Consecutive lines of one block form one unit.
                Some(last) if last.is_code && (fenced || !fence) => last.end = end,
                _ => found.push(TurnUnit::new(start..end, true, false, Vec::new())),
            }
            fenced ^= fence;
        } else if found.len() < MAX_SENTENCES {
            split_prose(text, start, end, &mut found);
        }
    }
    found.retain(|unit| unit.end > unit.start);
    found
}

/// A sentence of a text, as a range of bytes.
pub(in crate::generate) struct SpokenSentence {
    /// Start and end.
    pub start: usize,
    pub end: usize,
    /// True if it is a question.
    pub asks: bool,
    /// False for code, logs and marks without a word.
    pub is_speech: bool,
}

/// The sentences and blocks of code of a text, in order.
pub(in crate::generate) fn spoken_sentences(text: &str) -> Vec<SpokenSentence> {
    let sentence = |unit: TurnUnit| SpokenSentence {
        start: unit.start,
        end: unit.end,
        asks: unit.asks,
        is_speech: !unit.is_code && !unit.words.is_empty(),
    };
    split_units(text).into_iter().map(sentence).collect()
}

/// True for indented lines, frames of stack traces and log lines.
fn looks_like_code(line: &str) -> bool {
    let trimmed = line.trim_start();
    let indent = line.len() - trimmed.len();
    if trimmed.is_empty() {
        return false;
    }
    indent >= 4 && !trimmed.starts_with(['-', '*', '•', '+'])
        || trimmed.starts_with("at ") && trimmed.contains('(') && trimmed.contains(')')
        || trimmed.starts_with("File \"")
        || trimmed.starts_with("Traceback (")
        || trimmed.starts_with("$ ")
        || trimmed.len() > 6 && trimmed.ends_with(['{', ';']) && !trimmed.contains("; ")
}

fn split_prose(text: &str, start: usize, end: usize, found: &mut Vec<TurnUnit>) {
    for sentence in sentences(&text[start..end]) {
        if found.len() >= MAX_SENTENCES {
            return;
        }
        let from = sentence.as_ptr() as usize - text.as_ptr() as usize;
        let to = from + sentence.len();
        let asks = sentence
            .trim_end_matches(|c: char| !is_alphanumeric(c) && c != '?' && c != '？')
            .ends_with(['?', '？'])
            || sentence.trim_end_matches(|c: char| !is_alphanumeric(c)).ends_with(['吗', '呢']);
        found.push(TurnUnit::new(from..to, false, asks, unit_words(text, from, to)));
    }
}

/// Characters that belong to a word only between two letters or digits (in paths, versions,
/// identifiers, contractions).
fn joins_word(c: char) -> bool {
    matches!(c, '\'' | '’' | ',' | '-' | '.' | '/' | '_' | ':' | '@' | '+' | '#' | '·' | '&')
}

/// Characters that come before a word without breaking a phrase.
fn is_gap(c: char) -> bool {
    c == ' '
        || c == '\u{a0}'
        || c == '`'
        || c == '*'
        || c == '_'
        || c == '"'
        || c == '“'
        || c == '”'
}

fn unit_words(text: &str, start: usize, end: usize) -> Vec<TurnWord> {
    let mut found: Vec<TurnWord> = Vec::with_capacity((end - start) / 6 + 1);
    let mut chars = text[start..end].char_indices().map(|(at, c)| (start + at, c)).peekable();
    let (mut breaks, mut first) = (true, true);
    while let Some((at, c)) = chars.next() {
        if !is_alphanumeric(c) {
            breaks |= !is_gap(c);
            continue;
        }
        let unspaced = is_cjk(c);
        let (mut stop, mut technical) = (at + c.len_utf8(), c.is_ascii_digit());
        let mut previous = c;
        while let Some((next_at, next)) = chars.peek().copied() {
            if is_alphanumeric(next) && is_cjk(next) == unspaced {
                technical |=
                    next.is_ascii_digit() || next.is_uppercase() && previous.is_lowercase();
                stop = next_at + next.len_utf8();
                previous = next;
                chars.next();
            } else if !unspaced
                && joins_word(next)
                && (next != ',' || previous.is_ascii_digit())
                && text[next_at + next.len_utf8()..end]
                    .chars()
                    .next()
                    .is_some_and(|c| (is_alphanumeric(c) || c == ':') && !is_cjk(c))
            {
                technical |= !matches!(next, '\'' | '’' | ',' | '-' | '·' | '&');
                previous = next;
                chars.next();
            } else {
                break;
            }
        }
        let word = &text[at..stop];
        found.push(TurnWord {
            start: at,
            end: stop,
            key: if unspaced || technical { exact_key(word) } else { word_key(word) },
            class: if unspaced { WordClass::default() } else { class_of(word) },
            breaks,
            first,
            capital: c.is_uppercase(),
            technical,
            unspaced,
        });
        (breaks, first) = (false, false);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        unit_words(text, 0, text.len()).iter().map(|word| &text[word.start..word.end]).collect()
    }

    #[test]
    fn identifiers_stay_whole_and_sentences_lose_their_stops() {
        assert_eq!(
            split("Error FG-1042 in src/net/pool.rs, line 188: rustls 0.22 (e.g. std::fs). Don't!"),
            [
                "Error",
                "FG-1042",
                "in",
                "src/net/pool.rs",
                "line",
                "188",
                "rustls",
                "0.22",
                "e.g",
                "std::fs",
                "Don't"
            ]
        );
        assert_eq!(split("我用Rust写代码"), ["我用", "Rust", "写代码"]);
    }

    #[test]
    fn code_is_one_unit() {
        let text = "Look:\n```rust\nfn main() {\n  run();\n}\n```\nIt fails. Why?";
        let kinds: Vec<(bool, bool)> =
            split_units(text).iter().map(|unit| (unit.is_code, unit.asks)).collect();
        assert_eq!(kinds, [(false, false), (true, false), (false, false), (false, true)]);
    }
}
