//! Scripts of characters, as far as the engine distinguishes them.

/// Whether `c` belongs to a script that is processed without spaces between words: Han, kana,
/// bopomofo and Hangul.
///
/// Punctuation is not included.
///
/// ```
/// use episodica_core::text::is_cjk;
/// assert!(is_cjk('猫') && is_cjk('ね') && is_cjk('고'));
/// assert!(!is_cjk('。') && !is_cjk('é'));
/// ```
pub fn is_cjk(c: char) -> bool {
    c as u32 >= 0x1100
        && (is_han(c)
            || is_kana(c)
            || is_hangul(c)
            // Bopomofo; old and half-width letters of Hangul.
            || matches!(c as u32, 0x3105..=0x312F | 0x31A0..=0x31BF)
            || matches!(c as u32, 0xA960..=0xA97F | 0xD7B0..=0xD7FF | 0xFFA0..=0xFFDC))
}

/// Whether `c` is a Han character (Chinese, or Japanese kanji), including the iteration mark and
/// the zero.
///
/// ```
/// use episodica_core::text::is_han;
/// assert!(is_han('年') && is_han('〇'));
/// assert!(!is_han('の'));
/// ```
pub fn is_han(c: char) -> bool {
    is_ideograph(c) || matches!(c as u32, 0x2E80..=0x2FD5 | 0x3005..=0x3007 | 0x3021..=0x3029)
}

/// Whether `c` is an ideograph with its own code: not a radical, number or iteration mark.
#[inline]
fn is_ideograph(c: char) -> bool {
    matches!(c as u32, 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x323AF)
}

/// Whether `c` is kana of any width.
pub(crate) fn is_kana(c: char) -> bool {
    is_katakana(c) || matches!(c as u32, 0x3041..=0x309F | 0xFF66..=0xFF9D)
}

/// Whether `c` is katakana of full width.
pub(crate) fn is_katakana(c: char) -> bool {
    matches!(c as u32, 0x30A1..=0x30FA | 0x30FC..=0x30FF | 0x31F0..=0x31FF)
}

/// Whether `c` is a syllable or a letter of modern Hangul.
pub(crate) fn is_hangul(c: char) -> bool {
    matches!(c as u32, 0x1100..=0x11FF | 0x3130..=0x318F | 0xAC00..=0xD7AF)
}

/// Whether `c` is Thai, Lao, Burmese or Khmer, which write no spaces between words.
pub(crate) fn is_abugida(c: char) -> bool {
    matches!(c as u32, 0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF)
}

/// Whether `c` is an ideograph or in the blocks of kana, including their marks.
#[inline]
pub(crate) fn is_ideograph_or_kana(c: char) -> bool {
    matches!(c as u32, 0x3040..=0x30FF) || is_ideograph(c)
}

/// Whether the lexical index treats `c` as a word by itself and in pairs: ideographs, kana, Hangul
/// syllables and abugidas. Changing the result invalidates indexes on disk.
pub(crate) fn is_unspaced(c: char) -> bool {
    c as u32 >= 0x0E00
        && (is_ideograph_or_kana(c) || is_abugida(c) || matches!(c as u32, 0xAC00..=0xD7AF))
}

/// Whether `c` is an emoji or joins two of them.
pub(crate) fn is_emoji(c: char) -> bool {
    matches!(c as u32, 0x1F000..=0x1FAFF | 0x2600..=0x27BF | 0x2B00..=0x2BFF | 0xFE0F | 0x200D)
}

/// A faster [`char::is_alphabetic`], which takes a hundred instructions for a non-ASCII character.
#[inline]
pub(crate) fn is_alphabetic(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { is_letter(c, char::is_alphabetic) }
}

/// A faster [`char::is_alphanumeric`], for the same reason.
#[inline]
pub(crate) fn is_alphanumeric(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { is_letter(c, char::is_alphanumeric) }
}

/// Whether a non-ASCII character is a letter. Ranges decide frequent characters, which are no
/// digits; `else_is` decides all others.
fn is_letter(c: char, else_is: fn(char) -> bool) -> bool {
    match c {
        // Latin, Cyrillic, kana, Han, Hangul.
        '\u{c0}'..='\u{d6}'
        | '\u{d8}'..='\u{f6}'
        | '\u{f8}'..='\u{2c1}'
        | '\u{400}'..='\u{481}'
        | '\u{3041}'..='\u{3096}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' => true,
        // Dashes, quotation marks, ellipses; Chinese punctuation; emoji.
        '\u{2010}'..='\u{2027}'
        | '\u{3000}'..='\u{3003}'
        | '\u{3008}'..='\u{3011}'
        | '\u{ff01}'
        | '\u{ff0c}'
        | '\u{ff1a}'
        | '\u{ff1b}'
        | '\u{ff1f}'
        | '\u{1f300}'..='\u{1faff}' => false,
        _ => else_is(c),
    }
}

/// Whether Unicode normalization and lower-casing leave `c` unchanged regardless of its neighbours.
/// Not complete: covers ideographs and the marks that are frequent in text.
pub(crate) fn is_inert(c: char) -> bool {
    matches!(c,
        '\u{2012}'..='\u{2015}'
        | '\u{2018}'..='\u{2023}'
        | '\u{3001}'..='\u{3003}'
        | '\u{3008}'..='\u{3011}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{1f300}'..='\u{1faff}')
}

/// Whether normalization changes `c` at most together with its neighbours: true for ASCII and inert
/// characters. A text of only such characters stays the same, apart from case.
pub(crate) fn is_plain(c: char) -> bool {
    c.is_ascii() || is_inert(c)
}

#[cfg(test)]
mod tests {
    use unicode_normalization::UnicodeNormalization;
    use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

    use super::*;

    #[test]
    fn letters_and_digits_are_those_of_the_standard_library() {
        for c in '\0'..=char::MAX {
            assert_eq!(is_alphabetic(c), c.is_alphabetic(), "{c:?}");
            assert_eq!(is_alphanumeric(c), c.is_alphanumeric(), "{c:?}");
        }
    }

    #[test]
    fn inert_characters_are_neither_changed_nor_composed() {
        for c in '\0'..=char::MAX {
            if is_inert(c) {
                assert!(c.nfkc().eq([c]) && c.nfkd().eq([c]) && c.to_lowercase().eq([c]), "{c:?}");
                assert_eq!(canonical_combining_class(c), 0, "{c:?}");
                continue;
            }
            let mut parts = Vec::new();
            decompose_canonical(c, |part| parts.push(part));
            assert!(parts.len() < 2 || !parts.into_iter().any(is_inert), "{c:?}");
        }
    }
}
