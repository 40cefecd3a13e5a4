//! Finds the words of an index that are spelled like a word of the question: typos, inflections of
//! languages without a stemmer, parts of compounds, cognates of another language.
//!
//! Similarity is the Dice coefficient of character trigrams, with the ends of a word marked
//! (Adamson and Boreham, Information Storage and Retrieval 10, 1974).

use crate::index::Postings;
use crate::text::script::is_unspaced;
use crate::text::tongue::QueryLanguage;

/// Minimum length of a word that has variants, in characters. Most trigrams of a shorter word
/// include one of its ends.
const SHORTEST: usize = 4;
/// Maximum length of a word that has variants.
const LONGEST: usize = 32;
/// Minimum similarity if no message contains the word itself.
const LEAST: f32 = 0.5;
/// Minimum similarity if a message contains the word itself: admits only inflections.
const LEAST_BESIDE: f32 = 0.6;
/// Variants that are less similar than the best one by more than this are left out.
const RANGE: f32 = 0.15;
/// Number of leading bytes that words of one stem share.
const COMMON: usize = 3;
/// Maximum number of variants of a word, the most similar ones.
const MOST: usize = 8;

/// A word of the index that counts as an occurrence of a word of the question.
#[derive(Debug, Clone, PartialEq)]
pub struct WordVariant {
    /// The word, in the index's form.
    pub text: String,
    /// Weight of one occurrence relative to the word itself: the similarity, 0 to 1.
    pub share: f32,
}

/// A word of the question.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryWord<'a> {
    /// The word in the index's form.
    pub term: &'a str,
    /// The word as asked, folded.
    pub word: &'a str,
    /// True if inflections are sought even if the index contains the word itself.
    pub inflects: bool,
    /// A language other than English whose stemmer finds inflections.
    pub tongue: Option<QueryLanguage>,
}

/// The variants of a word: those with the same stem first, then similar spellings, most similar
/// first.
pub(super) fn variants(postings: &Postings, spelling: &QueryWord<'_>) -> Vec<WordVariant> {
    let QueryWord { term, word: asked, inflects, tongue } = *spelling;
    let known = postings.document_frequency(term) > 0;
    if known && !inflects {
        return Vec::new();
    }
    let Some(word) = WordTrigrams::of(term) else { return Vec::new() };
    let stem = tongue.map(|tongue| (tongue, tongue.stem(asked)));
    let least = if known { LEAST_BESIDE } else { LEAST };
    let mut found: Vec<WordVariant> = Vec::new();
    let mut same: Vec<WordVariant> = Vec::new();
    let mut other = WordTrigrams::default();
    postings.for_each_term(|text| {
        // Typos rarely change the first letter, and inflections never do.
        if text.as_bytes().first() != term.as_bytes().first() || text == term {
            return;
        }
        if other.read(text) {
            let begins = || text.as_bytes().get(..COMMON) == term.as_bytes().get(..COMMON);
            let same_stem = |(tongue, stem): &(QueryLanguage, _)| tongue.stem(text) == *stem;
            if stem.as_ref().is_some_and(|stem| begins() && same_stem(stem)) {
                return same.push(WordVariant { text: text.to_owned(), share: 1.0 });
            }
            let share = word.dice(&other);
            if share >= least {
                found.push(WordVariant { text: text.to_owned(), share });
            }
        }
    });
    found.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.text.cmp(&b.text)));
    let best = found.first().map_or(0.0, |best| best.share);
    found.retain(|variant| variant.share >= best - RANGE);
    found.truncate(MOST);
    same.sort_by(|a, b| a.text.cmp(&b.text));
    same.append(&mut found);
    same
}

/// The distinct trigrams of a word, ascending.
#[derive(Default)]
struct WordTrigrams(Vec<u64>);

impl WordTrigrams {
    /// Returns `None` for a word without variants.
    fn of(word: &str) -> Option<Self> {
        let mut trigrams = Self::default();
        trigrams.read(word).then_some(trigrams)
    }

    /// Reads another word. Returns false if it has no variants: it is too short or too long, a
    /// number or code, or in a script without spaces.
    fn read(&mut self, word: &str) -> bool {
        self.0.clear();
        // Each character takes 21 bits; 0 marks both ends.
        let (mut window, mut length) = (0_u64, 0);
        for c in word.chars() {
            if !c.is_alphabetic() || is_unspaced(c) {
                return false;
            }
            length += 1;
            window = (window << 21 | u64::from(c)) & ((1 << 63) - 1);
            self.0.push(window);
        }
        self.0.push((window << 21) & ((1 << 63) - 1));
        self.0.sort_unstable();
        self.0.dedup();
        (SHORTEST..=LONGEST).contains(&length)
    }

    fn dice(&self, other: &Self) -> f32 {
        let (mut a, mut b, mut shared) =
            (self.0.iter().peekable(), other.0.iter().peekable(), 0_u16);
        while let (Some(left), Some(right)) = (a.peek(), b.peek()) {
            match left.cmp(right) {
                std::cmp::Ordering::Less => drop(a.next()),
                std::cmp::Ordering::Greater => drop(b.next()),
                std::cmp::Ordering::Equal => {
                    shared += 1;
                    a.next();
                    b.next();
                }
            }
        }
        2.0 * f32::from(shared) / (self.0.len() + other.0.len()) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(words: &str, term: &str, inflects: bool) -> Vec<String> {
        let mut index = Postings::default();
        index.add_record(0, words);
        let spelling = QueryWord { term, word: term, inflects, tongue: None };
        variants(&index, &spelling).into_iter().map(|variant| variant.text).collect()
    }

    #[test]
    fn words_that_no_message_has_find_those_spelled_alike() {
        assert_eq!(found("the grinder broke, we grilled", "grider", false), ["grinder"]);
        assert_eq!(found("a machine in the garden", "machien", false), ["machin"]);
        assert_eq!(found("die Umrüstung kommt", "umrustsatz", false), ["umrustung"]);
        assert_eq!(found("die Maschine steht", "machin", false), ["maschin"]);
        assert_eq!(found("a nation in the garden", "station", false), Vec::<String>::new());
    }

    #[test]
    fn known_words_have_variants_only_where_they_inflect() {
        let words = "ella trabaja aquí, antes trabajaba allí; el trabajo, la traba";
        assert_eq!(found(words, "trabaja", false), Vec::<String>::new());
        assert!(found(words, "trabaja", true).contains(&"trabajo".to_owned()));
    }

    #[test]
    fn numbers_codes_short_words_and_unspaced_scripts_have_none() {
        for (words, term) in [
            ("2019 2018", "2017"),
            ("KX-2201 b12345", "b12346"),
            ("cat", "cut"),
            ("机器学习", "机器人学"),
        ] {
            assert_eq!(found(words, term, true), Vec::<String>::new(), "{term}");
        }
        found("", "", true);
        found(&"x".repeat(1_000), &"x".repeat(64), true);
    }
}
