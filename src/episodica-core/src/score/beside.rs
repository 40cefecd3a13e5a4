//! What of a question is left beside the names and times in it.

use std::collections::{BTreeSet, HashSet};

use super::QueryTerm;
use super::query::query_terms;
use crate::clock::Moment;
use crate::index::{MessageIndex, stem_word};
use crate::text::script::is_unspaced;
use crate::text::time::mentions;
use crate::text::words::{fold, for_each_word, words};

/// Least likeness of a word of the talk that counts as one of the question: its translations and
/// inflections have it, a word that is only spelled alike has not.
const ALIKE: f32 = 0.8;
/// Least weight of words that ask for something; "happened" has less.
const ASKS: f32 = 0.5;

/// What a question asks beside words of times such as "tomorrow".
pub(super) struct AskedBesideTimes {
    /// True if it has a word that the talk has.
    pub of_the_talk: bool,
    /// True if it names a time, and nothing else that the talk has.
    pub only_when: bool,
}

impl AskedBesideTimes {
    pub(super) fn new(text: &str, terms: &[QueryTerm], index: &MessageIndex) -> Self {
        let times = terms_of_times(text);
        let is_said = |term: &QueryTerm| {
            term.variants.iter().any(|variant| variant.share >= ALIKE)
                || index.field.postings.document_frequency(&term.text) > 0
        };
        let beside = terms.iter().filter(|term| !times.contains(&term.text) && is_said(term));
        let weights: Vec<f32> = beside.map(|term| term.weight).collect();
        Self {
            of_the_talk: !weights.is_empty(),
            only_when: !times.is_empty() && weights.iter().sum::<f32>() < ASKS,
        }
    }
}

/// The terms of the times in a text, in every form that a question's terms have.
fn terms_of_times(text: &str) -> HashSet<String> {
    // Where a time stands does not depend on the day of the question.
    let found = mentions(text, Moment::new(0, 0).unwrap_or(Moment::MIN));
    let terms = found.iter().flat_map(|one| {
        let time = fold(&text[one.start..one.end]);
        let signs = time.chars().filter(|c| is_unspaced(*c)).map(String::from);
        let stems = words(&time).map(|word| stem_word(word).into_owned());
        query_terms(&time).into_iter().chain(stems).chain(signs).collect::<Vec<_>>()
    });
    terms.collect()
}

/// Removes these folded names from a text, unless nothing else would remain. Keeps case and
/// punctuation, since sentence embedders are trained on sentences.
pub(super) fn without(text: &str, names: &BTreeSet<&str>) -> String {
    let mut kept = String::with_capacity(text.len());
    for piece in text.split_whitespace() {
        let (mut has_name, mut is_name) = (false, true);
        for_each_word(&fold(piece), |word, _| {
            has_name |= names.contains(word);
            is_name &= names.contains(word) || word == "s";
        });
        if has_name && is_name {
            kept.push_str(piece.trim_start_matches(|char: char| {
                char.is_alphanumeric() || matches!(char, '\'' | '\u{2019}')
            }));
            continue;
        }
        if !kept.is_empty() {
            kept.push(' ');
        }
        let unspaced = names.iter().filter(|name| name.starts_with(is_unspaced));
        kept.push_str(&unspaced.fold(piece.to_owned(), |piece, name| piece.replace(name, "")));
    }
    if kept.chars().any(char::is_alphanumeric) { kept } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing;
    use crate::score::ParsedQuery;

    #[test]
    fn a_sentence_loses_the_names_and_nothing_else() {
        let names = BTreeSet::from(["ann", "林晓禾"]);
        for (text, rest) in [
            ("What is Ann's dog called, Ann?", "What is dog called,?"),
            ("Did Ann\u{2019}s sister call Annette?", "Did sister call Annette?"),
            ("林晓禾喜欢什么茶？", "喜欢什么茶？"),
            ("Ann?", "Ann?"),
            ("", ""),
        ] {
            assert_eq!(without(text, &names), rest);
        }
    }

    #[test]
    fn a_question_that_has_nothing_but_a_time_asks_only_when() {
        let mut index = MessageIndex::default();
        let texts = [
            "We had raclette with Lea, and the dog went to the dentist.",
            "It happened in the garden. Gestern war ich beim Zahnarzt in Bonn.",
            "我们去了公园。",
        ];
        for (number, text) in (0..).zip(texts) {
            index.add_message(
                testing::said(number, "user", Some("Ann"), "2024-03-11T09:00:00Z", text),
                &[],
            );
        }
        let table = crate::embed::StaticTable::shared();
        let asked = |text: &str| ParsedQuery::new(text, &index, table);
        for text in [
            "What did I do on 5 March 2025?",
            "What did we do last week?",
            "What happened in March 2025?",
            "What happened yesterday?",
            "Where was Ann on Friday?",
            "What about the 3rd of June?",
            "Was war am 5. März 2025?",
            "Was haben wir letzte Woche gemacht?",
            "¿Qué hicimos en mayo de 2023?",
            "3月5日我们做了什么？",
        ] {
            let query = asked(text);
            let terms: Vec<_> = query.terms.iter().map(|one| (&one.text, one.weight)).collect();
            assert!(query.asks_only_when, "{text} {terms:?}");
        }
        for text in [
            "What did we eat with Lea on 5 March 2025?",
            "Who went to the dentist last week?",
            "Wann war ich gestern beim Zahnarzt?",
            "When did the dog see the dentist?",
            "昨天谁去了公园？",
            "What did I do?",
            "dentist",
            "",
        ] {
            assert!(!asked(text).asks_only_when, "{text}");
        }
    }
}
