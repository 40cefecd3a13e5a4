//! The default score of a fact: the message terms that apply to facts, plus a term for current
//! facts.

use super::{FieldScores, ScoreTerm, ScoredRecord};

/// Weights of a fact's terms; equal to those of messages where the meaning is the same.
const FACT_WORDS: f64 = 2.5;
const FACT_TOKENS: f64 = 0.7;
const FACT_SUBJECT: f64 = 1.0;
/// Weight of the term for current facts.
const FACT_CURRENT: f64 = 0.3;

/// The terms of a fact other than its words and meaning.
#[derive(Debug, Clone, Copy)]
pub struct FactTerms {
    /// MaxSim of question and fact, 0 = the average fact, 1 = the best.
    pub tokens: f32,
    /// The weight of `vector`.
    pub vector_weight: f64,
    /// True if the fact is current.
    pub current: bool,
    /// True if the question names the fact's subject.
    pub about_named: bool,
}

/// The value of [`score_fact`] without its explanation tree, up to rounding.
pub fn estimate_fact(scores: &FieldScores, slot: u32, terms: FactTerms) -> f64 {
    let flag = |yes: bool| f64::from(u8::from(yes));
    FACT_WORDS * f64::from(scores.words(slot))
        + FACT_TOKENS * f64::from(terms.tokens)
        + terms.vector_weight * f64::from(scores.meaning(slot))
        + FACT_SUBJECT * flag(terms.about_named)
        + FACT_CURRENT * flag(terms.current)
}

/// Scores the fact in `slot`.
pub fn score_fact(scores: &FieldScores, slot: u32, terms: FactTerms) -> ScoredRecord {
    let flag = |yes: bool| f64::from(u8::from(yes));
    let parts = [
        ("words", FACT_WORDS, f64::from(scores.words(slot)), "words of the question"),
        ("tokens", FACT_TOKENS, f64::from(terms.tokens), "words like those of the question"),
        (
            "vector",
            terms.vector_weight,
            f64::from(scores.meaning(slot)),
            "meaning like the question's",
        ),
        ("subject", FACT_SUBJECT, flag(terms.about_named), "the question names the fact's subject"),
        ("current", FACT_CURRENT, flag(terms.current), "still holds"),
    ];
    let parts = parts
        .into_iter()
        .filter(|(_, _, raw, _)| *raw != 0.0)
        .map(|(name, weight, raw, measures)| ScoreTerm::described(name, weight, raw, measures));
    ScoredRecord { slot, explanation: ScoreTerm::raw(parts.collect()), cosine: scores.cosine(slot) }
}
