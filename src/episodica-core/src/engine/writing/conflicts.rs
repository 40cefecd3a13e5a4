//! Finds known facts that may conflict with a candidate, in the view and in the same step.
//!
//! Vectors are not used. The rules only compare facts with the same text, with the same attribute,
//! or with all words of one in the other. The indexes of words find such facts in a time that does
//! not grow with the number of facts.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::clock::Moment;
use crate::engine::memory::attributes::StatedValue;
use crate::engine::memory::view::UserView;
use crate::engine::memory::wording::FactWording;
use crate::generate::facts::FactCandidate;
use crate::generate::reconcile::{CandidateWords, FactDecision};
use crate::model::SemanticMemory;
use crate::store::StateRecord;

/// A candidate is compared with the latest facts that contain its rarest word, up to this number.
const SAME_WORD: usize = 64;

/// A fact as a step has changed or added it.
pub(crate) struct FreshFact {
    pub memory: Arc<SemanticMemory>,
    /// The row of the fact's vector.
    pub row: Option<usize>,
    pub wording: Arc<FactWording>,
    stated: StatedValue,
}

/// Facts that a step has learned but not committed: newer than the view.
#[derive(Default)]
pub(crate) struct LearnedFacts {
    /// Latest revision by id.
    pub latest: BTreeMap<String, FreshFact>,
    /// Every record to append, in order.
    pub records: Vec<Arc<SemanticMemory>>,
    /// Notes of candidates that said nothing new.
    pub ignored: Vec<StateRecord>,
}

impl LearnedFacts {
    /// Adds a record with its words and the row of its vector.
    pub fn put(&mut self, record: SemanticMemory, wording: Arc<FactWording>, row: Option<usize>) {
        let memory = Arc::new(record);
        self.records.push(Arc::clone(&memory));
        let stated = StatedValue::by_memory(&memory, wording.signature);
        self.latest.insert(memory.memory_id.clone(), FreshFact { memory, row, wording, stated });
    }

    /// True if `record` is the latest revision with its id.
    pub fn is_latest(&self, record: &Arc<SemanticMemory>) -> bool {
        self.latest.get(&record.memory_id).is_some_and(|fresh| Arc::ptr_eq(&fresh.memory, record))
    }

    /// The facts that may conflict with a candidate, in the order of comparison.
    pub fn concerned(
        &self,
        view: &UserView,
        candidate: &FactCandidate,
        conflicts: &ConflictCandidates,
    ) -> Vec<Arc<SemanticMemory>> {
        let said = conflicts.said_by(candidate);
        let known = conflicts.slots.iter().filter_map(|slot| view.facts.get(*slot));
        let known = known.filter(|known| !self.latest.contains_key(&known.memory_id));
        let fresh = self.latest.values().filter(|fresh| conflicts.concern(&said, fresh));
        let mut near: Vec<_> =
            known.chain(fresh.map(|fresh| &fresh.memory)).map(Arc::clone).collect();
        near.sort_by(|a, b| in_order(view, a, b));
        near
    }
}

/// A candidate's wording and value, and the facts of the view that may conflict with it.
/// Independent of the step, so that it is computed for all candidates in parallel.
pub(crate) struct ConflictCandidates {
    wording: Arc<FactWording>,
    stated: StatedValue,
    slots: Vec<u32>,
}

impl ConflictCandidates {
    fn said_by<'a>(&'a self, candidate: &'a FactCandidate) -> CandidateWords<'a> {
        CandidateWords::by(candidate, &self.wording.normalized)
    }

    /// Decides by the rules what to do with the candidate, see
    /// [`CandidateWords::reconcile_offline`].
    pub fn reconcile(
        &self,
        view: &UserView,
        candidate: &FactCandidate,
        near: &[Arc<SemanticMemory>],
    ) -> FactDecision {
        let near: Vec<&SemanticMemory> = near.iter().map(|fact| &**fact).collect();
        let said_at = |fact: &SemanticMemory| last_said(view, fact);
        self.said_by(candidate).after(&said_at).reconcile_offline(&near)
    }

    fn concern(&self, said: &CandidateWords<'_>, fresh: &FreshFact) -> bool {
        fresh.memory.is_current()
            && (fresh.wording.normalized == self.wording.normalized
                || self.stated.may_concern(&fresh.stated))
            && said.concerns(&fresh.memory)
    }

    /// Finds the facts of the view that may conflict with a candidate of this wording.
    pub fn find(view: &UserView, candidate: &FactCandidate, wording: Arc<FactWording>) -> Self {
        let stated = StatedValue::by(candidate, wording.signature);
        let mut slots = in_view(view, &stated, &wording);
        let said = CandidateWords::by(candidate, &wording.normalized);
        slots.retain(|slot| view.facts.get(*slot).is_some_and(|known| said.concerns(known)));
        Self { wording, stated, slots }
    }
}

/// Slots of facts in the view that may conflict with a candidate, each once.
fn in_view(view: &UserView, stated: &StatedValue, wording: &FactWording) -> Vec<u32> {
    let mut slots = view.attributes.concerned(stated, |slot| view.is_current(slot));
    slots.extend(view.same_text(&wording.normalized));
    let postings = &view.statements.postings;
    let terms = wording.terms.iter();
    let rarest = terms.min_by_key(|term| postings.document_frequency(term.text));
    let with_word = rarest
        .into_iter()
        .flat_map(|term| postings.postings(term.text).iter().rev().take(SAME_WORD))
        .map(|posting| posting.slot);
    slots.extend(with_word.filter(|slot| view.attributes.may_concern(stated, *slot)));
    slots.sort_unstable();
    slots.dedup();
    slots
}

/// When the latest source message of a fact was said; without any, since when the fact holds.
pub(crate) fn last_said(view: &UserView, fact: &SemanticMemory) -> Moment {
    let slots = fact.source_messages.iter().filter_map(|id| view.messages.slot(id));
    slots.map(|slot| view.messages.get(slot).timestamp).max().unwrap_or(fact.valid_from)
}

/// The order in which a candidate is compared with facts: the fact said last comes first. Ids are
/// not used, so that a fact that was deleted and said again keeps its place.
pub(crate) fn in_order(view: &UserView, a: &SemanticMemory, b: &SemanticMemory) -> Ordering {
    let said = last_said(view, b).cmp(&last_said(view, a));
    said.then_with(|| b.valid_from.cmp(&a.valid_from)).then_with(|| a.content.cmp(&b.content))
}
