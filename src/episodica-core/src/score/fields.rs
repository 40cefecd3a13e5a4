//! Scores every slot of one text field against a question, by words and by meaning.

use ndarray::ArrayView1;
use rustc_hash::FxHashMap;

use super::fusion::top_k_and_ties;
use crate::index::{TextIndex, VectorIndex};

/// Up to this many records every vector is compared; above that, only the nearest.
pub(super) const SCORE_ALL: usize = 2_048;
/// Number of candidates per leg if not all records are compared: `CANDIDATES`, or `CANDIDATES_EACH`
/// per requested hit if that is more.
const CANDIDATES: usize = 48;
const CANDIDATES_EACH: usize = 2;

/// Word and vector scores of every slot of one field.
pub struct FieldScores {
    /// True if all records are compared.
    all: bool,
    /// The best slots by words; filled only if not all records are compared.
    by_words: Vec<u32>,
    words: Vec<f32>,
    cosines: FxHashMap<u32, f32>,
    mean: f32,
    best: f32,
}

impl FieldScores {
    /// Scores the field. `words` are the slots' BM25 scores; `wanted` is the number of hits
    /// requested. If not all records are compared, the best of the `preferred` slots become
    /// candidates, too: as many of them as of all slots.
    pub fn new(
        field: &TextIndex,
        words: Vec<f32>,
        vector: Option<ArrayView1<'_, f32>>,
        wanted: usize,
        preferred: Option<&dyn Fn(u32) -> bool>,
    ) -> Self {
        let candidates = CANDIDATES.max(wanted.saturating_mul(CANDIDATES_EACH));
        // Replaced records have no slot, so they are not counted.
        let all = field.postings.len() <= SCORE_ALL;
        let by_words = if all { Vec::new() } else { best_by_words(&words, candidates, preferred) };
        let mut scores =
            Self { all, by_words, words, cosines: FxHashMap::default(), mean: 0.0, best: 0.0 };
        let fits = |vectors: &&dyn VectorIndex, vector: &ArrayView1<'_, f32>| {
            vectors.dimension() == vector.len()
        };
        let both =
            field.vector_index().zip(vector).filter(|(vectors, vector)| fits(vectors, vector));
        let Some((vectors, vector)) = both else { return scores };
        let labels = vectors.labels();
        scores.mean = vectors.mean_vector().dot(&vector);
        scores.cosines = if labels.len() <= SCORE_ALL {
            let all = labels.iter().zip(vectors.inner_products(vector, labels));
            all.filter_map(|(label, score)| Some((*label as u32, score?))).collect()
        } else {
            let nearest = field.nearest_and_ties(vector, candidates).unwrap_or_default();
            let mut known: FxHashMap<u32, f32> = nearest.into_iter().collect();
            let wanted = scores.by_words.iter().filter(|slot| !known.contains_key(slot));
            let wanted: Vec<u64> = wanted.copied().map(u64::from).collect();
            let lexical = wanted.iter().zip(vectors.inner_products(vector, &wanted));
            known.extend(lexical.filter_map(|(label, score)| Some((*label as u32, score?))));
            known
        };
        scores.best = scores.cosines.values().copied().fold(f32::NEG_INFINITY, f32::max);
        scores
    }

    /// Slots that match by either leg, unordered: those with a matching word or a compared vector.
    pub fn candidates(&self) -> Vec<u32> {
        let mut slots: Vec<u32> = if self.all {
            (0..)
                .zip(&self.words)
                .filter(|(_, words)| **words > 0.0)
                .map(|(slot, _)| slot)
                .collect()
        } else {
            self.by_words.clone()
        };
        slots.extend(self.cosines.keys());
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// Words: the share of the question that the field answers, 0 to 1.
    pub fn words(&self, slot: u32) -> f32 {
        self.words.get(slot as usize).copied().unwrap_or(0.0)
    }

    /// Cosine of question and field; `None` if they were not compared.
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

/// The slots with the highest word scores, among all and among the preferred slots.
fn best_by_words(
    words: &[f32],
    candidates: usize,
    preferred: Option<&dyn Fn(u32) -> bool>,
) -> Vec<u32> {
    let mut best = top_k_and_ties(words, candidates, |_| true);
    if let Some(preferred) = preferred {
        best.extend(top_k_and_ties(words, candidates, preferred));
    }
    best.sort_unstable();
    best.dedup();
    best
}
