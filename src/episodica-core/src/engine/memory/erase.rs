//! Removes deleted records from a view in place. The cost depends on the number of deleted records,
//! not on the user's size.
//!
//! Afterwards the view equals one built from the rewritten logs.

use std::collections::HashSet;
use std::sync::Arc;

use ndarray::Array2;

use crate::control::CallControl;
use crate::engine::memory::indexing::{IndexingSettings, Rows, rows_of};
use crate::engine::memory::user::UserMemory;
use crate::engine::memory::vectors::KnownVectors;
use crate::engine::memory::view::{UserView, episode_terms, text_key};
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Posting, for_each_term};
use crate::model::{Episode, Message, SemanticMemory};
use crate::store::{LoadedUser, UserErasure};
use crate::text::normalized;

impl UserView {
    /// Applies an erasure. `fact_rows` holds a vector for each fact that replaces another.
    pub fn apply_erasure(
        &mut self,
        erasure: &UserErasure,
        fact_rows: Option<&Array2<f32>>,
        to: &IndexingSettings<'_>,
    ) -> Result<()> {
        self.erased = true;
        for id in &erasure.episodes {
            self.remove_episode(id)?;
        }
        for id in &erasure.semantic {
            self.remove_fact(id)?;
        }
        let mut erased = HashSet::new();
        for id in &erasure.messages {
            erased.insert(id.as_str());
            if let Some(slot) = self.messages.remove_message(id)? {
                self.backlog.message_deleted(slot, id);
            }
        }
        for episode in &erasure.replace_episodes {
            self.put_episode(Arc::clone(episode), &episode_terms(episode), to)?;
            self.episodes.remove_history(&episode.episode_id);
        }
        for (number, fact) in erasure.replace_semantic.iter().enumerate() {
            let row = fact_rows.map(|rows| rows_of(rows.view(), number..number + 1));
            self.replace_fact(fact, row, to)?;
        }
        self.episodes.retain_history(|episode: &Episode| {
            let mut messages = episode.original_messages.iter();
            messages.all(|message| !erased.contains(message.message_id.as_str()))
        });
        Ok(())
    }

    /// Drops the revisions that a compaction removes from the logs.
    pub fn trim_histories(&mut self, most: usize) {
        self.erased = true;
        self.episodes.trim_history(most);
        self.facts.trim_history(most);
    }

    fn remove_episode(&mut self, id: &str) -> Result<()> {
        self.backlog.episode_deleted(id);
        self.merged.retain(|_, into| into != id);
        if let Some(slot) = self.episodes.remove_record(id) {
            self.abstracts.remove_slot(slot)?;
            self.narratives.remove_slot(slot)?;
            self.hidden.remove_episode(slot, self.members.get(slot));
        }
        Ok(())
    }

    /// Removes facts that a line of the log withdrew.
    pub fn withdraw_facts(&mut self, ids: &[&str]) -> Result<()> {
        self.erased = true;
        ids.iter().try_for_each(|id| self.remove_fact(id))
    }

    fn remove_fact(&mut self, id: &str) -> Result<()> {
        self.facts_changed();
        let Some(fact) = self.facts.by_id(id).cloned() else {
            self.facts.remove_history(id);
            return Ok(());
        };
        if let Some(slot) = self.facts.remove_record(id) {
            self.statements.remove_slot(slot)?;
            self.standings[slot as usize].mark_deleted();
            self.show_same_text(slot, &fact.content);
        }
        Ok(())
    }

    /// Replaces all revisions of a fact.
    fn replace_fact(
        &mut self,
        fact: &Arc<SemanticMemory>,
        row: Rows<'_>,
        to: &IndexingSettings<'_>,
    ) -> Result<()> {
        self.revise_fact(fact, row, to)?;
        self.facts.remove_history(&fact.memory_id);
        Ok(())
    }

