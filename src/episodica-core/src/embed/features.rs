//! Converts words to feature ids: tokens of the vocabulary for the words that it contains, hash
//! buckets for all other words.
//!
//! The vocabulary is that of an English model. It splits words of other scripts into letters, which
//! makes all Russian texts look alike, and it has no emoji. Therefore words of other scripts become
//! hashes of themselves and of their character n-grams: texts with common words, stems or
//! characters are near each other, other texts are not. Such features carry no further meaning: 猫
//! is not near "cat".
//!
//! Feature ids continue after the vocabulary in three ranges of buckets, one range per weight; the
//! static table defines a vector for each bucket.

use std::ops::ControlFlow;

use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::FxHashSet;
use unicode_normalization::UnicodeNormalization;

use super::wordpiece::{WordKind, WordPiece, for_each_word};
use crate::fork::ForkLazy;
use crate::text::hash::{fnv1a, mix};
use crate::text::script::{is_abugida, is_alphanumeric, is_han, is_hangul, is_kana, is_katakana};

/// Number of tokens in the vocabulary; higher feature ids are buckets.
pub(super) const VOCABULARY: u16 = 30_522;

/// How informative a hashed feature is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FeatureWeight {
    /// A word, a pair of Han characters or an emoji; as informative as a rare word of the
    /// vocabulary.
    Content,
    /// A piece of a word.
    Part,
    /// Particles, endings, pronouns.
    Function,
}

impl FeatureWeight {
    /// Range of feature ids of this weight: the first, and one past the last.
    const fn id_range(self) -> (u32, u32) {
        match self {
            Self::Content => (VOCABULARY as u32, 50_000),
            Self::Part => (50_000, 63_000),
            Self::Function => (63_000, 65_536),
        }
    }

    /// The weight of a bucket; `None` for a token of the vocabulary.
    pub(super) fn from_id(id: u16) -> Option<Self> {
        match id {
            0..VOCABULARY => None,
            VOCABULARY..50_000 => Some(Self::Content),
            50_000..63_000 => Some(Self::Part),
            63_000.. => Some(Self::Function),
        }
    }

    /// Norm of the feature's vector relative to that of a rare word.
    pub(super) fn relative_norm(self) -> f32 {
        match self {
            Self::Content => 1.0,
            Self::Part => 0.4,
            Self::Function => 0.15,
        }
    }
}

/// At most `limit` feature ids of `text`, in order.
pub(super) fn feature_ids(pieces: &WordPiece, text: &str, limit: usize) -> Vec<u16> {
    let mut features = HashedFeatures {
        pieces,
        ids: Vec::with_capacity((text.len() / 4 + 4).min(limit)),
        before: None,
    };
    for_each_word(text, |word, kind| {
        match kind {
            WordKind::Run => features.add_run(word),
            WordKind::Han => word.chars().for_each(|c| features.add_unspaced(c)),
            WordKind::Punctuation => {
                features.before = None;
                features.ids.extend(pieces.whole_word(word));
            }
        }
        if features.ids.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let mut ids = features.ids;
    ids.truncate(limit);
    ids
}

struct HashedFeatures<'a> {
    pieces: &'a WordPiece,
    ids: Vec<u16>,
    /// The previous character, if its script has no spaces, for the bigram.
    before: Option<char>,
}

/// Classes of characters that are converted differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharacterClass {
    /// Latin letters and digits, which the vocabulary covers.
    Latin,
    /// Han and kana: bigrams across the whole run.
    Unspaced,
    /// Thai and related scripts: no spaces, and too few letters for bigrams to be informative.
    Abugida,
    /// Korean: particles and endings are attached to words.
    Hangul,
    /// Words between spaces in any other script.
    Spaced,
    /// Emoji, arrows, currencies.
    Symbol,
}

fn character_class(c: char) -> CharacterClass {
    match c as u32 {
        ..0x80 if c.is_ascii_alphanumeric() => CharacterClass::Latin,
        _ if is_kana(c) || is_han(c) => CharacterClass::Unspaced,
        _ if is_hangul(c) => CharacterClass::Hangul,
        _ if is_abugida(c) => CharacterClass::Abugida,
        ..0x0370 | 0x1E00..=0x1EFF | 0x2C60..=0x2C7F | 0xA720..=0xA7FF if is_alphanumeric(c) => {
            CharacterClass::Latin
        }
        _ if is_alphanumeric(c) => CharacterClass::Spaced,
        _ => CharacterClass::Symbol,
    }
}

/// True for words of Latin letters, digits and symbols, which MiniLM's vocabulary covers.
fn is_home(word: &str) -> bool {
    word.is_ascii()
        || word
            .chars()
            .all(|c| matches!(character_class(c), CharacterClass::Latin | CharacterClass::Symbol))
}

