//! The language of a question, among those with a list of function words. It decides which words
//! say nothing about the topic, and which stemmer the other words need.
//!
//! The language with the most function words in the question counts; a question is too short for a
//! better test. The message index does not depend on it, so a wrong guess affects one question.

use std::borrow::Cow;
use std::cell::OnceCell;

use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::FxHashSet;

use super::vocabulary::{base_form, is_function_word, lines};
use super::words::fold;
use crate::fork::ForkLazy;

const TABLE: &str = include_str!("function_words.txt");

/// Number of words at the head of a list that occur in nearly every text of the language.
const MARKS: usize = 10;

/// A language of questions: its position in the table. English has no entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct QueryLanguage(u8);

struct LanguageList {
    name: &'static str,
    words: FxHashSet<String>,
    marks: Vec<&'static str>,
    stemmer: Option<Algorithm>,
}

static LISTS: ForkLazy<Vec<LanguageList>> = ForkLazy::new(|| {
    let mut lists: Vec<LanguageList> = Vec::new();
    for (name, line) in lines(TABLE) {
        if lists.last().is_none_or(|list| list.name != name) {
            let (words, marks) = (FxHashSet::default(), Vec::new());
            lists.push(LanguageList { name, words, marks, stemmer: algorithm(name) });
        }
        if let Some(list) = lists.last_mut() {
            for word in line.split_whitespace() {
                if list.marks.len() < MARKS {
                    list.marks.push(word);
                }
                list.words.insert(fold(word).into_owned());
            }
        }
    }
    lists
});

fn algorithm(name: &str) -> Option<Algorithm> {
    Some(match name {
        "arabic" => Algorithm::Arabic,
        "danish" => Algorithm::Danish,
        "dutch" => Algorithm::Dutch,
        "finnish" => Algorithm::Finnish,
        "french" => Algorithm::French,
        "german" => Algorithm::German,
        "greek" => Algorithm::Greek,
        "hungarian" => Algorithm::Hungarian,
        "italian" => Algorithm::Italian,
        "norwegian" => Algorithm::Norwegian,
        "portuguese" => Algorithm::Portuguese,
        "romanian" => Algorithm::Romanian,
        "russian" => Algorithm::Russian,
        "spanish" => Algorithm::Spanish,
        "swedish" => Algorithm::Swedish,
        "turkish" => Algorithm::Turkish,
        _ => return None,
    })
}

/// True for a German function word, whatever its case.
pub(super) fn is_german_function_word(word: &str) -> bool {
    let german = LISTS.iter().find(|list| list.name == "german");
    german.is_some_and(|list| list.words.contains(&*fold(word)))
}

thread_local! {
    /// One stemmer per language, created on first use.
    static STEMMERS: Vec<OnceCell<Stemmer>> = LISTS.iter().map(|_| OnceCell::new()).collect();
    static ENGLISH: Stemmer = Stemmer::create(Algorithm::English);
}

impl QueryLanguage {
    /// The language named in the table.
    pub fn named(name: &str) -> Option<Self> {
        let place = LISTS.iter().position(|list| list.name == name)?;
        Some(Self(place as u8))
    }

    /// The language with the most function words among these folded words; `None` for English,
    /// which also wins a tie, and if no word is a function word.
    pub fn of<'a>(words: impl Iterator<Item = &'a str> + Clone) -> Option<Self> {
        let mut most = words.clone().filter(|word| is_function_word(word)).count();
        let mut tongue = None;
        for (place, list) in LISTS.iter().enumerate() {
            let count = words.clone().filter(|word| list.words.contains(*word)).count();
            if count > most {
                (most, tongue) = (count, Some(Self(place as u8)));
            }
        }
        tongue
    }

    fn list(self) -> &'static LanguageList {
        &LISTS[usize::from(self.0)]
    }

    /// Whether a folded word says nothing about a topic.
    pub fn is_function_word(self, word: &str) -> bool {
        self.list().words.contains(word)
    }

    /// The commonest function words.
    pub fn marks(self) -> &'static [&'static str] {
        &self.list().marks
    }

    /// The Snowball stem of a folded word; the word itself for a language without a stemmer.
    pub fn stem(self, word: &str) -> Cow<'_, str> {
        let Some(algorithm) = self.list().stemmer else { return Cow::Borrowed(word) };
        STEMMERS.with(|stemmers| {
            stemmers[usize::from(self.0)].get_or_init(|| Stemmer::create(algorithm)).stem(word)
        })
    }
}

/// The stem of a folded word in a language; `None` means English.
pub(crate) fn stem_in(tongue: Option<QueryLanguage>, word: &str) -> Cow<'_, str> {
    match tongue {
        Some(tongue) => tongue.stem(word),
        None => ENGLISH.with(|stemmer| stemmer.stem(base_form(word))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_in_the_language_of_most_of_their_function_words() {
        for (question, expected) in [
            ("who lives in the old house", None),
            ("wer wohnt in dem alten haus", Some("german")),
            ("quien vive en la casa vieja", Some("spanish")),
            ("qui habite dans la vieille maison", Some("french")),
            ("кто живет в старом доме", Some("russian")),
            ("wie woont er in het oude huis", Some("dutch")),
            ("mercedes benz", None),
        ] {
            let tongue = QueryLanguage::of(question.split(' '));
            assert_eq!(tongue, expected.and_then(QueryLanguage::named), "{question}");
        }
    }

    #[test]
    fn every_list_has_marks_and_folded_words() {
        for list in LISTS.iter() {
            assert_eq!(list.marks.len(), MARKS, "{}", list.name);
            for mark in &list.marks {
                assert_eq!(fold(mark), *mark, "{}", list.name);
            }
        }
        let german = QueryLanguage::named("german").expect("in the table");
        assert_eq!(german.stem("hausern"), german.stem("hausers"));
        assert_eq!(stem_in(None, "went"), "go");
    }
}
