//! Scripts and languages, as far as the engine treats them differently: English, Chinese, and
//! everything else.
//!
//! This is not language identification. It only decides which rules (dates, templates, sentence
//! ends) suit a text, and is the same on every machine.

use std::sync::LazyLock;

/// The languages that the engine has rules of its own for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// English, and Latin-script text too short to say otherwise.
    English,
    /// Chinese, simplified or traditional, with whatever Latin words are mixed in.
    Chinese,
    /// Any other language, and texts without letters.
    Other,
}

/// How many characters [`language`] looks at: what follows does not change its answer.
const SAMPLE_CHARS: usize = 4_000;

/// English words that carry no topic: a text in English has some, a text in another Latin-script
/// language has hardly any.
const ENGLISH: &[&str] = &[
    "a", "about", "after", "all", "and", "any", "are", "at", "be", "but", "by", "can", "did", "do",
    "for", "from", "get", "had", "has", "have", "he", "her", "his", "how", "i", "if", "in", "is",
    "it", "its", "just", "like", "my", "not", "of", "on", "or", "our", "out", "she", "so", "some",
    "that", "the", "their", "them", "then", "there", "they", "this", "to", "up", "was", "we",
    "were", "what", "when", "where", "which", "who", "why", "will", "with", "would", "you", "your",
];

/// Words of the same kind from the other large Latin-script languages, without those that English
/// shares.
const FOREIGN: &[&str] = &[
    "aber", "auf", "avec", "bei", "che", "como", "con", "dans", "das", "de", "del", "della", "den",
    "der", "des", "die", "dit", "du", "een", "ein", "eine", "el", "en", "es", "est", "et", "het",
    "ich", "il", "ist", "je", "la", "las", "le", "les", "los", "mais", "mit", "muy", "nicht",
    "não", "och", "os", "para", "pas", "per", "por", "pour", "que", "qui", "se", "sie", "sind",
    "som", "sono", "sur", "três", "um", "uma", "un", "und", "une", "van", "vous", "wir", "y", "zu",
];

/// Whether `c` is written without spaces between words, or needs the same care: Han, kana, bopomofo
/// and Hangul.
///
/// Punctuation is not included.
///
/// ```
/// use episodica_core::text::is_cjk;
/// assert!(is_cjk('猫') && is_cjk('ね') && is_cjk('고'));
/// assert!(!is_cjk('。') && !is_cjk('é'));
/// ```
pub fn is_cjk(c: char) -> bool {
    let code = c as u32;
    code >= 0x1100
        && (is_han(c)
            || is_kana(c)
            || matches!(code,
                0x1100..=0x11FF | 0x3105..=0x312F | 0x3130..=0x318F | 0x31A0..=0x31BF | 0xA960..=0xA97F | 0xAC00..=0xD7FF | 0xFFA0..=0xFFDC))
}

/// Whether `c` is a Han character (Chinese, or the kanji of Japanese), the iteration mark and the
/// zero included.
///
/// ```
/// use episodica_core::text::is_han;
/// assert!(is_han('年') && is_han('〇'));
/// assert!(!is_han('の'));
/// ```
pub fn is_han(c: char) -> bool {
    matches!(c as u32,
        0x2E80..=0x2FD5 | 0x3005..=0x3007 | 0x3021..=0x3029 | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x323AF)
}

fn is_kana(c: char) -> bool {
    matches!(c as u32, 0x3041..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9D)
}

/// The words of `text` in order: runs of letters and digits with inner apostrophes, each CJK
/// character by itself.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(|c: char| c.is_alphanumeric())?;
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
                && chars.peek().is_some_and(|(_, next)| next.is_alphanumeric() && !is_cjk(*next));
            if !c.is_alphanumeric() && !inner && !is_combining(c) {
                break;
            }
            end = at + c.len_utf8();
        }
        let (word, tail) = rest.split_at(end);
        rest = tail;
        Some(word)
    })
}

