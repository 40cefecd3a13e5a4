//! Ranking of what was made from messages: episodes in three layers, semantic memories in one.

use ndarray::ArrayView1;
use rustc_hash::FxHashMap;

use super::lexical::bm25;
use super::messages::decimal;
use super::{Explanation, QueryTerm, ScoredMessage};
use crate::index::Field;

/// Up to this many records every vector is compared; above, the nearest.
const SCORE_ALL: usize = 2_048;
/// Records taken from each leg when not all are scored, at least; and for each that is wanted.
const CANDIDATES: usize = 48;
const CANDIDATES_EACH: usize = 2;
/// What meaning counts beside words in a layer of an episode.
const LAYER_VECTOR: f64 = 0.5;

/// How far an estimate may be from the score.
const ROUNDING: f64 = 1e-6;

/// Weights of a statement's terms: those of messages, where they mean the same.
const STATEMENT_WORDS: f64 = 2.5;
const STATEMENT_TOKENS: f64 = 0.7;
const STATEMENT_SUBJECT: f64 = 1.0;
/// What it counts that a statement still holds.
const STATEMENT_CURRENT: f64 = 0.3;

/// One text field held against a question: words and meaning of every slot.
pub struct FieldScores {
    /// The best by words, best first; only where not all are compared.
    by_words: Vec<u32>,
    words: Vec<f32>,
    cosines: FxHashMap<u32, f32>,
    mean: f32,
    best: f32,
}

impl FieldScores {
    /// Scores the field. `b` is BM25's correction for length, `wanted` how many of the best are
    /// asked for.
    pub fn new(
        field: &Field,
        terms: &[QueryTerm],
        vector: Option<ArrayView1<'_, f32>>,
        b: f32,
        wanted: usize,
    ) -> Self {
        let words = bm25(&field.postings, terms, b);
        let candidates = CANDIDATES.max(wanted.saturating_mul(CANDIDATES_EACH));
        let by_words =
            if words.len() <= SCORE_ALL { Vec::new() } else { super::top_k(&words, candidates) };
        let mut scores =
            Self { by_words, words, cosines: FxHashMap::default(), mean: 0.0, best: 0.0 };
        let (Some(vector), Some(vectors)) = (vector, field.vectors()) else { return scores };
        let labels = vectors.labels();
        scores.mean = vectors.mean().dot(&vector);
        scores.cosines = match labels.len() <= SCORE_ALL {
            true => labels
                .iter()
                .zip(vectors.scores(vector, labels))
                .filter_map(|(label, score)| Some((*label as u32, score?)))
                .collect(),
            false => {
                let nearest = vectors.search(vector, candidates).unwrap_or_default();
                let mut known: FxHashMap<u32, f32> =
                    nearest.into_iter().map(|(label, score)| (label as u32, score)).collect();
                let wanted = scores.by_words.iter().filter(|slot| !known.contains_key(slot));
                let wanted: Vec<u64> = wanted.copied().map(u64::from).collect();
                let lexical = wanted.iter().zip(vectors.scores(vector, &wanted));
                known.extend(lexical.filter_map(|(label, score)| Some((*label as u32, score?))));
                known
            }
        };
        scores.best = scores.cosines.values().copied().fold(f32::NEG_INFINITY, f32::max);
        scores
    }

