//! Finds the words of an index that belong to a kind of thing that a question asks for: "which
//! instruments does Ann play?" is answered by a message about her violin.
//!
//! The kinds (`assets/kinds.txt`) are those of everyday talk, in English. A word counts only where
//! the question asks for the kind, not wherever it names it.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::variants::Variant;
use crate::fork::Lazy;
use crate::index::{Postings, stem};

static TEXT: &str = include_str!("../../assets/kinds.txt");

/// How much an occurrence of the rarest word of a kind counts beside one of the word asked for.
/// Commoner words count less, in proportion to their idf.
pub(super) const INSTANCE_SHARE: f32 = 0.6;
/// Words after "what", "which" or "kind of" that may name what is asked for.
const ASKED: usize = 5;
/// Records that the words of a kind may add, the rarest words first: a bound on the time.
const MOST_RECORDS: usize = 4_096;

/// Words that end what is asked for: "which [books] did …".
const AUXILIARIES: [&str; 21] = [
    "do", "does", "did", "has", "have", "had", "is", "are", "was", "were", "am", "be", "been",
    "can", "could", "would", "should", "will", "might", "may", "must",
];

/// The kinds that a word asks for, and the words of each kind, all in the form of the index.
struct Kinds {
    asked: FxHashMap<String, Vec<usize>>,
    words: Vec<Vec<String>>,
}

static KINDS: Lazy<Kinds> = Lazy::new(|| {
    let mut kinds = Kinds { asked: FxHashMap::default(), words: Vec::new() };
    for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
        let (asked, words) = line.split_once('|').unwrap_or_default();
        for word in asked.split_whitespace() {
            kinds.asked.entry(stem(word).into_owned()).or_default().push(kinds.words.len());
        }
        kinds.words.push(words.split_whitespace().map(|word| stem(word).into_owned()).collect());
    }
    kinds
});

/// The words of a question that may name the kind of thing that it asks for, in the form of the
/// index: those after "what", "which", "how many" or "kind of", up to the next auxiliary.
pub(super) fn asked_for(words: &[String]) -> BTreeSet<String> {
    let is = |at: usize, those: &[&str]| words.get(at).is_some_and(|word| those.contains(&&**word));
    let mut asked = BTreeSet::new();
    for at in 0..words.len() {
        let opens = is(at, &["what", "which"])
            || at > 0 && is(at, &["many"]) && is(at - 1, &["how"])
            || at > 0
                && is(at, &["of"])
                && is(at - 1, &["kind", "kinds", "type", "types", "sort", "sorts"]);
        if opens {
            let from = at + 1 + usize::from(is(at + 1, &AUXILIARIES));
            let rest = words.iter().skip(from).take(ASKED);
            let named = rest.take_while(|word| !AUXILIARIES.contains(&&***word));
            asked.extend(named.map(|word| stem(word).into_owned()));
        }
    }
    asked
}

/// The words of the index that belong to the kinds that `term` asks for, except those of `known`.
pub(super) fn instances(postings: &Postings, term: &str, known: &[&str]) -> Vec<Variant> {
    let Some(kinds) = KINDS.asked.get(term) else { return Vec::new() };
    let words: BTreeSet<&str> =
        kinds.iter().flat_map(|kind| &KINDS.words[*kind]).map(String::as_str).collect();
    let mut found: Vec<(usize, &str)> = words
        .into_iter()
        .filter(|word| *word != term && !known.contains(word))
        .map(|word| (postings.document_frequency(word), word))
        .filter(|(records, _)| *records > 0)
        .collect();
    found.sort_unstable();
    let mut records = 0;
    found.retain(|(frequency, _)| {
        records += frequency;
        records <= MOST_RECORDS
    });
    let rarest = postings.idf(1);
    let share = |frequency: usize| INSTANCE_SHARE * postings.idf(frequency) / rarest;
    found
        .into_iter()
        .map(|(frequency, word)| Variant { text: word.to_owned(), share: share(frequency) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::vocabulary::is_function_word;

    fn asked(question: &str) -> Vec<String> {
        let words: Vec<String> = question.split(' ').map(str::to_owned).collect();
        asked_for(&words).into_iter().collect()
    }

    #[test]
    fn what_a_question_asks_for_follows_its_question_word() {
        assert_eq!(asked("which instruments does she play"), [stem("instruments")]);
        assert_eq!(asked("what kind of car did he buy"), [stem("car"), "kind".into(), "of".into()]);
        assert_eq!(asked("how many pets has she got"), [stem("pets")]);
        assert_eq!(asked("what are her hobbies"), ["her".to_owned(), stem("hobbies").into_owned()]);
        assert!(asked("when did she buy the instruments").is_empty());
    }

    #[test]
    fn words_of_the_kind_are_found_and_rare_ones_count_more() {
        let mut postings = Postings::default();
        let texts = ["I play the violin", "my guitar", "a guitar again", "the weather", "rain"];
        (0..).zip(texts).for_each(|(slot, text)| postings.add(slot, text));
        let found = instances(&postings, &stem("instruments"), &[]);
        let words: Vec<&str> = found.iter().map(|variant| variant.text.as_str()).collect();
        assert_eq!(words, [&*stem("violin"), &*stem("guitar")]);
        assert!(found[0].share == INSTANCE_SHARE && found[1].share < INSTANCE_SHARE);
        assert!(instances(&postings, &stem("instruments"), &[&stem("violin")]).len() == 1);
        assert!(instances(&postings, "word", &[]).is_empty());
    }

    #[test]
    fn every_line_has_words_that_ask_and_words_that_answer() {
        for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
            let (asked, words) = line.split_once('|').expect("two columns");
            assert!(asked.split_whitespace().count() > 0 && words.split_whitespace().count() > 3);
            let grammar = |word: &&str| is_function_word(word);
            assert_eq!(line.split([' ', '|']).find(grammar), None, "{line}");
        }
    }
}
