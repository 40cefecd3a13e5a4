//! Scores a sentence by small learned classifiers, the heads.
//!
//! A head is a logistic regression over hashed words, pairs of words and runs of letters.
//! `tools/train_heads.py` trains them on the labelled sentences of `tools/labels` and writes
//! `assets/heads.bin`: scale and bias of each head, then one row for each bucket, with a signed
//! byte for each head.

use crate::text::hash::Fnv1a;
use crate::text::script::{is_alphanumeric, is_ideograph_or_kana};

static FILE: &[u8] = include_bytes!("../../assets/heads.bin");

const HEADS: usize = 11;
/// Heads that each answer a question of their own.
const SINGLE: usize = 6;
const BUCKETS: u64 = 1 << 15;
/// Bytes before the rows.
const HEADER: usize = 8 * HEADS;
/// Weight of a feature of the whole sentence: its length, marks, digits and kind of speaker.
const PLAIN: f32 = 0.5;
/// Maximum of the length feature, the number of binary digits in the count of words.
const LONGEST: u32 = 6;
/// Maximum length of a sentence, in bytes. The weights come from short ones, so every head says no
/// to a longer text.
const MAX_BYTES: usize = 2_000;
/// A sentence that words alone score nearer than this to a head's threshold is open.
const OPEN: f32 = 2.0;
/// Quotation marks that are not ASCII.
const QUOTES: [char; 9] = ['“', '”', '„', '«', '»', '「', '」', '『', '』'];

/// The scores of a sentence; above 0 a head says yes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SentenceHeads {
    /// Whether a careful secretary of the speaker would note the sentence.
    pub worth: f32,
    /// Whether it must not be missed, however short: health, diet, names, prohibitions, standing
    /// wishes.
    pub must: f32,
    /// Whether it is a greeting, a reaction, a question or a fragment.
    pub small_talk: f32,
    /// Whether it can't be understood alone.
    pub unclear: f32,
    /// Whether it belongs in a profile of the speaker.
    pub profile: f32,
    /// Whether an agent tells what it did or found.
    pub outcome: f32,
    /// The section of a profile that fits best.
    pub section: ProfileSection,
}

/// For callers that choose claims.
#[allow(dead_code)]
impl SentenceHeads {
    /// Scores a sentence by its words and its vector from the package's own encoder. A vector of
    /// another length or of zeros is left out.
    pub fn with_vector(sentence: &str, by_agent: bool, vector: &[f32]) -> Self {
        debug_assert!(vector.is_empty() || vector.iter().all(|value| value.is_finite()));
        Self::of(sentence, by_agent)
    }

    /// True if a vector may change what [`SentenceHeads::of`] decides.
    pub fn is_open(&self) -> bool {
        self.worth.abs() < OPEN || self.worth > 0.0 && self.profile.abs() < OPEN
    }

    /// The section of a profile that the sentence belongs in, if any.
    pub fn profile_section(&self) -> Option<ProfileSection> {
        (self.profile > 0.0).then_some(self.section)
    }
}

/// The sections of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProfileSection {
    /// Identity, home, health, possessions, habits.
    Personal,
    /// Work and studies.
    Work,
    /// Likes, dislikes, hobbies.
    Taste,
    /// The people in the speaker's life.
    Relation,
    /// Wishes and plans for months or years.
    Goal,
}

/// In the order of the file, after [`SINGLE`] other heads.
const SECTIONS: [ProfileSection; HEADS - SINGLE] = [
    ProfileSection::Personal,
    ProfileSection::Work,
    ProfileSection::Taste,
    ProfileSection::Relation,
    ProfileSection::Goal,
];

