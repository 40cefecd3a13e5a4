//! The terms of a message's score, each about 0 to 1 before weighting, and their weights.

use super::{ParsedQuery, ScoreTerm};
use crate::config::{MESSAGE_WEIGHTS, MemoryConfig, STATIC_WEIGHTS};

/// Weight of neighbours' vectors with a sentence embedder, which needs less of the surrounding
/// conversation to represent a sentence.
const SENTENCE_NEIGHBOURS: f32 = 0.75;
/// How much more the day weighs for a question that names nothing else: more than all that tells
/// two messages apart of which neither has a word of the question.
const ONLY_WHEN: f32 = 4.0;
pub(super) const WORDS: usize = 0;
pub(super) const TOKENS: usize = 1;
pub(super) const VECTOR: usize = 2;
pub(super) const SPEAKER: usize = 3;
pub(super) const DATE: usize = 4;
pub(super) const STATEMENT: usize = 5;
pub(super) const ANSWER: usize = 6;
pub(super) const ROLE: usize = 7;

/// Names of the terms, in the order of [`ScoredMessage::terms`].
pub const TERMS: [&str; MESSAGE_WEIGHTS.len()] =
    ["words", "tokens", "vector", "speaker", "date", "statement", "answer", "role"];

/// A readable description of each term.
const MEASURES: [&str; TERMS.len()] = [
    "words of the question, here and around",
    "words like those of the question",
    "meaning like the question's",
    "the question names the speaker",
    "the question names the day",
    "worth a note, gives times and numbers, does not ask",
    "answers a question",
    "an assistant or a tool says it",
];

/// The weight of each term.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TermWeights {
    /// In the order of [`TERMS`].
    pub terms: [f64; TERMS.len()],
    /// Weight of neighbours' vectors, 0 to 1.
    pub neighbours: f32,
}

impl TermWeights {
    /// The configured weights; without a sentence embedder, default weights are replaced by those
    /// for the table of token vectors. It is English, so with it vectors have no weight for a
    /// question in another language.
    pub fn of(config: &MemoryConfig, sentence_embedder: bool, query: &ParsedQuery) -> Self {
        let mut weights = config.message_weights;
        if weights == MESSAGE_WEIGHTS && !sentence_embedder {
            weights = STATIC_WEIGHTS;
            if !query.is_english {
                weights[VECTOR] = 0.0;
            }
        }
        if query.asks_only_when {
            weights[DATE] *= ONLY_WHEN;
        }
        let neighbours = if sentence_embedder { SENTENCE_NEIGHBOURS } else { 1.0 };
        Self { terms: weights.map(decimal), neighbours }
    }

    /// Weight of the cosine term.
    pub fn vector(&self) -> f64 {
        self.terms[VECTOR]
    }

    pub(super) fn sum(&self, terms: &[f32; TERMS.len()]) -> f64 {
        let weighted = self.terms.iter().zip(terms).filter(|(_, raw)| **raw != 0.0);
        weighted.fold(0.0, |sum, (weight, raw)| sum + weight * f64::from(*raw))
    }
}

/// The decimal number that a single-precision setting was written as: 0.3 instead of
/// 0.300000011920929.
pub(super) fn decimal(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| f64::from(value))
}

/// A message with its score and its unweighted terms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredMessage {
    /// The message.
    pub slot: u32,
    /// The weighted sum of `terms`.
    pub score: f64,
    /// Each term before weighting.
    pub terms: [f32; TERMS.len()],
    /// Cosine of question and message; `None` without vectors.
    pub cosine: Option<f32>,
    /// Amount added to the score because the message states a fact that superseded a better match.
    pub raised: f64,
    /// Amount added because the message says the same as an earlier, better match with another
    /// value.
    pub newer: f64,
}

impl ScoredMessage {
    /// The score as an explanation tree; its value is `score`, bit for bit.
    pub fn explain(&self, weights: &TermWeights) -> ScoreTerm {
        let terms = (0..TERMS.len()).filter(|term| self.terms[*term] != 0.0);
        let children = terms.map(|term| {
            let raw = f64::from(self.terms[term]);
            ScoreTerm::described(TERMS[term], weights.terms[term], raw, MEASURES[term])
        });
        let gain = (self.raised > 0.0).then(|| ScoreTerm::succession(self.raised));
        let newer = (self.newer > 0.0).then(|| ScoreTerm::newer(self.newer));
        ScoreTerm::raw(children.chain(gain).chain(newer).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::MessageIndex;

    #[test]
    fn the_setting_names_every_term() {
        let schema = MemoryConfig::schema();
        let weights = schema.iter().find(|setting| setting.name == "message_weights").unwrap();
        let named = format!("score: {}.", TERMS.join(", "));
        assert!(weights.documentation.contains(&named), "{}", weights.documentation);
    }

    #[test]
    fn the_table_has_weights_of_its_own_unless_weights_are_set() {
        let mut config = MemoryConfig::default();
        let (index, table) = (MessageIndex::default(), crate::embed::StaticTable::shared());
        let english = ParsedQuery::new("Where does she live?", &index, table);
        let of = |config: &MemoryConfig, sentences, query: &ParsedQuery| {
            let weights = TermWeights::of(config, sentences, query).terms;
            (weights[WORDS], weights[TOKENS], weights[VECTOR])
        };
        assert_eq!(of(&config, false, &english), (3.0, 0.5, 0.5));
        assert_eq!(of(&config, true, &english), (2.5, 0.5, 0.85));
        // The table does not know what a German sentence means.
        let german = ParsedQuery::new("Wo wohnt sie denn jetzt?", &index, table);
        assert_eq!(of(&config, false, &german).2, 0.0);
        assert_eq!(of(&config, true, &german).2, 0.85);
        config.message_weights[WORDS] = 2.0;
        assert_eq!(of(&config, true, &german), (2.0, 0.5, 0.85));
    }
}
