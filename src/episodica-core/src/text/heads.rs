//! Scores a sentence by small learned classifiers, the heads.
//!
//! A head is a logistic regression over hashed words, pairs of words and runs of letters; a second
//! form of it also reads the sentence's vector. `tools/train_heads.py` trains them on the labelled
//! sentences of `tools/labels` and writes `assets/heads.bin`: for each form the scales and biases
//! of the heads, then rows with a signed byte for each head, one for each bucket of words and, in
//! the second form, one for each dimension of the vector.

use crate::text::hash::Fnv1a;
use crate::text::script::{is_alphanumeric, is_ideograph_or_kana};
use crate::text::sentences;
use crate::text::vocabulary::asks_unspaced;

static FILE: &[u8] = include_bytes!("../../assets/heads.bin");

const HEADS: usize = 14;
/// Heads that each answer a question of their own.
const SINGLE: usize = 6;
const BUCKETS: usize = 1 << 15;
/// Length of a vector from the package's own encoder.
const DIMENSION: usize = 256;
/// Bytes before the rows of a form.
const HEADER: usize = 12 * HEADS;
/// Bytes of the form that reads words alone.
const OF_WORDS: usize = HEADER + HEADS * BUCKETS;
/// Weight of a feature of the whole sentence: its length, marks, digits and kind of speaker.
const PLAIN: f32 = 0.5;
/// Maximum of the length feature, the number of binary digits in the count of words.
const LONGEST: u32 = 6;
/// Maximum length of a sentence, in bytes. The weights come from short ones, so every head says no
/// to a longer text.
const MAX_BYTES: usize = 2_000;
/// Words alone leave a sentence open unless each head that may keep it scores lower than this.
const OPEN: f32 = -2.0;
/// How far a point of the scores of the heads `must` and `small_talk`, up to `FAR`, moves the score
/// at which the head `profile` says yes; the numbers of the recipe.
const MOVED: f32 = 0.4;
const FAR: f32 = 6.0;
/// How far the likeliest section's share of all sections moves that score, for each point of its
/// logarithm; and how far it lies lower for a rule; the numbers of the recipe.
const CERTAIN: f32 = 1.5;
const RULES: f32 = 1.5;
/// A score that [`worth`] takes for certain.
const SURE: f32 = 4.0;
/// Quotation marks that are not ASCII.
const QUOTES: [char; 9] = ['“', '”', '„', '«', '»', '「', '」', '『', '』'];
/// Last characters of a sentence that goes on elsewhere.
const UNFINISHED: [char; 7] = [',', ':', ';', '…', '-', '–', '—'];

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
    /// The logarithm of the share that the likeliest section has of all.
    certain: f32,
    /// Whether an agent tells what it did or found.
    pub outcome: f32,
    /// Whether it tells the talk in which it stands.
    pub title: f32,
    /// How far a request to forget is likelier than any section and than none.
    forget: f32,
    /// The section of a profile that fits best.
    pub section: ProfileSection,
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
    /// A lasting rule for the assistant, which belongs to what is personal.
    Rule,
}

/// In the order of the file, between the head for no section, after [`SINGLE`] others, and the one
/// for requests to forget.
const SECTIONS: [ProfileSection; HEADS - SINGLE - 2] = [
    ProfileSection::Personal,
    ProfileSection::Work,
    ProfileSection::Taste,
    ProfileSection::Relation,
    ProfileSection::Goal,
    ProfileSection::Rule,
];

/// How surely a text is a greeting, a thanks or a reaction, and asks nothing: the least sure of its
/// sentences, above 0 for yes.
pub fn small_talk(text: &str) -> f32 {
    if text.len() > MAX_BYTES || text.contains(['?', '？', '؟']) || asks_unspaced(text) {
        return f32::NEG_INFINITY;
    }
    let sentences = sentences(text);
    let scores = sentences.iter().map(|one| SentenceHeads::of(one, false).small_talk);
    scores.reduce(f32::min).unwrap_or(f32::NEG_INFINITY)
}

