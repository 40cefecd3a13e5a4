//! Ranks sentences: the score of the head `worth` and a few plain features.

use crate::generate::episode::ToldSentence;

/// Factor for the logarithm of the number of content words.
const CONTENT: f32 = 1.0;
/// Added to a sentence that names a day.
const DATE: f32 = 0.7;
/// Added to a sentence that answers a question.
const ANSWER: f32 = 0.4;
/// Penalty for a sentence without "I" or "my", in languages that need these words: most tell of
/// things in general, or go on where another sentence stopped.
const IMPERSONAL: f32 = -0.8;
/// Penalty for every further sentence of a message: two facts from two messages tell more.
pub(super) const SAME_MESSAGE: f32 = -0.7;
/// Limit of the head's score in both directions.
const MOST_WORTH: f32 = 4.0;
/// The score that gives an importance of one half.
const MIDDLE: f32 = 1.07;
/// Importance per point of score.
const SLOPE: f32 = 0.12;

/// The score of a sentence; `answers` is true if the message before is another speaker's question.
pub(super) fn score(told: &ToldSentence, worth: f32, answers: bool, is_personal: bool) -> f32 {
    CONTENT * (1.0 + told.form.content as f32).ln()
        + worth.clamp(-MOST_WORTH, MOST_WORTH)
        + if told.date.is_some() { DATE } else { 0.0 }
        + if answers { ANSWER } else { 0.0 }
        + if is_personal { 0.0 } else { IMPERSONAL }
}

/// Converts a score to an importance from 0 to 1.
pub(super) fn importance(score: f32) -> f32 {
    (0.5 + SLOPE * (score - MIDDLE)).clamp(0.0, 1.0)
}