impl SentenceHeads {
    /// Scores a sentence; `by_agent` is true if an agent said it.
    pub fn of(sentence: &str, by_agent: bool) -> Self {
        let sentence = if sentence.len() > MAX_BYTES { "" } else { sentence };
        let mut words = BucketSums::default();
        let count = words.add_words(&sentence.to_lowercase());
        let mut plain = BucketSums::default();
        let length = (usize::BITS - count.leading_zeros()).min(LONGEST);
        let digit = u32::from(b'0') + length;
        plain.add(Fnv1a::default().then_all("=length ".chars()).then(digit));
        let end = sentence.trim_end().chars().next_back();
        for (holds, feature) in [
            (matches!(end, Some('?' | '？')), "=asks"),
            (matches!(end, Some('!' | '！')), "=cries"),
            (by_agent, "=agent"),
            (sentence.contains(|c: char| c.is_ascii_digit()), "=digit"),
            (sentence.contains(is_quote), "=quotes"),
        ] {
            if holds {
                plain.add(Fnv1a::default().then_all(feature.chars()));
            }
        }
        let score = |head: usize| {
            let number = |at: usize| {
                let bytes = FILE[at..at + 4].try_into().expect("invariant: the file has a header");
                f32::from_le_bytes(bytes)
            };
            let (scale, bias) = (number(8 * head), number(8 * head + 4));
            let words = words.sums[head] as f32 / (words.features as f32).sqrt();
            (words + PLAIN * plain.sums[head] as f32) * scale + bias
        };
        let of_section = |at: &usize| score(SINGLE + at);
        let sections = 0..SECTIONS.len();
        let best = sections.max_by(|a, b| of_section(a).total_cmp(&of_section(b)));
        Self {
            worth: score(0),
            must: score(1),
            small_talk: score(2),
            unclear: score(3),
            profile: score(4),
            outcome: score(5),
            section: SECTIONS[best.unwrap_or_default()],
        }
    }
}

/// For each head, the sum of its bytes in the rows of the features.
#[derive(Default)]
struct BucketSums {
    sums: [i32; HEADS],
    features: u32,
}

impl BucketSums {
    /// Adds the row of a feature.
    fn add(&mut self, feature: Fnv1a) {
        let hash = feature.finish();
        let start = HEADER + HEADS * ((hash >> 32 ^ hash) % BUCKETS) as usize;
        let row = &FILE[start..start + HEADS];
        for (head, sum) in self.sums.iter_mut().enumerate() {
            *sum += i32::from(row[head].cast_signed());
        }
        self.features += 1;
    }

    /// Adds the features of a lower-case text's words; returns the number of words. A Chinese or
    /// Japanese character is a word.
    fn add_words(&mut self, lower: &str) -> usize {
        let starting = |name: char| Fnv1a::default().then(name);
        let (mut before, mut last, mut count) = ("", "", 0);
        // The pair of the last word and the next one, as far as it is known.
        let mut open_pair = starting('b').then(' ');
        let mut rest = lower;
        while let Some(start) = rest.find(is_of_word) {
            rest = &rest[start..];
            let first = rest.chars().next().unwrap_or_default();
            let is_unspaced = is_ideograph_or_kana(first);
            let end = if is_unspaced {
                first.len_utf8()
            } else {
                rest.find(|c| !is_of_word(c) || is_ideograph_or_kana(c)).unwrap_or(rest.len())
            };
            let (word, after) = rest.split_at(end);
            self.add(starting('w').then_all(letters(word)));
            self.add(open_pair.then_all(letters(word)));
            if is_unspaced {
                let three = [before, last, word].into_iter().flat_map(letters);
                self.add(starting('t').then_all(three));
            } else {
                self.add_runs(word);
            }
            open_pair = starting('b').then_all(letters(word)).then(' ');
            (before, last, rest) = (last, word, after);
            count += 1;
        }
        self.add(open_pair);
        count
    }

    /// Adds the runs of three and four letters of a word whose start is marked with `<` and whose
    /// end with `>`.
    fn add_runs(&mut self, word: &str) {
        let empty = Fnv1a::default().then('g');
        // The hashes of the last letter, the last two and the last three.
        let (mut one, mut two, mut three) = (empty.then('<'), None::<Fnv1a>, None::<Fnv1a>);
        for letter in letters(word).chain(['>']) {
            if let Some(three) = three {
                self.add(three.then(letter));
            }
            three = two.map(|two| two.then(letter));
            if let Some(three) = three {
                self.add(three);
            }
            two = Some(one.then(letter));
            one = empty.then(letter);
        }
    }
}

/// The letters of a word as the features have them: all digits are the same.
fn letters(word: &str) -> impl Iterator<Item = char> {
    word.chars().map(|c| match c {
        '’' => '\'',
        '0'..='9' => '0',
        c => c,
    })
}

fn is_of_word(c: char) -> bool {
    matches!(c, '\'' | '’') || is_alphanumeric(c) || is_ideograph_or_kana(c)
}

