//! Finds the facts that a deletion may affect: those that the rules compare with deleted or changed
//! facts.

use std::collections::HashMap;
use std::sync::Arc;

use crate::control::CallControl;
use crate::engine::memory::attributes::StatedValue;
use crate::engine::memory::view::UserView;
use crate::error::Result;
use crate::generate::facts::FactCandidate;
use crate::generate::reconcile::{
    CandidateWords, Denial, WordSignature, denied, ends, known_value, subject_key, superseded,
};
use crate::model::SemanticMemory;
use crate::text::normalized;

/// Facts read between two checks for cancellation.
const BATCH: usize = 512;

/// A fact or candidate, with the values by which similar facts are found.
pub(crate) struct ComparedItem {
    candidate: FactCandidate,
    fact: SemanticMemory,
    open: SemanticMemory,
    text: String,
    like: StatedValue,
}

impl ComparedItem {
    pub fn of_fact(view: &UserView, fact: &SemanticMemory) -> Self {
        Self::new(candidate_of(view, fact), fact.clone())
    }

    /// A candidate, and the fact that it would become.
    pub fn new(candidate: FactCandidate, fact: SemanticMemory) -> Self {
        let (text, open) = (normalized(&candidate.content), opened(&fact));
        let like = StatedValue::by(&candidate, WordSignature::of(&candidate.content));
        Self { candidate, fact, open, text, like }
    }
}

/// Finds the facts similar to an item, each once.
pub(crate) struct SimilarFacts<'a> {
    view: &'a UserView,
    /// By slot: true if found already.
    found: Vec<bool>,
    /// By id: the facts that name this id as predecessor or successor.
    links: HashMap<&'a str, Vec<u32>>,
    /// By message: the facts that have it as a source message.
    by_proof: HashMap<&'a str, Vec<u32>>,
    /// Facts that deny something.
    denials: Vec<(u32, Denial)>,
}

impl<'a> SimilarFacts<'a> {
    pub fn new(view: &'a UserView, control: &dyn CallControl) -> Result<Self> {
        let (mut links, mut by_proof) = (HashMap::new(), HashMap::new());
        let mut denials = Vec::new();
        for (slot, fact) in view.facts.iter() {
            if (slot as usize).is_multiple_of(BATCH) {
                control.check()?;
            }
            for id in fact.superseded_by.as_deref().into_iter().chain(superseded(fact)) {
                links.entry(id).or_insert_with(Vec::new).push(slot);
            }
            for id in &fact.source_messages {
                by_proof.entry(id.as_str()).or_insert_with(Vec::new).push(slot);
            }
            if let Some(denial) = denied(&fact.content, &fact.subject) {
                denials.push((slot, denial));
            }
        }
        let found = vec![false; view.facts.slot_count()];
        Ok(Self { view, found, links, by_proof, denials })
    }

    /// The facts that have this source message.
    pub fn proved_by(&self, message: &str) -> impl Iterator<Item = &'a Arc<SemanticMemory>> {
        let slots = self.by_proof.get(message).into_iter().flatten();
        let view = self.view;
        slots.filter_map(move |slot| view.facts.get(*slot))
    }

    pub fn find(&mut self, slot: u32) {
        self.found[slot as usize] = true;
    }

    /// The facts, not found before, that the rules may compare with the item.
    pub fn concerned(&mut self, item: &ComparedItem) -> Vec<u32> {
        let view = self.view;
        let mut slots = self.links.get(&*item.fact.memory_id).cloned().unwrap_or_default();
        let linked = item.fact.superseded_by.as_deref().into_iter().chain(superseded(&item.fact));
        slots.extend(linked.filter_map(|id| view.facts.slot(id)));
        let of_subject = |slot: u32| {
            let fact = view.facts.get(slot)?;
            let same =
                subject_key(&fact.subject).eq_ignore_ascii_case(subject_key(&item.open.subject));
            (same && !fact.is_procedure()).then_some(fact)
        };
        for slot in 0..view.facts.slot_count() as u32 {
            if !self.found[slot as usize]
                && view.attributes.may_concern(&item.like, slot)
                && view.facts.get(slot).is_some_and(|fact| is_alike(view, item, fact))
            {
                slots.push(slot);
            }
        }
        if let Some(denial) = denied(&item.open.content, &item.open.subject) {
            slots.extend(view.facts.slots().filter(|slot| {
                !self.found[*slot as usize]
                    && of_subject(*slot).is_some_and(|fact| ends(&denial, &opened(fact)))
            }));
        }
        let denying = self.denials.iter().filter(|(slot, denial)| {
            !self.found[*slot as usize] && of_subject(*slot).is_some() && ends(denial, &item.open)
        });
        slots.extend(denying.map(|(slot, _)| *slot));
        slots.retain(|slot| !std::mem::replace(&mut self.found[*slot as usize], true));
        slots
    }
}

fn is_alike(view: &UserView, item: &ComparedItem, fact: &SemanticMemory) -> bool {
    if fact.is_procedure() {
        return false;
    }
    let fact = opened(fact);
    let said = candidate_of(view, &fact);
    CandidateWords::by(&item.candidate, &item.text).concerns(&fact)
        || CandidateWords::by(&said, &normalized(&fact.content)).concerns(&item.open)
}

/// The fact without its end.
pub(crate) fn opened(fact: &SemanticMemory) -> SemanticMemory {
    SemanticMemory { valid_to: None, superseded_by: None, ..fact.clone() }
}

/// The candidate from which a fact was made.
pub(crate) fn candidate_of(view: &UserView, fact: &SemanticMemory) -> FactCandidate {
    let slots = fact.source_messages.iter().filter_map(|id| view.messages.slot(id));
    let said = slots.map(|slot| view.messages.get(slot).timestamp).min();
    FactCandidate {
        content: fact.content.clone(),
        kind: fact.kind,
        confidence: fact.confidence,
        importance: fact.importance,
        subject: fact.subject.clone(),
        attribute: fact.attribute.clone(),
        value: known_value(fact).to_owned(),
        valid_from: fact.valid_from,
        said: said.unwrap_or(fact.valid_from),
        source_messages: fact.source_messages.clone(),
    }
}
