//! Messages whose content was superseded, and the messages that state the successors.

use rustc_hash::FxHashMap;

use super::{Corpus, ScoredMessage, last_successor};

/// The margin by which a message ranks above those that it superseded.
const SUCCESSION: f64 = 0.001;

/// Maps the slot of each message with superseded content to the slots of the superseding facts.
pub type Superseded = FxHashMap<u32, Vec<u32>>;

/// Every message that proves a superseded fact, with the current successors of the fact; an empty
/// list if there are none. Messages that also prove the successor are left out.
pub fn superseded_messages(corpus: &dyn Corpus) -> Superseded {
    let mut superseded = Superseded::default();
    for slot in corpus.fact_slots() {
        if corpus.is_current(slot) {
            continue;
        }
        let successor = last_successor(slot, |slot| corpus.successor(slot));
        let current = successor.filter(|slot| corpus.is_current(*slot));
        let sources = current.map_or(&[][..], |slot| corpus.sources(slot));
        for message in corpus.sources(slot).iter().filter(|message| !sources.contains(message)) {
            let successors = superseded.entry(*message).or_default();
            successors.extend(current.filter(|slot| !corpus.is_fact_hidden(*slot)));
            successors.sort_unstable();
            successors.dedup();
        }
    }
    superseded
}

/// Of two messages on the same subject, the later message takes over the score of the superseded
/// one, if its own is lower. `ranked` is best first, before and after.
pub fn raise_later(ranked: &mut [ScoredMessage], corpus: &dyn Corpus, superseded: &Superseded) {
    let mut inherited: FxHashMap<u32, f64> = FxHashMap::default();
    for message in ranked.iter() {
        let facts = superseded.get(&message.slot).into_iter().flatten();
        for later in facts.flat_map(|fact| corpus.sources(*fact)) {
            let best = inherited.entry(*later).or_insert(f64::MIN);
            *best = best.max(message.score);
        }
    }
    if inherited.is_empty() {
        return;
    }
    for message in ranked.iter_mut() {
        let best = inherited.get(&message.slot).copied();
        if let Some(missing) = best.map(|best| best - message.score).filter(|gap| *gap >= 0.0) {
            message.raised = missing + SUCCESSION;
            message.score += message.raised;
        }
    }
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
}
