//! Records with explained scores, and their order.

use super::ScoreTerm;

/// Maximum difference between an estimate and the exact score.
const ROUNDING: f64 = 1e-6;

/// A record with its explained score.
#[derive(Debug, Clone)]
pub struct ScoredRecord {
    /// The record.
    pub slot: u32,
    /// The score as an explanation tree; its value is the score.
    pub explanation: ScoreTerm,
    /// Best cosine of question and record over the record's layers.
    pub cosine: Option<f32>,
}

/// Best first, ties by slot.
pub fn sort_records(records: &mut [ScoredRecord]) {
    records.sort_by(|a, b| {
        b.explanation.value.total_cmp(&a.explanation.value).then(a.slot.cmp(&b.slot))
    });
}

/// Lowest estimate that may belong to the best `wanted`. Records below it need no explanation.
pub fn least_of_best(estimates: &[f64], wanted: usize) -> f64 {
    if estimates.len() <= wanted {
        return f64::NEG_INFINITY;
    }
    let mut estimates = estimates.to_vec();
    let (_, last, _) =
        estimates.select_nth_unstable_by(wanted.saturating_sub(1), |a, b| b.total_cmp(a));
    *last - ROUNDING
}
