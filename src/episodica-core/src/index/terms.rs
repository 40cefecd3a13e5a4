//! Terms of the lexical index: folded, lower-case, stemmed words; in scripts without spaces,
//! bigrams and single characters.
//!
//! Records and questions are split in the same way. This module handles records; `score::query`
//! selects the terms of a question.

use std::borrow::Cow;
use std::cell::RefCell;

use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::FxHashMap;

use crate::text::vocabulary::{base_form, is_function_word};
use crate::text::words::{for_each_bigram, for_each_word};

/// Maximum length of a word that becomes a term, in characters. The rest of a longer run (base64,
/// hashes) is ignored.
const MAX_TERM_CHARS: usize = 64;

/// A term of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordTerm<'a> {
    /// The term.
    pub text: &'a str,
    /// True if the term counts for the record's length. Single characters of a longer CJK run do
    /// not: they only make the run findable, and the run's bigrams already count.
    pub counts: bool,
}

/// The terms of a text, extracted beforehand, so that many texts are analysed in parallel before
/// they are added to an index one by one.
#[derive(Debug, Clone, Default)]
pub struct TextTerms {
    text: String,
    /// End of each term in `text`, and true if the term counts.
    ends: Vec<(u32, bool)>,
}

impl TextTerms {
    /// Extracts the terms of a record's text.
    pub fn from_text(text: &str) -> Self {
        Self::of_words(text, |_, _| ())
    }

    /// Extracts the terms of a record's text; calls `visit` with each word, see [`for_each_word`].
    pub(super) fn of_words(text: &str, mut visit: impl FnMut(&str, bool)) -> Self {
        let mut terms = Self {
            text: String::with_capacity(text.len()),
            ends: Vec::with_capacity(text.len() / 8),
        };
        for_each_word(text, |word, unspaced| {
            visit(word, unspaced);
            for_each_term_of(word, unspaced, |term| {
                terms.text.push_str(term.text);
                terms.ends.push((terms.text.len() as u32, term.counts));
            });
        });
        terms
    }

    /// The terms in order, repetitions included.
    pub fn iter(&self) -> impl Iterator<Item = RecordTerm<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |(end, counts)| {
            let text = &self.text[start..*end as usize];
            start = *end as usize;
            RecordTerm { text, counts: *counts }
        })
    }
}

/// Calls `visit` with every term of a record's text, repetitions included.
pub fn for_each_term(text: &str, mut visit: impl FnMut(RecordTerm<'_>)) {
    for_each_word(text, |word, unspaced| for_each_term_of(word, unspaced, &mut visit));
}

/// Calls `visit` with the terms of a folded word, or of a run of an unspaced script.
fn for_each_term_of(word: &str, unspaced: bool, mut visit: impl FnMut(RecordTerm<'_>)) {
    if unspaced {
        let single =
            for_each_bigram(word, |bigram| visit(RecordTerm { text: bigram, counts: true })) == 0;
        for (at, c) in word.char_indices() {
            visit(RecordTerm { text: &word[at..at + c.len_utf8()], counts: single });
        }
    } else if !is_function_word(word) {
        with_stem(word, |stem| visit(RecordTerm { text: stem, counts: true }));
    }
}

/// Maximum number of stems in a thread's cache, which is then cleared. Most words of a conversation
/// repeat, so most stems are found in it.
const REMEMBERED: usize = 16_384;

thread_local! {
    static STEMS: RefCell<FxHashMap<Box<str>, Box<str>>> = RefCell::default();
    static ENGLISH: Stemmer = Stemmer::create(Algorithm::English);
    static RUSSIAN: Stemmer = Stemmer::create(Algorithm::Russian);
}

/// Calls `visit` with the stem of a folded word. `visit` must not call this function again.
/// Stemming takes a microsecond, a cached stem a tenth of that.
fn with_stem(word: &str, visit: impl FnOnce(&str)) {
    STEMS.with(|stems| {
        let mut stems = stems.borrow_mut();
        if let Some(known) = stems.get(word) {
            return visit(known);
        }
        let stem = stem_word(word);
        if stems.len() >= REMEMBERED {
            stems.clear();
        }
        visit(&stem);
        if word.len() <= MAX_TERM_CHARS {
            stems.insert(word.into(), stem.into());
        }
    });
}

/// The stem of a folded word: the base form of an irregular English word, then the Snowball stemmer
/// of its script (English or Russian).
pub fn stem_word(word: &str) -> Cow<'_, str> {
    let word = match word.char_indices().nth(MAX_TERM_CHARS) {
        Some((end, _)) => &word[..end],
        None => word,
    };
    match word.chars().next() {
        Some('\u{430}'..='\u{44f}') => RUSSIAN.with(|stemmer| stemmer.stem(word)),
        _ if word.is_ascii() => ENGLISH.with(|stemmer| stemmer.stem(base_form(word))),
        _ => Cow::Borrowed(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        for_each_term(text, |term| all.push(term.text.to_owned()));
        all
    }

    #[test]
    fn words_are_folded_stemmed_and_freed_of_function_words() {
        assert_eq!(
            terms("The cafés weren't closing; she went to Zoë’s café, o'clock!"),
            ["cafe", "close", "go", "zoe", "cafe", "oclock"]
        );
        assert_eq!(
            terms("src/net/pool.rs: ERR_TIMEOUT 0x1F"),
            ["src", "net", "pool", "rs", "err", "timeout", "0x1f"]
        );
        assert_eq!(terms("Билеты билетами"), ["билет", "билет"]);
    }

    #[test]
    fn unspaced_scripts_give_bigrams_and_single_characters() {
        assert_eq!(terms("我的cat病"), ["我的", "我", "的", "cat", "病"]);
        assert_eq!(terms("がぎ"), ["がぎ", "が", "ぎ"]);
        let mut counted = 0;
        for_each_term("我的病", |term| counted += usize::from(term.counts));
        assert_eq!(counted, 2);
    }

    #[test]
    fn strange_text_is_harmless() {
        for text in ["", "'", "''''", "🙂\u{200d}\u{0} '' ’", "a'", "'a'b'c", "\u{301}"] {
            terms(text);
        }
        assert_eq!(terms(&"x".repeat(1000))[0].len(), MAX_TERM_CHARS);
    }
}
