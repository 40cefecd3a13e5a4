//! The public operations that change records.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::control::CallControl;
use crate::engine::lifecycle::{Engine, WhileOpen};
use crate::engine::memory::listing::{ListingPage, RecordKind};
use crate::engine::memory::records::AnyRecord;
use crate::engine::user::{OpenUser, UserGuard};
use crate::engine::writing::edit::check_known;
use crate::engine::writing::erase::{
    delete_records, preview_deletion, unknown_record, update_text,
};
use crate::engine::writing::form::{BufferCut, form_user, mark_session};
use crate::engine::writing::ingest::{append_batch, check_messages, embed_messages, next_step};
use crate::engine::writing::secrets::hide_secrets;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{AddReport, DeleteReport, Episode, NewMessage};
use crate::score::RecordFilter;
use crate::store::SessionState;

impl Engine {
    /// Appends messages to a user's log, durably, and forms the complete episodes: at once by the
    /// rules, in the background with a model.
    ///
    /// All messages are checked before the first is written. Messages without a session belong to
    /// `session_id`. A known id with other words is a newer version of that message, unless the
    /// message refuses it.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid or refused message, or one with a secret that the
    /// configuration refuses (nothing was added); `Io` (a long list is written in steps; finished
    /// steps stay).
    pub fn add_messages(
        &self,
        user_id: &str,
        mut messages: Vec<NewMessage>,
        session_id: Option<&str>,
        control: &dyn CallControl,
    ) -> Result<AddReport> {
        self.check_writable()?;
        let owner = self.services.owner_of(user_id)?;
        check_messages(&self.services, &messages)?;
        let secrets = hide_secrets(self.services.config.secrets, &mut messages)?;
        let mut report = AddReport { secrets, ..AddReport::default() };
        if messages.is_empty() && !self.services.store.has_files(&owner)? {
            return Ok(report);
        }
        let mut user = self.user_or_new(user_id, control)?;
        check_known(&user.view.read(), &HashMap::new(), &messages, session_id)?;
        let total = messages.len();
        let bytes = messages.iter().map(|message| message.content.len()).sum();
        let mut rest = messages.into_iter();
        let mut done = 0;
        loop {
            let mut batch = next_step(&mut rest);
            if batch.is_empty() {
                break;
            }
            control.check()?;
            done += batch.len();
            let added = loop {
                if let Some(added) =
                    append_batch(&self.services, &user, &mut batch, session_id, control)?
                {
                    break added;
                }
                // The user was deleted while this call waited. This call adds its messages
                // after the deletion. The deletion waits until no guard holds the user, so release
                // the guard first.
                drop(user);
                user = self.user_or_new(user_id, control)?;
            };
            report.messages_added += added.added;
            report.edited += added.edited;
            report.deleted += added.deleted;
            report.message_ids.extend(added.ids);
            if added.edited == 0 && self.leaves_rest(&user, total, bytes) {
                self.enqueue_user(&user);
            } else {
                report.episodes.extend(self.follow_up(&user, control)?);
            }
            self.services.callouts.report_progress(control, "messages", done, total);
        }
        report.duplicates = total - report.messages_added - report.edited - report.deleted;
        {
            let view = user.view.read();
            report.buffered = view.backlog.buffered_slots().len();
            report.pending_semantic = view.backlog.unlearned_episodes().len();
        }
        self.finish_addition(user_id, &user);
        Ok(report)
    }

    fn finish_addition(&self, user_id: &str, user: &UserGuard) {
        user.measure_size();
        self.snapshots.note_user(&self.services, user);
        if user.uses.is_due() {
            // Uses can be counted again, so a failure here does not fail the call.
            let saved = user.save_uses(&self.services.store);
            saved
                .unwrap_or_else(|error| self.services.counters.note_failure(Some(user_id), &error));
        }
    }

