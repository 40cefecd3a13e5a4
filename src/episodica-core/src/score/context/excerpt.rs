//! Extracts from a long message the sentences that match a question.
//!
//! [`sentences`] splits the text, so logs and code are split at line ends. Text without sentence
//! ends is split every [`PIECE_BYTES`] bytes.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::dates::{LineMark, with_marks};
use crate::control::CallControl;
use crate::error::Result;
use crate::index::{MessageIndex, for_each_term};
use crate::score::{MaxSim, ParsedQuery, TokenTable};
use crate::text::sentences;

/// Shortest excerpt that can be understood out of context, in characters: with one sentence, and
/// with two or more.
const LEAST_CHARS: usize = 200;
const LEAST_CHARS_OF_TWO: usize = 120;
/// Longer sentences are split into pieces of this many bytes.
const PIECE_BYTES: usize = 320;
/// Maximum number of sentences compared word by word, those with most of the question's words
/// first.
const COMPARED: usize = 128;
/// Minimum score of a further passage, as a share of the best sentence's score.
const FURTHER: f32 = 0.6;
/// Weight of [`MaxSim`] relative to the share of the question's words.
const LIKENESS: f32 = 0.5;
/// Approximate number of characters per token.
const TOKEN_CHARS: usize = 4;
/// Number of sentences read between two cancellation checks.
const BETWEEN_CHECKS: usize = 4_096;

/// Byte ranges of the quoted parts of a message, ascending.
pub type Parts = Vec<Range<usize>>;

/// The question, prepared for finding excerpts.
pub(super) struct ExcerptTerms<'a> {
    table: &'a dyn TokenTable,
    question: MaxSim<'a>,
    /// Share of the question that each term (or a variant of it) makes up.
    shares: FxHashMap<&'a str, f32>,
}

impl<'a> ExcerptTerms<'a> {
    pub fn new(query: &'a ParsedQuery, index: &MessageIndex, table: &'a dyn TokenTable) -> Self {
        let postings = &index.field.postings;
        let mut shares: FxHashMap<&str, f32> = FxHashMap::default();
        let mut total = 0.0;
        for term in &query.terms {
            let weight = term.weight * postings.idf(postings.document_frequency(&term.text));
            total += weight;
            let variants = term.variants.iter();
            let variants = variants.map(|variant| (variant.text.as_str(), variant.share * weight));
            for (text, weight) in variants.chain([(term.text.as_str(), weight)]) {
                let known = shares.entry(text).or_default();
                *known = known.max(weight);
            }
        }
        shares.values_mut().for_each(|share| *share /= f32::max(total, 1e-6));
        Self { table, question: MaxSim::new(table, &query.content), shares }
    }

    /// Share of the question's words that the text contains.
    pub fn words(&self, text: &str) -> f32 {
        let mut found: Vec<(&str, f32)> = Vec::new();
        for_each_term(text, |term| {
            if let Some((text, share)) = self.shares.get_key_value(term.text)
                && !found.iter().any(|(known, _)| known == text)
            {
                found.push((text, *share));
            }
        });
        found.into_iter().map(|(_, share)| share).sum()
    }

    /// Compares each sentence of a message with the question.
    pub fn compare<'m>(
        &mut self,
        content: &'m str,
        control: &dyn CallControl,
    ) -> Result<ScoredSentences<'m>> {
        let pieces = pieces(content);
        let mut scores = Vec::with_capacity(pieces.len());
        for (number, piece) in pieces.iter().enumerate() {
            if number.is_multiple_of(BETWEEN_CHECKS) {
                control.check()?;
            }
            scores.push(self.words(&content[piece.clone()]));
        }
        let mut best: Vec<usize> = (0..pieces.len()).collect();
        best.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        for number in best.iter().take(COMPARED) {
            let tokens = self.table.ids(&content[pieces[*number].clone()]);
            scores[*number] += LIKENESS * self.question.score(&tokens);
        }
        best.truncate(COMPARED);
        best.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
        Ok(ScoredSentences { content, pieces, scores, best })
    }
}

/// Sentences of a message with their scores.
pub(super) struct ScoredSentences<'m> {
    content: &'m str,
    pieces: Parts,
    scores: Vec<f32>,
    /// Best sentences, best first.
    best: Vec<usize>,
}

