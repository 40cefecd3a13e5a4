//! Scripts and languages, as far as the engine treats them differently: English, Chinese, German,
//! Spanish, French, and everything else.
//!
//! This is not language identification. It only decides which rules (dates, templates, sentence
//! ends) suit a text, and is the same on every machine.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// The languages that the engine has rules of its own for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// English, and Latin-script text too short to say otherwise.
    English,
    /// Chinese, simplified or traditional, with whatever Latin words are mixed in.
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

/// How many characters [`language`] looks at: what follows does not change its answer.
const SAMPLE_CHARS: usize = 4_000;

/// English words that carry no topic: a text in English has some, a text in another Latin-script
/// language has hardly any.
const ENGLISH: &[&str] = &[
    "about", "after", "and", "any", "are", "at", "be", "but", "by", "can", "did", "for", "from",
    "get", "had", "have", "her", "his", "how", "i", "if", "is", "it", "its", "just", "like", "my",
    "not", "of", "our", "out", "she", "some", "that", "the", "their", "them", "then", "there",
    "they", "this", "to", "up", "we", "were", "what", "when", "where", "which", "who", "why",
    "with", "would", "you", "your",
];

/// English words of the same kind that other languages write alike: they speak for English, but
/// not against a language of which there is more.
const SHARED: &[&str] = &["a", "all", "do", "has", "he", "in", "on", "or", "so", "was", "will"];

/// Words of the same kind from other languages, and their everyday words for days; words that
/// English shares are left out. A word may stand in several lists.
const FOREIGN: &[(u8, &str)] = &[
    (
        GERMAN,
        "aber als am auch auf aus bei bin bis da das dass dem den der des dich die dir doch du ein eine einem einen einer er es \
         euch für ganz gestern gibt habe haben hat heute ich ihm ihn ihr im immer ist ja jetzt kann kein keine letzte letzten \
         letzter mal mehr mein meine meiner meinem meinen mich mir mit montag dienstag mittwoch donnerstag freitag samstag sonntag \
         nach nächste nächsten nicht noch nur oder schon sehr seit sich sie sind über übermorgen um und uns unser unsere vom von vor \
         vorgestern wann weil wenn werde werden wie wieder wir wird wo wurde zu zum zur neulich alle \
         januar februar märz mai juni juli oktober dezember tag tage tagen woche wochen monat monaten jahr jahren zwei drei \
         weihnachten morgens abend",
    ),
    (
        SPANISH,
        "al antes anteayer ayer como con creo cuando de del desde día donde el él ella en es esta está este esto fue fui \
         hace hasta hay hoy la las le les lo los lunes martes miércoles jueves viernes sábado domingo mañana me mi mis mucho muy \
         más nada nos nosotros nuestra nuestro para pasada pasado piso pero por porque próxima próximo qué que se si sin sobre su \
         sus también tan te tengo ti todo tu un una unos voy y ya yo otro otra todos todas eso ese esa tiene \
         están son hemos han ha he vamos dentro enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre \
         diciembre día días semana semanas mes meses año años dos tres navidad",
    ),
    (
        FRENCH,
        "ai alors après au aujourd'hui aussi aux avec avons c'est ce cette chez comme d'un d'une dans de demain depuis \
         dernier dernière des du elle elles en est et fait il ils j'ai je l'an la le les leur lui lundi mardi mercredi jeudi \
         vendredi samedi dimanche ma mais mes moi mon même n'ai ne nos notre nous ou où par pas plus pour prochain prochaine \
         qu'il qu'on quand que qui sa sans se ses son sont suis sur ta tes toi ton tu très un une va vais vous y à été tout tous toute janvier février mars \
         avril mai juin juillet août septembre octobre novembre décembre jour jours semaine semaines mois an ans année deux trois \
         noël il",
    ),
    (
        ELSEWHERE,
        "che com con da dag dat de del della di die do dos e een ele en era et eu foi gli ha het ho igår il io ik in jag je \
         la le lo maar mais mi mijn morgen muito na niet no não och ook op os para per più por que são se sei som sono te três \
         um uma un una van voor vou wat we wij você ze är è é ieri oggi domani ontem hoje amanhã",
    ),
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
            _ if c.is_alphabetic() => foreign_letters += 1,
            _ => {}
        }
    }
    // A stray の is decoration in Chinese shop names; a twentieth is not.
    if syllables > 0 && syllables * 20 > han + syllables {
        return Language::Other;
    }
    let (mut plain_words, mut english, mut shared) = (0usize, 0usize, 0usize);
    let mut foreign = Votes::default();
    for word in
        words(sample).filter(|word| word.starts_with(|c: char| c.is_alphabetic() && !is_cjk(c)))
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

/// How many function words speak for each language.
#[derive(Default)]
struct Votes {
    words: usize,
    german: usize,
    spanish: usize,
    french: usize,
    elsewhere: usize,
}

impl Votes {
    fn count(&mut self, owners: u8) {
        self.words += 1;
        self.german += usize::from(owners & GERMAN != 0);
        self.spanish += usize::from(owners & SPANISH != 0);
        self.french += usize::from(owners & FRENCH != 0);
        self.elsewhere += usize::from(owners & ELSEWHERE != 0);
    }

    /// The language with the most words, `Other` where two have as many.
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

// Whose function word a word is, as bits.
const ENGLISH_WORD: u8 = 1;
/// An English word that is also one of another language.
const SHARED_WORD: u8 = 32;
const GERMAN: u8 = 2;
const SPANISH: u8 = 4;
const FRENCH: u8 = 8;
const ELSEWHERE: u8 = 16;

/// The lists of function words in lower case, with the languages that have each.
static FUNCTION_WORDS: LazyLock<FxHashMap<&'static str, u8>> = LazyLock::new(|| {
    let mut owners = FxHashMap::default();
    for (language, words) in FOREIGN {
        for word in words.split_whitespace() {
            *owners.entry(word).or_insert(0) |= language;
        }
    }
    for word in ENGLISH {
        owners.insert(*word, ENGLISH_WORD);
    }
    for word in SHARED {
        owners.insert(*word, SHARED_WORD);
    }
    owners
});

/// The languages that `word` is a function word of, 0 for none.
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

/// Whether `word` begins as French does before a vowel: j'ai, qu'on.
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

    #[test]
    fn words_keep_combining_marks_and_apostrophes() {
        assert_eq!(
            words("it's rock'n'roll 'quoted' e\u{301}t\u{e9}").collect::<Vec<_>>(),
            ["it's", "rock'n'roll", "quoted", "e\u{301}t\u{e9}"]
        );
        assert_eq!(words("a猫b").collect::<Vec<_>>(), ["a", "猫", "b"]);
    }
}
