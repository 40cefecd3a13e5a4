//! Which of many messages are worth scoring in full: what speaks for each without comparing what it means.

use super::Query;
use super::messages::{ANSWER, CANDIDATES, DATE, SPEAKER, STATEMENT, TERMS, WORDS, Weights};
use crate::index::Prior;

/// What speaks for a message beside words and meaning: who says it, when, how.
pub(super) struct Circumstances<'a> {
    query: &'a Query,
    /// Does the question name the speaker?
    named: Vec<bool>,
    /// What it counts to tell a time.
    time: f32,
}

impl<'a> Circumstances<'a> {
    /// `named` says of each speaker whether the question names them.
    pub fn new(query: &'a Query, named: Vec<bool>) -> Self {
        // A statement that says much, gives times and numbers, and doesn't ask: the better answer, other things being equal.
        Self { query, named, time: if query.asks_when { 0.3 } else { 0.1 } }
    }

    /// The terms that are known without looking at what the message means.
    pub fn terms(&self, prior: &Prior) -> [f32; TERMS.len()] {
        let flag = |yes: bool| if yes { 1.0 } else { 0.0 };
        let mut terms = [0.0; TERMS.len()];
        terms[SPEAKER] = flag(self.named[prior.speaker as usize]);
        terms[DATE] = self.query.date_match(prior.day);
        terms[STATEMENT] =
            0.3 * prior.mass - 0.3 * prior.question_share + self.time * flag(prior.tells_time) + 0.15 * flag(prior.has_number);
        terms[ANSWER] = prior.answers;
        terms
    }

    /// The most that a message can promise without a word of the question.
    pub fn most(&self, weights: &Weights) -> f32 {
        let speaker = if self.named.contains(&true) { weights.0[SPEAKER].abs() } else { 0.0 };
        let date = weights.0[DATE].abs() * f64::from(self.query.most_date_match());
        (speaker + date + weights.0[STATEMENT].abs() + weights.0[ANSWER].abs()) as f32
    }

    /// The weighted sum of them and the words.
    pub fn promise(&self, prior: &Prior, words: f32, weights: &Weights) -> f32 {
        let terms = self.terms(prior);
        let weighted = [SPEAKER, DATE, STATEMENT, ANSWER].into_iter().map(|term| weights.0[term] as f32 * terms[term]);
        weights.0[WORDS] as f32 * words + weighted.sum::<f32>()
    }
}

/// The [`CANDIDATES`] slots with the highest values; ties go to the lower slot.
pub(super) struct Best {
    kept: Vec<(f32, u32)>,
    /// What a slot has to reach.
    pub least: f32,
}

impl Default for Best {
    fn default() -> Self {
        Self { kept: Vec::with_capacity(4 * CANDIDATES), least: f32::NEG_INFINITY }
    }
}

impl Best {
    pub fn push(&mut self, slot: u32, value: f32) {
        self.kept.push((value, slot));
        if self.kept.len() == 4 * CANDIDATES {
            self.shrink();
        }
    }

    /// Brings `least` up to date.
    pub fn shrink(&mut self) {
        if self.kept.len() >= CANDIDATES {
            let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
            let (_, last, _) = self.kept.select_nth_unstable_by(CANDIDATES - 1, order);
            self.least = last.0;
            self.kept.truncate(CANDIDATES);
        }
    }

    /// The slots in rising order.
    pub fn finish(mut self) -> Vec<u32> {
        self.shrink();
        let mut slots: Vec<u32> = self.kept.into_iter().map(|(_, slot)| slot).collect();
        slots.sort_unstable();
        slots
    }
}