impl ScoredSentences<'_> {
    /// The best parts and their tokens by `count`: about `room` tokens, or `block` if the best part
    /// is in a list or in code. `None` if even the best part does not fit into `left`.
    pub fn fitting(
        &self,
        room: usize,
        block: usize,
        left: usize,
        count: impl Fn(&Parts) -> Result<usize>,
    ) -> Result<Option<(Parts, usize)>> {
        let mut first = self.block();
        let mut room = room;
        if let Some(window) = &first {
            let tokens = count(&joined(self.content, &self.pieces, vec![window.clone()]))?;
            if tokens <= room.max(block) {
                room = room.max(tokens);
            } else {
                first = None;
            }
        }
        let mut chars = TOKEN_CHARS * room;
        loop {
            let parts = self.excerpt(chars, first.clone());
            let tokens = count(&parts)?;
            if tokens <= if chars > 0 { room } else { left } {
                return Ok((!parts.is_empty()).then_some((parts, tokens)));
            }
            if chars == 0 {
                return Ok(None);
            }
            chars = if chars > TOKEN_CHARS { chars * room / (tokens + 1) } else { 0 };
        }
    }

    /// The list or the code that has the best sentence or follows it, with the line before it.
    fn block(&self) -> Option<Range<usize>> {
        let Self { content, pieces, best, .. } = self;
        let number = *best.first()?;
        let text = |number: usize| content[pieces[number].clone()].trim_start();
        let is_fence = |number: &usize| text(*number).starts_with("```");
        let open: Vec<usize> = (0..pieces.len()).filter(is_fence).collect();
        let code = open.chunks_exact(2).find(|pair| {
            let (first, last) = (pair[0], pair[1]);
            (first.saturating_sub(1)..=last).contains(&number)
        });
        let window = code.map(|pair| pair[0]..pair[1] + 1).or_else(|| {
            let is_item = |number: &usize| starts_item(text(*number));
            let item =
                [number, number + 1].into_iter().find(|at| *at < pieces.len() && is_item(at))?;
            let start = (0..=item).rev().take_while(is_item).last()?;
            Some(start..start + (start..pieces.len()).take_while(is_item).count())
        })?;
        let window = window.start.saturating_sub(1)..window.end;
        (window.len() > 2).then_some(window)
    }

    /// Best parts, about `most` characters in total, but at least one part long enough to be
    /// understood, or the window `block`.
    fn excerpt(&self, most: usize, block: Option<Range<usize>>) -> Parts {
        let Self { content, pieces, scores, best } = self;
        let Some(first) = best.first() else { return Vec::new() };
        let least = FURTHER * scores[*first];
        let shown_chars = |window| chars_of(content, pieces, window);
        let mut left = most.saturating_sub(block.as_ref().map_or(0, shown_chars));
        let mut shown: Vec<Range<usize>> = block.into_iter().collect();
        for number in best.iter().copied() {
            let is_inside = shown.iter().any(|window| window.contains(&number));
            if is_inside || scores[number] < least && !shown.is_empty() {
                continue;
            }
            let window = understood(content, pieces, scores, number);
            let chars = chars_of(content, pieces, &window);
            if !shown.is_empty() && chars > left {
                break;
            }
            left = left.saturating_sub(chars);
            shown.push(window);
        }
        joined(content, pieces, shown)
    }
}

/// True for a line of a list: after a dash, a star, a dot or a number.
fn starts_item(line: &str) -> bool {
    let after = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with(['-', '*', '•', '|'])
        || after.len() < line.len() && after.starts_with(['.', ')', '、'])
}

/// Splits a text into sentences, and long sentences into pieces.
fn pieces(content: &str) -> Parts {
    let mut pieces = Vec::new();
    for sentence in sentences(content) {
        let start = sentence.as_ptr().addr() - content.as_ptr().addr();
        let (mut from, end) = (start, start + sentence.len());
        while end - from > PIECE_BYTES {
            let mut to = from + PIECE_BYTES;
            while !content.is_char_boundary(to) {
                to -= 1;
            }
            let space = content[from..to].rfind(char::is_whitespace).filter(|space| *space > 0);
            to = space.map_or(to, |space| from + space);
            pieces.push(from..to);
            from = to;
        }
        pieces.push(from..end);
    }
    pieces
}

