//! The languages that the engine treats differently: English, Chinese, German, Spanish, French, and
//! everything else.
//!
//! This is not language identification. It only decides which rules (dates, templates, sentence
//! ends) apply to a text; the result is the same on every machine.

use crate::fork::ForkLazy;

use rustc_hash::FxHashMap;

use super::script::{is_alphabetic, is_cjk, is_han};
use super::vocabulary::shared;
use super::words::words;

/// The languages for which the engine has rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// English, and text in Latin script that is too short to show its language.
    English,
    /// Chinese, simplified or traditional, including Latin words.
    Chinese,
    /// German.
    German,
    /// Spanish.
    Spanish,
    /// French.
    French,
    /// Any other language, and texts without letters.
    Other,
}

/// Maximum number of characters that [`language`] reads.
const SAMPLE_CHARS: usize = 4_000;

/// The language of `text`, judged by its first 4,000 characters.
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
/// assert_eq!(language("Nous sommes partis avec le train de nuit."), Language::French);
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
            _ if is_alphabetic(c) => foreign_letters += 1,
            _ => {}
        }
    }
    // Chinese names may contain a の as decoration; a share of kana and Hangul above one in twenty
    // means another language.
    if syllables > 0 && syllables * 20 > han + syllables {
        return Language::Other;
    }
    let (mut plain_words, mut english, mut shared) = (0usize, 0usize, 0usize);
    let mut foreign = LanguageVotes::default();
    for word in
        words(sample).filter(|word| word.starts_with(|c: char| is_alphabetic(c) && !is_cjk(c)))
    {
        plain_words += 1;
        match function_word(word) {
            0 if is_elision(word) => foreign.count(FRENCH),
            0 => english += usize::from(is_english_contraction(word)),
            ENGLISH_WORD => english += 1,
            SHARED_WORD => shared += 1,
            owners => foreign.count(owners),
        }
    }
    if han > 0 && han >= plain_words {
        return Language::Chinese;
    }
    if plain_words == 0 || foreign_letters > latin {
        return Language::Other;
    }
    let plainly_foreign = english == 0 && foreign.words > 0 && foreign.words >= shared;
    if plainly_foreign || foreign.words > english + shared {
        return foreign.winner();
    }
    if english + shared > 0 || plain_words <= 6 && foreign_letters == 0 {
        Language::English
    } else {
        Language::Other
    }
}

/// The number of function words per language.
#[derive(Default)]
struct LanguageVotes {
    words: usize,
    german: usize,
    spanish: usize,
    french: usize,
    elsewhere: usize,
}

impl LanguageVotes {
    fn count(&mut self, owners: u8) {
        self.words += 1;
        self.german += usize::from(owners & GERMAN != 0);
        self.spanish += usize::from(owners & SPANISH != 0);
        self.french += usize::from(owners & FRENCH != 0);
        self.elsewhere += usize::from(owners & ELSEWHERE != 0);
    }

    /// The language with the most function words; `Other` for a tie.
    fn winner(&self) -> Language {
        let most = self.german.max(self.spanish).max(self.french);
        let ties = [self.german, self.spanish, self.french].iter().filter(|n| **n == most).count();
        if ties > 1 || self.elsewhere > most {
            Language::Other
        } else if most == self.german {
            Language::German
        } else if most == self.spanish {
            Language::Spanish
        } else {
            Language::French
        }
    }
}

// The languages of a function word, as bits.
const ENGLISH_WORD: u8 = 1;
/// An English word that also exists in another language.
const SHARED_WORD: u8 = 32;
const GERMAN: u8 = 2;
const SPANISH: u8 = 4;
const FRENCH: u8 = 8;
const ELSEWHERE: u8 = 16;

/// The function words in lower case, with their languages.
static FUNCTION_WORDS: ForkLazy<FxHashMap<&'static str, u8>> = ForkLazy::new(|| {
    let mut owners = FxHashMap::default();
    let foreign =
        [("german", GERMAN), ("spanish", SPANISH), ("french", FRENCH), ("elsewhere", ELSEWHERE)];
    for (list, language) in foreign {
        shared(list).for_each(|word| *owners.entry(word).or_insert(0) |= language);
    }
    owners.extend(shared("english").map(|word| (word, ENGLISH_WORD)));
    owners.extend(shared("shared").map(|word| (word, SHARED_WORD)));
    owners
});

/// The languages in which `word` is a function word; 0 for none.
fn function_word(word: &str) -> u8 {
    if word.len() > 14 {
        return 0;
    }
    let owners = if word.bytes().any(|byte| byte.is_ascii_uppercase() || byte >= 0x80) {
        FUNCTION_WORDS.get(word.to_lowercase().replace('’', "'").as_str())
    } else {
        FUNCTION_WORDS.get(word)
    };
    owners.copied().unwrap_or(0)
}

/// Whether `word` begins with a French elision: j'ai, qu'on.
fn is_elision(word: &str) -> bool {
    let front = word.split(['\'', '’']).next().unwrap_or_default();
    front.len() < word.len()
        && ["c", "d", "j", "l", "m", "n", "qu", "s", "t"]
            .iter()
            .any(|letter| front.eq_ignore_ascii_case(letter))
}

fn is_english_contraction(word: &str) -> bool {
    word.contains(['\'', '’'])
        && ["n't", "n’t", "'m", "’m", "'re", "’re", "'ve", "’ve", "'ll", "’ll"]
            .iter()
            .any(|end| word.ends_with(end))
}

/// Number of bytes at the start of a message that are used to detect its language.
const START_BYTES: usize = 120;

/// The start of a message, which tells its language.
pub(crate) fn telling_start(text: &str) -> &str {
    let mut end = START_BYTES.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("Das ist nicht mein Hund", Language::German),
            ("Me gusta mucho la comida de mi abuela", Language::Spanish),
            ("Mardi prochain, on passe devant le notaire", Language::French),
            ("Mi piace molto il cibo di mia nonna", Language::Other),
            ("Eu não gosto muito de café", Language::Other),
            ("Gestern Zahnarzt", Language::German),
            ("Я вчера был в Москве", Language::Other),
            ("मैं कल दिल्ली गया था", Language::Other),
            ("我在优衣の家吃饭然后去了公园看到很多人在那里跳舞唱歌", Language::Chinese),
        ] {
            assert_eq!(language(text), expected, "{text}");
        }
    }
}