    /// Embeds new messages and forms episodes, here or in the background. Returns the ids of
    /// episodes that were formed here.
    ///
    /// The messages are stored already: a failure, such as a full disk, is noted for `health` and
    /// does not fail the call. The next call forms the episodes.
    fn follow_up(&self, user: &UserGuard, control: &dyn CallControl) -> Result<Vec<String>> {
        match self.form_or_enqueue(user, control) {
            // The next caller finishes this work.
            Err(error) if self.is_to_be_repeated(user, &error) => {
                control.check().map(|()| Vec::new())
            }
            Err(error) if !matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::Internal) => {
                self.services.counters.note_failure(Some(&user.owner.user), &error);
                Ok(Vec::new())
            }
            outcome => outcome,
        }
    }

    fn form_or_enqueue(&self, user: &UserGuard, control: &dyn CallControl) -> Result<Vec<String>> {
        if self.services.has_background_work() {
            if self.services.embedder.is_local() {
                // Not under the turn: its holder may be waiting for a model.
                embed_messages(&self.services, user, control)?;
            }
            self.enqueue_user(user);
            return Ok(Vec::new());
        }
        let episodes = form_user(&self.services, user, BufferCut::Finished, control)?;
        Ok(episodes.iter().map(|episode| episode.episode_id.clone()).collect())
    }

    /// Forms episodes from the user's buffer now.
    ///
    /// # Errors
    /// `Io`; `ReadOnly`; `Interrupted`.
    pub fn flush(&self, user_id: &str, control: &dyn CallControl) -> Result<Vec<Arc<Episode>>> {
        self.check_writable()?;
        let formed = self.with_user(user_id, control, |user| {
            self.form_and_enqueue(user, BufferCut::All, control)
        });
        formed.map(Option::unwrap_or_default)
    }

    /// Flushes every user of the store, in the order of their ids.
    ///
    /// # Errors
    /// As [`Engine::flush`].
    pub fn flush_all(&self, control: &dyn CallControl) -> Result<Vec<(String, Vec<Arc<Episode>>)>> {
        let mut all = Vec::new();
        for user in self.users()? {
            let episodes = self.flush(&user, control)?;
            if !episodes.is_empty() {
                all.push((user, episodes));
            }
        }
        Ok(all)
    }

    /// Ends a session: its buffered messages become episodes, their facts are learned (in the
    /// background with a model), and the session is marked as closed. Each step is on disk before
    /// the next begins, so that after a crash the work resumes where it stopped.
    ///
    /// # Errors
    /// As [`Engine::flush`].
    pub fn close_session(
        &self,
        user_id: &str,
        session_id: &str,
        control: &dyn CallControl,
    ) -> Result<Vec<Arc<Episode>>> {
        self.check_writable()?;
        let formed = self.with_user(user_id, control, |user| {
            if !user.view.read().messages.has_session(session_id) {
                return Ok(Vec::new());
            }
            mark_session(&self.services, user, session_id, SessionState::Closing)?;
            user.view.write().backlog.session_closing(session_id);
            self.form_and_enqueue(user, BufferCut::Session(session_id), control)
        });
        formed.map(Option::unwrap_or_default)
    }

    fn form_and_enqueue(
        &self,
        user: &UserGuard,
        cut: BufferCut<'_>,
        control: &dyn CallControl,
    ) -> Result<Vec<Arc<Episode>>> {
        let control = &WhileOpen { queue: &self.queue, inner: control };
        let episodes = form_user(&self.services, user, cut, control)?;
        if self.services.has_background_work() {
            self.enqueue_user(user);
        }
        Ok(episodes)
    }

    /// Replaces the text of a fact or the narrative of an episode; [`Engine::history`] keeps the
    /// earlier version. A superseded fact becomes current again: this undoes a supersession.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown id, an empty text, or a message: messages can't be edited.
    pub fn update(
        &self,
        user_id: &str,
        id: &str,
        content: &str,
        control: &dyn CallControl,
    ) -> Result<AnyRecord> {
        self.check_writable()?;
        if content.trim().is_empty() {
            return Err(Error::invalid("content is empty"));
        }
        let update = |user: &UserGuard| update_text(&self.services, user, id, content, control);
        self.with_user(user_id, control, update)?.ok_or_else(|| unknown_record(id))
    }

    /// Deletes a record with all its versions and everything derived from it.
    ///
    /// * A fact: only the fact.
    /// * A message: also each fact that has no other source message, or that contains a word found
    ///   in no other message. Its episode is rewritten without it, or deleted if it has no other
    ///   message.
    /// * An episode: also its messages.
    ///
    /// When this returns, no file of the store contains a byte of the deleted texts. The next
    /// opening finishes an interrupted deletion.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`. An unknown id deletes nothing.
    pub fn delete(
        &self,
        user_id: &str,
        id: &str,
        control: &dyn CallControl,
    ) -> Result<DeleteReport> {
        self.delete_all(user_id, &[id.to_owned()], control)
    }

    /// Deletes several records as [`Engine::delete`] does, in one pass over the files.
    ///
    /// # Errors
    /// As [`Engine::delete`].
    pub fn delete_all(
        &self,
        user_id: &str,
        ids: &[String],
        control: &dyn CallControl,
    ) -> Result<DeleteReport> {
        self.delete_chosen(user_id, select_ids(ids), control)
    }

    /// Reports the records that [`Engine::delete_all`] would remove and rewrite; changes nothing.
    ///
    /// # Errors
    /// `Interrupted`; `Io`.
    pub fn preview_delete_all(
        &self,
        user_id: &str,
        ids: &[String],
        control: &dyn CallControl,
    ) -> Result<DeleteReport> {
        self.preview_deletion(user_id, select_ids(ids), control)
    }

    /// Deletes the records of these kinds that a filter admits, as [`Engine::delete`] does, in one
    /// pass over the files.
    ///
    /// # Errors
    /// As [`Engine::delete`]; `InvalidInput` for a filter that admits everything.
    pub fn delete_where(
        &self,
        user_id: &str,
        filter: &RecordFilter,
        kinds: &[RecordKind],
        control: &dyn CallControl,
    ) -> Result<DeleteReport> {
        self.delete_chosen(user_id, select_admitted(filter, kinds)?, control)
    }

    /// Reports the records that [`Engine::delete_where`] would remove and rewrite; changes nothing.
    ///
    /// # Errors
    /// `InvalidInput` for a filter that admits everything; `Interrupted`; `Io`.
    pub fn preview_delete_where(
        &self,
        user_id: &str,
        filter: &RecordFilter,
        kinds: &[RecordKind],
        control: &dyn CallControl,
    ) -> Result<DeleteReport> {
        self.preview_deletion(user_id, select_admitted(filter, kinds)?, control)
    }

    fn preview_deletion(
        &self,
        user_id: &str,
        choose: impl Fn(&OpenUser) -> Vec<AnyRecord>,
        control: &dyn CallControl,
    ) -> Result<DeleteReport> {
        let preview = |user: &UserGuard| preview_deletion(&self.services, user, &choose, control);
        self.with_user(user_id, control, preview).map(Option::unwrap_or_default)
    }

    fn delete_chosen(
        &self,
        user_id: &str,
        choose: impl Fn(&OpenUser) -> Vec<AnyRecord>,
        control: &dyn CallControl,
    ) -> Result<DeleteReport> {
        self.check_writable()?;
        let delete = |user: &UserGuard| {
            // Held until the work is queued: nobody who waits may find the user idle in between.
            let _step = user.turns.take_step(control)?;
            let report = delete_records(&self.services, user, &choose, control)?;
            // A model is asked again about what it wrote from deleted messages.
            if self.services.has_background_work() {
                self.enqueue_user(user);
            }
            Ok(report)
        };
        self.with_user(user_id, control, delete).map(Option::unwrap_or_default)
    }

    /// Deletes everything of a user: when this returns, none of their bytes is on disk and no
    /// search finds them. Does nothing for an unknown user.
    ///
    /// # Errors
    /// `ReadOnly`; `Interrupted`: nothing was deleted; `Io`: call again, or open the store again,
    /// which finishes the deletion.
    pub fn delete_user_data(
        &self,
        user_id: &str,
        control: &dyn CallControl,
    ) -> Result<DeleteReport> {
        self.services.callouts.refuse_inside("delete_user_data")?;
        self.check_writable()?;
        let owner = self.services.owner_of(user_id)?;
        let mut report = DeleteReport::default();
        // A user who can't be opened, say because of another model's cache, is deleted without
        // counts.
        if let Ok(Some(user)) = self.known_user(user_id, control) {
            let view = user.view.read();
            (report.messages, report.episodes, report.semantic_memories) =
                (view.messages.len(), view.episodes.len(), view.facts.len());
        }
        let cell = self.users.user_cell(user_id);
        let _turn = cell.take_turn(control)?;
        self.close_for_good(user_id, control)?;
        self.services.ledger.forget_user(user_id);
        self.services.counters.forget_user(user_id);
        report.files = self.services.store.erase_user(&owner)?;
        Ok(report)
    }

    /// Closes a user whose records are about to be deleted. The caller holds the cell. If
    /// interrupted, the user stays open.
    fn close_for_good(&self, user_id: &str, control: &dyn CallControl) -> Result<()> {
        let Some(guard) = self.users.get(user_id) else { return Ok(()) };
        // Background work stops, even during a model's call.
        guard.place.leaving.store(true, Ordering::SeqCst);
        let turn = guard.turns.take_turn(control);
        let outcome = turn.map(|turn| {
            guard.writer.lock().gone = true;
            self.queue.forget_user(&guard);
            let forgotten = self.users.forget_user(user_id);
            drop(turn);
            forgotten
        });
        let user = match outcome {
            Ok(Some(user)) => user,
            Ok(None) => return Ok(()),
            Err(error) => {
                guard.place.leaving.store(false, Ordering::SeqCst);
                return Err(error);
            }
        };
        drop(guard);
        // Searches under way finish; new ones can't begin.
        if let Err(error) = user.wait_until_free(control) {
            user.writer.lock().gone = false;
            user.place.leaving.store(false, Ordering::SeqCst);
            self.enqueue_user(&UserGuard::new(&user));
            self.users.put_back(user);
            return Err(error);
        }
        user.notes.lock().close_for_good();
        Ok(())
    }
}

/// Chooses the records with these ids.
fn select_ids(ids: &[String]) -> impl Fn(&OpenUser) -> Vec<AnyRecord> {
    |user| ids.iter().filter_map(|id| user.find_record(id)).collect()
}

/// Chooses the records of these kinds that a filter admits.
fn select_admitted(
    filter: &RecordFilter,
    kinds: &[RecordKind],
) -> Result<impl Fn(&OpenUser) -> Vec<AnyRecord>> {
    if filter.is_empty() {
        return Err(Error::invalid("delete_where needs a condition")
            .with_hint("`delete_user_data` deletes everything of a user"));
    }
    let page = ListingPage {
        filter: filter.clone(),
        limit: usize::MAX,
        include_superseded: true,
        include_archived: true,
        ..ListingPage::default()
    };
    Ok(move |user: &OpenUser| {
        let view = user.view.read();
        kinds.iter().flat_map(|kind| view.listing_page(*kind, &page)).collect()
    })
}
