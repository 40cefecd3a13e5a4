//! Opens a user: from the snapshot in the segment if it matches the logs, else from the logs.

use std::sync::Arc;

use crate::control::CallControl;
use crate::engine::memory::indexing::{EMBED_BATCH, IndexingSettings};
use crate::engine::memory::segment::WrittenSegment;
use crate::engine::memory::snapshot::{readable_snapshot, restore_view};
use crate::engine::memory::user::{OpenedView, UserMemory};
use crate::engine::memory::vectors::KnownVectors;
use crate::engine::memory::view::{UserView, episode_terms};
use crate::error::Result;
use crate::ids::Owner;
use crate::parallel;
use crate::store::{
    LoadedUser, OpenedLogs as Logs, Segment, SessionState, StateRecord, Store, UserStore,
};

/// From this number of messages on, vectors are read in parallel with the indexing of records.
const PARALLEL_FROM: usize = 1_024;

impl UserMemory {
    /// Opens a user. Vectors come from the segment or, if given, from `stale`, an earlier memory of
    /// the user, as far as they match the logs; missing ones are computed. The snapshot is used if
    /// `trusts_snapshot`, and only without `stale`.
    ///
    /// # Errors
    /// `Io`; `EmbeddingMismatch`; `Interrupted`.
    pub fn open(
        store: &Store,
        owner: Owner,
        to: &IndexingSettings<'_>,
        stale: Option<&Self>,
        trusts_snapshot: bool,
        control: &dyn CallControl,
    ) -> Result<Self> {
        let wanted = stale.is_none() && trusts_snapshot;
        let segment = if wanted { store.open_segment(&owner).ok().flatten() } else { None };
        let snapshot = segment
            .as_ref()
            .and_then(|segment| Some((segment, readable_snapshot(&segment.footer, to)?)));
        let (user_store, loaded) = match snapshot {
            None => store.open_user(&owner)?,
            Some((segment, snapshot)) => {
                let open = || store.open_user_behind(&owner, &snapshot.logs);
                let (opened, restored) = parallel::join_pair(open, || restore_view(segment, to));
                match (opened?, restored) {
                    ((user_store, Logs::Behind(behind)), Some(restored)) => {
                        let (parts, named) = ((restored, behind), owner.clone());
                        let opened =
                            Self::from_snapshot(named, user_store, segment, parts, to, control)?;
                        match opened {
                            Some(user) => return Ok(user),
                            None => store.open_user(&owner)?,
                        }
                    }
                    ((user_store, Logs::Whole(loaded)), _) => (user_store, loaded),
                    ((user_store, Logs::Behind(_)), None) => {
                        // A store refuses to open the same user twice.
                        drop(user_store);
                        store.open_user(&owner)?
                    }
                }
            }
        };
        let named = owner.clone();
        let known = || match stale {
            Some(stale) => Ok((KnownVectors::carried_over(&stale.view.read()), Vec::new())),
            None => KnownVectors::read_segment(store, &named, to.embedder),
        };
        Self::from_logs(owner, user_store, loaded, known, to, control)
    }

    /// Builds the view from a snapshot, and adds the records that were written since. `None` if an
    /// episode names a message that was lost.
    fn from_snapshot(
        owner: Owner,
        store: UserStore,
        segment: &Segment,
        ((mut view, next_seq), mut behind): ((UserView, u64), LoadedUser),
        to: &IndexingSettings<'_>,
        control: &dyn CallControl,
    ) -> Result<Option<Self>> {
        if !view.add_later(&mut behind, to, control)? {
            return Ok(None);
        }
        let changed = !behind.is_empty();
        let opened = OpenedView {
            segment: Some(WrittenSegment {
                segment: segment.clone(),
                view: Some(Arc::clone(&view.identity)),
            }),
            view,
            next_seq: next_seq.max(behind.next_seq),
            problems: std::mem::take(&mut behind.problems),
            vectors_changed: changed,
        };
        let user = Self::new(owner, store, opened);
        if changed {
            user.note_arrived(&behind, true);
        }
        if changed && !to.opens_without_embedding {
            user.embed_arrived(to, control)?;
        }
        Ok(Some(user))
    }