/// The part of a sentence that the heads read: without white space, emoji and other symbols at its
/// ends, which say how it is meant, not what.
pub(crate) fn bare(sentence: &str) -> &str {
    sentence.trim_matches(|c: char| c.is_whitespace() || is_symbol(c))
}

fn is_symbol(c: char) -> bool {
    matches!(c, '~' | '^' | '〜' | '～' | '\u{200d}' | '\u{20e3}')
        || matches!(c, '\u{2190}'..='\u{2bff}' | '\u{fe00}'..='\u{fe0f}')
        || matches!(c, '\u{1f000}'..='\u{1faff}')
}

/// The probability that the score of a head or of another learned model stands for.
pub(crate) fn probability(score: f32) -> f32 {
    1.0 / (1.0 + (-score).exp())
}

/// How worth a note a message is, -1 to 1, by its words; a long one by its beginning.
pub fn worth(text: &str) -> f32 {
    let mut end = text.len().min(MAX_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    (SentenceHeads::of(&text[..end], false).worth / SURE).clamp(-1.0, 1.0)
}

impl SentenceHeads {
    /// Scores a sentence by its words; `by_agent` is true if an agent said it.
    pub fn of(sentence: &str, by_agent: bool) -> Self {
        Self::read(&FILE[..OF_WORDS], sentence, by_agent, &[])
    }

    /// Scores a sentence by its words and its vector from the package's own encoder. Without a
    /// vector of that length, as [`SentenceHeads::of`].
    pub fn with_vector(sentence: &str, by_agent: bool, vector: &[f32]) -> Self {
        if vector.len() == DIMENSION {
            Self::read(&FILE[OF_WORDS..], sentence, by_agent, vector)
        } else {
            Self::of(sentence, by_agent)
        }
    }

    /// True if a vector may change whether [`SentenceHeads::of`] keeps the sentence, or what it is.
    pub fn is_open(&self, by_agent: bool) -> bool {
        let keeping = if by_agent { self.outcome } else { self.worth.max(self.must) };
        keeping > OPEN || !by_agent && self.is_rule()
    }

    /// The section of a profile that the sentence belongs in, if any. What is far from small talk
    /// seldom needs the talk around it; between must and must not are rules for one task.
    pub fn profile_section(&self) -> Option<ProfileSection> {
        // What need not be known at all is no rule.
        let (must, easier) = match self.section {
            ProfileSection::Rule => (self.must.clamp(-FAR, FAR), RULES),
            _ => (self.must.abs().min(FAR), 0.0),
        };
        let sure = must + self.small_talk.abs().min(FAR);
        let score = self.profile + MOVED * sure + CERTAIN * self.certain + easier;
        (score > 0.0).then_some(self.section)
    }

    /// True if a person asks to forget something, and states no rule that must be known.
    pub fn asks_to_forget(&self) -> bool {
        self.forget > 0.0 && self.must <= 0.0
    }

    /// True if a person states a lasting rule for the assistant.
    pub fn is_rule(&self) -> bool {
        self.profile_section() == Some(ProfileSection::Rule)
    }

    fn read(form: &[u8], sentence: &str, by_agent: bool, vector: &[f32]) -> Self {
        let sentence = if sentence.len() > MAX_BYTES { "" } else { bare(sentence) };
        let mut words = BucketSums::new(form);
        let count = words.add_words(&sentence.to_lowercase());
        let mut plain = BucketSums::new(form);
        plain.add_plain(sentence, count, by_agent);
        let mut meaning = [0.0; HEADS];
        for (value, row) in vector.iter().zip(form[OF_WORDS.min(form.len())..].chunks_exact(HEADS))
        {
            for (sum, byte) in meaning.iter_mut().zip(row) {
                *sum += value * f32::from(byte.cast_signed());
            }
        }
        let root = (words.features as f32).sqrt();
        let scores: [f32; HEADS] = std::array::from_fn(|head| {
            let [scale, of_vector, bias] = [0, 4, 8].map(|at| {
                let bytes = form[HEADER / HEADS * head + at..].first_chunk();
                f32::from_le_bytes(*bytes.expect("invariant: the file has a header"))
            });
            let words = words.sums[head] as f32 / root + PLAIN * plain.sums[head] as f32;
            words * scale + meaning[head] * of_vector + bias
        });
        Self::of_scores(&scores)
    }

    fn of_scores(scores: &[f32; HEADS]) -> Self {
        let (single, sections) = scores.split_at(SINGLE);
        let (none, sections, forget) =
            (sections[0], &sections[1..=SECTIONS.len()], sections[SECTIONS.len() + 1]);
        let best = (0..SECTIONS.len()).max_by(|a, b| sections[*a].total_cmp(&sections[*b]));
        // How much likelier any section is than none.
        let highest = sections.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let others: f32 = sections.iter().map(|score| (score - highest).exp()).sum();
        Self {
            worth: single[0],
            must: single[1],
            small_talk: single[2],
            unclear: single[3],
            outcome: single[4],
            title: single[5],
            profile: highest + others.ln() - none,
            certain: -others.ln(),
            forget: forget - none.max(highest),
            section: SECTIONS[best.unwrap_or_default()],
        }
    }
}

/// For each head, the sum of its bytes in the rows of the features.
struct BucketSums<'a> {
    form: &'a [u8],
    sums: [i32; HEADS],
    features: u32,
}

