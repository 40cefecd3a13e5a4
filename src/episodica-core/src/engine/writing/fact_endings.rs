//! Facts that a new fact ends without having the same attribute: through a denial, or because a
//! model names them.
//!
//! The search is bounded, so that learning costs the same however much is known: a denial is
//! compared with the latest facts that contain one of its rarest words.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::clock::Moment;
use crate::engine::memory::view::UserView;
use crate::engine::writing::conflicts::LearnedFacts;
use crate::generate::facts::FactCandidate;
use crate::generate::facts::model::FactDetails;
use crate::generate::reconcile::{Denial, denied as denied_by, ends, subject_key};
use crate::model::SemanticMemory;

/// A denial is compared with the latest facts that contain one of its rarest words: number of facts
/// per word, and of words.
const SAME_WORD: usize = 64;
const RAREST: usize = 3;

/// The facts that a model's candidate replaces.
pub(crate) struct ReplacedFacts {
    /// The candidate, with a corrected `valid_from`.
    pub candidate: FactCandidate,
    /// The current facts that it ends or corrects, with the end of each.
    pub facts: Vec<(Arc<SemanticMemory>, Moment)>,
    /// A fact that excludes the candidate and began after the candidate was said: the candidate
    /// holds no longer.
    pub newer: Option<Arc<SemanticMemory>>,
}

/// The current facts that a candidate replaces according to the model. A fact that it ends is valid
/// until the date of the event, not of the message; a fact that it corrects was never valid.
pub(crate) fn replaced_by(
    view: &UserView,
    learned: &LearnedFacts,
    candidate: &FactCandidate,
    told: &FactDetails,
) -> ReplacedFacts {
    let current = |id: &String| {
        let fresh = learned.latest.get(id).map(|fresh| &fresh.memory);
        fresh.or_else(|| view.facts.by_id(id)).filter(|fact| fact.is_current()).cloned()
    };
    let (ended, newer): (Vec<_>, Vec<_>) =
        told.ends.iter().filter_map(current).partition(|fact| fact.valid_from <= candidate.said);
    let corrected: Vec<_> = told.corrects.iter().filter_map(current).collect();
    let mut candidate = candidate.clone();
    if let Some(last) = ended.iter().map(|fact| fact.valid_from).max() {
        candidate.valid_from = told.since(candidate.said).unwrap_or(candidate.said).max(last);
    } else if let Some(first) = corrected.iter().map(|fact| fact.valid_from).min() {
        candidate.valid_from = first.min(candidate.said);
    }
    let since = candidate.valid_from;
    let ended = ended.into_iter().map(|fact| (fact, since));
    let corrected = corrected.into_iter().map(|fact| (Arc::clone(&fact), fact.valid_from));
    let facts = ended.chain(corrected).collect();
    ReplacedFacts { candidate, facts, newer: newer.into_iter().next() }
}

/// Finds the facts that a candidate ends without having the same attribute.
pub(crate) struct EndedFacts<'a> {
    candidate: &'a FactCandidate,
    denied: Option<Denial>,
}

impl<'a> EndedFacts<'a> {
    pub fn by(candidate: &'a FactCandidate) -> Self {
        Self { candidate, denied: denied_by(&candidate.content, &candidate.subject) }
    }

    /// True if the candidate ends a fact. A later fact is not ended by an earlier candidate.
    pub fn end(&self, fact: &SemanticMemory) -> bool {
        let own = |id| self.candidate.source_messages.contains(id);
        is_of(fact, self.candidate)
            && fact.valid_from <= self.candidate.said
            && self.denied.as_ref().is_some_and(|denied| ends(denied, fact))
            && !fact.source_messages.iter().any(own)
    }
}

/// The current facts that a candidate ends.
pub(crate) fn ended_by(
    view: &UserView,
    learned: &LearnedFacts,
    candidate: &FactCandidate,
) -> Vec<Arc<SemanticMemory>> {
    let ends = EndedFacts::by(candidate);
    let Some(denied) = &ends.denied else { return Vec::new() };
    let mut ended = with_rarest(view, learned, &denied.terms);
    ended.retain(|fact| ends.end(fact));
    ended
}

fn is_of(fact: &SemanticMemory, candidate: &FactCandidate) -> bool {
    let same = subject_key(&fact.subject).eq_ignore_ascii_case(subject_key(&candidate.subject));
    fact.is_current() && same
}

/// The latest facts with some of the rarest words that occur.
fn with_rarest(
    view: &UserView,
    learned: &LearnedFacts,
    terms: &[String],
) -> Vec<Arc<SemanticMemory>> {
    let postings = &view.statements.postings;
    let frequency = |term: &String| postings.document_frequency(term);
    let mut known: Vec<&String> = terms.iter().filter(|term| frequency(term) > 0).collect();
    known.sort_by_key(|term| frequency(term));
    known.dedup();
    let slots: BTreeSet<u32> = known
        .into_iter()
        .take(RAREST)
        .flat_map(|term| postings.postings(term).iter().rev().take(SAME_WORD))
        .map(|posting| posting.slot)
        .collect();
    let known = slots.into_iter().filter_map(|slot| view.facts.get(slot));
    let known = known.filter(|fact| !learned.latest.contains_key(&fact.memory_id));
    known.chain(learned.latest.values().map(|fresh| &fresh.memory)).map(Arc::clone).collect()
}
