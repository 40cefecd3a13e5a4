//! What the rules need to know of one message, read once.

use super::cues;
use crate::index::{for_each_term, is_unspaced as is_cjk};
use crate::model::Message;

/// Bytes of a message that are read from its front, and as many from its end: a pasted log must not slow the talk down.
const READ_BYTES: usize = 2_000;

/// A sentence longer than this many words (or half as many CJK characters again) is no goodbye.
const CLOSING_SENTENCE_WORDS: usize = 12;

/// How loudly a message announces another subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Turn {
    /// Not at all.
    None,
    /// In words that are often an aside.
    Weak,
    /// In so many words.
    Strong,
}

/// One message as the rules see it.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    /// Its index terms, sorted, without repetition: words by their stems, CJK by pairs of characters.
    pub terms: Vec<String>,
    /// Does it open another subject?
    pub turn: Turn,
    /// Does it say goodbye?
    pub closes: bool,
    /// Does it take up the talk after a goodbye?
    pub resumes: bool,
    /// Has it no subject of its own ("haha yes", an emoji)?
    pub backchannel: bool,
    /// Does it end in a question, so that the next message answers it?
    pub asks: bool,
    /// Does it answer by its role (an assistant's or a tool's reply)?
    pub replies: bool,
}

impl Reading {
    /// Reads a message.
    pub fn of(message: &Message) -> Self {
        let (head, tail) = ends(&message.content);
        let folded = fold(head);
        let folded_tail = if tail.is_empty() { String::new() } else { fold(tail) };
        let last = if tail.is_empty() { &folded } else { &folded_tail };
        let mut terms = Vec::new();
        for_each_term(head, |term| terms.push(term.text.to_owned()));
        terms.sort_unstable();
        terms.dedup();
        let backchannel = tail.is_empty() && is_backchannel(&folded);
        Self {
            turn: turn_of(&folded),
            closes: closes(last),
            resumes: cues::RESUME.iter().any(|cue| starts_with_cue(&folded, cue)),
            backchannel,
            asks: last.trim_end_matches(|c: char| c == ')' || c == '"' || c == '”' || c.is_whitespace()).ends_with(['?', '？', '吗', '呢']),
            replies: matches!(&*message.role, "assistant" | "tool" | "function"),
            terms,
        }
    }
}

/// The front of a text and, if it is longer than that, its end.
fn ends(text: &str) -> (&str, &str) {
    if text.len() <= 2 * READ_BYTES {
        return (text, "");
    }
    let (mut front, mut back) = (READ_BYTES, text.len() - READ_BYTES);
    while !text.is_char_boundary(front) {
        front -= 1;
    }
    while !text.is_char_boundary(back) {
        back += 1;
    }
    (&text[..front], &text[back..])
}

/// Lower case, straight apostrophes.
fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '’' | '‘' | 'ʼ' => out.push('\''),
            c if c.is_ascii() => out.push(c.to_ascii_lowercase()),
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

/// Does the text begin with the cue, as a whole word?
fn starts_with_cue(text: &str, cue: &str) -> bool {
    text.trim_start().strip_prefix(cue).is_some_and(|rest| ends_word(cue, rest))
}

/// Between the end of a cue and what follows runs a word boundary (CJK needs none, nor does a cue that ends in punctuation).
fn ends_word(cue: &str, rest: &str) -> bool {
    let last = cue.chars().next_back().unwrap_or(' ');
    is_cjk(last) || !last.is_alphanumeric() || !rest.chars().next().is_some_and(|c| c.is_alphanumeric() || c == '\'')
}

/// Does the text hold the cue as whole words?
fn has_cue(text: &str, cue: &str) -> bool {
    text.match_indices(cue).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let starts = cue.starts_with(is_cjk) || !before.is_some_and(|c| c.is_alphanumeric() || c == '\'');
        starts && ends_word(cue, &text[at + cue.len()..])
    })
}

/// Sentences of a folded text, roughly: enough for cues, which stand at the borders of sentences.
fn clauses(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(['.', '!', '?', '。', '！', '？', '\n', ';', '；', '…'])
        .map(str::trim)
        .filter(|part| part.chars().any(char::is_alphanumeric))
}

/// Fillers that may stand before a cue ("oh, by the way").
const FILLERS: &[&str] = &["oh", "so", "ok", "okay", "well", "and", "hey", "yeah", "haha", "right", "um", "but", "哦", "啊", "嗯", "那"];

fn turn_of(folded: &str) -> Turn {
    let mut found = Turn::None;
    for (index, clause) in clauses(folded).take(3).enumerate() {
        let mut clause = clause;
        for _ in 0..2 {
            for filler in FILLERS {
                if let Some(rest) = clause.strip_prefix(filler).filter(|rest| ends_word(filler, rest)) {
                    clause = rest.trim_start_matches([',', '，', ' ', '、']);
                }
            }
        }
        let opening: String = clause.chars().take(48).collect();
        if cues::TURN_STRONG.iter().any(|cue| has_cue(&opening, cue)) {
            return Turn::Strong;
        }
        // An aside in a later sentence leaves the first one with the old subject.
        if index == 0 && cues::TURN_WEAK.iter().any(|cue| starts_with_cue(clause, cue)) {
            found = Turn::Weak;
        }
    }
    found
}

fn closes(folded: &str) -> bool {
    clauses(folded).rev().take(2).any(|clause| {
        let words = clause.split_whitespace().count() + clause.chars().filter(|c| is_cjk(*c)).count() / 2;
        words <= CLOSING_SENTENCE_WORDS
            && (cues::CLOSE_STRONG.iter().any(|cue| has_cue(clause, cue))
                || cues::CLOSE_OPENING.iter().any(|cue| starts_with_cue(clause, cue)))
    })
}

fn is_backchannel(folded: &str) -> bool {
    let mut words = 0;
    for word in folded.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|word| !word.is_empty()) {
        words += 1;
        if words > 7 {
            return false;
        }
        let known = match word.starts_with(is_cjk) {
            true => word.chars().all(|c| cues::BACKCHANNEL_CHARS.contains(c)),
            false => cues::BACKCHANNEL.binary_search(&word).is_ok() || stretched(word),
        };
        if !known {
            return false;
        }
    }
    true
}

/// "hahahah", "yesss", "oooh": few letters, often repeated.
fn stretched(word: &str) -> bool {
    let mut letters: Vec<char> = word.chars().collect();
    letters.dedup();
    letters.sort_unstable();
    letters.dedup();
    letters.len() * 2 <= word.chars().count() && letters.len() <= 3
}