/// Marks that belong to the letter before them; scripts such as Devanagari write vowels with them.
fn is_combining(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// How many words `text` has; each CJK character counts as one.
///
/// ```
/// use episodica_core::text::word_count;
/// assert_eq!(word_count("Don't panic, it's 42!"), 4);
/// assert_eq!(word_count("我用 Rust 写代码"), 6);
/// ```
pub fn word_count(text: &str) -> usize {
    words(text).count()
}

/// Which of the engine's languages `text` is in, judged by its first 4,000 characters.
///
/// Chinese has at least as many Han characters as Latin words, and (nearly) no kana or Hangul.
/// English has English function words, or is at most six plain Latin words long without function
/// words of another language. A text without letters is `Other`.
///
/// ```
/// use episodica_core::text::{Language, language};
/// assert_eq!(language("We moved to Lisbon in spring."), Language::English);
/// assert_eq!(language("我们春天搬到了里斯本。"), Language::Chinese);
/// assert_eq!(language("春にリスボンへ引っ越しました。"), Language::Other);
/// assert_eq!(language("Nous sommes partis avec le train de nuit."), Language::Other);
/// ```
pub fn language(text: &str) -> Language {
    let sample = match text.char_indices().nth(SAMPLE_CHARS) {
        Some((end, _)) => &text[..end],
        None => text,
    };
    let (mut han, mut syllables, mut latin, mut foreign_letters) = (0usize, 0usize, 0usize, 0usize);
    for c in sample.chars() {
        match c {
            'a'..='z' | 'A'..='Z' => latin += 1,
            _ if c.is_ascii() => {}
            _ if is_han(c) => han += 1,
            _ if is_cjk(c) => syllables += 1,
            _ if c.is_alphabetic() => foreign_letters += 1,
            _ => {}
        }
    }
    // A stray の is decoration in Chinese shop names; a twentieth is not.
    if syllables > 0 && syllables * 20 > han + syllables {
        return Language::Other;
    }
    let (mut plain_words, mut english, mut foreign) = (0usize, 0usize, 0usize);
    for word in
        words(sample).filter(|word| word.starts_with(|c: char| c.is_alphabetic() && !is_cjk(c)))
    {
        plain_words += 1;
        match function_word(word) {
            Some(Owner::English) => english += 1,
            Some(Owner::Foreign) => foreign += 1,
            None => english += usize::from(is_english_contraction(word)),
        }
    }
    if han > 0 && han >= plain_words {
        return Language::Chinese;
    }
    if plain_words == 0 || foreign_letters > latin || foreign > english {
        return Language::Other;
    }
    if english > 0 || plain_words <= 6 && foreign_letters == 0 {
        Language::English
    } else {
        Language::Other
    }
}

/// Whose function word a word is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    English,
    Foreign,
}

/// The two tables by hash, each word packed into a number; an empty slot has key 0.
static FUNCTION_WORDS: LazyLock<[(u64, Owner); 512]> = LazyLock::new(|| {
    let mut slots = [(0, Owner::English); 512];
    let all = ENGLISH
        .iter()
        .map(|word| (word, Owner::English))
        .chain(FOREIGN.iter().map(|word| (word, Owner::Foreign)));
    for (word, owner) in all {
        let key = pack(word).expect("invariant: function words have at most eight bytes");
        let mut slot = slot_of(key);
        while slots[slot].0 != 0 {
            slot = (slot + 1) % slots.len();
        }
        slots[slot] = (key, owner);
    }
    slots
});

/// The bytes of a word of at most eight bytes in lower case, as one number.
fn pack(word: &str) -> Option<u64> {
    let mut bytes = [0u8; 8];
    bytes.get_mut(..word.len())?.copy_from_slice(word.as_bytes());
    bytes.make_ascii_lowercase();
    Some(u64::from_le_bytes(bytes))
}

fn slot_of(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 55) as usize
}

fn function_word(word: &str) -> Option<Owner> {
    let key = pack(word)?;
    let mut slot = slot_of(key);
    while FUNCTION_WORDS[slot].0 != 0 {
        if FUNCTION_WORDS[slot].0 == key {
            return Some(FUNCTION_WORDS[slot].1);
        }
        slot = (slot + 1) % FUNCTION_WORDS.len();
    }
    None
}

fn is_english_contraction(word: &str) -> bool {
    word.contains(['\'', '’'])
        && ["n't", "n’t", "'m", "’m", "'re", "’re", "'ve", "’ve", "'ll", "’ll"]
            .iter()
            .any(|end| word.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_and_disjoint() {
        assert!(ENGLISH.is_sorted() && FOREIGN.is_sorted());
        assert!(ENGLISH.iter().all(|word| !FOREIGN.contains(word)));
        assert!(FOREIGN.iter().chain(ENGLISH).all(|word| word.len() <= 8));
    }

    #[test]
    fn languages() {
        for (text, expected) in [
            ("", Language::Other),
            ("12:30 !!", Language::Other),
            ("hi", Language::English),
            ("Thanks!!! 😊", Language::English),
            ("I can't", Language::English),
            ("I love café crème and jalapeño", Language::English),
            ("我昨天用 PyTorch 训练了模型", Language::Chinese),
            ("我昨天用 PyTorch 跟 TensorFlow 训练了模型", Language::Chinese),
            ("The word 猫 means cat in Chinese", Language::English),
            ("저는 어제 서울에 갔어요", Language::Other),
            ("昨日は楽しかったです", Language::Other),
            ("Das ist nicht mein Hund", Language::Other),
            ("Me gusta mucho la comida de mi abuela", Language::Other),
            ("Я вчера был в Москве", Language::Other),
            ("मैं कल दिल्ली गया था", Language::Other),
            ("我在优衣の家吃饭然后去了公园看到很多人在那里跳舞唱歌", Language::Chinese),
        ] {
            assert_eq!(language(text), expected, "{text}");
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
