//! How much two stretches of talk have in common, by vectors where there are any, else by words.

use std::sync::Arc;

use ndarray::{Array1, ArrayView2};

use super::reading::Reading;

/// Messages with a subject of their own that are compared on the left of a place.
const LEFT_MESSAGES: usize = 4;
/// How far back they are looked for.
const LEFT_REACH: usize = 8;
/// Words count only where this many shared ones would be usual: then a lack of them means
/// something.
const MIN_EXPECTED: f32 = 2.0;
/// Places inside the segment at which the usual overlap is measured.
const BASELINE_PLACES: usize = 4;
/// Vectors across a place this much less alike than those on each side, as a share of what they
/// could be, show another subject for certain. Measured on joined halves of unrelated talks: a
/// quarter of the joints lie above 0.2, one in twenty of the other places.
const FULL_DROP: f32 = 0.28;

/// The features by which the messages of a buffer are compared.
#[derive(Clone, Copy)]
pub(super) enum Cohesion<'a> {
    /// One normalised row a message.
    Vectors(ArrayView2<'a, f32>),
    /// The terms of the readings.
    Words,
}

impl Cohesion<'_> {
    /// How sure it is that messages `place..end` turn away from those before `place`, of a segment
    /// that begins at `start`: 0 to 1. `None` where one side has too little content to say.
    pub fn shift(
        &self,
        readings: &[Arc<Reading>],
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
                // Words only confirm: where vectors see no drop, they aren't asked.
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

/// Mean cosine over all pairs across, against the mean over the pairs within each side.
fn vector_shift(rows: &ArrayView2<'_, f32>, left: &[usize], right: &[usize]) -> Option<f32> {
    let (before, after) = (Side::of(rows, left)?, Side::of(rows, right)?);
    let across = before.sum.dot(&after.sum) / (before.count * after.count);
    let inside = (before.within + after.within) / 2.0;
    let drop = (inside - across) / (1.05 - inside).max(0.05) / FULL_DROP;
    drop.is_finite().then(|| drop.clamp(0.0, 1.0))
}

/// The sum of a side's vectors, which holds the means over all their pairs.
struct Side {
    sum: Array1<f32>,
    count: f32,
    within: f32,
}

impl Side {
    fn of(rows: &ArrayView2<'_, f32>, places: &[usize]) -> Option<Self> {
        let mut sum = Array1::zeros(rows.ncols());
        let (mut count, mut squares) = (0.0, 0.0);
        for at in places {
            let row = rows.row(*at);
            let square = row.dot(&row);
            // A text without content has no direction.
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

/// How far the overlap of the two sides falls below what is usual within the segment.
fn word_shift(
    readings: &[Arc<Reading>],
    start: usize,
    place: usize,
    left: &[usize],
    right: &[usize],
) -> Option<f32> {
    let (shared, smaller) = overlap(readings, left, right);
    let (mut sum, mut count) = (0.0, 0);
    let inner = (start + 2..place.saturating_sub(2)).rev().step_by(2).take(BASELINE_PLACES);
    for at in inner {
        let before: Vec<usize> = (start.max(at.saturating_sub(LEFT_MESSAGES))..at).collect();
        let after: Vec<usize> = (at..place.min(at + LEFT_MESSAGES)).collect();
        let (shared, smaller) = overlap(readings, &before, &after);
        if smaller > 0 {
            sum += shared as f32 / smaller as f32;
            count += 1;
        }
    }
    let usual = sum / count.max(1) as f32;
    (usual * smaller as f32 >= MIN_EXPECTED)
        .then(|| (1.0 - shared as f32 / (usual * smaller as f32)).clamp(0.0, 1.0))
}

/// Terms that both sides have, and how many the poorer side has.
fn overlap(readings: &[Arc<Reading>], left: &[usize], right: &[usize]) -> (usize, usize) {
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
