//! The default ranking of messages: a sum of eleven named terms, each about 0 to 1 before its weight.
//!
//! `docs/scoring.md` shows where each comes from, what it adds, and what was tried and left out.

use ndarray::ArrayView1;

use super::fusion::{min_max, top_k};
use super::late::{TokenTable, windowed_maxsim};
use super::lexical::{bm25, windowed_bm25};
use super::{Explanation, Query};
use crate::error::Result;
use crate::index::MessageIndex;

/// Up to this many messages all are scored in full; above, the best of each leg and their neighbours.
const SCORE_ALL: usize = 2_000;
/// Candidates taken from each leg when not all are scored.
const CANDIDATES_PER_LEG: usize = 300;

/// Names and weights of the terms, in the order of [`ScoredMessage::terms`].
pub const TERMS: [(&str, f32); 11] = [
    ("lexical", 0.65),
    ("window", 2.0),
    ("vector", 0.5),
    ("tokens", 1.0),
    ("speaker", 1.0),
    ("date", 1.0),
    ("question", -0.3),
    ("answer", 0.3),
    ("substance", 0.3),
    ("time", 0.15),
    ("number", 0.15),
];

/// A message with its score and the unweighted terms of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredMessage {
    /// The message.
    pub slot: u32,
    /// The weighted sum of `terms`.
    pub score: f64,
    /// Each term before its weight.
    pub terms: [f32; TERMS.len()],
    /// Cosine of question and message; `None` without vectors.
    pub cosine: Option<f32>,
}

impl ScoredMessage {
    /// The score as a tree; its value is `score`, bit for bit.
    pub fn explain(&self) -> Explanation {
        let leaves = TERMS.iter().zip(self.terms).filter(|(_, raw)| *raw != 0.0);
        let children = leaves.map(|((name, weight), raw)| Explanation::weighted(*name, f64::from(*weight), f64::from(raw))).collect();
        Explanation::sum("message", "", children)
    }
}

/// Scores the messages that `allowed` admits, best first, ties by slot (older first). `vector` is the embedded question, if there is one.
///
/// # Errors
/// `Index` for a vector of another dimension.
pub fn rank_messages(
    index: &MessageIndex,
    query: &Query,
    vector: Option<ArrayView1<'_, f32>>,
    table: &dyn TokenTable,
    allowed: Option<&dyn Fn(u32) -> bool>,
) -> Result<Vec<ScoredMessage>> {
    let lexical = bm25(&index.field.postings, &query.terms);
    let window = windowed_bm25(index, &query.terms);
    let mut slots = candidates(index, &lexical, &window, vector)?;
    if let Some(allowed) = allowed {
        slots.retain(|slot| allowed(*slot));
    }
    let cosines = cosines(index, vector, &slots);
    let mut meaning: Vec<f32> = cosines.iter().map(|cosine| cosine.unwrap_or(0.0)).collect();
    min_max(&mut meaning);
    let mut tokens = windowed_maxsim(table, &table.ids(&query.content), index, &slots);
    min_max(&mut tokens);
    let mut substance: Vec<f32> = slots.iter().map(|slot| index.field.postings.mass(*slot).ln_1p()).collect();
    min_max(&mut substance);

    let mut scored: Vec<ScoredMessage> = slots
        .iter()
        .enumerate()
        .map(|(at, slot)| {
            let terms = [
                lexical[*slot as usize],
                window[*slot as usize],
                meaning[at],
                tokens[at],
                f32::from(u8::from(query.named.contains(&index.speaker_of(*slot)))),
                query.date_match(index.get(*slot).timestamp),
                index.question_share(*slot),
                index.previous(*slot).map_or(0.0, |previous| index.question_share(previous)),
                substance[at],
                f32::from(u8::from(index.tells_time(*slot))),
                f32::from(u8::from(index.has_number(*slot))),
            ];
            let weighted = TERMS.iter().zip(terms).filter(|(_, raw)| *raw != 0.0);
            let score = weighted.fold(0.0, |sum, ((_, weight), raw)| sum + f64::from(*weight) * f64::from(raw));
            ScoredMessage { slot: *slot, score, terms, cosine: cosines[at] }
        })
        .collect();
    scored.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.slot.cmp(&b.slot)));
    Ok(scored)
}

/// The slots worth a full score, in rising order.
fn candidates(index: &MessageIndex, lexical: &[f32], window: &[f32], vector: Option<ArrayView1<'_, f32>>) -> Result<Vec<u32>> {
    if index.len() <= SCORE_ALL {
        return Ok((0..index.len() as u32).collect());
    }
    let mut slots = top_k(lexical, CANDIDATES_PER_LEG);
    slots.extend(top_k(window, CANDIDATES_PER_LEG));
    if let Some(vector) = vector {
        for (slot, _) in index.field.nearest(vector, CANDIDATES_PER_LEG)? {
            slots.push(slot);
            slots.extend(index.next(slot));
        }
    }
    slots.sort_unstable();
    slots.dedup();
    Ok(slots)
}

fn cosines(index: &MessageIndex, vector: Option<ArrayView1<'_, f32>>, slots: &[u32]) -> Vec<Option<f32>> {
    let labels: Vec<u64> = slots.iter().map(|slot| u64::from(*slot)).collect();
    match (vector, index.field.vectors()) {
        (Some(vector), Some(vectors)) => vectors.scores(vector, &labels),
        _ => vec![None; slots.len()],
    }
}
