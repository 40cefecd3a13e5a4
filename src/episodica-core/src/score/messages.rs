//! The default ranking of messages: a weighted sum of named terms, each about 0 to 1 before
//! weighting.
//!
//! `docs/scoring.md` defines each term.

use ndarray::ArrayView1;
use rustc_hash::FxHashMap;

use super::ParsedQuery;
use super::candidates::{BestSlots, MessageTerms, later_first};
use super::fusion::{for_each_reaching, reached_by};
use super::late::{MaxSim, TokenTable};
use super::mean::mean;
use super::terms::{ScoredMessage, TOKENS, TermWeights, VECTOR, WORDS};
use super::windowed::WindowedWords;
use crate::error::Result;
use crate::index::MessageIndex;
use crate::parallel;

/// Up to this many messages, all are scored in full; above it, only the most promising.
pub(super) const SCORE_ALL: usize = 2_048;
/// Minimum number of messages scored in full, and number per requested hit, if not all are scored.
/// Four times as many candidates find nothing more.
const CANDIDATES: usize = 64;
const CANDIDATES_EACH: usize = 3;
/// Number of messages examined per candidate, those with the highest word scores.
const LOOKED_AT: usize = 8;
/// Weight of vector similarity when candidates are selected: slightly more than the weights of
/// `vector` and `tokens` together.
const PROMISE_VECTOR: f32 = 1.0;
/// Lowest value of the terms for tokens and vectors: the vector of a pasted file, far from any
/// question, must not outweigh a word that only the file contains.
const LOWEST: f32 = -0.5;

/// All inputs for scoring one user's messages.
pub struct MessageRanking<'a> {
    /// The messages.
    pub index: &'a MessageIndex,
    /// The question.
    pub query: &'a ParsedQuery,
    /// The embedding of the question, if it was embedded.
    pub vector: Option<ArrayView1<'a, f32>>,
    /// Compares tokens by meaning.
    pub table: &'a dyn TokenTable,
    /// The weight of each term.
    pub weights: TermWeights,
    /// Number of messages requested.
    pub wanted: usize,
    /// True if several cores share the work.
    pub shared: bool,
}