impl<'a> BucketSums<'a> {
    fn new(form: &'a [u8]) -> Self {
        Self { form, sums: [0; HEADS], features: 0 }
    }

    /// Adds the row of a feature.
    fn add(&mut self, feature: Fnv1a) {
        let hash = feature.finish();
        let start = HEADER + HEADS * ((hash >> 32 ^ hash) as usize % BUCKETS);
        let row = &self.form[start..start + HEADS];
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

    /// Adds the features of a whole sentence of so many words.
    fn add_plain(&mut self, sentence: &str, words: usize, by_agent: bool) {
        let length = (usize::BITS - words.leading_zeros()).min(LONGEST);
        let digit = u32::from(b'0') + length;
        self.add(Fnv1a::default().then_all("=length ".chars()).then(digit));
        let (first, end) = (sentence.chars().next(), sentence.chars().next_back());
        for (holds, feature) in [
            (matches!(end, Some('?' | '？')), "=asks"),
            (matches!(end, Some('!' | '！')), "=cries"),
            (by_agent, "=agent"),
            (sentence.contains(|c: char| c.is_ascii_digit()), "=digit"),
            (sentence.contains(is_quote), "=quotes"),
            (first.is_some_and(char::is_lowercase), "=lower"),
            (end.is_some_and(char::is_alphanumeric), "=open"),
            (sentence.ends_with(UNFINISHED) || sentence.ends_with("..."), "=cut"),
            (has_name(sentence), "=name"),
            (sentence.contains("://") || sentence.contains("www."), "=link"),
            (sentence.contains(['{', '}', '<', '>', '=', '_', '/', '\\', '`']), "=code"),
        ] {
            if holds {
                self.add(Fnv1a::default().then_all(feature.chars()));
            }
        }
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

/// True if a capitalised word follows one that ends no sentence.
pub(crate) fn has_name(sentence: &str) -> bool {
    let mut before = None;
    sentence.split_whitespace().any(|word| {
        let goes_on = before.is_some_and(|c| !matches!(c, '.' | '!' | '?' | ':' | '…' | '"' | '”'));
        before = word.chars().next_back();
        let mut letters = word.chars();
        let is_capital = letters.next().is_some_and(char::is_uppercase);
        // "I" and "I'm" are not names.
        goes_on && is_capital && !matches!(letters.next(), None | Some('\'' | '’'))
    })
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
        assert_eq!(FILE.len(), 2 * OF_WORDS + HEADS * DIMENSION);
    }

    fn numbers(heads: SentenceHeads) -> [f32; 7] {
        let SentenceHeads { worth, must, small_talk, unclear, outcome, title, profile, .. } = heads;
        [worth, must, small_talk, unclear, outcome, title, profile]
    }

    #[test]
    fn a_chinese_question_needs_no_question_mark() {
        for text in ["回答时注意什么", "他说了什么", "有什么规定", "怎麼回答我", "在吗"]
        {
            assert_eq!(small_talk(text), f32::NEG_INFINITY, "{text}");
        }
        for text in ["没什么", "好的，知道了", "谢谢！"] {
            assert!(small_talk(text) > 0.0, "{text}");
        }
    }

    #[test]
    fn what_is_worth_a_note_is_told_from_talk_whatever_its_length() {
        let told =
            ["We moved to a small flat by the canal in May.", "Ich bin gegen Nüsse allergisch."];
        let talk = ["Haha, so true!", "Really?", "Na dann, bis morgen!", ""];
        for one in told {
            assert!(talk.iter().all(|other| worth(one) > worth(other) + 0.3), "{one}");
            let long = format!("{one} {}", "ß".repeat(2 * MAX_BYTES));
            assert!((-1.0..=1.0).contains(&worth(&long)));
        }
        let long = "We moved to a small flat by the canal in May. ".repeat(100);
        assert!(worth(&long) > worth(""), "{}", worth(&long));
    }

    #[test]
    fn scores_are_those_of_the_recipe() {
        let mut wrong = Vec::new();
        // By words, and with a vector of 256 equal numbers.
        for (sentence, by_agent, of_words, with_vector) in [
            (
                "I’ve moved to flat 12, and I don't eat nuts!",
                false,
                [8.00, 0.44, -7.16, -0.20, 0.67, 1.27, 2.82],
                [7.18, -2.14, -6.93, -1.84, -2.68, 4.64, 1.73],
            ),
            (
                "Ich wohne seit März in Köln-Süd.",
                false,
                [4.41, -0.05, -5.80, 0.33, -2.61, 0.04, -2.64],
                [3.07, -3.09, -4.47, -2.88, -3.98, 4.17, -4.41],
            ),
            (
                "我对花生过敏，别忘了。",
                false,
                [5.42, 4.40, -6.24, -3.76, -3.98, 2.40, 2.53],
                [4.78, 0.87, -5.41, -5.04, -5.23, 5.04, -0.06],
            ),
            (
                "「猫アレルギー」です。",
                false,
                [2.25, 2.92, -3.33, -1.99, -5.13, 0.70, -1.30],
                [2.35, 0.47, -3.93, -4.38, -5.76, 4.43, -1.50],
            ),
            (
                "Your booking was moved to \"room 4\".",
                true,
                [-0.99, -8.25, -0.40, -1.31, -1.09, -0.59, -19.20],
                [0.36, -7.82, -1.23, -4.52, -3.68, 3.13, -14.31],
            ),
            (
                "",
                false,
                [-3.04, -3.49, 2.26, 1.39, -5.65, -1.59, -8.04],
                [-0.93, -4.28, 1.48, -2.23, -6.04, 3.68, -5.75],
            ),
        ] {
            let mut near = |found: SentenceHeads, expected: [f32; 7]| {
                let found = numbers(found);
                let off = |(one, other): (&f32, f32)| (one - other).abs() > 0.01;
                if found.iter().zip(expected).any(off) {
                    wrong.push(format!("{sentence}: {found:.2?}"));
                }
            };
            near(SentenceHeads::of(sentence, by_agent), of_words);
            near(SentenceHeads::with_vector(sentence, by_agent, &[1.0 / 16.0; 256]), with_vector);
            near(SentenceHeads::with_vector(sentence, by_agent, &[0.1; 4]), of_words);
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
            "Thank you, Odile.",
            "Of course, Anselm.",
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
        for sentence in
            ["I'm allergic to walnuts.", "I work as a nurse in Leeds.", "Rex came along."]
        {
            assert!(SentenceHeads::of(sentence, false).is_open(false), "{sentence}");
        }
        for sentence in
            ["Haha, that's so funny!", "OK.", "Bis später!", "在吗？", "Wow, that's great!"]
        {
            assert!(!SentenceHeads::of(sentence, false).is_open(false), "{sentence}");
        }
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
