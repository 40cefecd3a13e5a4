//! How much two stretches of talk have in common, by vectors where there are any, else by words.

use ndarray::ArrayView2;

use super::reading::Reading;

/// Messages with a subject of their own that are compared on the left of a place.
const LEFT_MESSAGES: usize = 4;
/// How far back they are looked for.
const LEFT_REACH: usize = 8;
/// With fewer content terms than this on either side, words say nothing about a change of subject.
const MIN_TERMS: usize = 6;
/// A right side whose vectors are this much less like the left than each side is like itself has turned to something else for certain.
const VECTOR_FULL_DROP: f32 = 0.22;
/// Share of a side's terms that the other side takes up while people stay with their subject.
const USUAL_OVERLAP: f32 = 0.25;

/// What the messages of a buffer are compared by.
#[derive(Clone, Copy)]
pub(super) enum Cohesion<'a> {
    /// One normalised row a message.
    Vectors(ArrayView2<'a, f32>),
    /// The terms of the readings.
    Words,
}

impl Cohesion<'_> {
    /// How sure it is that messages `place..end` turn away from those before `place`, of a segment that begins at `start`: 0 to 1.
    /// `None` where one side has too little content to say.
    pub fn shift(&self, readings: &[Reading], start: usize, place: usize, end: usize) -> Option<f32> {
        let left: Vec<usize> = (start.max(place.saturating_sub(LEFT_REACH))..place)
            .rev()
            .filter(|at| !readings[*at].backchannel)
            .take(LEFT_MESSAGES)
            .collect();
        let right: Vec<usize> = (place..end).filter(|at| !readings[*at].backchannel).collect();
        if left.len() < 2 || right.len() < 2 {
            return None;
        }
        let words = word_shift(readings, &left, &right);
        match self {
            Self::Vectors(rows) => {
                let by_vectors = vector_shift(rows, &left, &right)?;
                Some(words.map_or(by_vectors, |words| 0.75 * by_vectors + 0.25 * words))
            }
            Self::Words => words,
        }
    }
}

/// Mean cosine over all pairs across, against the mean over the pairs within each side.
fn vector_shift(rows: &ArrayView2<'_, f32>, left: &[usize], right: &[usize]) -> Option<f32> {
    let across = mean_cosine(left.iter().flat_map(|a| right.iter().map(move |b| (*a, *b))), rows)?;
    let within = |side: &[usize]| mean_cosine((0..side.len()).flat_map(|i| (i + 1..side.len()).map(move |j| (side[i], side[j]))), rows);
    let inside = (within(left)? + within(right)?) / 2.0;
    Some(((inside - across) / VECTOR_FULL_DROP).clamp(0.0, 1.0))
}

fn mean_cosine(pairs: impl Iterator<Item = (usize, usize)>, rows: &ArrayView2<'_, f32>) -> Option<f32> {
    let (mut sum, mut count) = (0.0_f32, 0_u32);
    for (a, b) in pairs {
        sum += rows.row(a).dot(&rows.row(b));
        count += 1;
    }
    let mean = sum / count as f32;
    (count > 0 && mean.is_finite()).then_some(mean)
}

/// One minus the share of the poorer side's terms that the other side has, against the usual share.
fn word_shift(readings: &[Reading], left: &[usize], right: &[usize]) -> Option<f32> {
    let terms = |side: &[usize]| {
        let mut all: Vec<&str> = side.iter().flat_map(|at| readings[*at].terms.iter().map(String::as_str)).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (before, after) = (terms(left), terms(right));
    let smaller = before.len().min(after.len());
    if smaller < MIN_TERMS {
        return None;
    }
    let shared = before.iter().filter(|term| after.binary_search(term).is_ok()).count();
    Some((1.0 - shared as f32 / smaller as f32 / USUAL_OVERLAP).clamp(0.0, 1.0))
}