impl MessageRanking<'_> {
    /// Scores the messages that `allowed` admits, or only the most promising if there are many;
    /// best first. Ties go to the later message, then to the smaller id.
    ///
    /// # Errors
    /// `Index` for a vector of another dimension.
    pub fn rank(&self, allowed: Option<&dyn Fn(u32) -> bool>) -> Result<Vec<ScoredMessage>> {
        let all = self.index.len() <= SCORE_ALL;
        // With a filter or a named day, messages that share only a common word with the question
        // may be among the best.
        let looked_at = (!all && allowed.is_none() && !self.query.names_a_day())
            .then(|| LOOKED_AT * self.candidates());
        let words = || match looked_at {
            Some(count) => WindowedWords::of_best(self.index, &self.query.terms, count),
            None => WindowedWords::of_all(self.index, &self.query.terms),
        };
        let (mut words, nearest) = if self.shared && !all {
            parallel::join_pair(words, || self.nearest())
        } else {
            (words(), if all { Ok(Vec::new()) } else { self.nearest() })
        };
        let nearest = nearest?;
        let circumstances = self.circumstances();
        let mean = if all { 0.0 } else { self.mean_cosine() };
        let slots: Vec<u32> = if all {
            self.index
                .message_slots()
                .filter(|slot| allowed.is_none_or(|admits| admits(*slot)))
                .collect()
        } else {
            self.promising(&mut words, nearest, &circumstances, mean, allowed)
        };
        let neighbourhood = SlotNeighbours::new(self.index, &slots);
        let cosines = neighbourhood.cosines(self.index, self.vector);
        // A message without a vector gets the mean, which neither raises nor lowers its score.
        let mean = if all { self.mean_of(&slots) } else { mean };
        let similar = neighbourhood
            .smooth(self.index, &slots, self.weights.neighbours, |at| cosines[at].unwrap_or(mean));
        let similar = above_mean(similar, mean);
        let tokens = self.token_scores(&neighbourhood, &slots);
        let mut scored: Vec<ScoredMessage> = slots
            .iter()
            .enumerate()
            .map(|(at, slot)| {
                let mut terms = circumstances.terms(&self.index.priors()[*slot as usize]);
                terms[WORDS] = words.scores()[*slot as usize];
                terms[TOKENS] = tokens[at];
                terms[VECTOR] = similar[at];
                let cosine = cosines[neighbourhood.place(*slot)];
                ScoredMessage {
                    slot: *slot,
                    score: self.weights.sum(&terms),
                    terms,
                    cosine,
                    raised: 0.0,
                    newer: 0.0,
                }
            })
            .collect();
        scored.sort_unstable_by(|a, b| {
            b.score.total_cmp(&a.score).then_with(|| later_first(self.index, a.slot, b.slot))
        });
        Ok(scored)
    }

    /// How well the tokens of each message and its neighbours match the question's, above the mean.
    fn token_scores(&self, neighbourhood: &SlotNeighbours, slots: &[u32]) -> Vec<f32> {
        let mut question = MaxSim::new(self.table, &self.query.content);
        let tokens: Vec<f32> = neighbourhood
            .slots
            .iter()
            .map(|slot| question.score_best_part(self.index.token_ids(*slot)))
            .collect();
        let tokens = neighbourhood.smooth(self.index, slots, 1.0, |at| tokens[at]);
        let typical = self
            .mean_over_sample(slots, |slot| question.score_best_part(self.index.token_ids(slot)));
        above_mean(tokens, typical)
    }

    fn circumstances(&self) -> MessageTerms<'_> {
        let named = (0..self.index.speaker_words().len() as u32)
            .map(|speaker| self.query.named.contains(&speaker))
            .collect();
        MessageTerms::new(self.query, named, &self.weights)
    }

    /// The most promising slots, ascending: by exact words, speaker, time and role, and by vector
    /// (the `nearest` messages and their neighbours).
    fn promising(
        &self,
        words: &mut WindowedWords<'_>,
        nearest: Vec<(u32, f32)>,
        circumstances: &MessageTerms<'_>,
        mean: f32,
        allowed: Option<&dyn Fn(u32) -> bool>,
    ) -> Vec<u32> {
        let candidates = self.candidates();
        let priors = self.index.priors();
        // Gain of each message from its own vector or a neighbour's.
        let mut gains: FxHashMap<u32, f32> = FxHashMap::default();
        let range = nearest.first().map_or(0.0, |(_, best)| best - mean).max(1e-6);
        let near: FxHashMap<u32, f32> = nearest
            .into_iter()
            .map(|(slot, cosine)| (slot, PROMISE_VECTOR * (cosine - mean) / range))
            .collect();
        let value = |slot: Option<u32>| slot.and_then(|slot| near.get(&slot)).unwrap_or(&0.0);
        // Adds the gains of each message in a fixed order, so that equal messages get bit-identical
        // gains regardless of their order of arrival.
        for slot in near.keys() {
            let (before, after) = (self.index.previous_slot(*slot), self.index.next(*slot));
            for slot in [Some(*slot), before, after].into_iter().flatten() {
                let (before, after) = (self.index.previous_slot(slot), self.index.next(slot));
                let own = 0.6 * value(Some(slot));
                gains.insert(slot, own + 0.2 * value(before) + 0.2 * value(after));
            }
        }
        words.complete(gains.keys().copied());
        let scores = words.scores();
        let mut best = BestSlots::new(candidates, self.index);
        let offer = |best: &mut BestSlots<'_>, slot: u32, words: f32, gain: f32| {
            let promise = circumstances.promise(&priors[slot as usize], words) + gain;
            if promise >= best.least && allowed.is_none_or(|allowed| allowed(slot)) {
                best.push(slot, promise);
            }
        };
        gains
            .iter()
            .for_each(|(slot, gain)| offer(&mut best, *slot, scores[*slot as usize], *gain));
        // Skips messages that share only a common word with the question, unless the question names
        // a day or a filter applies.
        let [many, some] = reached_by(scores, [candidates, LOOKED_AT * candidates]);
        let some =
            if allowed.is_some() || self.query.names_a_day() { f32::MIN_POSITIVE } else { some };
        let mut matched: Vec<(u32, f32)> = Vec::new();
        for_each_reaching(scores, some, |slot, words| {
            matched.push((slot, words));
            some
        });
        let matched = || matched.iter().filter(|(slot, _)| !gains.contains_key(slot));
        // The messages with the highest word scores set the bar, so few others need scoring.
        matched()
            .filter(|(_, words)| *words >= many)
            .for_each(|(slot, words)| offer(&mut best, *slot, *words, 0.0));
        best.shrink();
        let (most, weight) = (circumstances.most(), self.weights.terms[WORDS] as f32);
        for (slot, words) in matched().filter(|(_, words)| *words < many) {
            if weight * words + most >= best.least {
                offer(&mut best, *slot, *words, 0.0);
            }
        }
        best.shrink();
        if best.least <= most {
            words.complete_all();
            for slot in circumstances.promising(priors, best.least) {
                let is_new = words.scores()[slot as usize] == 0.0 && !gains.contains_key(&slot);
                if is_new && self.index.has_message(slot) {
                    offer(&mut best, slot, 0.0, 0.0);
                }
            }
        }
        best.finish()
    }

    /// Number of messages scored in full, if not all are.
    fn candidates(&self) -> usize {
        CANDIDATES.max(self.wanted.saturating_mul(CANDIDATES_EACH))
    }

    /// The messages nearest to the question, as many as there are candidates, best first, with all
    /// that tie with the last.
    fn nearest(&self) -> Result<Vec<(u32, f32)>> {
        match self.vector {
            Some(vector) => self.index.field.nearest_and_ties(vector, self.candidates()),
            None => Ok(Vec::new()),
        }
    }

    /// Mean cosine over all messages with a vector.
    fn mean_cosine(&self) -> f32 {
        match (self.vector, self.index.field.vector_index()) {
            (Some(vector), Some(vectors)) => vectors.mean_vector().dot(&vector),
            _ => 0.0,
        }
    }

    /// Mean cosine over `slots`.
    fn mean_of(&self, slots: &[u32]) -> f32 {
        let (Some(vector), Some(vectors)) = (self.vector, self.index.field.vector_index()) else {
            return 0.0;
        };
        let labels: Vec<u64> = slots.iter().copied().map(u64::from).collect();
        mean(vectors.inner_products(vector, &labels).into_iter().flatten())
    }

    fn mean_over_sample(&self, all: &[u32], mut value: impl FnMut(u32) -> f32) -> f32 {
        if self.index.len() <= SCORE_ALL && !all.is_empty() {
            return mean(all.iter().map(|slot| value(*slot)));
        }
        mean(self.index.sampled_slots().map(value))
    }
}

