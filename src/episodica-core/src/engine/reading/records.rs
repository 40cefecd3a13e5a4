//! Reading records back: by page, by id, by history.

use std::sync::Arc;

use crate::control::Control;
use crate::engine::lifecycle::Engine;
use crate::engine::memory::records::AnyRecord;
use crate::engine::memory::view::View;
use crate::error::Result;
use crate::score::Filter;
use crate::store::TraceStep;

/// The kinds of record that can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// Messages.
    Message,
    /// Episodes.
    Episode,
    /// Facts.
    Semantic,
}

/// Which records a listing returns.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Conditions on the records.
    pub filter: Filter,
    /// Newest first instead of oldest first.
    pub newest_first: bool,
    /// Number of records to skip.
    pub offset: usize,
    /// Maximum number of records.
    pub limit: usize,
    /// Superseded facts, too.
    pub include_superseded: bool,
}

impl Engine {
    /// One page of a user's records, by time.
    ///
    /// # Errors
    /// `Io` when the user's files can't be read.
    pub fn records(
        &self,
        user_id: &str,
        kind: RecordKind,
        page: &Page,
        control: &dyn Control,
    ) -> Result<Vec<AnyRecord>> {
        let Some(user) = self.known_user(user_id, control)? else { return Ok(Vec::new()) };
        Ok(records_of(&user.view.read(), kind, page))
    }

    /// How many records a listing has, whatever its offset; at most its limit.
    ///
    /// # Errors
    /// `Io` when the user's files can't be read.
    pub fn count_records(
        &self,
        user_id: &str,
        kind: RecordKind,
        page: &Page,
        control: &dyn Control,
    ) -> Result<usize> {
        let Some(user) = self.known_user(user_id, control)? else { return Ok(0) };
        let (view, filter) = (user.view.read(), &page.filter);
        let count = match kind {
            RecordKind::Message => {
                view.messages.records().filter(|message| filter.admits_message(message)).count()
            }
            RecordKind::Episode => {
                view.episodes.iter().filter(|(_, episode)| filter.admits_episode(episode)).count()
            }
            RecordKind::Semantic => view
                .facts
                .iter()
                .filter(|(_, fact)| filter.admits_fact(fact))
                .filter(|(_, fact)| page.include_superseded || fact.is_current())
                .count(),
        };
        Ok(count.min(page.limit))
    }

    /// A record by its id or URI; `None` if the user has no such record.
    ///
    /// # Errors
    /// `Io` when the user's files can't be read.
    pub fn get(&self, user_id: &str, id: &str, control: &dyn Control) -> Result<Option<AnyRecord>> {
        Ok(self.known_user(user_id, control)?.and_then(|user| user.find(id)))
    }

    /// Prompts and answers behind a record, if [`Config::trace`](crate::config::Config::trace) was
    /// on when a model made it. The rules leave no trace.
    ///
    /// # Errors
    /// `Io` when the user's files can't be read.
    pub fn trace(&self, user_id: &str, id: &str, control: &dyn Control) -> Result<Vec<TraceStep>> {
        let Some(user) = self.known_user(user_id, control)? else { return Ok(Vec::new()) };
        self.services.store.trace(&user.owner)?.of(&user.bare_id(id))
    }

    /// All revisions of a record, oldest first, the current one last; empty for an unknown record.
    ///
    /// # Errors
    /// `Io` when the user's files can't be read.
    pub fn history(
        &self,
        user_id: &str,
        id: &str,
        control: &dyn Control,
    ) -> Result<Vec<AnyRecord>> {
        let Some(user) = self.known_user(user_id, control)? else { return Ok(Vec::new()) };
        let mut revisions = user.view.read().earlier(&user.bare_id(id));
        revisions.extend(user.find(id));
        Ok(revisions)
    }
}

/// One page of the records of a view, by time.
pub(crate) fn records_of(view: &View, kind: RecordKind, page: &Page) -> Vec<AnyRecord> {
    let filter = &page.filter;
    match kind {
        RecordKind::Message => {
            let admitted = view.messages.records().filter(|message| filter.admits_message(message));
            select(admitted, page, |message| message.timestamp, AnyRecord::Message)
        }
        RecordKind::Episode => {
            let episodes = view.episodes.iter().map(|(_, episode)| episode);
            let admitted = episodes.filter(|episode| filter.admits_episode(episode));
            select(admitted, page, |episode| episode.timestamp, AnyRecord::Episode)
        }
        RecordKind::Semantic => {
            let facts = view.facts.iter().map(|(_, fact)| fact);
            let admitted = facts
                .filter(|fact| filter.admits_fact(fact))
                .filter(|fact| page.include_superseded || fact.is_current());
            select(admitted, page, |fact| fact.valid_from, AnyRecord::Semantic)
        }
    }
}

fn select<'a, R: 'a, K: Ord>(
    records: impl Iterator<Item = &'a Arc<R>>,
    page: &Page,
    time: impl Fn(&R) -> K,
    wrap: impl Fn(Arc<R>) -> AnyRecord,
) -> Vec<AnyRecord> {
    let mut all: Vec<&Arc<R>> = records.collect();
    // A stable sort keeps records of one moment in the order of arrival.
    all.sort_by_key(|record| time(record));
    if page.newest_first {
        all.reverse();
    }
    all.into_iter()
        .skip(page.offset)
        .take(page.limit)
        .map(|record| wrap(Arc::clone(record)))
        .collect()
}
