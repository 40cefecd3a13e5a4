//! English word lists that separate topic words from other words, and a key
//! that all forms of a word share.
//!
//! The lists are data (`lexicon.txt`): everyday words, no names. A lookup costs one hash.

use crate::fork::ForkLazy;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::text::hash::{Fnv1a, fnv1a};
use crate::text::vocabulary::{lines, shared};

/// The lists. Function words that other modules need too are in `text::vocabulary`.
const TABLE: &str = include_str!("lexicon.txt");

/// The class of a word in the lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct WordClass(u8);

impl WordClass {
    const FUNCTION: u8 = 1;
    const EVERYDAY: u8 = 2;

    /// Whether the word may be a subject.
    pub fn is_content(self) -> bool {
        self.0 & (Self::FUNCTION | Self::EVERYDAY) == 0
    }

    /// Whether the word is a function word.
    pub fn is_function(self) -> bool {
        self.0 & Self::FUNCTION != 0
    }
}

/// Identity hasher for keys that are already hashes.
#[derive(Default)]
pub(super) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 ^= fnv1a(bytes.iter().copied());
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// A map by word keys.
pub(super) type KeyMap<V> = HashMap<u64, V, BuildHasherDefault<IdentityHasher>>;

static CLASSES: ForkLazy<KeyMap<u8>> = ForkLazy::new(|| {
    let mut classes = KeyMap::default();
    let own = lines(TABLE).filter_map(|(list, line)| Some((class_of_list(list)?, line)));
    let own = own.flat_map(|(class, line)| line.split_whitespace().map(move |word| (class, word)));
    for (class, word) in shared("function").map(|word| (WordClass::FUNCTION, word)).chain(own) {
        *classes.entry(exact_key(word)).or_insert(0) |= class;
        // Function words have no forms: "as" must not give "asses" the same key.
        if class == WordClass::EVERYDAY && word.len() > 2 {
            *classes.entry(word_key(word)).or_insert(0) |= class;
        }
    }
    classes
});

/// The class for a list of the table.
fn class_of_list(name: &str) -> Option<u8> {
    match name {
        "function" => Some(WordClass::FUNCTION),
        "everyday" => Some(WordClass::EVERYDAY),
        _ => None,
    }
}

/// The class of a word, ignoring case.
pub(super) fn class_of(word: &str) -> WordClass {
    if let Some((stem, suffix)) = word.split_once(['\'', '’']) {
        let contracted = matches!(suffix, "m" | "ve" | "re" | "ll" | "d")
            || suffix == "t" && stem.ends_with('n');
        let verb = suffix == "s"
            && CLASSES.get(&exact_key(stem)).is_some_and(|class| class & WordClass::FUNCTION != 0);
        return if contracted || verb { WordClass(WordClass::FUNCTION) } else { class_of(stem) };
    }
    let exact = CLASSES.get(&exact_key(word)).copied();
    WordClass(exact.unwrap_or_else(|| {
        CLASSES.get(&word_key(word)).copied().unwrap_or(0) & WordClass::EVERYDAY
    }))
}

/// Whether a word is a function word or an everyday word, so that a capital letter at the start of
/// a sentence does not make it a name.
pub(in crate::generate) fn is_common_word(word: &str) -> bool {
    !class_of(word).is_content()
}

/// A key that ignores case.
pub(super) fn exact_key(word: &str) -> u64 {
    let mut hash = Fnv1a::default();
    if word.is_ascii() {
        word.bytes().for_each(|byte| hash.push(byte.to_ascii_lowercase()));
    } else {
        let mut buffer = [0_u8; 4];
        for c in word.chars().flat_map(char::to_lowercase) {
            let c = if c == '’' { '\'' } else { c };
            c.encode_utf8(&mut buffer).bytes().for_each(|byte| hash.push(byte));
        }
    }
    hash.finish()
}

/// A key that most forms of an English word share (`moves`, `moving`, `moved`); exact for words
/// that are not plain ASCII.
pub(super) fn word_key(word: &str) -> u64 {
    const LONGEST: usize = 40;
    let bytes = word.as_bytes();
    if bytes.len() > LONGEST
        || !bytes.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'\'')
    {
        return exact_key(word);
    }
    let mut buffer = [0_u8; LONGEST];
    let lower = &mut buffer[..bytes.len()];
    lower.copy_from_slice(bytes);
    lower.make_ascii_lowercase();
    let mut end = lower.iter().position(|byte| *byte == b'\'').unwrap_or(lower.len());
    if end > 4 && lower[..end].ends_with(b"ies") {
        end -= 2;
    } else if end > 5 && lower[..end].ends_with(b"ing") {
        end -= 3;
    } else if end > 4 && lower[..end].ends_with(b"ed") {
        end -= 2;
    } else if end > 3
        && lower[..end].ends_with(b"s")
        && !lower[..end].ends_with(b"ss")
        && !lower[..end].ends_with(b"us")
    {
        end -= 1;
    }
    if end > 3 && lower[end - 1] == b'e' {
        end -= 1;
    }
    if end > 3 && lower[end - 1] == lower[end - 2] {
        end -= 1;
    }
    if end > 3 && lower[end - 1] == b'y' {
        lower[end - 1] = b'i';
    }
    fnv1a(lower[..end].iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_share_a_key_and_everyday_words_are_known_in_all_forms() {
        for (one, other) in [
            ("move", "moving"),
            ("Move", "moved"),
            ("class", "classes"),
            ("city", "cities"),
            ("stop", "stopped"),
            ("Lena", "lena's"),
        ] {
            assert_eq!(word_key(one), word_key(other), "{one} {other}");
        }
        assert_ne!(word_key("bus"), word_key("bu"));
        for word in [
            "thinking", "Looks", "the", "I'm", "going", "really", "loved", "I'm", "don't", "that’s",
        ] {
            assert!(!class_of(word).is_content(), "{word}");
        }
        for word in ["pottery", "Lena's", "Iceland", "ankle", "rustls", "FG-1042"] {
            assert!(class_of(word).is_content(), "{word}");
        }
    }
}
