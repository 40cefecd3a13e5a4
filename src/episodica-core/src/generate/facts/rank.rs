//! Ranks sentences: a score as a weighted sum over a few simple features.
//!
//! The weights were set by hand and checked by an ablation of each (`docs/facts.md`).

use super::words::{SentenceSigns, WordSigns};
use crate::generate::episode::ToldSentence;

/// The weight of each feature in the score of a sentence.
#[derive(Debug, Clone, Copy)]
pub(super) struct RankWeights {
    /// Factor for the logarithm of the number of content words; all other features are yes or no.
    pub content: f32,
    pub digit: f32,
    pub name: f32,
    pub date: f32,
    pub first_person: f32,
    pub second_person: f32,
    pub exclamation: f32,
    pub chatty: f32,
    pub past: f32,
    pub answer: f32,
    pub short: f32,
    pub dangling: f32,
    pub request: f32,
    /// A lasting fact about the speaker: family and pets, home, work, taste.
    pub lasting: f32,
    /// Penalty for every further sentence of a message: two facts from two messages tell more.
    pub same_message: f32,
}

pub(super) const WEIGHTS: RankWeights = RankWeights {
    content: 1.0,
    digit: 0.5,
    name: 0.7,
    date: 0.7,
    first_person: 1.0,
    second_person: -1.0,
    exclamation: -0.3,
    chatty: -1.0,
    past: 0.6,
    answer: 0.4,
    short: -2.0,
    dangling: -0.6,
    request: -1.0,
    lasting: 0.4,
    same_message: -0.7,
};

/// A sentence with fewer words is short.
const SHORT_WORDS: usize = 4;
/// The score that gives an importance of one half.
const MIDDLE: f32 = 2.8;
/// Importance per point of score.
const SLOPE: f32 = 0.12;

/// The score of a sentence; `answers` is true if the message before is another speaker's question.
pub(super) fn score(
    weights: &RankWeights,
    told: &ToldSentence,
    reading: SentenceSigns,
    answers: bool,
) -> f32 {
    let form = told.form;
    let yes = |holds: bool, weight: f32| if holds { weight } else { 0.0 };
    let signs = reading.all;
    let first_person = signs.has(WordSigns::FIRST_PERSON) || told.said.starts_with(&told.speaker);
    let of_life = [WordSigns::PEOPLE, WordSigns::PERSON, WordSigns::TASTE, WordSigns::WORK];
    let lasts = first_person
        && of_life.into_iter().any(|sign| signs.has(sign))
        && !signs.has(WordSigns::PAST)
        && !signs.has(WordSigns::INTENT);
    weights.content * (1.0 + form.content as f32).ln()
        + yes(form.has_digit, weights.digit)
        + yes(form.has_name, weights.name)
        + yes(told.date.is_some(), weights.date)
        + yes(first_person, weights.first_person)
        + yes(signs.has(WordSigns::SECOND_PERSON), weights.second_person)
        + yes(told.said.ends_with(['!', '！']), weights.exclamation)
        + yes(reading.first.has(WordSigns::CHATTY), weights.chatty)
        + yes(signs.has(WordSigns::PAST), weights.past)
        + yes(answers, weights.answer)
        + yes(form.words < SHORT_WORDS, weights.short)
        + yes(form.dangles, weights.dangling)
        + yes(reading.first.has(WordSigns::REQUEST), weights.request)
        + yes(lasts, weights.lasting)
}

/// Converts a score to an importance from 0 to 1.
pub(super) fn importance(score: f32) -> f32 {
    (0.5 + SLOPE * (score - MIDDLE)).clamp(0.0, 1.0)
}
