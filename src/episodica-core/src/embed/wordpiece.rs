//! BERT's uncased WordPiece tokenizer, optimised: cleaning, splitting, lower case without accents,
//! and greedy longest match.
//!
//! Gives the same result as the `BertNormalizer`, `BertPreTokenizer` and `WordPiece` of the
//! tokenizers crate (a test compares them), which take about twenty times as long because they
//! track the alignment with the source. Special tokens are not recognised: `[SEP]` in a text is
//! three words. Used by the static table; models from a folder have their own `tokenizer.json`.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;
use unicode_categories::UnicodeCategories;
use unicode_normalization::char::decompose_canonical;

use crate::text::script::{is_alphabetic, is_alphanumeric, is_inert};

/// Longer words, in characters, are not looked up, as in BERT.
const MAX_WORD_CHARS: usize = 100;

/// Number of bytes of a word that are kept, to bound the memory for texts without spaces; well
/// above the length of words that are looked up.
const MAX_WORD_BYTES: usize = 4_096;

/// The kind of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordKind {
    /// A run of characters between spaces, punctuation and Han characters: letters, digits,
    /// symbols, emoji.
    Run,
    /// One Han character.
    Han,
    /// One punctuation mark.
    Punctuation,
}

/// Calls `visit` with the words of `text` in order, cleaned, lower-cased and without accents, until
/// `visit` breaks.
pub(super) fn for_each_word(text: &str, visit: impl FnMut(&str, WordKind) -> ControlFlow<()>) {
    let mut words = WordSplitter { run: String::new(), visit };
    // A break is not an error: it only ends the walk early.
    let _ = text.chars().try_for_each(|c| words.push_char(c)).is_continue()
        && words.end_run().is_continue();
}

struct WordSplitter<V> {
    run: String,
    visit: V,
}

impl<V: FnMut(&str, WordKind) -> ControlFlow<()>> WordSplitter<V> {
    fn push_char(&mut self, c: char) -> ControlFlow<()> {
        match c {
            'a'..='z' | '0'..='9' => self.extend_word(c),
            'A'..='Z' => self.extend_word(c.to_ascii_lowercase()),
            ' ' | '\t' | '\n' | '\r' => return self.end_run(),
            _ if c.is_ascii_punctuation() => {
                return self.visit_single(c.encode_utf8(&mut [0; 4]), WordKind::Punctuation);
            }
            _ if c.is_ascii() => {} // the other control characters vanish
            _ => return self.push_wide(c),
        }
        ControlFlow::Continue(())
    }

    fn push_wide(&mut self, c: char) -> ControlFlow<()> {
        let letter = is_alphabetic(c);
        if !letter && (c == '\u{fffd}' || c.is_other()) {
            return ControlFlow::Continue(());
        }
        if c.is_whitespace() {
            return self.end_run();
        }
        if is_bert_han(c) {
            if is_inert(c) {
                return self.visit_single(c.encode_utf8(&mut [0; 4]), WordKind::Han);
            }
            let mut han = String::new();
            decompose_canonical(c, |part| han.push(part));
            return self.visit_single(&han, WordKind::Han);
        }
        let mut flow = ControlFlow::Continue(());
        decompose_canonical(c, |part| {
            if flow.is_continue() {
                flow = self.push_part(part);
            }
        });
        flow
    }

    /// Adds a character of the canonical decomposition.
    fn push_part(&mut self, part: char) -> ControlFlow<()> {
        if !part.is_ascii() && part.is_mark_nonspacing() {
            return ControlFlow::Continue(());
        }
        for c in part.to_lowercase() {
            if c.is_ascii_punctuation() || (!is_alphanumeric(c) && c.is_punctuation()) {
                self.visit_single(c.encode_utf8(&mut [0; 4]), WordKind::Punctuation)?;
            } else {
                self.extend_word(c);
            }
        }
        ControlFlow::Continue(())
    }

    fn extend_word(&mut self, c: char) {
        if self.run.len() < MAX_WORD_BYTES {
            self.run.push(c);
        }
    }

    fn visit_single(&mut self, word: &str, kind: WordKind) -> ControlFlow<()> {
        self.end_run()?;
        (self.visit)(word, kind)
    }

    fn end_run(&mut self) -> ControlFlow<()> {
        if self.run.is_empty() {
            return ControlFlow::Continue(());
        }
        let flow = (self.visit)(&self.run, WordKind::Run);
        self.run.clear();
        flow
    }
}

/// The characters that BERT splits one by one, including the gap below U+2B920 that the tokenizers
/// crate has.
fn is_bert_han(c: char) -> bool {
    matches!(c as u32,
        0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF
        | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F | 0x2B740..=0x2B81F
        | 0x2B920..=0x2CEAF | 0x2F800..=0x2FA1F)
}

/// The vocabulary, indexed for greedy matching.
pub(super) struct WordPiece {
    first: FxHashMap<&'static str, u16>,
    /// Pieces that continue a word, without their `##`.
    inner: FxHashMap<&'static str, u16>,
    longest: usize,
}

impl WordPiece {
    /// Reads a vocabulary with one token per line; the line number, from 0, is the token's id.
    pub(super) fn new(vocabulary: &'static str) -> Self {
        let mut pieces =
            Self { first: FxHashMap::default(), inner: FxHashMap::default(), longest: 0 };
        for (token, id) in vocabulary.lines().zip(0u16..) {
            pieces.longest = pieces.longest.max(token.len());
            match token.strip_prefix("##") {
                Some(rest) if !rest.is_empty() => pieces.inner.insert(rest, id),
                _ => pieces.first.insert(token, id),
            };
        }
        pieces
    }

