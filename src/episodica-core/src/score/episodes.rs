//! Ranks episodes by three layers: `sum of w_i L_i`, with the weights renormalised over the layers
//! present.
//!
//! L0 (title and summary) compares words, L1 (content) words and meaning, relative to the best
//! episode. L2 is the episode's best message: 0 = the mean of all messages, 1 = the best.

use rustc_hash::FxHashMap;

use super::terms::decimal;
use super::{FieldScores, ScoreTerm, ScoredMessage, ScoredRecord, TermDetail};

/// Weight of meaning relative to words in L1; L0 has no vector.
const LAYER_VECTOR: f64 = 0.5;

/// For the two text layers: names of the layer's term and its word term, and a description.
const LAYERS: [[&str; 3]; 2] =
    [["L0", "L0.words", "title and summary"], ["L1", "L1.words", "content"]];

/// Word and vector scores of the episodes' two texts.
pub struct EpisodeFields {
    /// L0.
    pub abstracts: FieldScores,
    /// L1.
    pub narratives: FieldScores,
}

impl EpisodeFields {
    /// The slots that match in either text by words or by meaning, unordered and with duplicates.
    pub fn candidates(&self) -> Vec<u32> {
        let mut slots = self.abstracts.candidates();
        slots.append(&mut self.narratives.candidates());
        slots
    }

    /// Higher of the two texts' word scores, 0 to 1.
    pub fn words(&self, slot: u32) -> f32 {
        self.abstracts.words(slot).max(self.narratives.words(slot))
    }

    /// Higher of the two texts' cosines.
    pub fn cosine(&self, slot: u32) -> Option<f32> {
        let cosines = [self.abstracts.cosine(slot), self.narratives.cosine(slot)];
        cosines.into_iter().flatten().max_by(f32::total_cmp)
    }
}

/// Inputs of the three-layer score.
pub struct EpisodeLayers<'a> {
    fields: &'a EpisodeFields,
    messages: FxHashMap<u32, &'a ScoredMessage>,
    best: [f64; 2],
    mean_message: f64,
    best_message: f64,
    weights: [f32; 3],
    /// `weights` as the decimal numbers that were configured, and their sums without and with L2.
    decimals: [f64; 3],
    totals: [f64; 2],
}

impl<'a> EpisodeLayers<'a> {
    /// `messages` are already scored; `slots` are the episodes that will be scored.
    pub fn new(
        fields: &'a EpisodeFields,
        messages: &'a [ScoredMessage],
        slots: &[u32],
        weights: [f32; 3],
    ) -> Self {
        let best = [&fields.abstracts, &fields.narratives]
            .map(|layer| slots.iter().map(|slot| layer_score(layer, *slot)).fold(0.0, f64::max));
        Self {
            fields,
            messages: messages.iter().map(|message| (message.slot, message)).collect(),
            best,
            mean_message: messages.iter().map(|message| message.score).sum::<f64>()
                / messages.len().max(1) as f64,
            best_message: messages.first().map_or(0.0, |message| message.score),
            weights,
            decimals: weights.map(decimal),
            totals: [2, 3].map(|layers| decimal(weights[..layers].iter().sum::<f32>().max(1e-9))),
        }
    }

    /// The score without its explanation, up to rounding; used to choose the episodes to score in
    /// full.
    pub(crate) fn estimate(&self, slot: u32, members: &[u32]) -> f64 {
        let total: f64 = self
            .weights
            .iter()
            .take(if members.is_empty() { 2 } else { 3 })
            .map(|weight| f64::from(*weight))
            .sum();
        let share = |layer: usize| f64::from(self.weights[layer]) / total.max(1e-9);
        let layer = |number: usize, layer: &FieldScores| {
            if self.best[number] > 0.0 {
                share(number) * layer_score(layer, slot) / self.best[number]
            } else {
                0.0
            }
        };
        layer(0, &self.fields.abstracts)
            + layer(1, &self.fields.narratives)
            + share(2) * self.best_member(members)
    }

    /// Scores the episode in `slot`, whose messages are `members`.
    pub fn score(&self, slot: u32, members: &[u32]) -> ScoredRecord {
        let present = if members.is_empty() { 2 } else { 3 };
        let total = self.totals[present - 2];
        let share = |layer: usize| self.decimals[layer] / total;
        let mut parts = Vec::with_capacity(present);
        for (number, layer) in [&self.fields.abstracts, &self.fields.narratives].iter().enumerate()
        {
            let [name, words, measures] = LAYERS[number];
            let mut legs = vec![ScoreTerm::weighted(words, 1.0, f64::from(layer.words(slot)))];
            if number == 1 {
                let meaning = f64::from(layer.meaning(slot));
                legs.push(ScoreTerm::weighted("L1.vector", LAYER_VECTOR, meaning));
            }
            let share = share(number);
            let scale = if self.best[number] > 0.0 { share / self.best[number] } else { 0.0 };
            parts.push(
                ScoreTerm::sum(name, TermDetail::Share { measures, share }, legs).scaled(scale),
            );
        }
        if present == 3 {
            let best = self.best_member(members);
            parts.push(ScoreTerm::described("L2", share(2), best, "its best message"));
        }
        let explanation = ScoreTerm::raw(parts);
        ScoredRecord { slot, explanation, cosine: self.cosine(slot, members) }
    }

    /// Best cosine of the episode over its texts and its ranked messages.
    pub fn cosine(&self, slot: u32, members: &[u32]) -> Option<f32> {
        let messages = self.scored(members).filter_map(|message| message.cosine);
        messages.chain(self.fields.cosine(slot)).max_by(f32::total_cmp)
    }

    /// The value of L2; 0 if the ranking has none of the messages, or none above the mean.
    fn best_member(&self, members: &[u32]) -> f64 {
        let range = self.best_message - self.mean_message;
        match self.scored(members).map(|message| message.score).max_by(f64::total_cmp) {
            Some(best) if range > 1e-9 => ((best - self.mean_message) / range).max(0.0),
            _ => 0.0,
        }
    }

    fn scored(&self, members: &[u32]) -> impl Iterator<Item = &'a ScoredMessage> {
        members.iter().filter_map(|member| self.messages.get(member).copied())
    }
}

fn layer_score(layer: &FieldScores, slot: u32) -> f64 {
    f64::from(layer.words(slot)) + LAYER_VECTOR * f64::from(layer.meaning(slot))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::TextIndex;

    #[test]
    fn no_near_tie_of_two_messages_decides_how_near_their_episode_is() {
        let field = || FieldScores::new(&TextIndex::default(), Vec::new(), None, 10, None);
        let fields = EpisodeFields { abstracts: field(), narratives: field() };
        let message = |slot, score, cosine| ScoredMessage {
            slot,
            score,
            terms: [0.0; crate::score::MESSAGE_TERMS.len()],
            cosine: Some(cosine),
            raised: 0.0,
            newer: 0.0,
        };
        for scores in [[0.70001, 0.7], [0.7, 0.70001]] {
            let messages = [message(0, scores[0], 0.2), message(1, scores[1], 0.6)];
            let layers = EpisodeLayers::new(&fields, &messages, &[0], [0.2, 0.3, 0.5]);
            assert_eq!(layers.cosine(0, &[0, 1]), Some(0.6));
        }
    }
}
