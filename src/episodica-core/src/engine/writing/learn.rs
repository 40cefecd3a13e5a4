//! From new episodes to semantic memories: extract, reconcile with what is known, append, index.
//!
//! By the rules all episodes at once, with a model one after the other ([`Engine::learn_next`]):
//! what one teaches is known to the next.

use std::collections::HashMap;
use std::sync::Arc;

use ndarray::{Array2, ArrayView1};
use rayon::prelude::*;

use crate::control::Control;
use crate::engine::asking::ask::Asked;
use crate::engine::memory::user::User;
use crate::engine::memory::view::{View, rows_of};
use crate::engine::registry::Engine;
use crate::engine::writing::conflicts::{Learned, Sight};
use crate::error::Result;
use crate::generate::facts::{Candidate, Extraction, extract_offline};
use crate::generate::reconcile::{Decision, apply, reconcile_offline};
use crate::model::{Episode, Provenance, SemanticMemory};
use crate::store::StateRecord;

/// Known memories that a candidate is held against (the seeds' five nearest).
pub(crate) const NEAREST: usize = 5;

/// Episodes that are learned from in one step by the rules: what they teach is held against each
/// other, so a backlog takes several.
const STEP: usize = 512;

/// A candidate with the episode it comes from.
pub(crate) type Found<'a> = (&'a Arc<Episode>, Candidate);

/// What a model says of each candidate: a decision and the memories its target points into; `None`
/// leaves it to the rules.
pub(crate) type Advice = Vec<Option<(Decision, Vec<Arc<SemanticMemory>>)>>;

/// How a step of learning came about.
#[derive(Default)]
pub(crate) struct Manner {
    /// Stamped into new memories; `None` = the rules'.
    pub provenance: Option<Provenance>,
    /// By the rules in a model's place: to be done again.
    pub pending_llm: bool,
    /// For the trace.
    pub asked: Asked,
}

impl Engine {
    /// Learns by the rules from the episodes that were not learned from yet. The caller has the
    /// user's turn.
    pub(crate) fn learn(&self, user: &User, control: &dyn Control) -> Result<()> {
        Self::unlearned(user)
            .chunks(STEP)
            .try_for_each(|episodes| self.learn_step(user, episodes, control))
    }

    fn learn_step(
        &self,
        user: &User,
        episodes: &[Arc<Episode>],
        control: &dyn Control,
    ) -> Result<()> {
        let messages: Vec<_> = episodes
            .iter()
            .map(|episode| self.without_recalled(user, &episode.original_messages))
            .collect();
        let extracted: Vec<Extraction> =
            messages.par_iter().map(|messages| extract_offline(messages, &self.config)).collect();
        control.check()?;
        let mut found: Vec<Found<'_>> = Vec::new();
        for (episode, extraction) in episodes.iter().zip(extracted) {
            self.count_rejected(&extraction);
            found.extend(extraction.candidates.into_iter().map(|candidate| (episode, candidate)));
        }
        let rows = self.embed_found(&found, control)?;
        let advice = found.iter().map(|_| None).collect();
        self.take_in(user, episodes, &found, rows.as_ref(), advice, Manner::default(), control)
    }

    /// Episodes that were not learned from yet, in order.
    pub(crate) fn unlearned(user: &User) -> Vec<Arc<Episode>> {
        let view = user.view.read();
        let mut episodes: Vec<_> =
            view.unlearned.keys().filter_map(|id| view.episodes.slot(id)).collect();
        episodes.sort_unstable();
        episodes.into_iter().filter_map(|slot| view.episodes.get(slot).cloned()).collect()
    }

    pub(crate) fn count_rejected(&self, extraction: &Extraction) {
        let mut rejected = self.counters.rejected.lock();
        for (reason, count) in &extraction.rejected {
            *rejected.entry(reason.name()).or_default() += count;
        }
    }

