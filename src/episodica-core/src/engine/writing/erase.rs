//! Changing and deleting what is remembered. An update keeps the version before; a deletion leaves
//! no byte.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::control::{Control, Uninterrupted};
use crate::engine::memory::user::User;
use crate::engine::memory::vectors::KnownVectors;
use crate::engine::memory::view::View;
use crate::engine::reading::recall::Recalled;
use crate::engine::reading::records::{AnyRecord, find};
use crate::engine::registry::Engine;
use crate::error::{Error, Result};
use crate::generate::episode::write_offline;
use crate::model::{DeleteReport, Episode, Message, Provenance, SemanticMemory};
use crate::store::{Erasure, LoadedUser, StateRecord};

impl Engine {
    /// Replaces the text of a semantic memory or the narrative of an episode; the version before
    /// stays in [`Engine::history`]. A superseded memory holds again afterwards: the way to undo a
    /// supersession.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown id, an empty text, or a message (what was said is not
    /// rewritten).
    pub fn update(
        &self,
        user_id: &str,
        id: &str,
        content: &str,
        control: &dyn Control,
    ) -> Result<AnyRecord> {
        self.check_writable()?;
        if content.trim().is_empty() {
            return Err(Error::invalid("content is empty: ``"));
        }
        let unknown = || Error::invalid(format!("no record of this user has the id: `{id}`"));
        let user = self.user(user_id, false, control)?.ok_or_else(unknown)?;
        let _turn = user.turns.take(control)?;
        let now = self.clock.now();
        let provenance = Provenance { method: "user".to_owned(), ..Provenance::default() };
        match find(&user, id).ok_or_else(unknown)? {
            AnyRecord::Message(_) => Err(Error::invalid(format!(
                "a message is what was said and can't be rewritten: `{id}`"
            ))
            .with_hint("delete it, or add a new one")),
            AnyRecord::Semantic(known) => {
                let memory = Arc::new(SemanticMemory {
                    content: content.to_owned(),
                    valid_to: None,
                    superseded_by: None,
                    updated_at: now,
                    revision_count: known.revision_count + 1,
                    provenance,
                    ..(*known).clone()
                });
                let rows = self.embed_all(&[content], control)?;
                let _writer = user.writer.lock();
                user.store.append_semantic(&[Arc::clone(&memory)], &[], &[])?;
                let mut view = user.view.write();
                view.put_fact(
                    Arc::clone(&memory),
                    rows.as_ref().map(|rows| rows.view()),
                    &self.indexing(),
                )?;
                user.note_change();
                Ok(AnyRecord::Semantic(memory))
            }
            AnyRecord::Episode(known) => {
                let episode = Episode {
                    content: content.to_owned(),
                    revision: known.revision + 1,
                    provenance,
                    ..(*known).clone()
                };
                let episode = Arc::new(episode);
                let texts = Self::episode_texts(std::slice::from_ref(&episode));
                let rows =
                    self.embed_all(&texts.iter().map(String::as_str).collect::<Vec<_>>(), control)?;
                let learned = self.still_learned(&user, std::slice::from_ref(&episode));
                // First: an edit that is there without it would be learned from again at the next
                // opening.
                user.store.append_semantic(&[], &[], &learned)?;
                self.commit_episodes(&user, std::slice::from_ref(&episode), rows)?;
                if !learned.is_empty() {
                    user.view.write().unlearned.remove(&episode.episode_id);
                }
                Ok(AnyRecord::Episode(episode))
            }
        }
    }