    /// The slots that match by either leg, in no order: all with a word or a known vector.
    pub fn candidates(&self) -> Vec<u32> {
        let mut slots: Vec<u32> = match self.words.len() <= SCORE_ALL {
            true => (0..self.words.len() as u32)
                .filter(|slot| self.words[*slot as usize] > 0.0)
                .collect(),
            false => self.by_words.clone(),
        };
        slots.extend(self.cosines.keys());
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// Words: the share of the question that is answered, 0 to 1.
    pub fn words(&self, slot: u32) -> f32 {
        self.words.get(slot as usize).copied().unwrap_or(0.0)
    }

    /// Cosine of question and field; `None` where it was not compared.
    pub fn cosine(&self, slot: u32) -> Option<f32> {
        self.cosines.get(&slot).copied()
    }

    /// Meaning: 0 = an average record, 1 = the nearest.
    pub fn meaning(&self, slot: u32) -> f32 {
        let range = self.best - self.mean;
        self.cosine(slot)
            .map_or(0.0, |cosine| if range > 1e-6 { (cosine - self.mean) / range } else { 0.0 })
    }
}

/// A record with its explained score.
#[derive(Debug, Clone)]
pub struct ScoredRecord {
    /// The record.
    pub slot: u32,
    /// The score as a tree; its value is the score.
    pub explanation: Explanation,
    /// Best cosine of question and record over its layers.
    pub cosine: Option<f32>,
}

/// By how much a statement stands above the best of those that it superseded.
const SUCCESSION: f64 = 0.001;
/// Longest chain of supersessions that is followed.
const MAX_CHAIN: usize = 64;

/// The slot at the end of a chain of supersessions; `None` for what was not superseded.
pub fn last_successor(slot: u32, successor: impl Fn(u32) -> Option<u32>) -> Option<u32> {
    std::iter::successors(successor(slot), |slot| successor(*slot)).take(MAX_CHAIN).last()
}

/// A question that fits what was superseded is answered by what superseded it: the statement that
/// holds now takes over the score, where its own is lower. `successor` gives the slot of what
/// superseded a slot's record.
pub fn raise_successors(records: &mut [ScoredRecord], successor: impl Fn(u32) -> Option<u32>) {
    let mut inherited: FxHashMap<u32, f64> = FxHashMap::default();
    for record in records.iter() {
        if let Some(last) = last_successor(record.slot, &successor) {
            let best = inherited.entry(last).or_insert(f64::MIN);
            *best = best.max(record.explanation.value);
        }
    }
    for record in records {
        let Some(best) = inherited.get(&record.slot) else { continue };
        let missing = best - record.explanation.value;
        if missing >= 0.0 {
            let Explanation { name, detail, mut children, .. } = record.explanation.clone();
            children.push(Explanation::leaf(
                "succession",
                missing + SUCCESSION,
                "what it superseded matches better",
            ));
            record.explanation = Explanation::sum(name, detail, children);
        }
    }
}

/// Best first, ties by slot.
pub fn sort_records(records: &mut [ScoredRecord]) {
    records.sort_by(|a, b| {
        b.explanation.value.total_cmp(&a.explanation.value).then(a.slot.cmp(&b.slot))
    });
}

/// What the three layers of episodes are scored with.
pub struct EpisodeLayers<'a> {
    abstracts: &'a FieldScores,
    narratives: &'a FieldScores,
    messages: FxHashMap<u32, &'a ScoredMessage>,
    best: [f64; 2],
    mean_message: f64,
    best_message: f64,
    weights: [f32; 3],
}

impl<'a> EpisodeLayers<'a> {
    /// `messages` are scored already; `slots` are the episodes that will be asked for.
    pub fn new(
        abstracts: &'a FieldScores,
        narratives: &'a FieldScores,
        messages: &'a [ScoredMessage],
        slots: &[u32],
        weights: [f32; 3],
    ) -> Self {
        let best = [abstracts, narratives]
            .map(|layer| slots.iter().map(|slot| layer_score(layer, *slot)).fold(0.0, f64::max));
        Self {
            abstracts,
            narratives,
            messages: messages.iter().map(|message| (message.slot, message)).collect(),
            best,
            mean_message: messages.iter().map(|message| message.score).sum::<f64>()
                / messages.len().max(1) as f64,
            best_message: messages.first().map_or(0.0, |message| message.score),
            weights,
        }
    }

    /// The same score without the tree behind it, up to rounding: enough to choose whom to score in
    /// full.
    pub fn estimate(&self, slot: u32, members: &[u32]) -> f64 {
        let total: f64 = self
            .weights
            .iter()
            .take(if members.is_empty() { 2 } else { 3 })
            .map(|weight| f64::from(*weight))
            .sum();
        let share = |layer: usize| f64::from(self.weights[layer]) / total.max(1e-9);
        let layer = |number: usize, layer: &FieldScores| match self.best[number] > 0.0 {
            true => share(number) * layer_score(layer, slot) / self.best[number],
            false => 0.0,
        };
        let texts = layer(0, self.abstracts) + layer(1, self.narratives);
        let matched = members
            .iter()
            .filter_map(|member| self.messages.get(member))
            .map(|message| message.score);
        let range = self.best_message - self.mean_message;
        match matched.max_by(f64::total_cmp) {
            Some(best) if range > 1e-9 => {
                texts + share(2) * ((best - self.mean_message) / range).max(0.0)
            }
            _ => texts,
        }
    }

    /// Scores the episode in `slot` with the messages in `members`: `sum of w_i L_i`, weights
    /// renormalised over the layers present.
    ///
    /// L0 and L1 are words and meaning of their text against the best episode's, L2 is its best
    /// message against the mean (0) and the best (1) of all. Also returns the members by how well
    /// they matched, best first.
    pub fn score(&self, slot: u32, members: &[u32]) -> (ScoredRecord, Vec<u32>) {
        let mut matched: Vec<(f64, u32)> = members
            .iter()
            .map(|member| {
                (
                    self.messages.get(member).map_or(f64::NEG_INFINITY, |message| message.score),
                    *member,
                )
            })
            .collect();
        matched.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let present = [true, true, !members.is_empty()];
        let total: f32 = self
            .weights
            .iter()
            .zip(present)
            .filter(|(_, here)| *here)
            .map(|(weight, _)| weight)
            .sum();
        let share = |layer: usize| decimal(self.weights[layer]) / decimal(total.max(1e-9));
        let mut parts = Vec::with_capacity(3);
        for (number, (name, layer)) in
            [("L0", self.abstracts), ("L1", self.narratives)].into_iter().enumerate()
        {
            let scale =
                if self.best[number] > 0.0 { share(number) / self.best[number] } else { 0.0 };
            let words =
                Explanation::weighted(format!("{name}.words"), 1.0, f64::from(layer.words(slot)));
            let meaning = Explanation::weighted(
                format!("{name}.vector"),
                LAYER_VECTOR,
                f64::from(layer.meaning(slot)),
            );
            parts.push(
                Explanation::sum(
                    name,
                    format!("{:.4} of the score", share(number)),
                    vec![words, meaning],
                )
                .scaled(scale),
            );
        }
        if present[2] {
            let range = self.best_message - self.mean_message;
            let best = matched.first().map_or(0.0, |(score, _)| {
                if range > 1e-9 { (score - self.mean_message) / range } else { 0.0 }
            });
            // A message that was not among the candidates is no better than the mean.
            parts.push(Explanation::weighted("L2", share(2), best.max(0.0)));
        }
        let l2_cosine = matched
            .first()
            .and_then(|(_, member)| self.messages.get(member))
            .and_then(|message| message.cosine);
        let cosines = [self.abstracts.cosine(slot), self.narratives.cosine(slot), l2_cosine];
        let cosine = cosines.into_iter().flatten().max_by(f32::total_cmp);
        let explanation = Explanation::sum("episode", "", parts);
        (
            ScoredRecord { slot, explanation, cosine },
            matched.into_iter().map(|(_, member)| member).collect(),
        )
    }
}

