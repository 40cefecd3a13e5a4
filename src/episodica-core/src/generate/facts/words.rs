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
    /// A decision.
    pub const CHOICE: Self = Self(1 << 2);

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
const LISTS: [(WordSigns, &str); 3] = [
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
            reading.all.add(signs);
        }
        if lower.contains(is_cjk) {
            for (at, signs) in UNSPACED.in_text(&lower) {
                reading.all.add(*signs);
                if at == 0 {
                    reading.first.add(*signs);
                }
            }
        }
        reading
    }
}