    /// Deletes a record with all its versions, and what follows from it.
    ///
    /// * A semantic memory goes alone.
    /// * A message takes the memories with it that only it proves; its episode is written anew
    ///   without it, or goes if nothing is left.
    /// * An episode takes its messages with it, and the memories that only they prove.
    ///
    /// When this returns, no byte of the deleted texts is in any file of the store; interrupted, it
    /// is finished at the next opening.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`. An unknown id deletes nothing.
    pub fn delete(&self, user_id: &str, id: &str, control: &dyn Control) -> Result<DeleteReport> {
        self.check_writable()?;
        let Some(user) = self.user(user_id, false, control)? else {
            return Ok(DeleteReport::default());
        };
        let _turn = user.turns.take(control)?;
        let Some(record) = find(&user, id) else { return Ok(DeleteReport::default()) };
        let mut erasure = Erasure::default();
        match record {
            AnyRecord::Semantic(memory) => erasure.semantic.push(memory.memory_id.clone()),
            AnyRecord::Message(message) => erasure.messages.push(message.message_id.clone()),
            AnyRecord::Episode(episode) => {
                erasure.messages.extend(
                    episode.original_messages.iter().map(|message| message.message_id.clone()),
                );
                erasure.episodes.push(episode.episode_id.clone());
            }
        }
        self.follow(&user.view.read(), &mut erasure);
        let report = DeleteReport {
            messages: erasure.messages.len(),
            episodes: erasure.episodes.len(),
            semantic_memories: erasure.semantic.len(),
            files: 0,
        };
        let writer = user.writer.lock();
        // The erasure takes these files away; what is held of them would bring them back.
        user.notes.lock().close(false);
        *user.recalled.lock() = Recalled::default();
        // One that failed earlier comes first, so that from here on an erasure under way is this
        // one.
        user.store.finish_erasure()?;
        user.store.append_semantic(
            &[],
            &[],
            &self.still_learned(&user, &erasure.replace_episodes),
        )?;
        let outcome = user.store.erase(erasure.clone());
        if outcome.is_err() && !user.store.is_erasing() {
            return outcome.map(|files| DeleteReport { files, ..report });
        }
        let known = Self::carry_over(&user.view.read());
        drop(writer);
        // What goes from the disk, now or at the next append, goes from memory too, whoever gives
        // up waiting for it.
        self.rebuild_view(&user, known, |loaded| forget(loaded, &erasure), &Uninterrupted)?;
        let files = outcome?;
        self.save_caches(&user)?;
        Ok(DeleteReport { files, ..report })
    }

    /// The notes that of these next revisions there is nothing to learn: their messages are those
    /// that were learned from, or fewer.
    fn still_learned(&self, user: &User, episodes: &[Arc<Episode>]) -> Vec<StateRecord> {
        let (view, at) = (user.view.read(), self.clock.now());
        let learned =
            episodes.iter().filter(|episode| !view.unlearned.contains_key(&episode.episode_id));
        let note = |episode: &Arc<Episode>| StateRecord::Learned {
            episode_id: episode.episode_id.clone(),
            revision: episode.revision,
            at,
            pending_llm: view.relearn.contains(&episode.episode_id),
        };
        learned.map(note).collect()
    }

