//! Ranking of what was made from messages: episodes in three layers, semantic memories in one.

use ndarray::ArrayView1;

use super::fusion::min_max;
use super::lexical::bm25;
use super::{Explanation, Query, ScoredMessage};
use crate::index::{Field, MessageIndex};

/// Share of the words in the score of one text field; the rest is meaning.
const LEXICAL_SHARE: f64 = 0.6;
/// What a semantic memory that no longer holds loses, so that the current statement of the same thing comes first.
const SUPERSEDED: f64 = -0.25;
/// What a statement about somebody whom the question names gains.
const SUBJECT: f64 = 0.2;
/// Share of the best message in L2; the rest is the mean of the best three.
const BEST_MESSAGE_SHARE: f64 = 0.7;

/// Scores of one text field for every slot: words and meaning on one scale, 0 to 1 each.
pub struct FieldScores {
    lexical: Vec<f32>,
    meaning: Vec<f32>,
    cosines: Vec<Option<f32>>,
}

impl FieldScores {
    /// Scores the slots below `slots` (dead ones get zeros).
    pub fn new(field: &Field, terms: &[String], vector: Option<ArrayView1<'_, f32>>, slots: usize) -> Self {
        let mut lexical = bm25(&field.postings, terms);
        lexical.resize(slots, 0.0);
        let labels: Vec<u64> = (0..slots as u64).collect();
        let cosines = match (vector, field.vectors()) {
            (Some(vector), Some(vectors)) => vectors.scores(vector, &labels),
            _ => vec![None; slots],
        };
        let mut present: Vec<f32> = cosines.iter().flatten().copied().collect();
        min_max(&mut present);
        let mut scaled = present.into_iter();
        let meaning = cosines.iter().map(|cosine| cosine.and_then(|_| scaled.next()).unwrap_or(0.0)).collect();
        Self { lexical, meaning, cosines }
    }

    /// Words alone, 0 to 1.
    pub fn lexical(&self, slot: u32) -> f32 {
        self.lexical[slot as usize]
    }

    /// Cosine of question and field.
    pub fn cosine(&self, slot: u32) -> Option<f32> {
        self.cosines[slot as usize]
    }

    /// Both together, 0 to 1. Without vectors the words have it all.
    fn explain(&self, name: &str, slot: u32) -> Explanation {
        let share = if self.cosines[slot as usize].is_some() { LEXICAL_SHARE } else { 1.0 };
        let mut parts = vec![Explanation::weighted(format!("{name}.lexical"), share, f64::from(self.lexical[slot as usize]))];
        if self.cosines[slot as usize].is_some() {
            parts.push(Explanation::weighted(format!("{name}.vector"), 1.0 - share, f64::from(self.meaning[slot as usize])));
        }
        Explanation::sum(name, "", parts)
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

/// Best first, ties by slot.
pub fn sort_records(records: &mut [ScoredRecord]) {
    records.sort_by(|a, b| b.explanation.value.total_cmp(&a.explanation.value).then(a.slot.cmp(&b.slot)));
}

/// An episode's layers as the engine hands them over.
pub struct EpisodeLayers<'a> {
    /// L0: title and summary.
    pub abstracts: &'a FieldScores,
    /// L1: narrative.
    pub narratives: &'a FieldScores,
    /// L2: all scored messages by slot, and the best score among them.
    pub messages: &'a std::collections::HashMap<u32, &'a ScoredMessage>,
    /// Best score of any message.
    pub best_message: f64,
    /// Weights of L0, L1, L2.
    pub weights: [f32; 3],
}

impl EpisodeLayers<'_> {
    /// Scores the episode in `slot` with the messages in `members`: `sum of w_i L_i`, weights renormalised over the layers present.
    /// Also returns the members by how well they matched, best first.
    pub fn score(&self, slot: u32, members: &[u32]) -> (ScoredRecord, Vec<u32>) {
        let mut matched: Vec<(f64, u32)> =
            members.iter().map(|member| (self.messages.get(member).map_or(f64::NEG_INFINITY, |message| message.score), *member)).collect();
        matched.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let scale = |score: f64| if self.best_message > 0.0 { (score / self.best_message).max(0.0) } else { 0.0 };
        let best: Vec<f64> = matched.iter().take(3).filter(|(score, _)| score.is_finite()).map(|(score, _)| scale(*score)).collect();
        let present = [true, true, !best.is_empty()];
        let total: f32 = self.weights.iter().zip(present).filter(|(_, here)| *here).map(|(weight, _)| weight).sum();
        let share = |layer: usize| f64::from(self.weights[layer] / total.max(1e-9));
        let mut parts = vec![self.abstracts.explain("L0", slot).scaled(share(0)), self.narratives.explain("L1", slot).scaled(share(1))];
        if let Some(first) = best.first() {
            let mean = best.iter().sum::<f64>() / best.len() as f64;
            let l2 = vec![
                Explanation::weighted("L2.best", BEST_MESSAGE_SHARE, *first),
                Explanation::weighted("L2.top3", 1.0 - BEST_MESSAGE_SHARE, mean),
            ];
            parts.push(Explanation::sum("L2", "", l2).scaled(share(2)));
        }
        let l2_cosine = matched.first().and_then(|(_, member)| self.messages.get(member)).and_then(|message| message.cosine);
        let cosines = [self.abstracts.cosine(slot), self.narratives.cosine(slot), l2_cosine];
        let cosine = cosines.into_iter().flatten().max_by(f32::total_cmp);
        let explanation = Explanation::sum("episode", "", parts);
        (ScoredRecord { slot, explanation, cosine }, matched.into_iter().map(|(_, member)| member).collect())
    }
}

/// Scores the semantic memory in `slot`; `current`: does it still hold; `about_named`: is its subject named in the question.
pub fn score_fact(scores: &FieldScores, slot: u32, current: bool, about_named: bool) -> ScoredRecord {
    let mut parts = vec![scores.explain("statement", slot)];
    if about_named {
        parts.push(Explanation::leaf("subject", SUBJECT, "its subject is named in the question"));
    }
    if !current {
        parts.push(Explanation::leaf("superseded", SUPERSEDED, "no longer holds"));
    }
    ScoredRecord { slot, explanation: Explanation::sum("semantic", "", parts), cosine: scores.cosine(slot) }
}

/// Is one of the speakers whom the question names the subject of a statement?
pub fn names_subject(query: &Query, messages: &MessageIndex, subject: &str) -> bool {
    let subject = crate::index::fold(subject);
    let mut words = query.named.iter().flat_map(|speaker| &messages.speakers()[*speaker as usize]);
    words.any(|word| subject.contains(word.as_str()))
}