/// Extends a piece by the neighbours with the better scores until it is long enough to be
/// understood.
fn understood(content: &str, pieces: &Parts, scores: &[f32], number: usize) -> Range<usize> {
    let mut window = number..number + 1;
    let is_short = |window: &Range<usize>| {
        let chars = chars_of(content, pieces, window);
        chars < if window.len() > 1 { LEAST_CHARS_OF_TWO } else { LEAST_CHARS }
    };
    while window.len() < pieces.len() && is_short(&window) {
        let before = window.start.checked_sub(1).map_or(f32::MIN, |before| scores[before]);
        let after = scores.get(window.end).copied().unwrap_or(f32::MIN);
        if before > after { window.start -= 1 } else { window.end += 1 }
    }
    window
}

fn chars_of(content: &str, pieces: &Parts, window: &Range<usize>) -> usize {
    content[pieces[window.start].start..pieces[window.end - 1].end].chars().count()
}

/// Turns windows of pieces into byte ranges, and merges ranges that only white space separates.
fn joined(content: &str, pieces: &Parts, mut windows: Vec<Range<usize>>) -> Parts {
    windows.sort_by_key(|window| window.start);
    let mut parts: Parts = Vec::new();
    for window in windows {
        let (start, end) = (pieces[window.start].start, pieces[window.end - 1].end);
        match parts.last_mut() {
            Some(last) if start <= last.end || content[last.end..start].trim().is_empty() => {
                last.end = last.end.max(end);
            }
            _ => parts.push(start..end),
        }
    }
    parts
}

/// Marks with which quoted words begin.
const QUOTATION_MARKS: [char; 8] = ['"', '“', '„', '«', '»', '「', '『', '>'];

/// Joins the parts into one text, with the marks of their dates, and a mark for each omission. A
/// part that begins within another's words stands in quotation marks: what announced them is left
/// out.
pub(super) fn quoted(
    content: &str,
    parts: &Parts,
    dates: &[LineMark],
    foreign: &[Range<usize>],
) -> String {
    const MARK: &str = "[…]";
    let mut text = String::new();
    let mut at = 0;
    for part in parts {
        let left_out = &content[at..part.start];
        if !left_out.trim().is_empty() {
            let line = at > 0 && left_out.contains('\n');
            text.push_str(match (at, line) {
                (0, _) => "",
                (_, true) => "\n",
                (_, false) => " ",
            });
            text.push_str(MARK);
            text.push_str(if line { "\n" } else { " " });
        }
        let within = foreign.iter().find(|words| words.contains(&part.start));
        let words = within.map(|words| &content[part.start..part.end.min(words.end)]);
        match words.map(str::trim_end).filter(|words| !words.starts_with(QUOTATION_MARKS)) {
            Some(words) => {
                let end = part.start + words.len();
                text.push('"');
                text.push_str(&with_marks(content, part.start..end, dates));
                text.push('"');
                text.push_str(&with_marks(content, end..part.end, dates));
            }
            None => text.push_str(&with_marks(content, part.clone(), dates)),
        }
        at = part.end;
    }
    if !content[at..].trim().is_empty() {
        text.push_str(if content[at..].starts_with('\n') { "\n" } else { " " });
        text.push_str(MARK);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_others_without_their_announcement_stand_in_quotation_marks() {
        let content = "Sum this up:\n\nI live in Rome. My wife paints. Is it good?";
        let shown = |content: &str, words: &str, others: &str| {
            let place = |words: &str| {
                let at = content.find(words).expect("the words");
                at..at + words.len()
            };
            quoted(content, &Parts::from([place(words)]), &[], &[place(others)])
        };
        let blog = "I live in Rome. My wife paints.";
        for (words, expected) in [
            ("My wife paints. Is it", "[…] \"My wife paints.\" Is it […]"),
            ("I live in Rome.", "[…] \"I live in Rome.\" […]"),
            ("Is it good?", "[…] Is it good?"),
            ("Sum this up:\n\nI live in Rome.", "Sum this up:\n\nI live in Rome. […]"),
        ] {
            assert_eq!(shown(content, words, blog), expected);
        }
        let (chat, said) = ("Hi.\n\n\"I live in Rome,\" she said.", "\"I live in Rome,\"");
        assert_eq!(shown(chat, &chat[5..], said), "[…] \"I live in Rome,\" she said.");
    }
}
