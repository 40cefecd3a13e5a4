//! How much a sentence is worth keeping: a sum over a few features that can be seen at a glance.
//!
//! The weights were set by hand and checked by leaving each out (`docs/facts.md`).

use super::cues::Cues;
use super::words::{Reading, Signs};
use crate::generate::episode::Told;

/// Weight of each feature. The first grows with the logarithm of the words, all others are yes or
/// no.
const CONTENT: f32 = 1.0;
const DIGIT: f32 = 0.5;
const NAME: f32 = 0.7;
const DATE: f32 = 0.7;
const FIRST_PERSON: f32 = 1.0;
const SECOND_PERSON: f32 = -1.0;
const EXCLAMATION: f32 = -0.3;
const CHATTY: f32 = -1.0;
const PAST: f32 = 0.6;
const ANSWER: f32 = 0.4;
const SHORT: f32 = -2.0;
const DANGLING: f32 = -0.6;
const REQUEST: f32 = -1.0;
const CHANGE: f32 = 0.5;

/// Fewer words than this make a sentence short.
const SHORT_WORDS: usize = 4;
/// The score at which a sentence has an importance of one half.
const MIDDLE: f32 = 2.8;
/// Importance gained by one point of score.
const SLOPE: f32 = 0.12;

/// The score of a sentence; `answers` tells whether the message before is a question of somebody
/// else.
pub(super) fn score(told: &Told, reading: Reading, cues: Cues, answers: bool) -> f32 {
    let form = told.form;
    let yes = |holds: bool, weight: f32| if holds { weight } else { 0.0 };
    let named_first = told.said.starts_with(&told.speaker);
    CONTENT * (1.0 + form.content as f32).ln()
        + yes(form.has_digit, DIGIT)
        + yes(form.has_name, NAME)
        + yes(told.date.is_some(), DATE)
        + yes(reading.all.has(Signs::FIRST_PERSON) || named_first, FIRST_PERSON)
        + yes(reading.all.has(Signs::SECOND_PERSON), SECOND_PERSON)
        + yes(told.said.ends_with(['!', '！']), EXCLAMATION)
        + yes(reading.first.has(Signs::CHATTY), CHATTY)
        + yes(reading.all.has(Signs::PAST), PAST)
        + yes(answers, ANSWER)
        + yes(cues.change || cues.end, CHANGE)
        + yes(form.words < SHORT_WORDS, SHORT)
        + yes(form.dangles, DANGLING)
        + yes(reading.first.has(Signs::REQUEST), REQUEST)
}

/// A score as an importance from 0 to 1.
pub(super) fn importance(score: f32) -> f32 {
    (0.5 + SLOPE * (score - MIDDLE)).clamp(0.0, 1.0)
}