impl HashedFeatures<'_> {
    /// A run between spaces.
    fn add_run(&mut self, word: &str) {
        if is_home(word) && self.pieces.append_pieces(word, &mut self.ids) {
            self.before = None;
            return;
        }
        // Converts full-width letters to ASCII and recomposes Hangul syllables.
        let folded: Vec<char> = word.nfkc().flat_map(char::to_lowercase).collect();
        for run in folded.chunk_by(|a, b| character_class(*a) == character_class(*b)) {
            let kind = character_class(run[0]);
            if kind != CharacterClass::Unspaced {
                self.before = None;
            }
            match kind {
                CharacterClass::Latin => self.add_latin(run),
                CharacterClass::Unspaced => self.unspaced_run(run),
                CharacterClass::Abugida => self.add_ngrams(run, 3, FeatureWeight::Part),
                CharacterClass::Hangul => self.add_hangul(run),
                CharacterClass::Spaced => self.add_spaced(run),
                CharacterClass::Symbol => run.iter().for_each(|c| self.add_symbol(*c)),
            }
        }
    }

    fn add_feature(&mut self, chars: &[char], weight: FeatureWeight) {
        self.ids.push(feature_bucket(chars.iter().copied(), weight));
    }

    /// Every n-gram of `run`, or the run itself if it is shorter.
    fn add_ngrams(&mut self, run: &[char], size: usize, weight: FeatureWeight) {
        if run.len() < size {
            return self.add_feature(run, weight);
        }
        run.windows(size).for_each(|gram| self.add_feature(gram, weight));
    }

    fn add_latin(&mut self, run: &[char]) {
        let word: String = run.iter().collect();
        if !self.pieces.append_pieces(&word, &mut self.ids) {
            self.add_feature(run, FeatureWeight::Content);
        }
    }

    /// Adds the stem, and trigrams with both ends marked. Short words are mostly function words.
    fn add_spaced(&mut self, run: &[char]) {
        match run.len() {
            1 | 2 => return self.add_feature(run, FeatureWeight::Function),
            3 => self.add_feature(run, FeatureWeight::Part),
            _ => {
                let word: String = run.iter().collect();
                let stem = match run[0] as u32 {
                    0x0400..=0x052F => {
                        Stemmer::create(Algorithm::Russian).stem(&word).chars().collect()
                    }
                    0x0600..=0x06FF => {
                        Stemmer::create(Algorithm::Arabic).stem(&word).chars().collect()
                    }
                    _ => run.to_vec(),
                };
                self.add_feature(&stem, FeatureWeight::Content);
            }
        }
        let marked: Vec<char> =
            ['\u{2}'].into_iter().chain(run.iter().copied()).chain(['\u{3}']).collect();
        self.add_ngrams(&marked, 3, FeatureWeight::Part);
    }

    /// Adds the word without trailing particles and endings, and its bigrams.
    fn add_hangul(&mut self, run: &[char]) {
        let endings =
            run[2.min(run.len())..].iter().rev().take_while(|c| is_korean_ending(**c)).count();
        let stem = &run[..run.len() - endings];
        self.add_feature(
            stem,
            if stem.len() > 1 { FeatureWeight::Content } else { FeatureWeight::Function },
        );
        if stem.len() > 2 {
            self.add_ngrams(stem, 2, FeatureWeight::Part);
        }
        if endings > 0 {
            self.add_feature(&run[stem.len()..], FeatureWeight::Function);
        }
    }

    fn unspaced_run(&mut self, run: &[char]) {
        // A run of katakana is a word, usually a loanword or a name.
        for word in run.chunk_by(|a, b| is_katakana(*a) == is_katakana(*b)) {
            if word.len() > 2 && is_katakana(word[0]) {
                self.add_feature(word, FeatureWeight::Content);
            }
        }
        run.iter().for_each(|c| self.add_unspaced(*c));
    }

    /// Adds one Han or kana character, and its bigram with the previous one.
    fn add_unspaced(&mut self, c: char) {
        let before = self.before.replace(c);
        if is_han(c) {
            self.add_feature(
                &[c],
                if is_particle(c) { FeatureWeight::Function } else { FeatureWeight::Part },
            );
        }
        if let Some(before) = before {
            let weight = match (is_han(before), is_han(c)) {
                _ if is_particle(before) || is_particle(c) => FeatureWeight::Function,
                (true, true) => FeatureWeight::Content,
                (false, false) if is_katakana(before) != is_katakana(c) || !is_katakana(c) => {
                    FeatureWeight::Function
                }
                _ => FeatureWeight::Part,
            };
            self.add_feature(&[before, c], weight);
        }
    }

    fn add_symbol(&mut self, c: char) {
        // Skin tones only modify another emoji.
        if matches!(c as u32, 0x1F3FB..=0x1F3FF) {
            return;
        }
        match self.pieces.whole_word(c.encode_utf8(&mut [0; 4])) {
            Some(id) => self.ids.push(id),
            None => self.add_feature(&[c], FeatureWeight::Content),
        }
    }
}

/// Grammatical characters: Chinese particles and pronouns, Japanese particles (without voicing
/// marks, which BERT's cleaning removes).
fn is_particle(c: char) -> bool {
    PARTICLES.contains(&c)
}

static PARTICLES: ForkLazy<FxHashSet<char>> = ForkLazy::new(|| {
    "的了是我你他她它们們在有和与與不也就都很吗嗎呢吧啊个個一这這那着把被给給会會要说說去来來到上私\
     はかをにてとものへや"
        .chars()
        .collect()
});

/// Syllables of Korean particles and verb endings with which hardly any noun ends.
fn is_korean_ending(c: char) -> bool {
    "은는가을를에서도의로와과요다니습어아았었했고".contains(c)
}

/// The bucket of a string.
fn feature_bucket(chars: impl Iterator<Item = char>, weight: FeatureWeight) -> u16 {
    let (first, end) = weight.id_range();
    let offset = mix(fnv1a(chars)) % u64::from(end - first);
    u16::try_from(u64::from(first) + offset).expect("invariant: the ranges end at 65,536")
}
