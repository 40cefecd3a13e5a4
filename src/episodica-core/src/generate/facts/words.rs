//! Word lists that indicate the kind of a sentence, in several languages.

use rustc_hash::FxHashMap;

use crate::fork::ForkLazy;
use crate::text::script::is_alphanumeric;
use crate::text::words::runs;
use crate::text::{PhraseTable, is_cjk};

/// The signs of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct WordSigns(u16);

impl WordSigns {
    /// A verb in the past tense.
    pub const PAST: Self = Self(1);
    /// Opens a supposition.
    pub const HYPOTHETICAL: Self = Self(1 << 1);
    /// Family, friends, colleagues, pets.
    pub const PEOPLE: Self = Self(1 << 2);
    /// Work and education.
    pub const WORK: Self = Self(1 << 3);
    /// Likes and dislikes, in languages other than English; the head `opinion` knows English.
    pub const TASTE: Self = Self(1 << 4);
    /// A person's plans, in languages other than English; the head `plan` knows English.
    pub const INTENT: Self = Self(1 << 5);
    /// A decision.
    pub const CHOICE: Self = Self(1 << 6);

    /// True if any sign of `other` is set.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// The lists. Entries are lower-case words; an entry in a script without spaces is a run of
/// characters that occurs anywhere in a sentence.
const LISTS: [(WordSigns, &str); 7] = [
    (
        WordSigns::PAST,
        "was were had did went got made took came saw met bought found left felt gave thought told \
         became began brought built broke caught chose drove ate fell flew forgot grew heard held \
         kept knew led lost paid ran read said sent sold spent spoke started stood swam taught \
         threw took wore woke won wrote been \
         war waren hatte hatten habe haben wurde ging kam fui fue era estaba hice hizo compré \
         été avait était eu fait sono stato ho fui estava 了 过",
    ),
    (
        WordSigns::HYPOTHETICAL,
        "if maybe perhaps suppose imagine unless wenn falls vielleicht si quizás ojalá peut-être \
         se forse talvez 如果 要是 假如 也许 要不",
    ),
    (
        WordSigns::PEOPLE,
        "wife husband spouse partner boyfriend girlfriend fiancé fiancée son sons daughter \
         daughters kid kids child children baby mother mom mum father dad parents brother brothers \
         sister sisters grandma grandmother grandpa grandfather aunt uncle cousin nephew niece \
         friend friends colleague colleagues neighbour neighbor boss manager roommate flatmate dog \
         cat puppy kitten pet pets hamster rabbit married divorced engaged \
         frau mann sohn tochter kinder mutter vater eltern bruder schwester freund freundin \
         mujer marido esposo esposa hijo hija hijos madre padre hermano hermana amigo amiga novio \
         novia femme mari fils fille enfants mère père frère sœur ami amie \
         老婆 太太 妻子 老公 丈夫 男朋友 女朋友 儿子 女儿 孩子 妈 爸 哥 姐 弟 妹 朋友 同事 狗 猫",
    ),
    (
        WordSigns::WORK,
        "job work works worked working company office career boss team client clients project \
         promoted promotion hired fired salary interview degree university college school class \
         course exam thesis internship business startup employer shift \
         arbeit arbeite firma stelle studium uni trabajo empresa oficina universidad travail \
         bureau entreprise université lavoro trabalho \
         公司 工作 上班 辞职 入职 老板 项目 大学 考试 面试",
    ),
    (
        WordSigns::TASTE,
        "liebe mag lieber lieblings hasse \
         gusta gustan encanta prefiero odio favorito favorita j'aime j'adore préfère déteste \
         préféré 喜欢 爱 讨厌 最爱 偏好 好き 嫌い",
    ),
    (
        WordSigns::INTENT,
        "möchte plane vorhabe quiero espero planeo veux espère \
         打算 计划 想 希望 准备 目标 要去 つもり 予定",
    ),
    (
        WordSigns::CHOICE,
        "decided decision chose chosen settled agreed entschieden decidido decidí décidé \
         决定 定了 选了",
    ),
];

static SPACED: ForkLazy<FxHashMap<&'static str, WordSigns>> = ForkLazy::new(|| {
    let mut words: FxHashMap<&str, WordSigns> = FxHashMap::default();
    for (sign, list) in LISTS {
        for word in list.split_whitespace().filter(|word| !word.contains(is_cjk)) {
            words.entry(word).or_default().add(sign);
        }
    }
    words
});

static UNSPACED: ForkLazy<PhraseTable<WordSigns>> = ForkLazy::new(|| {
    let all = LISTS.iter().flat_map(|(sign, list)| {
        list.split_whitespace().filter(|word| word.contains(is_cjk)).map(|word| (word, *sign))
    });
    PhraseTable::new(all)
});

/// True if a sentence has a verb in the past tense.
pub(crate) fn tells_the_past(sentence: &str) -> bool {
    SentenceSigns::of(sentence).all.has(WordSigns::PAST)
}

/// The signs of the words of a sentence.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SentenceSigns {
    /// The signs of all words.
    pub all: WordSigns,
    /// The signs of the first word.
    pub first: WordSigns,
    /// The signs of the first word for people or work.
    pub topic: WordSigns,
}

impl SentenceSigns {
    /// Reads a sentence.
    pub fn of(sentence: &str) -> Self {
        let mut reading = Self::default();
        let lower = sentence.to_lowercase().replace('’', "'");
        let letters = |c: char| is_alphanumeric(c) || c == '\'';
        let words = runs(&lower, letters).map(|word| word.trim_matches('\''));
        for (at, word) in words.filter(|word| !word.is_empty()).enumerate() {
            let mut signs = SPACED.get(word).copied().unwrap_or_default();
            if word.len() > 4 && word.ends_with("ed") && !word.ends_with("eed") {
                signs.add(WordSigns::PAST);
            }
            if at == 0 {
                reading.first = signs;
            }
            reading.add(signs);
        }
        if lower.contains(is_cjk) {
            for (at, signs) in UNSPACED.in_text(&lower) {
                reading.add(*signs);
                if at == 0 {
                    reading.first.add(*signs);
                }
            }
        }
        reading
    }

    fn add(&mut self, signs: WordSigns) {
        const TOPICS: WordSigns = WordSigns(WordSigns::PEOPLE.0 | WordSigns::WORK.0);
        if signs.has(TOPICS) && !self.topic.has(TOPICS) {
            self.topic = signs;
        }
        self.all.add(signs);
    }
}
