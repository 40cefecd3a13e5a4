//! Raises superseding records: of two records on the same subject, the later one ranks at least as
//! high as the one that it supersedes.

use rustc_hash::FxHashMap;

use super::{ScoredMessage, ScoredRecord, UserCorpus};

/// Margin by which a record ranks above the best record that it superseded.
const SUCCESSION: f64 = 0.001;
/// Maximum length of a chain of supersessions.
const MAX_CHAIN: usize = 64;

/// Maps the slot of each message with superseded content to what superseded it.
pub type Superseded = FxHashMap<u32, SupersededContent>;

/// What superseded the content of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SupersededContent {
    /// The slots of the superseding facts.
    pub facts: Vec<u32>,
    /// The slots of the superseded facts.
    pub ended: Vec<u32>,
    /// True if the message also proves a current fact: part of it still holds.
    pub partly: bool,
}

/// Maps each message that proves a superseded fact to the fact's current successors (none if the
/// chain has no current fact). Leaves out messages that also prove the successor.
pub fn superseded_messages(corpus: &dyn UserCorpus) -> Superseded {
    let mut superseded = Superseded::default();
    let (current, ended): (Vec<u32>, Vec<u32>) =
        corpus.fact_slots().into_iter().partition(|slot| corpus.is_current(*slot));
    for slot in ended {
        let successor = last_successor(slot, |slot| corpus.successor(slot));
        let current = successor.filter(|slot| corpus.is_current(*slot));
        let sources = current.map_or(&[][..], |slot| corpus.sources(slot));
        for message in corpus.sources(slot).iter().filter(|message| !sources.contains(message)) {
            let content = superseded.entry(*message).or_default();
            content.ended.push(slot);
            let facts = &mut content.facts;
            facts.extend(current.filter(|slot| !corpus.is_fact_hidden(*slot)));
            facts.sort_unstable();
            facts.dedup();
        }
    }
    for message in current.into_iter().flat_map(|slot| corpus.sources(slot)) {
        if let Some(content) = superseded.get_mut(message) {
            content.partly = true;
        }
    }
    superseded
}

/// The slot at the end of a chain of supersessions; `None` if the record was not superseded.
pub fn last_successor(slot: u32, successor: impl Fn(u32) -> Option<u32>) -> Option<u32> {
    std::iter::successors(successor(slot), |slot| successor(*slot)).take(MAX_CHAIN).last()
}

/// Raises the later of two messages on the same subject to the score of the superseded message plus
/// the margin. `ranked` is best first, before and after.
pub fn raise_later(ranked: &mut [ScoredMessage], corpus: &dyn UserCorpus, superseded: &Superseded) {
    let sources = |slot| {
        let facts = superseded.get(&slot).into_iter().flat_map(|content| &content.facts);
        facts.flat_map(|fact| corpus.sources(*fact)).map(|source| (*source, 1.0))
    };
    let least = least_scores(ranked.iter().map(|message| (message.slot, message.score)), sources);
    if least.is_empty() {
        return;
    }
    for message in ranked.iter_mut() {
        if let Some(missing) = missing(&least, message.slot, message.score) {
            message.raised = missing;
            message.score += missing;
        }
    }
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
}

/// Raises the successors of a superseded record to its score plus the margin. `successors` maps a
/// slot to the superseding slots, each with the share of the score, 0 to 1, that it inherits: 1 if
/// it supersedes the whole record.
pub fn raise_successors<I: IntoIterator<Item = (u32, f64)>>(
    records: &mut [ScoredRecord],
    successors: impl Fn(u32) -> I,
) {
    let scores = records.iter().map(|record| (record.slot, record.explanation.value));
    let least = least_scores(scores, successors);
    for record in records {
        if let Some(missing) = missing(&least, record.slot, record.explanation.value) {
            record.explanation = record.explanation.clone().raised(missing);
        }
    }
}

