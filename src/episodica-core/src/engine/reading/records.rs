//! Reads records: by page, by id, by history.

use std::collections::HashSet;
use std::sync::Arc;

use crate::control::{CallControl, run_cancellable};
use crate::engine::lifecycle::Engine;
use crate::engine::memory::listing::{ListingPage, RecordKind, RecordOutline};
use crate::engine::memory::main_speaker::main_speaker;
use crate::engine::memory::records::AnyRecord;
use crate::error::Result;
use crate::generate::facts::{TurnedDown, turned_down};
use crate::model::Episode;
use crate::parallel;
use crate::store::TraceStep;

impl Engine {
    /// One page of a user's records, by time.
    ///
    /// # Errors
    /// `Io` when the user's files can't be read.
    pub fn records(
        &self,
        user_id: &str,
        kind: RecordKind,
        page: &ListingPage,
        control: &dyn CallControl,
    ) -> Result<Vec<AnyRecord>> {
        let Some(user) = self.known_user(user_id, control)? else { return Ok(Vec::new()) };
        let view = user.view.read();
        Ok(view.listing_page(kind, page))
    }

    /// [`Engine::records`] without the contents of the records, for lists of names.
    ///
    /// # Errors
    /// `Io` when the user's files can't be read.
    pub fn outlines(
        &self,
        user_id: &str,
        kind: RecordKind,
        page: &ListingPage,
        control: &dyn CallControl,
    ) -> Result<Vec<RecordOutline>> {
        let Some(user) = self.known_user(user_id, control)? else { return Ok(Vec::new()) };
        let view = user.view.read();
        Ok(view.outline_page(kind, page))
    }

    /// The number of records of a listing, whatever its offset; at most its limit.
    ///
    /// # Errors
    /// `Io` when the user's files can't be read.
    pub fn count_records(
        &self,
        user_id: &str,
        kind: RecordKind,
        page: &ListingPage,
        control: &dyn CallControl,
    ) -> Result<usize> {
        let Some(user) = self.known_user(user_id, control)? else { return Ok(0) };
        let view = user.view.read();
        Ok(view.listing_count(kind, page))
    }

    /// The sentences that the rules reject in these episodes of a user, or in all, oldest first.
    ///
    /// The logs don't keep these sentences: the stored messages are read again.
    ///
    /// # Errors
    /// `Io` when the user's files can't be read; `Interrupted`.
    pub fn turned_down(
        &self,
        user_id: &str,
        episodes: Option<&[String]>,
        control: &dyn CallControl,
    ) -> Result<Vec<TurnedDown>> {
        let Some(user) = self.known_user(user_id, control)? else { return Ok(Vec::new()) };
        let asked: Option<HashSet<&str>> =
            episodes.map(|ids| ids.iter().map(String::as_str).collect());
        let is_asked = |id: &str| asked.as_ref().is_none_or(|asked| asked.contains(id));
        let episodes: Vec<Arc<Episode>> = {
            let view = user.view.read();
            let episodes = view.episodes.iter().map(|(_, episode)| episode);
            episodes.filter(|one| is_asked(&one.episode_id)).cloned().collect()
        };
        let messages = episodes.iter().flat_map(|episode| &episode.original_messages);
        let bytes = messages.map(|message| message.content.len()).sum();
        let config = self.services.config.clone();
        let read = move |episode: Arc<Episode>| turned_down(&episode.original_messages, &config);
        let found =
            run_cancellable(bytes, control, move || parallel::map_items(episodes, 1, read))?;
        let mut found: Vec<TurnedDown> = found.into_iter().flatten().collect();
        found.sort_by_key(|one| one.said);
        Ok(found)
    }

    /// The name of the speaker, other than an agent, who is heard in most sessions of a user's
    /// latest thousand messages; `None` without messages.
    ///
    /// # Errors
    /// `Io` when the user's files can't be read.
    pub fn main_speaker(&self, user_id: &str, control: &dyn CallControl) -> Result<Option<String>> {
        let Some(user) = self.known_user(user_id, control)? else { return Ok(None) };
        Ok(main_speaker(&user.view.read()))
    }

    /// A record by its id or URI; `None` if the user has no such record.
    ///
    /// # Errors
    /// `Io` when the user's files can't be read.
    pub fn get(
        &self,
        user_id: &str,
        id: &str,
        control: &dyn CallControl,
    ) -> Result<Option<AnyRecord>> {
        Ok(self.known_user(user_id, control)?.and_then(|user| user.find_record(id)))
    }

    /// Prompts and answers of a record, if [`MemoryConfig::trace`](crate::config::Config::trace)
    /// was on when a model made it. The rules leave no trace.
    ///
    /// # Errors
    /// `Io` when the user's files can't be read.
    pub fn trace(
        &self,
        user_id: &str,
        id: &str,
        control: &dyn CallControl,
    ) -> Result<Vec<TraceStep>> {
        let Some(user) = self.known_user(user_id, control)? else { return Ok(Vec::new()) };
        let _hold = (!self.services.read_only).then(|| user.store.exclude_writers()).transpose()?;
        self.services.store.open_trace(&user.owner)?.record_steps(&user.bare_id(id))
    }

    /// All revisions of a record, oldest first, the current one last; empty for an unknown record.
    ///
    /// # Errors
    /// `Io` when the user's files can't be read.
    pub fn history(
        &self,
        user_id: &str,
        id: &str,
        control: &dyn CallControl,
    ) -> Result<Vec<AnyRecord>> {
        let Some(user) = self.known_user(user_id, control)? else { return Ok(Vec::new()) };
        let mut revisions = user.view.read().earlier_revisions(&user.bare_id(id));
        revisions.extend(user.find_record(id));
        Ok(revisions)
    }
}
