//! The normalised form of a text, for finding exact duplicates. It drops differences that a reader
//! would overlook.

use sha2::{Digest, Sha256};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::script::is_plain;
use crate::ids::to_hex;

/// Sentence punctuation, quotes and brackets. Excludes symbols that change the meaning at the end
/// of a text (`C#`, `C++`, `50%`).
fn is_outer_punctuation(c: char) -> bool {
    ".,;:!?'\"`()[]{}…·•‘’“”«»¡¿–—。、「」『』《》〈〉【】〜".contains(c)
}

/// `text` in the form that [`normalized_hash`] digests: NFKC, lower case, white space collapsed to
/// single spaces, sentence punctuation, quotes and brackets at both ends dropped.
///
/// A text of punctuation only stays unchanged, so `?` and `!` differ.
///
/// ```
/// use episodica_core::text::normalized;
/// assert_eq!(normalized("  “Likes  GREEN\ttea.” "), "likes green tea");
/// assert_eq!(normalized("Writes C#!"), "writes c#");
/// assert_eq!(normalized("?"), "?");
/// ```
pub fn normalized(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut gap = false;
    // ASCII text is already in NFKC, and most text is ASCII; this path takes a tenth of the time.
    if text.is_ascii() {
        for byte in text.bytes() {
            // The vertical tab is white space to Unicode, though not to ASCII.
            if byte.is_ascii_whitespace() || byte == b'\x0b' {
                gap = true;
                continue;
            }
            if gap && !folded.is_empty() {
                folded.push(' ');
            }
            gap = false;
            folded.push(char::from(byte.to_ascii_lowercase()));
        }
        return without_outer(folded);
    }
    let mut push = |c: char| {
        if c.is_whitespace() {
            gap = true;
            return;
        }
        if gap && !folded.is_empty() {
            folded.push(' ');
        }
        gap = false;
        folded.push(c);
    };
    if text.chars().all(is_plain) {
        text.chars().map(|c| c.to_ascii_lowercase()).for_each(&mut push);
    } else if is_composed(text.chars()) && is_composed(text.chars().flat_map(char::to_lowercase)) {
        text.chars().flat_map(char::to_lowercase).for_each(&mut push);
    } else {
        // Lower-casing can undo NFKC (`İ` becomes `i` and a mark), so composition runs again over
        // the result.
        text.nfkc().flat_map(char::to_lowercase).nfkc().for_each(&mut push);
    }
    without_outer(folded)
}

fn is_composed(text: impl Iterator<Item = char>) -> bool {
    is_nfkc_quick(text) == IsNormalized::Yes
}

fn without_outer(folded: String) -> String {
    let core = folded.trim_matches(|c: char| is_outer_punctuation(c) || c == ' ');
    if core.is_empty() { folded } else { core.to_owned() }
}

/// 32 hexadecimal digits that are equal for two texts exactly when their [`normalized`] forms are:
/// the first 128 bits of SHA-256.
///
/// ```
/// use episodica_core::text::normalized_hash;
/// assert_eq!(normalized_hash("Likes green tea."), normalized_hash("likes  green tea"));
/// assert_ne!(normalized_hash("Works at Google"), normalized_hash("Works at Meta"));
/// assert_eq!(normalized_hash("x").len(), 32);
/// ```
pub fn normalized_hash(text: &str) -> String {
    to_hex(&Sha256::digest(normalized(text).as_bytes())[..16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn width_form_and_case_are_ignored() {
        for (a, b) in [
            ("ＡＢＣ １２３", "abc 123"),
            ("e\u{301}", "\u{e9}"),
            ("你好！", "你好"),
            ("(Hi)", "hi"),
            ("ﬁne", "fine"),
        ] {
            assert_eq!(normalized(a), normalized(b));
        }
    }

    #[test]
    fn meaning_is_kept() {
        for (a, b) in [
            ("C#", "C"),
            ("C++", "C"),
            ("-5", "5"),
            ("👍", "👎"),
            ("50%", "50"),
            ("a.b", "ab"),
            ("!", "?"),
        ] {
            assert_ne!(normalized_hash(a), normalized_hash(b), "{a} {b}");
        }
    }

    proptest! {
        #[test]
        fn normalizing_twice_changes_nothing(text in "\\PC{0,40}") {
            let once = normalized(&text);
            prop_assert_eq!(normalized(&once), once);
        }

        #[test]
        fn text_in_nfkc_is_folded_as_any_other(text in "\\PC{0,40}") {
            let slowly: String = text.nfkc().flat_map(char::to_lowercase).nfkc().collect();
            let words: Vec<&str> = slowly.split_whitespace().collect();
            prop_assert_eq!(normalized(&text), without_outer(words.join(" ")));
        }
    }
}