/// Scales the values: 0 = the mean, 1 = the best. None is below [`LOWEST`].
fn above_mean(mut values: Vec<f32>, mean: f32) -> Vec<f32> {
    let range = values.iter().copied().fold(f32::NEG_INFINITY, f32::max) - mean;
    let scaled = |value: f32| if range > 1e-6 { ((value - mean) / range).max(LOWEST) } else { 0.0 };
    values.iter_mut().for_each(|value| *value = scaled(*value));
    values
}

/// Slots and their neighbours, ascending, with the position of each.
struct SlotNeighbours {
    slots: Vec<u32>,
    /// Position of each slot in `slots`; filled only if all messages are scored.
    places: Vec<u32>,
}

impl SlotNeighbours {
    fn new(index: &MessageIndex, slots: &[u32]) -> Self {
        let mut around: Vec<u32> = Vec::with_capacity(4 * slots.len());
        for slot in slots {
            let before = index.previous_slot(*slot);
            around.extend(
                [
                    Some(*slot),
                    index.next(*slot),
                    before,
                    before.and_then(|slot| index.previous_slot(slot)),
                ]
                .into_iter()
                .flatten(),
            );
        }
        around.sort_unstable();
        around.dedup();
        let mut places = Vec::new();
        if index.len() <= SCORE_ALL {
            places.resize(index.slot_count(), u32::MAX);
            around
                .iter()
                .enumerate()
                .for_each(|(place, slot)| places[*slot as usize] = place as u32);
        }
        Self { slots: around, places }
    }

    fn place(&self, slot: u32) -> usize {
        match self.places.get(slot as usize) {
            Some(place) => *place as usize,
            None => self
                .slots
                .binary_search(&slot)
                .expect("invariant: neighbours of candidates are in the neighbourhood"),
        }
    }

    fn cosines(
        &self,
        index: &MessageIndex,
        vector: Option<ArrayView1<'_, f32>>,
    ) -> Vec<Option<f32>> {
        let labels: Vec<u64> = self.slots.iter().map(|slot| u64::from(*slot)).collect();
        match (vector, index.field.vector_index()) {
            (Some(vector), Some(vectors)) => vectors.inner_products(vector, &labels),
            _ => vec![None; self.slots.len()],
        }
    }

    /// Smooths `value`, which is indexed by position, over the neighbours of each of `slots`.
    fn smooth(
        &self,
        index: &MessageIndex,
        slots: &[u32],
        share: f32,
        value: impl Fn(usize) -> f32,
    ) -> Vec<f32> {
        let smooth = |slot: &u32| index.smooth_value(*slot, share, |slot| value(self.place(slot)));
        slots.iter().map(smooth).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::MemoryConfig;
    use crate::model::testing;

    #[test]
    fn cores_that_share_the_work_find_the_same() {
        let mut index = MessageIndex::default();
        let words = ["tea", "kettle", "garden", "bridge", "violin", "harbour", "lantern"];
        for number in 0..3_000 {
            let (a, b) = (words[number % 7], words[number * 5 % 11 % 7]);
            let text = format!("The {a} of number {number} is near the {b}");
            let when = format!("2024-03-11T09:{:02}:{:02}Z", number / 60 % 60, number % 60);
            index.add_message(testing::said(number as u64, "user", None, &when, &text), &[]);
        }
        let table = crate::embed::StaticTable::shared();
        let query = ParsedQuery::new("Which kettle is near the violin?", &index, table);
        let weights = TermWeights::of(&MemoryConfig::default(), false, &query);
        let ranked = |shared| {
            let (index, query) = (&index, &query);
            let ranking =
                MessageRanking { index, query, vector: None, table, weights, wanted: 10, shared };
            ranking.rank(None).expect("there are no vectors")
        };
        assert!(ranked(true).len() >= 10);
        assert_eq!(ranked(true), ranked(false));
    }
}
