//! Records with explained scores, and the effect of supersession on their order.

use rustc_hash::FxHashMap;

use super::Explanation;

/// Maximum difference between an estimate and its score.
const ROUNDING: f64 = 1e-6;

/// A record with its explained score.
#[derive(Debug, Clone)]
pub struct ScoredRecord {
    /// The record.
    pub slot: u32,
    /// The score as an explanation tree; its value is the score.
    pub explanation: Explanation,
    /// Best cosine of question and record over the record's layers.
    pub cosine: Option<f32>,
}

/// The margin by which a record ranks above the best of those that it superseded.
const SUCCESSION: f64 = 0.001;
/// Maximum length of a chain of supersessions.
const MAX_CHAIN: usize = 64;

/// The slot at the end of a chain of supersessions; `None` if the record was not superseded.
pub fn last_successor(slot: u32, successor: impl Fn(u32) -> Option<u32>) -> Option<u32> {
    std::iter::successors(successor(slot), |slot| successor(*slot)).take(MAX_CHAIN).last()
}

/// A superseded record that matches the question passes its score to its successors, where their
/// own is lower. `successors` maps a slot to the slots of the superseding records.
pub fn raise_successors<I: IntoIterator<Item = u32>>(
    records: &mut [ScoredRecord],
    successors: impl Fn(u32) -> I,
) {
    let mut inherited: FxHashMap<u32, f64> = FxHashMap::default();
    for record in records.iter() {
        for later in successors(record.slot) {
            let best = inherited.entry(later).or_insert(f64::MIN);
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

/// The lowest estimate that may be among the best `wanted`; records below need no explanation tree.
pub fn least_of_best(estimates: &[f64], wanted: usize) -> f64 {
    if estimates.len() <= wanted {
        return f64::NEG_INFINITY;
    }
    let mut estimates = estimates.to_vec();
    let (_, last, _) =
        estimates.select_nth_unstable_by(wanted.saturating_sub(1), |a, b| b.total_cmp(a));
    *last - ROUNDING
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_now_stands_above_what_it_superseded() {
        let record = |slot, score| ScoredRecord {
            slot,
            explanation: Explanation::raw(vec![Explanation::leaf("words", score, "")]),
            cosine: None,
        };
        // 1 superseded 0 and 2 superseded 1; 3 stands alone; the successor of 4 is not among the
        // records.
        let mut records =
            vec![record(0, 2.0), record(1, 1.5), record(2, 0.5), record(3, 1.9), record(4, 1.0)];
        let successor = |slot| match slot {
            0 => Some(1),
            1 => Some(2),
            4 => Some(9),
            _ => None,
        };
        raise_successors(&mut records, |slot| last_successor(slot, successor));
        sort_records(&mut records);
        assert_eq!(records.iter().map(|record| record.slot).collect::<Vec<_>>(), [2, 0, 3, 1, 4]);
        let raised = &records[0].explanation;
        assert_eq!(raised.children.last().map(|leaf| leaf.name), Some("succession"));
        // A cycle in damaged data must not loop for ever.
        raise_successors(&mut records, |slot| last_successor(slot, |slot| Some(1 - slot % 2)));
    }
}