/// Maps each successor to its minimum score: the best score of the records that it superseded,
/// times the inherited share, plus the margin. The margin is always added, even to an equal score,
/// so that a rounding error cannot decide the order.
fn least_scores<I: IntoIterator<Item = (u32, f64)>>(
    scores: impl Iterator<Item = (u32, f64)>,
    successors: impl Fn(u32) -> I,
) -> FxHashMap<u32, f64> {
    let mut least: FxHashMap<u32, f64> = FxHashMap::default();
    for (slot, score) in scores {
        for (later, share) in successors(slot) {
            let best = least.entry(later).or_insert(f64::MIN);
            *best = best.max(score.min(share * score) + SUCCESSION);
        }
    }
    least
}

/// The difference between the minimum score and a lower score.
fn missing(least: &FxHashMap<u32, f64>, slot: u32, score: f64) -> Option<f64> {
    least.get(&slot).map(|least| least - score).filter(|missing| *missing > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::{ScoreTerm, sort_records};

    fn whole(successor: Option<u32>) -> Option<(u32, f64)> {
        successor.map(|slot| (slot, 1.0))
    }

    #[test]
    fn what_holds_now_stands_above_what_it_superseded() {
        let record = |slot, score| ScoredRecord {
            slot,
            explanation: ScoreTerm::raw(vec![ScoreTerm::leaf("words", score, "")]),
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
        raise_successors(&mut records, |slot| whole(last_successor(slot, successor)));
        sort_records(&mut records);
        assert_eq!(records.iter().map(|record| record.slot).collect::<Vec<_>>(), [2, 0, 3, 1, 4]);
        let raised = &records[0].explanation;
        assert_eq!(raised.children.last().map(|leaf| leaf.name), Some("succession"));
        // A cycle in damaged data must not loop for ever.
        raise_successors(&mut records, |slot| {
            whole(last_successor(slot, |slot| Some(1 - slot % 2)))
        });
    }

    #[test]
    fn a_score_of_one_number_keeps_it() {
        let leaf = |slot, score| ScoredRecord {
            slot,
            explanation: ScoreTerm::leaf("cosine", score, "of question and record"),
            cosine: None,
        };
        let mut records = [leaf(0, 0.8), leaf(1, 0.8), leaf(2, 0.79999)];
        raise_successors(&mut records, |slot| {
            (slot == 0).then_some([(1, 1.0), (2, 1.0)]).into_iter().flatten()
        });
        for raised in &records[1..] {
            let ScoreTerm { value, children, .. } = &raised.explanation;
            assert!((value - 0.801).abs() < 1e-12, "{value}");
            assert_eq!(
                children.iter().map(|child| child.name).collect::<Vec<_>>(),
                ["cosine", "succession"]
            );
        }
        assert_eq!(records[0].explanation.children, []);
    }

    #[test]
    fn a_score_that_is_higher_by_the_margin_is_left_alone() {
        let least = least_scores([(0, 1.0), (1, 1.0005), (2, 1.5)].into_iter(), |slot| {
            (slot == 0).then_some([(1, 1.0), (2, 1.0)]).into_iter().flatten()
        });
        assert!(missing(&least, 1, 1.0005).is_some_and(|missing| (missing - 0.0005).abs() < 1e-12));
        assert_eq!(missing(&least, 2, 1.5), None);
        assert_eq!(missing(&least, 3, 0.0), None);
    }

    #[test]
    fn a_share_of_a_score_is_taken_over() {
        let least = |score, share| {
            let least = least_scores([(0, score)].into_iter(), |_| Some((1, share)));
            least[&1] - SUCCESSION
        };
        assert!((least(2.0, 0.75) - 1.5).abs() < 1e-12);
        assert!((least(2.0, 0.0)).abs() < 1e-12);
        // A share of a negative cosine is not more than the whole.
        assert!((least(-0.5, 0.75) + 0.5).abs() < 1e-12);
    }
}