fn is_quote(c: char) -> bool {
    c == '"' || !c.is_ascii() && QUOTES.contains(&c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_file_is_the_one_of_the_recipe() {
        let digest = Sha256::digest(FILE);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(include_str!("../../../../tools/train_heads.py").contains(&hex), "{hex}");
        assert_eq!(FILE.len(), HEADER + HEADS * BUCKETS as usize);
    }

    #[test]
    fn scores_are_those_of_the_recipe() {
        for (sentence, by_agent, scores) in [
            (
                "I’ve moved to flat 12, and I don't eat nuts!",
                false,
                [5.97, 1.07, -5.22, -1.94, 1.47, 5.02],
            ),
            ("Ich wohne seit März in Köln-Süd.", false, [4.41, 0.59, -4.60, -0.37, 0.32, -0.46]),
            ("我对花生过敏，别忘了。", false, [3.87, 5.05, -4.68, -4.05, 2.32, -1.45]),
            ("「猫アレルギー」です。", false, [0.47, 2.18, -1.42, -2.73, -0.75, -3.53]),
            (
                "Your booking was moved to \"room 4\".",
                true,
                [-1.89, -9.51, 0.79, -1.23, -12.23, 1.80],
            ),
            ("", false, [-3.38, -3.33, 2.44, 0.85, -5.75, -4.45]),
        ] {
            let found = SentenceHeads::of(sentence, by_agent);
            let found = [
                found.worth,
                found.must,
                found.small_talk,
                found.unclear,
                found.profile,
                found.outcome,
            ];
            let near = found
                .iter()
                .zip(scores)
                .all(|(one, other): (&f32, f32)| (one - other).abs() < 0.01);
            assert!(near, "{sentence}: {found:?}");
        }
    }

    #[test]
    fn what_must_not_be_missed_and_small_talk_are_told_apart_in_six_languages() {
        for sentence in [
            "I'm allergic to walnuts.",
            "I can't take aspirin.",
            "Please never call me before nine.",
            "Ich vertrage keinen Fisch.",
            "Bitte duze mich.",
            "Soy celíaca.",
            "No como carne.",
            "Je suis enceinte.",
            "Je ne mange pas de viande.",
            "我对牛奶过敏。",
            "以后请用中文回答。",
            "猫アレルギーです。",
            "お酒は飲めません。",
            "my mum carries an epipen, she is allergic to wasps",
        ] {
            let found = SentenceHeads::of(sentence, false);
            assert!(found.must > 0.0 && found.worth > 0.0, "{sentence}: {found:?}");
            assert!(found.small_talk < 0.0, "{sentence}: {found:?}");
        }
        for sentence in [
            "OK.",
            "Haha, that's so funny!",
            "What's up?",
            "Wow, that's great!",
            "Bis später!",
            "¡Gracias!",
            "Merci beaucoup !",
            "好的，谢谢。",
            "在吗？",
            "了解。",
        ] {
            let found = SentenceHeads::of(sentence, false);
            assert!(found.must < 0.0 && found.worth < 0.0, "{sentence}: {found:?}");
            assert!(found.small_talk > 0.0, "{sentence}: {found:?}");
        }
    }

    #[test]
    fn only_open_sentences_need_a_vector() {
        for (sentence, section) in [
            ("I'm allergic to walnuts.", Some(ProfileSection::Personal)),
            ("I work as a nurse in Leeds.", Some(ProfileSection::Work)),
            ("Haha, that's so funny!", None),
        ] {
            let words = SentenceHeads::of(sentence, false);
            assert_eq!(words.profile_section(), section, "{sentence}: {words:?}");
        }
        assert!(!SentenceHeads::of("Haha, that's so funny!", false).is_open());
    }

    #[test]
    fn text_that_is_no_sentence_is_neither_worth_a_note_nor_vital() {
        let long = "la ".repeat(3_334);
        for text in ["", " ", "\u{1f600}\u{1f389}", "?!", "\u{feff}", "''", &long] {
            let found = SentenceHeads::of(text, false);
            assert!(found.must < 0.0 && found.worth < 0.0, "{text:.20}: {found:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_finite_scores(text in any::<String>()) {
            let found = SentenceHeads::of(&text, true);
            prop_assert!(found.worth.is_finite() && found.must.is_finite());
            prop_assert!(found.small_talk.is_finite());
        }
    }
}