    /// Appends the pieces of `word`, longest match first. Returns false and appends nothing if no
    /// pieces cover the word (`[UNK]` in BERT).
    pub(super) fn append_pieces(&self, word: &str, pieces: &mut Vec<u16>) -> bool {
        if word.len() > MAX_WORD_CHARS && word.chars().count() > MAX_WORD_CHARS {
            return false;
        }
        let before = pieces.len();
        let mut rest = word;
        while !rest.is_empty() {
            let known = if rest.len() == word.len() { &self.first } else { &self.inner };
            let mut end = rest.len().min(self.longest);
            let found = loop {
                if rest.is_char_boundary(end)
                    && let Some(id) = known.get(&rest[..end])
                {
                    break Some(*id);
                }
                end -= 1;
                if end == 0 {
                    break None;
                }
            };
            let Some(id) = found else {
                pieces.truncate(before);
                return false;
            };
            pieces.push(id);
            rest = &rest[end..];
        }
        true
    }

    /// The token that is exactly `word`, if there is one.
    pub(super) fn whole_word(&self, word: &str) -> Option<u16> {
        self.first.get(word).copied()
    }
}

#[cfg(test)]
mod tests {
    use crate::fork::ForkLazy;
    use std::collections::HashMap;

    use serde_json::json;
    use tokenizers::Tokenizer;

    use super::*;

    static VOCABULARY: &str = include_str!("../../assets/vocab.txt");
    const UNKNOWN: u16 = 100;

    fn ours(pieces: &WordPiece, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        for_each_word(text, |word, _| {
            if !pieces.append_pieces(word, &mut ids) {
                ids.push(UNKNOWN);
            }
            ControlFlow::Continue(())
        });
        ids.into_iter().map(u32::from).collect()
    }

    static PIECES: ForkLazy<WordPiece> = ForkLazy::new(|| WordPiece::new(VOCABULARY));

    static REFERENCE: ForkLazy<Tokenizer> = ForkLazy::new(|| {
        let vocabulary: HashMap<&str, usize> = VOCABULARY.lines().zip(0..).collect();
        let tokenizer = json!({
            "version": "1.0", "added_tokens": [],
            "normalizer": {
                "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                "strip_accents": null, "lowercase": true,
            },
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "model": {
                "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100, "vocab": vocabulary,
            },
        });
        Tokenizer::from_bytes(tokenizer.to_string()).unwrap()
    });

    fn assert_same(texts: impl IntoIterator<Item = String>) {
        for text in texts {
            let expected = REFERENCE.encode_fast(text.as_str(), false).unwrap();
            assert_eq!(ours(&PIECES, &text), expected.get_ids(), "{text:?}");
        }
    }

    #[test]
    fn texts_of_many_kinds_split_as_the_tokenizers_crate_splits_them() {
        let texts = [
            "",
            " \t\r\n",
            "We're re-reading O'Brien's \"unaffordable\" e-mail (v2.0.1) at 9:45pm…",
            "Crème brûlée, naïve façade; ŁÓDŹ, İstanbul, straße, Ångström, Việt Nam",
            "tab\there\u{b}vertical\u{0}nul\u{7f}del\u{ad}soft\u{200b}zero\u{feff}bom\u{fffd}end",
            "no\u{a0}break\u{2003}em\u{3000}wide\u{2028}line\u{85}next",
            "C++ & C# cost $5 < 6€ = ±7 °C ^_^ ~ `x|y` @home #tag 100% ½ № ™",
            "猫が好きです。私は東京に住んでいます！ガギグゲゴ ﾊﾟｿｺﾝ ＡＢＣ１２３",
            "고양이를 좋아해요, 서울에서 왔어요?",
            "我昨天买了一只小猫。豈更車 𠀀𪜀𫠠 〇々",
            "Я живу в Москве; ещё люблю Йогурт и Ёлку",
            "أحب القِطَط، هل تعيش هنا؟ שָׁלוֹם עולם",
            "ฉันรักแมว नमस्ते दुनिया বাংলা தமிழ் ქართული Ἑλλάς ῾ΕΛΛΆΣ;",
            "😀👩‍👩‍👧‍👦 👍🏽 🇫🇷 ❤️ hi😂there →x←",
            "supercalifragilisticexpialidocious Donaudampfschifffahrtsgesellschaft \
             http://a.b/c?d=e&f=%20",
            "e\u{301}\u{323}x a\u{302e}\u{302f}b ﬁn ǆ ŉ \u{1e9e} \u{37e} \u{1fef} \u{2126}",
        ];
        let long = [99, 100, 101, 5_000].map(|length| format!("{} end", "é".repeat(length)));
        assert_same(texts.map(str::to_owned).into_iter().chain(long));
    }

    #[test]
    fn every_character_is_treated_as_the_tokenizers_crate_treats_it() {
        let chars: Vec<char> = ('\0'..='\u{33fff}')
            .chain('\u{e0000}'..='\u{e01ff}')
            .chain('\u{10fff0}'..=char::MAX)
            .collect();
        assert_same(
            chars.chunks(64).map(|chars| chars.iter().map(|c| format!("a{c}b {c} ")).collect()),
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_splits_as_the_tokenizers_crate_splits_it(
            text in "[a-zA-Zéü猫かй가 .,'\u{301}\u{1f600}0-9-]{0,40}|\\PC{0,40}"
        ) {
            assert_same([text]);
        }
    }

    #[test]
    fn a_break_ends_the_walk() {
        let mut words = Vec::new();
        for_each_word("one two three", |word, _| {
            words.push(word.to_owned());
            if words.len() < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        assert_eq!(words, ["one", "two"]);
    }
}