    /// The vectors of candidates, row by row.
    pub(crate) fn embed_found(
        &self,
        found: &[Found<'_>],
        control: &dyn Control,
    ) -> Result<Option<Array2<f32>>> {
        let texts: Vec<&str> =
            found.iter().map(|(_, candidate)| candidate.content.as_str()).collect();
        self.embed_all(&texts, control)
    }

    /// Reconciles candidates with what is known and with each other, and writes down what comes of
    /// it.
    #[expect(clippy::too_many_arguments, reason = "one step with all that it is made of")]
    pub(crate) fn take_in(
        &self,
        user: &User,
        episodes: &[Arc<Episode>],
        found: &[Found<'_>],
        rows: Option<&Array2<f32>>,
        advice: Advice,
        manner: Manner,
        control: &dyn Control,
    ) -> Result<()> {
        let sights: Vec<Sight> = {
            let view = user.view.read();
            found.par_iter().map(|(_, candidate)| Sight::of(&view, candidate)).collect()
        };
        let mut learned = Learned::default();
        for ((row, (episode, candidate)), advised) in found.iter().enumerate().zip(advice) {
            // What this step has changed already is no longer what the advice was about.
            let advised = advised.filter(|(decision, known)| {
                let target = decision.target.and_then(|target| known.get(target));
                target.is_none_or(|memory| !learned.latest.contains_key(&memory.memory_id))
            });
            let (decision, known) = match advised {
                Some(advised) => advised,
                None => {
                    let near =
                        learned.concerned(&user.view.read(), rows, row, candidate, &sights[row]);
                    let scored: Vec<(&SemanticMemory, f32)> =
                        near.iter().map(|(memory, cosine)| (&**memory, *cosine)).collect();
                    (
                        reconcile_offline(candidate, &scored),
                        near.into_iter().map(|(memory, _)| memory).collect(),
                    )
                }
            };
            let known: Vec<&SemanticMemory> = known.iter().map(|memory| &**memory).collect();
            let sources = [episode.episode_id.clone()];
            let mut applied =
                apply(&user.owner, candidate, &decision, &known, &sources, self.clock.now());
            // Read before, from the same words of the same message. Whatever became of it (somebody
            // may have corrected it), it is nothing new.
            let again = |record: &SemanticMemory| {
                record.revision_count == 0
                    && user.view.read().facts.slot(&record.memory_id).is_some()
            };
            if applied.records.last().is_some_and(again) {
                continue;
            }
            // The last record is the one that holds the candidate; one before it is only closed.
            if let (Some(provenance), Some(record)) =
                (&manner.provenance, applied.records.last_mut())
            {
                record.provenance = provenance.clone();
            }
            for record in applied.records {
                let same_text = record.content == candidate.content;
                learned.put(record, same_text.then_some(row));
            }
        }
        let mut ids: Vec<String> = learned.latest.keys().cloned().collect();
        ids.extend(episodes.iter().map(|episode| episode.episode_id.clone()));
        self.commit_learned(user, episodes, learned, rows, manner.pending_llm, control)?;
        self.write_trace(user, manner.asked.about(&ids));
        Ok(())
    }

    /// The known memories nearest to a candidate, and those of the same attribute of the same
    /// subject.
    pub(crate) fn nearest_known(
        view: &View,
        vector: Option<ArrayView1<'_, f32>>,
        candidate: &Candidate,
    ) -> Result<HashMap<String, (Arc<SemanticMemory>, f32)>> {
        let mut near: HashMap<String, (Arc<SemanticMemory>, f32)> = HashMap::new();
        if let Some(vector) = vector {
            for (slot, cosine) in view.statements.nearest(vector, NEAREST)? {
                if let Some(memory) = view.facts.get(slot) {
                    near.insert(memory.memory_id.clone(), (Arc::clone(memory), cosine));
                }
            }
        }
        for memory in view.same_attribute(candidate) {
            near.entry(memory.memory_id.clone()).or_insert_with(|| (Arc::clone(memory), 0.0));
        }
        if let Some(memory) = view.same_statement(&candidate.content) {
            near.insert(memory.memory_id.clone(), (Arc::clone(memory), 1.0));
        }
        Ok(near)
    }

    /// Appends what was learned together with the note that it is all, then brings the view up to
    /// date.
    fn commit_learned(
        &self,
        user: &User,
        episodes: &[Arc<Episode>],
        learned: Learned,
        rows: Option<&Array2<f32>>,
        pending_llm: bool,
        control: &dyn Control,
    ) -> Result<()> {
        // Records whose text is not a candidate's own (merged or closed revisions) are embedded by
        // themselves.
        let others: Vec<&SemanticMemory> = learned
            .latest
            .values()
            .filter(|fresh| fresh.row.is_none())
            .map(|fresh| &*fresh.memory)
            .collect();
        let texts: Vec<&str> = others.iter().map(|memory| memory.content.as_str()).collect();
        let other_rows = self.embed_all(&texts, control)?;
        let at = self.clock.now();
        let notes: Vec<StateRecord> = episodes
            .iter()
            .map(|episode| StateRecord::Learned {
                episode_id: episode.episode_id.clone(),
                revision: episode.revision,
                at,
                pending_llm,
            })
            .collect();
        let writer = user.writer.lock();
        if writer.gone {
            return Ok(());
        }
        user.store.append_semantic(&learned.records, &[], &notes)?;
        log::debug!("{} semantic memories are in the log", learned.records.len());
        user.note_change();
        let mut view = user.view.write();
        let mut other = 0;
        for fresh in learned.latest.values() {
            let vector = match fresh.row {
                Some(row) => rows.map(|rows| rows_of(rows.view(), row..row + 1)),
                None => {
                    other += 1;
                    other_rows.as_ref().map(|rows| rows_of(rows.view(), other - 1..other))
                }
            };
            view.put_fact(Arc::clone(&fresh.memory), vector, &self.indexing())?;
        }
        // Revisions that did not last longer than the step are history all the same, as they are
        // when the log is read.
        let passing = learned.records.iter().filter(|record| !learned.is_latest(record));
        passing.for_each(|record| view.facts.put_earlier(&record.memory_id, Arc::clone(record)));
        for episode in episodes {
            if view
                .unlearned
                .get(&episode.episode_id)
                .is_some_and(|revision| *revision <= episode.revision)
            {
                view.unlearned.remove(&episode.episode_id);
            }
            match pending_llm {
                true => view.relearn.insert(episode.episode_id.clone()),
                false => view.relearn.remove(&episode.episode_id),
            };
        }
        Ok(())
    }
}
