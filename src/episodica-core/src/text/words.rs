//! Words of a text; the only module that splits texts into words.
//!
//! [`words`] returns them as written, [`for_each_word`] folds them for the lexical index,
//! [`for_each_word_letter`] spells them out for comparisons, [`runs`] serves callers with their own
//! rule. Each function documents how it splits scripts without spaces.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::script::{is_alphanumeric, is_cjk, is_plain, is_unspaced};

/// The runs of characters that belong to a word, none empty.
pub(crate) fn runs(text: &str, belongs: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    text.split(move |c| !belongs(c)).filter(|run| !run.is_empty())
}

/// The words of `text` in order: runs of letters and digits with inner apostrophes; each CJK
/// character is one word.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(is_alphanumeric)?;
        rest = &rest[start..];
        let mut end = 0;
        let mut chars = rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if is_cjk(c) {
                if at == 0 {
                    end = c.len_utf8();
                }
                break;
            }
            let inner = matches!(c, '\'' | '’')
                && chars.peek().is_some_and(|(_, next)| is_alphanumeric(*next) && !is_cjk(*next));
            // Scripts such as Devanagari write vowels with combining marks.
            if !is_alphanumeric(c) && !inner && !is_combining_mark(c) {
                break;
            }
            end = at + c.len_utf8();
        }
        let (word, tail) = rest.split_at(end);
        rest = tail;
        Some(word)
    })
}

/// The number of words of `text`; each CJK character counts as one.
///
/// ```
/// use episodica_core::text::word_count;
/// assert_eq!(word_count("Don't panic, it's 42!"), 4);
/// assert_eq!(word_count("我用 Rust 写代码"), 6);
/// ```
pub fn word_count(text: &str) -> usize {
    words(text).count()
}

/// True if a text has some words one after the other, whatever their case, accents and marks
/// between them; in unspaced scripts also within a run. "Tobi" is in "Tobi's car".
pub(crate) fn has_words(text: &str, part: &str) -> bool {
    let (text, part) = (spaced(text), spaced(part));
    let is_part = |c: Option<char>| c.is_some_and(|c| is_alphanumeric(c) && !is_unspaced(c));
    !part.is_empty()
        && text.match_indices(&*part).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + part.len()..]);
            !is_part(before.chars().next_back()) && !is_part(after.chars().next())
        })
}

/// The folded words of a text with spaces between them.
fn spaced(text: &str) -> String {
    words(text).map(fold).collect::<Vec<_>>().join(" ")
}

/// The text with compatibility forms decomposed, in lower case, without accents (voicing marks of
/// kana and composed Hangul stay).
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        };
    }
    let mut folded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.bytes().position(|byte| !byte.is_ascii()) {
        // A character may combine with the one before it, but ASCII characters never do.
        let start = first.saturating_sub(1);
        let end = rest[first..].find(|c: char| c.is_ascii()).map_or(rest.len(), |at| first + at);
        folded.extend(rest[..start].chars().map(|c| c.to_ascii_lowercase()));
        fold_marked(&rest[start..end], &mut folded);
        rest = &rest[end..];
    }
    folded.extend(rest.chars().map(|c| c.to_ascii_lowercase()));
    Cow::Owned(folded)
}

fn fold_marked(text: &str, folded: &mut String) {
    if text.chars().all(is_plain) {
        let plain = |c: char| if c == '\u{2019}' { '\'' } else { c.to_ascii_lowercase() };
        return folded.extend(text.chars().map(plain));
    }
    let decomposed =
        text.nfkd().filter(|c| !is_combining_mark(*c) || matches!(c, '\u{3099}' | '\u{309a}'));
    folded.extend(
        decomposed
            .nfc()
            .flat_map(char::to_lowercase)
            .map(|c| if c == '\u{2019}' { '\'' } else { c }),
    );
}

/// Calls `visit` with every run of letters and digits in folded form, and true if its script is
/// unspaced.
///
/// A word may contain one apostrophe; the endings `'s 'd 'll 're 've 'm` are removed, and
/// contractions with `not` are left out.
pub(crate) fn for_each_word(text: &str, mut visit: impl FnMut(&str, bool)) {
    let folded = fold(text);
    let mut rest: &str = &folded;
    while let Some(start) = rest.find(is_alphanumeric) {
        rest = &rest[start..];
        let unspaced = rest.chars().next().is_some_and(is_unspaced);
        let belongs = |c: char| is_alphanumeric(c) && is_unspaced(c) == unspaced;
        let mut end = rest.find(|c: char| !belongs(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        let tail = if unspaced {
            None
        } else {
            rest[end..]
                .strip_prefix('\'')
                .map(|tail| &tail[..tail.find(|c: char| !belongs(c)).unwrap_or(tail.len())])
        };
        match tail {
            None | Some("") => visit(word, unspaced),
            Some(tail) => {
                end += 1 + tail.len();
                match tail {
                    "s" | "d" | "ll" | "re" | "ve" | "m" => visit(word, false),
                    "t" if word.ends_with('n') => {}
                    _ => visit(&format!("{word}{tail}"), false),
                }
            }
        }
        rest = &rest[end..];
    }
}

/// Calls `visit` with each pair of neighbouring characters; returns the number of pairs.
pub(crate) fn for_each_bigram(run: &str, mut visit: impl FnMut(&str)) -> usize {
    let mut starts = run.char_indices().map(|(at, _)| at).chain([run.len()]);
    let (Some(mut first), Some(mut middle)) = (starts.next(), starts.next()) else { return 0 };
    let mut count = 0;
    for end in starts {
        visit(&run[first..end]);
        (first, middle) = (middle, end);
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_is_folded_piece_by_piece_as_in_one(
            text in "([a-cA-C '’éÉ\\u{301}\\u{327}ßİﬁＡ한가か\\u{3099}]|\\PC){0,30}",
        ) {
            let mut whole = String::new();
            fold_marked(&text, &mut whole);
            prop_assert_eq!(fold(&text), whole);
        }
    }

    #[test]
    fn words_are_found_whole() {
        for (text, name) in [
            ("Tobi is allergic.", "Tobi"),
            ("TOBI's car", "tobi"),
            ("Ask (Tobi Haas)", "Tobi Haas"),
            ("我妹妹小雨对花生过敏。", "小雨"),
            ("José called.", "jose"),
            ("Well, good-morning!", "Good morning"),
        ] {
            assert!(has_words(text, name), "{text}");
        }
        let others =
            [("Tobias is allergic.", "Tobi"), ("Hannah sings.", "Ann"), ("", "Ann"), ("Ann", "")];
        for (text, name) in others {
            assert!(!has_words(text, name), "{text}");
        }
    }

    #[test]
    fn words_keep_combining_marks_and_apostrophes() {
        assert_eq!(
            words("it's rock'n'roll 'quoted' e\u{301}t\u{e9}").collect::<Vec<_>>(),
            ["it's", "rock'n'roll", "quoted", "e\u{301}t\u{e9}"]
        );
        assert_eq!(words("a猫b").collect::<Vec<_>>(), ["a", "猫", "b"]);
    }
}