    fn from_logs(
        owner: Owner,
        store: UserStore,
        mut loaded: LoadedUser,
        known: impl FnOnce() -> Result<(KnownVectors, Vec<crate::model::StoreProblem>)> + Send,
        to: &IndexingSettings<'_>,
        control: &dyn CallControl,
    ) -> Result<Self> {
        let next_seq = loaded.next_seq;
        let mut problems = std::mem::take(&mut loaded.problems);
        // A small user is built on the caller's thread, which also frees it. Otherwise an allocator
        // with memory per thread could not reuse the memory of closed users.
        let (known, view) = if loaded.messages.len() < PARALLEL_FROM {
            (known(), UserView::from_records(loaded, to, control))
        } else {
            parallel::join_pair(known, || UserView::from_records(loaded, to, control))
        };
        let (known, mut damaged) = known?;
        problems.append(&mut damaged);
        for problem in &problems {
            log::warn!("{} in `{}`; {}", problem.message, problem.path.display(), problem.remedy);
        }
        let mut view = view?;
        let vectors_changed = view.fill_vectors(known, to, control)?;
        let opened = OpenedView { view, next_seq, problems, vectors_changed, segment: None };
        Ok(Self::new(owner, store, opened))
    }
}

impl UserView {
    /// Builds the view of loaded records, without vectors.
    pub fn from_records(
        loaded: LoadedUser,
        to: &IndexingSettings<'_>,
        control: &dyn CallControl,
    ) -> Result<Self> {
        let mut view = Self::default();
        view.add_loaded_messages(&loaded, to, control)?;
        view.add_derived(&loaded, to, control)?;
        view.messages.set_history(loaded.message_history);
        view.backlog.await_edits(loaded.edits);
        view.episodes.set_history(loaded.episode_history);
        view.facts.set_history(loaded.semantic_history);
        Ok(view)
    }

    /// Adds the records of later lines, whose episodes name their messages. `false`, with a part
    /// added, if an episode names a message that the view lacks.
    pub(super) fn add_later(
        &mut self,
        behind: &mut LoadedUser,
        to: &IndexingSettings<'_>,
        control: &dyn CallControl,
    ) -> Result<bool> {
        self.add_loaded_messages(behind, to, control)?;
        for episode in &mut behind.episodes {
            for message in &mut Arc::make_mut(episode).original_messages {
                let Some(slot) = self.messages.slot_of(&message.message_id) else {
                    return Ok(false);
                };
                *message = Arc::clone(self.messages.get(slot));
            }
        }
        self.add_derived(behind, to, control)?;
        Ok(true)
    }

    fn add_loaded_messages(
        &mut self,
        loaded: &LoadedUser,
        to: &IndexingSettings<'_>,
        control: &dyn CallControl,
    ) -> Result<()> {
        for batch in loaded.messages.chunks(4 * EMBED_BATCH) {
            let texts = batch.iter().map(|message| message.content.as_str());
            let readings = to.read_messages(texts, control)?;
            self.add_messages(batch, &readings);
        }
        Ok(())
    }

    /// Adds loaded episodes, states and facts, without vectors. A known id is a new revision.
    fn add_derived(
        &mut self,
        loaded: &LoadedUser,
        to: &IndexingSettings<'_>,
        control: &dyn CallControl,
    ) -> Result<()> {
        for batch in loaded.episodes.chunks(EMBED_BATCH) {
            control.check()?;
            let terms =
                parallel::map_items(batch.iter().collect(), parallel::FEW_TEXTS, |episode| {
                    episode_terms(episode)
                });
            for (episode, terms) in batch.iter().zip(&terms) {
                self.put_episode(Arc::clone(episode), terms, to)?;
                // Imported episodes come with the facts of the other program.
                if to.config.semantic_memory && episode.provenance.method != "imported" {
                    self.backlog.await_learning(&episode.episode_id, episode.revision);
                }
            }
        }
        for state in &loaded.states {
            self.apply_state(state);
        }
        for fact in &loaded.semantic {
            self.put_fact(Arc::clone(fact), None, to)?;
        }
        Ok(())
    }

    fn apply_state(&mut self, state: &StateRecord) {
        match state {
            StateRecord::Session { session_id, state, .. } => {
                if matches!(state, SessionState::Active | SessionState::Closed) {
                    self.backlog.session_settled(session_id);
                } else {
                    self.backlog.session_closing(session_id);
                }
            }
            StateRecord::Learned { episode_id, revision, pending_llm, .. } => {
                let known = self.episodes.by_id(episode_id);
                if known.is_some_and(|episode| episode.revision <= *revision) {
                    self.backlog.mark_learned(episode_id, *revision, *pending_llm);
                }
                if known.is_none_or(|episode| episode.revision < *revision) {
                    self.backlog.learned_ahead(episode_id, *revision);
                }
            }
            // Folded into the messages when they are read.
            StateRecord::Edited { .. } => {}
            StateRecord::Ignored { .. } | StateRecord::Unknown => {}
        }
    }
}
