//! Measures how much two stretches of conversation have in common, by vectors if available,
//! otherwise by words.

use std::sync::Arc;

use ndarray::{Array1, ArrayView2};

use super::reading::MessageFeatures;

/// Number of messages before a place that are compared, not counting messages without a topic.
const LEFT_MESSAGES: usize = 4;
/// Maximum number of messages before a place among which the compared ones are sought.
const LEFT_REACH: usize = 8;
/// Words count only if two sides usually share at least this many: only then is their absence
/// evidence.
const MIN_EXPECTED: f32 = 2.0;
/// Number of places within the segment at which the usual overlap is measured.
const BASELINE_PLACES: usize = 4;
/// If the similarity of vectors across a place is lower than within both sides by this share of the
/// possible range, the topic has certainly changed. Measured by joining halves of unrelated
/// conversations: the drop exceeds 0.2 at a quarter of the joints, and at one in twenty of the
/// other places.
const FULL_DROP: f32 = 0.28;

/// The features by which the messages of a buffer are compared.
#[derive(Clone, Copy)]
pub(super) enum BufferCohesion<'a> {
    /// One normalised row per message.
    Vectors(ArrayView2<'a, f32>),
    /// The terms of the messages.
    Words,
}

impl BufferCohesion<'_> {
    /// The confidence, 0 to 1, that messages `place..end` change the topic of the messages before
    /// `place`, in a segment that begins at `start`. `None` if one side has too little content.
    pub fn topic_shift(
        &self,
        readings: &[Arc<MessageFeatures>],
        start: usize,
        place: usize,
        end: usize,
    ) -> Option<f32> {
        let left: Vec<usize> = (start.max(place.saturating_sub(LEFT_REACH))..place)
            .rev()
            .filter(|at| !readings[*at].backchannel)
            .take(LEFT_MESSAGES)
            .collect();
        let right: Vec<usize> = (place..end).filter(|at| !readings[*at].backchannel).collect();
        if left.len() < 2 || right.len() < 2 {
            return None;
        }
        match self {
            Self::Vectors(rows) => {
                let by_vectors = vector_shift(rows, &left, &right)?;
                // Words can only confirm a drop in the vectors.
                let words = if by_vectors < 0.3 {
                    None
                } else {
                    word_shift(readings, start, place, &left, &right)
                };
                Some(words.map_or(by_vectors, |words| 0.7 * by_vectors + 0.3 * words))
            }
            Self::Words => word_shift(readings, start, place, &left, &right),
        }
    }
}

/// How far the mean cosine of pairs across the place is below that of pairs within a side: 0 (not
/// at all) to 1 (by [`FULL_DROP`]).
fn vector_shift(rows: &ArrayView2<'_, f32>, left: &[usize], right: &[usize]) -> Option<f32> {
    let (before, after) = (SideSum::from_rows(rows, left)?, SideSum::from_rows(rows, right)?);
    let across = before.sum.dot(&after.sum) / (before.count * after.count);
    let inside = (before.within + after.within) / 2.0;
    let drop = (inside - across) / (1.05 - inside).max(0.05) / FULL_DROP;
    drop.is_finite().then(|| drop.clamp(0.0, 1.0))
}

/// Sum of the vectors on one side, from which the means over all pairs are computed.
struct SideSum {
    sum: Array1<f32>,
    count: f32,
    within: f32,
}

impl SideSum {
    fn from_rows(rows: &ArrayView2<'_, f32>, places: &[usize]) -> Option<Self> {
        let mut sum = Array1::zeros(rows.ncols());
        let (mut count, mut squares) = (0.0, 0.0);
        for at in places {
            let row = rows.row(*at);
            let square = row.dot(&row);
            // A text without content has a zero vector.
            if square > 0.0 {
                sum += &row;
                squares += square;
                count += 1.0;
            }
        }
        (count >= 2.0).then(|| Self {
            within: (sum.dot(&sum) - squares) / (count * (count - 1.0)),
            sum,
            count,
        })
    }
}

/// How far the overlap of the two sides is below the usual overlap within the segment.
fn word_shift(
    readings: &[Arc<MessageFeatures>],
    start: usize,
    place: usize,
    left: &[usize],
    right: &[usize],
) -> Option<f32> {
    let (shared, smaller) = shared_terms(readings, left, right);
    let (mut sum, mut count) = (0.0, 0);
    let inner = (start + 2..place.saturating_sub(2)).rev().step_by(2).take(BASELINE_PLACES);
    for at in inner {
        let before: Vec<usize> = (start.max(at.saturating_sub(LEFT_MESSAGES))..at).collect();
        let after: Vec<usize> = (at..place.min(at + LEFT_MESSAGES)).collect();
        let (shared, smaller) = shared_terms(readings, &before, &after);
        if smaller > 0 {
            sum += shared as f32 / smaller as f32;
            count += 1;
        }
    }
    let usual = sum / count.max(1) as f32;
    (usual * smaller as f32 >= MIN_EXPECTED)
        .then(|| (1.0 - shared as f32 / (usual * smaller as f32)).clamp(0.0, 1.0))
}

/// The number of terms that both sides share, and the number of terms of the smaller side.
fn shared_terms(
    readings: &[Arc<MessageFeatures>],
    left: &[usize],
    right: &[usize],
) -> (usize, usize) {
    let terms = |side: &[usize]| {
        let mut all: Vec<u64> =
            side.iter().flat_map(|at| readings[*at].terms.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (before, after) = (terms(left), terms(right));
    let shared = before.iter().filter(|term| after.binary_search(term).is_ok()).count();
    (shared, before.len().min(after.len()))
}