    /// Stores the next revision of a fact. An unchanged text, without a `row`, keeps its vector.
    pub fn revise_fact(
        &mut self,
        fact: &Arc<SemanticMemory>,
        row: Rows<'_>,
        to: &IndexingSettings<'_>,
    ) -> Result<()> {
        let vectors = self.statements.vector_index().zip(self.facts.slot_by_id(&fact.memory_id));
        let vector = vectors.and_then(|(vectors, slot)| vectors.vector_of(u64::from(slot)));
        let kept = vector.map(|vector| vector.insert_axis(ndarray::Axis(0)));
        self.put_fact(Arc::clone(fact), row.or(kept.as_ref().map(|row| row.view())), to)
    }

    /// The slots of the latest facts that contain the rarest word of a text, at most `most`.
    fn slots_with_words(&self, content: &str, most: usize) -> Vec<u32> {
        let postings = &self.statements.postings;
        let mut rarest: Option<&[Posting]> = None;
        for_each_term(content, |term| {
            let list = postings.term_postings(term.text);
            if rarest.is_none_or(|rarest| list.len() < rarest.len()) {
                rarest = Some(list);
            }
        });
        match rarest {
            Some(list) => list.iter().rev().take(most).map(|posting| posting.slot).collect(),
            None => self.facts.current_slots().rev().take(most).collect(),
        }
    }

    /// The latest facts that contain the rarest word of a text, at most `most`.
    pub fn facts_with_words(
        &self,
        content: &str,
        most: usize,
    ) -> impl Iterator<Item = &Arc<SemanticMemory>> {
        let slots = self.slots_with_words(content, most).into_iter();
        slots.filter_map(|slot| self.facts.get(slot))
    }

    /// Finds another fact with the same text, which the removed fact had hidden.
    fn show_same_text(&mut self, removed: u32, content: &str) {
        let text = normalized(content);
        let key = text_key(&text);
        if self.fact_texts.get(&key) != Some(&removed) {
            return;
        }
        self.fact_texts.remove(&key);
        let candidates = self.slots_with_words(content, usize::MAX);
        for slot in candidates {
            let says_the_same =
                self.facts.get(slot).is_some_and(|fact| normalized(&fact.content) == text);
            if says_the_same {
                self.note_text(key, slot);
            }
        }
    }
}

impl UserMemory {
    /// Replaces the view by a new one of the same records, with vectors from `known` or the
    /// embedder. The caller holds the user's `FormingTurn`.
    ///
    /// # Errors
    /// `Interrupted`; `Index`; `Conflict` if other processes have changed records meanwhile.
    pub fn rebuild_view(
        &self,
        known: KnownVectors,
        to: &IndexingSettings<'_>,
        control: &dyn CallControl,
    ) -> Result<()> {
        let basis = self.decision_basis();
        let (loaded, backlog, slots) = {
            let view = self.view.read();
            let loaded = LoadedUser {
                messages: view.messages.all_messages().cloned().collect(),
                message_history: view.messages.version_history().clone(),
                episodes: view.episodes.iter().map(|(_, episode)| Arc::clone(episode)).collect(),
                episode_history: view.episodes.revision_history(),
                semantic: view.facts.iter().map(|(_, fact)| Arc::clone(fact)).collect(),
                semantic_history: view.facts.revision_history(),
                ..LoadedUser::default()
            };
            (loaded, view.backlog.clone(), view.messages.slot_count() as u32)
        };
        // Without a lock: the embedder may take long, or call the engine.
        let mut fresh = UserView::from_records(loaded, to, control)?;
        fresh.backlog.take_over(&backlog);
        let embedding = IndexingSettings { opens_without_embedding: false, ..*to };
        fresh.fill_vectors(known, &embedding, control)?;
        let (_writer, _following) = (self.writer.lock(), self.following.lock());
        if self.decision_basis() != basis || self.is_outdated() {
            return Err(Error::new(ErrorKind::Conflict, "another process changed the records"));
        }
        let mut view = self.view.write();
        let arrived: Vec<Arc<Message>> = view
            .messages
            .message_slots()
            .filter(|slot| *slot >= slots)
            .map(|slot| Arc::clone(view.messages.get(slot)))
            .collect();
        let texts = arrived.iter().map(|message| message.content.as_str());
        let readings = to.read_messages(texts, control)?;
        fresh.add_messages(&arrived, &readings);
        *view = fresh;
        self.note_change();
        Ok(())
    }
}
