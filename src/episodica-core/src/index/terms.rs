//! Terms as the lexical index sees them: folded, lower case, stemmed words; bigrams and single characters of scripts without spaces.
//!
//! The same function reads records and queries, except that a query of two or more CJK characters asks for bigrams alone.
//! It does not drop anything on the record's side but function words; it knows nothing of scores.

use std::cell::RefCell;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::words::{base_form, is_function_word};

/// Longest word that becomes a term, in characters; the rest of a longer run (base64, hashes) is left out.
const MAX_TERM_CHARS: usize = 64;

/// Is the text that of a record or of a question?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// CJK runs give bigrams and single characters, so that a question of one character finds its record.
    Record,
    /// CJK runs of two or more characters give bigrams only.
    Query,
}

/// Calls `visit` with every term of `text`, in order, repetitions included.
pub fn for_each_term(text: &str, side: Side, mut visit: impl FnMut(&str)) {
    for_each_word(text, |word, cjk| match cjk {
        true => visit_cjk(word, side, &mut visit),
        false => visit_word(word, &mut visit),
    });
}

/// All terms of `text`; see [`for_each_term`].
pub fn terms(text: &str, side: Side) -> Vec<String> {
    let mut all = Vec::new();
    for_each_term(text, side, |term| all.push(term.to_owned()));
    all
}

/// Is it a character of a script that is written without spaces between words?
pub fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{20000}'..='\u{323af}')
}

/// Calls `visit` with every run of letters and digits in folded lower case, and whether it is of an unspaced script.
pub fn for_each_word(text: &str, mut visit: impl FnMut(&str, bool)) {
    let mut word = String::new();
    let mut kind = Kind::None;
    let mut previous_apostrophe = false;
    let mut push = |c: char| {
        let c = if c == '\u{2019}' { '\'' } else { c };
        let next = match c {
            _ if is_unspaced(c) => Kind::Cjk,
            _ if c.is_alphanumeric() || is_combining_mark(c) => Kind::Word,
            _ => Kind::None,
        };
        if next == Kind::Word && kind == Kind::Word {
            if previous_apostrophe {
                word.push('\'');
            }
            previous_apostrophe = false;
            word.extend(c.to_lowercase());
            return;
        }
        if c == '\'' && kind == Kind::Word && !previous_apostrophe {
            previous_apostrophe = true;
            return;
        }
        if next != kind || next == Kind::None {
            if !word.is_empty() {
                visit(&word, kind == Kind::Cjk);
                word.clear();
            }
            previous_apostrophe = false;
            kind = next;
        }
        if next != Kind::None {
            word.extend(c.to_lowercase());
        }
    };
    if text.is_ascii() {
        text.chars().for_each(&mut push);
    } else {
        // Compatibility forms fold to plain ones and accents go, but composed syllables (Hangul, voiced kana) must come back together.
        text.nfkd().filter(|c| !is_combining_mark(*c) || matches!(c, '\u{3099}' | '\u{309a}')).nfc().for_each(&mut push);
    }
    push('\n');
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    None,
    Word,
    Cjk,
}

fn visit_cjk(run: &str, side: Side, visit: &mut impl FnMut(&str)) {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    let single = starts.len() == 2;
    if single || side == Side::Record {
        for pair in starts.windows(2) {
            visit(&run[pair[0]..pair[1]]);
        }
    }
    for triple in starts.windows(3) {
        visit(&run[triple[0]..triple[2]]);
    }
}

thread_local! {
    static STEMMER: Stemmer = Stemmer::create(Algorithm::English);
    static SCRATCH: RefCell<String> = const { RefCell::new(String::new()) };
}

fn visit_word(word: &str, visit: &mut impl FnMut(&str)) {
    let word = match word.char_indices().nth(MAX_TERM_CHARS) {
        Some((end, _)) => &word[..end],
        None => word,
    };
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.clear();
        let word = match word.split_once('\'') {
            None => word,
            Some((stem, "s" | "d" | "ll" | "re" | "ve" | "m")) => stem,
            Some((stem, "t")) if stem.ends_with('n') => return,
            Some(_) => {
                scratch.extend(word.chars().filter(|c| *c != '\''));
                scratch.as_str()
            }
        };
        if is_function_word(word) {
            return;
        }
        let base = base_form(word);
        match base.is_ascii() {
            true => STEMMER.with(|stemmer| visit(&stemmer.stem(base))),
            false => visit(base),
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_stemmed_and_freed_of_function_words() {
        assert_eq!(terms("The cafés weren't closing; she went to Zoë's café!", Side::Record), ["cafe", "close", "go", "zoe", "cafe"]);
        assert_eq!(terms("src/net/pool.rs: ERR_TIMEOUT 0x1F", Side::Query), ["src", "net", "pool", "rs", "err", "timeout", "0x1f"]);
    }

    #[test]
    fn unspaced_scripts_give_bigrams_and_on_records_single_characters() {
        assert_eq!(terms("生日", Side::Query), ["生日"]);
        assert_eq!(terms("猫", Side::Query), ["猫"]);
        assert_eq!(terms("我的cat病了", Side::Record), ["我", "的", "我的", "cat", "病", "了", "病了"]);
        assert_eq!(terms("がぎ한국", Side::Query), ["がぎ", "ぎ한", "한국"]);
    }

    #[test]
    fn strange_text_is_harmless() {
        assert!(terms("", Side::Record).is_empty());
        assert!(terms("🙂\u{200d}\u{0} '' ’", Side::Record).is_empty());
        assert_eq!(terms(&"x".repeat(1000), Side::Record)[0].len(), MAX_TERM_CHARS);
    }
}
