//! From new episodes to semantic memories: extract, reconcile with what is known, append, index.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ndarray::{Array2, ArrayView1};
use rayon::prelude::*;

use super::system::Engine;
use super::user::User;
use super::view::{View, rows_of};
use crate::control::Control;
use crate::error::Result;
use crate::generate::facts::{Candidate, extract_offline};
use crate::generate::reconcile::{apply, reconcile_offline};
use crate::model::{Episode, SemanticMemory};
use crate::store::StateRecord;

/// Known memories that a candidate is held against (the seeds' five nearest).
const NEAREST: usize = 5;

/// What a step has learned and not yet written: newer than the view.
#[derive(Default)]
struct Learned {
    /// Latest revision by id, with the row of its vector.
    latest: BTreeMap<String, (SemanticMemory, Option<usize>)>,
    /// Every record to append, in order.
    records: Vec<Arc<SemanticMemory>>,
}

impl Engine {
    /// Learns from the episodes that were not learned from yet. The caller has the user's turn.
    pub(super) fn learn(&self, user: &User, control: &dyn Control) -> Result<()> {
        let episodes: Vec<Arc<Episode>> = {
            let view = user.view.read();
            let mut episodes: Vec<_> = view.unlearned.keys().filter_map(|id| view.episodes.slot(id)).collect();
            episodes.sort_unstable();
            episodes.into_iter().filter_map(|slot| view.episodes.get(slot).cloned()).collect()
        };
        if episodes.is_empty() {
            return Ok(());
        }
        let extracted: Vec<_> = episodes.par_iter().map(|episode| extract_offline(&episode.original_messages, &self.config)).collect();
        control.check()?;
        let mut candidates: Vec<(&Episode, Candidate)> = Vec::new();
        for (episode, extraction) in episodes.iter().zip(extracted) {
            let mut rejected = self.counters.rejected.lock();
            for (reason, count) in &extraction.rejected {
                *rejected.entry(reason.name()).or_default() += count;
            }
            candidates.extend(extraction.candidates.into_iter().map(|candidate| (&**episode, candidate)));
        }
        let texts: Vec<&str> = candidates.iter().map(|(_, candidate)| candidate.content.as_str()).collect();
        let rows = self.embed_all(&texts, control)?;
        let mut learned = Learned::default();
        for (row, (episode, candidate)) in candidates.iter().enumerate() {
            let vector = rows.as_ref().map(|rows| rows.row(row));
            let near = self.nearest(&user.view.read(), &learned, rows.as_ref(), vector, candidate)?;
            let near: Vec<(&SemanticMemory, f32)> = near.iter().map(|(memory, cosine)| (&**memory, *cosine)).collect();
            let decision = reconcile_offline(candidate, &near);
            let known: Vec<&SemanticMemory> = near.iter().map(|(memory, _)| *memory).collect();
            let sources = [episode.episode_id.clone()];
            let applied = apply(&user.owner, candidate, &decision, &known, &sources, self.clock.now());
            for record in applied.records {
                let same_text = record.content == candidate.content;
                learned.latest.insert(record.memory_id.clone(), (record.clone(), same_text.then_some(row)));
                learned.records.push(Arc::new(record));
            }
        }
        self.commit_learned(user, &episodes, learned, rows.as_ref(), control)
    }

    /// The known memories nearest to a candidate, this step's own included, and those of the same attribute of the same subject.
    fn nearest(
        &self,
        view: &View,
        learned: &Learned,
        rows: Option<&Array2<f32>>,
        vector: Option<ArrayView1<'_, f32>>,
        candidate: &Candidate,
    ) -> Result<Vec<(Arc<SemanticMemory>, f32)>> {
        let mut near: HashMap<String, (Arc<SemanticMemory>, f32)> = HashMap::new();
        if let Some(vector) = vector {
            for (slot, cosine) in view.statements.nearest(vector, NEAREST)? {
                if let Some(memory) = view.facts.get(slot) {
                    near.insert(memory.memory_id.clone(), (Arc::clone(memory), cosine));
                }
            }
        }
        for id in view.same_attribute(&candidate.subject, &candidate.attribute) {
            if let Some(memory) = view.facts.by_id(id) {
                near.entry(id.clone()).or_insert_with(|| (Arc::clone(memory), 0.0));
            }
        }
        if let Some(memory) = view.same_statement(&candidate.content) {
            near.insert(memory.memory_id.clone(), (Arc::clone(memory), 1.0));
        }
        for (id, (memory, row)) in &learned.latest {
            let other = rows.zip(*row).map(|(rows, row)| rows.row(row));
            let cosine = vector.zip(other).map_or(0.0, |(vector, other)| vector.dot(&other));
            let same = memory.subject == candidate.subject && memory.attribute == candidate.attribute;
            if near.contains_key(id) || same || cosine > 0.3 || rows.is_none() {
                near.insert(id.clone(), (Arc::new(memory.clone()), cosine));
            }
        }
        let mut near: Vec<_> = near.into_values().collect();
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.memory_id.cmp(&b.0.memory_id)));
        Ok(near)
    }

    /// Appends what was learned together with the note that it is all, then brings the view up to date.
    fn commit_learned(
        &self,
        user: &User,
        episodes: &[Arc<Episode>],
        learned: Learned,
        rows: Option<&Array2<f32>>,
        control: &dyn Control,
    ) -> Result<()> {
        // Records whose text is not a candidate's own (merged or closed revisions) are embedded by themselves.
        let others: Vec<&SemanticMemory> = learned.latest.values().filter(|(_, row)| row.is_none()).map(|(memory, _)| memory).collect();
        let texts: Vec<&str> = others.iter().map(|memory| memory.content.as_str()).collect();
        let other_rows = self.embed_all(&texts, control)?;
        let at = self.clock.now();
        let notes: Vec<StateRecord> = episodes
            .iter()
            .map(|episode| StateRecord::Learned { episode_id: episode.episode_id.clone(), revision: episode.revision, at })
            .collect();
        let writer = user.writer.lock();
        if writer.gone {
            return Ok(());
        }
        user.store.append_semantic(&learned.records, &[], &notes)?;
        user.note_change();
        let mut view = user.view.write();
        let mut other = 0;
        for (memory, row) in learned.latest.into_values() {
            let vector = match row {
                Some(row) => rows.map(|rows| rows_of(rows.view(), row..row + 1)),
                None => {
                    other += 1;
                    other_rows.as_ref().map(|rows| rows_of(rows.view(), other - 1..other))
                }
            };
            view.put_fact(Arc::new(memory), vector, &self.indexing())?;
        }
        for episode in episodes {
            view.unlearned.remove(&episode.episode_id);
        }
        Ok(())
    }
}