    /// Deletes everything of a user: when this returns, no byte of theirs is on disk and no search
    /// finds them. An unknown user has nothing.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`: then call again, or open the store again, which finishes it.
    pub fn delete_user_data(&self, user_id: &str, control: &dyn Control) -> Result<DeleteReport> {
        self.check_writable()?;
        let owner = self.owner(user_id)?;
        let mut report = DeleteReport::default();
        // A cache of another model does not keep anybody from being deleted: what can't be opened
        // is not counted.
        if let Ok(Some(user)) = self.user(user_id, false, control) {
            let view = user.view.read();
            (report.messages, report.episodes, report.semantic_memories) =
                (view.messages.len(), view.episodes.len(), view.facts.len());
        }
        let _opening = self.hold_openings(control)?;
        if let Some(user) = self.open_user(user_id) {
            // Work behind the caller stops, in the middle of a call if need be.
            user.leaving.store(true, Ordering::SeqCst);
            let turn = match user.turns.take(control) {
                Ok(turn) => turn,
                Err(error) => {
                    user.leaving.store(false, Ordering::SeqCst);
                    return Err(error);
                }
            };
            user.writer.lock().gone = true;
            user.notes.lock().close(true);
            self.work.forget(&user);
            self.forget(user_id);
            drop(turn);
            // Searches under way finish with what they have; nobody can begin one any more.
            while Arc::strong_count(&user) > 1 {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
        self.ledger.forget(user_id);
        report.files = self.store.erase_user(&owner)?;
        Ok(report)
    }

    /// Adds to an erasure what follows from it.
    fn follow(&self, view: &View, erasure: &mut Erasure) {
        let messages: HashSet<&str> = erasure.messages.iter().map(String::as_str).collect();
        let episodes: HashSet<String> = erasure.episodes.iter().cloned().collect();
        let (mut gone, mut replaced) = (Vec::new(), Vec::new());
        for (_, episode) in
            view.episodes.iter().filter(|(_, episode)| !episodes.contains(&episode.episode_id))
        {
            let left: Vec<Arc<Message>> = episode
                .original_messages
                .iter()
                .filter(|message| !messages.contains(message.message_id.as_str()))
                .cloned()
                .collect();
            match left.len() {
                0 => gone.push(episode.episode_id.clone()),
                count if count < episode.message_count => {
                    replaced.push(Arc::new(self.without(episode, left)))
                }
                _ => {}
            }
        }
        let known: HashSet<&str> = erasure.semantic.iter().map(String::as_str).collect();
        let (mut unproved, mut poorer) = (Vec::new(), Vec::new());
        for (_, fact) in
            view.facts.iter().filter(|(_, fact)| !known.contains(fact.memory_id.as_str()))
        {
            let proofs: Vec<String> = fact
                .source_messages
                .iter()
                .filter(|id| !messages.contains(id.as_str()))
                .cloned()
                .collect();
            let sources: Vec<String> = fact
                .source_episodes
                .iter()
                .filter(|id| !episodes.contains(*id) && !gone.contains(*id))
                .cloned()
                .collect();
            let had_proof = !fact.source_messages.is_empty() || !fact.source_episodes.is_empty();
            let lost = proofs.len() < fact.source_messages.len()
                || sources.len() < fact.source_episodes.len();
            match () {
                () if lost
                    && had_proof
                    && proofs.is_empty()
                    && (sources.is_empty() || !fact.source_messages.is_empty()) =>
                {
                    unproved.push(fact.memory_id.clone());
                }
                () if lost => {
                    let fact = SemanticMemory {
                        source_messages: proofs,
                        source_episodes: sources,
                        ..(**fact).clone()
                    };
                    poorer.push(Arc::new(fact));
                }
                () => {}
            }
        }
        erasure.episodes.extend(gone);
        erasure.replace_episodes.extend(replaced);
        erasure.semantic.extend(unproved);
        erasure.replace_semantic.extend(poorer);
    }

    /// The episode written anew over the messages that are left.
    fn without(&self, episode: &Episode, left: Vec<Arc<Message>>) -> Episode {
        let text = write_offline(&left);
        Episode {
            title: text.title,
            summary: text.summary,
            content: text.content,
            topics: text.topics,
            entities: text.entities,
            message_count: left.len(),
            original_messages: left,
            revision: episode.revision + 1,
            provenance: Provenance { method: "offline".to_owned(), ..Provenance::default() },
            ..episode.clone()
        }
    }

    /// Replaces the view by one over the same records, changed by `change`. The caller has the
    /// user's turn.
    pub(crate) fn rebuild_view(
        &self,
        user: &User,
        known: KnownVectors,
        change: impl FnOnce(&mut LoadedUser),
        control: &dyn Control,
    ) -> Result<()> {
        let _writer = user.writer.lock();
        let (mut loaded, unlearned, relearn, closed, closing) = {
            let view = user.view.read();
            let loaded = LoadedUser {
                messages: view.messages.records().cloned().collect(),
                episodes: view.episodes.iter().map(|(_, episode)| Arc::clone(episode)).collect(),
                episode_history: view.episodes.history(),
                semantic: view.facts.iter().map(|(_, fact)| Arc::clone(fact)).collect(),
                semantic_history: view.facts.history(),
                ..LoadedUser::default()
            };
            let sessions = (view.closed_sessions.clone(), view.closing_sessions.clone());
            (loaded, view.unlearned.clone(), view.relearn.clone(), sessions.0, sessions.1)
        };
        change(&mut loaded);
        let mut view = self.build_records(loaded, control)?;
        self.fill_vectors(&mut view, known, control)?;
        view.unlearned =
            unlearned.into_iter().filter(|(id, _)| view.episodes.slot(id).is_some()).collect();
        view.relearn = relearn.into_iter().filter(|id| view.episodes.slot(id).is_some()).collect();
        view.closed_sessions = closed;
        view.closing_sessions = closing;
        *user.view.write() = view;
        user.note_change();
        user.measure();
        Ok(())
    }
}

/// Takes out of what was loaded what an erasure took out of the logs.
fn forget(loaded: &mut LoadedUser, erasure: &Erasure) {
    let messages: HashSet<&String> = erasure.messages.iter().collect();
    loaded.messages.retain(|message| !messages.contains(&message.message_id));
    loaded.episodes.retain(|episode| !erasure.episodes.contains(&episode.episode_id));
    loaded.semantic.retain(|memory| !erasure.semantic.contains(&memory.memory_id));
    loaded.episode_history.retain(|id, _| !erasure.episodes.contains(id));
    loaded.semantic_history.retain(|id, _| !erasure.semantic.contains(id));
    for revisions in loaded.episode_history.values_mut() {
        revisions.retain(|episode| {
            episode.original_messages.iter().all(|message| !messages.contains(&message.message_id))
        });
    }
    for new in &erasure.replace_episodes {
        loaded
            .episodes
            .iter_mut()
            .filter(|episode| episode.episode_id == new.episode_id)
            .for_each(|episode| *episode = Arc::clone(new));
        loaded.episode_history.remove(&new.episode_id);
    }
    for new in &erasure.replace_semantic {
        loaded
            .semantic
            .iter_mut()
            .filter(|memory| memory.memory_id == new.memory_id)
            .for_each(|memory| *memory = Arc::clone(new));
        loaded.semantic_history.remove(&new.memory_id);
    }
}