fn layer_score(layer: &FieldScores, slot: u32) -> f64 {
    f64::from(layer.words(slot)) + LAYER_VECTOR * f64::from(layer.meaning(slot))
}

/// What is known of a semantic memory beside its text.
#[derive(Debug, Clone, Copy)]
pub struct StatementFacts {
    /// Windowless MaxSim of question and statement.
    pub tokens: f32,
    /// What `vector` counts.
    pub vector_weight: f64,
    /// Does it still hold?
    pub current: bool,
    /// Is its subject named in the question?
    pub about_named: bool,
}

/// The same as [`score_statement`] without the tree behind it, up to rounding.
pub fn estimate_statement(scores: &FieldScores, slot: u32, facts: StatementFacts) -> f64 {
    let flag = |yes: bool| f64::from(u8::from(yes));
    STATEMENT_WORDS * f64::from(scores.words(slot))
        + STATEMENT_TOKENS * f64::from(facts.tokens)
        + facts.vector_weight * f64::from(scores.meaning(slot))
        + STATEMENT_SUBJECT * flag(facts.about_named)
        + STATEMENT_CURRENT * flag(facts.current)
}

/// What an estimate must reach to be of one of the best `wanted`: what is below it needs no tree.
pub fn least_of_best(estimates: &[f64], wanted: usize) -> f64 {
    if estimates.len() <= wanted {
        return f64::NEG_INFINITY;
    }
    let mut estimates = estimates.to_vec();
    let (_, last, _) =
        estimates.select_nth_unstable_by(wanted.saturating_sub(1), |a, b| b.total_cmp(a));
    *last - ROUNDING
}

/// Scores the semantic memory in `slot`.
pub fn score_statement(scores: &FieldScores, slot: u32, facts: StatementFacts) -> ScoredRecord {
    let flag = |yes: bool| f64::from(u8::from(yes));
    let parts = [
        ("words", STATEMENT_WORDS, f64::from(scores.words(slot))),
        ("tokens", STATEMENT_TOKENS, f64::from(facts.tokens)),
        ("vector", facts.vector_weight, f64::from(scores.meaning(slot))),
        ("subject", STATEMENT_SUBJECT, flag(facts.about_named)),
        ("current", STATEMENT_CURRENT, flag(facts.current)),
    ];
    let parts = parts
        .into_iter()
        .filter(|(_, _, raw)| *raw != 0.0)
        .map(|(name, weight, raw)| Explanation::weighted(name, weight, raw));
    ScoredRecord {
        slot,
        explanation: Explanation::sum("semantic", "", parts.collect()),
        cosine: scores.cosine(slot),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_now_stands_above_what_it_superseded() {
        let record = |slot, score| ScoredRecord {
            slot,
            explanation: Explanation::sum(
                "semantic",
                "",
                vec![Explanation::leaf("words", score, "")],
            ),
            cosine: None,
        };
        // 0 was superseded by 1, that by 2; 3 is by itself; 4 was superseded by something that is
        // not among the records.
        let mut records =
            vec![record(0, 2.0), record(1, 1.5), record(2, 0.5), record(3, 1.9), record(4, 1.0)];
        let successor = |slot| match slot {
            0 => Some(1),
            1 => Some(2),
            4 => Some(9),
            _ => None,
        };
        raise_successors(&mut records, successor);
        sort_records(&mut records);
        assert_eq!(records.iter().map(|record| record.slot).collect::<Vec<_>>(), [2, 0, 3, 1, 4]);
        let raised = &records[0].explanation;
        assert_eq!(raised.children.last().map(|leaf| leaf.name.as_str()), Some("succession"));
        // A circle in damaged data ends, too.
        raise_successors(&mut records, |slot| Some(1 - slot % 2));
    }
}
