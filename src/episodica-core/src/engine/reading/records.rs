//! Reading records back: by page, by id, by history.

use std::sync::Arc;

use crate::control::Control;
use crate::engine::memory::user::User;
use crate::engine::registry::Engine;
use crate::error::Result;
use crate::model::{Episode, Message, SemanticMemory};
use crate::score::Filter;

/// The kinds of record that can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// Messages.
    Message,
    /// Episodes.
    Episode,
    /// Semantic memories.
    Semantic,
}

/// One record of any kind.
#[derive(Debug, Clone)]
pub enum AnyRecord {
    /// A message.
    Message(Arc<Message>),
    /// An episode.
    Episode(Arc<Episode>),
    /// A semantic memory.
    Semantic(Arc<SemanticMemory>),
}

/// Which records a listing returns.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// What may be returned.
    pub filter: Filter,
    /// Newest first instead of oldest first.
    pub newest_first: bool,
    /// How many to pass over.
    pub offset: usize,
    /// Most records.
    pub limit: usize,
    /// Semantic memories that no longer hold, too.
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
        let Some(user) = self.user(user_id, false, control)? else { return Ok(Vec::new()) };
        let view = user.view.read();
        let filter = &page.filter;
        Ok(match kind {
            RecordKind::Message => {
                let admitted =
                    view.messages.records().filter(|message| filter.admits_message(message));
                select(admitted, page, |message| message.timestamp, AnyRecord::Message)
            }
            RecordKind::Episode => {
                let admitted = view
                    .episodes
                    .iter()
                    .map(|(_, episode)| episode)
                    .filter(|episode| filter.admits_episode(episode));
                select(admitted, page, |episode| episode.timestamp, AnyRecord::Episode)
            }
            RecordKind::Semantic => {
                let admitted =
                    view.facts.iter().map(|(_, fact)| fact).filter(|fact| filter.admits_fact(fact));
                let admitted = admitted.filter(|fact| page.include_superseded || fact.is_current());
                select(admitted, page, |fact| fact.valid_from, AnyRecord::Semantic)
            }
        })
    }

    /// A record by its id or URI; `None` if the user has none of it.
    ///
    /// # Errors
    /// `Io` when the user's files can't be read.
    pub fn get(&self, user_id: &str, id: &str, control: &dyn Control) -> Result<Option<AnyRecord>> {
        Ok(self.user(user_id, false, control)?.and_then(|user| find(&user, id)))
    }

    /// Prompts and answers behind a record, if [`Config::trace`](crate::config::Config::trace) was
    /// on when a model made it; the rules leave none.
    ///
    /// # Errors
    /// `Io` when the user's files can't be read.
    pub fn trace(
        &self,
        user_id: &str,
        id: &str,
        control: &dyn Control,
    ) -> Result<Vec<serde_json::Value>> {
        let Some(user) = self.user(user_id, false, control)? else { return Ok(Vec::new()) };
        let from_uri = user.owner.parse_uri(id);
        let id = from_uri.as_ref().map_or(id, |(_, id)| id.as_str());
        let steps = self.store.trace(&user.owner)?.of(id)?;
        Ok(steps.into_iter().filter_map(|step| serde_json::to_value(step).ok()).collect())
    }

    /// All revisions of a record, oldest first, the current one last; empty if the user has none of
    /// it.
    ///
    /// # Errors
    /// `Io` when the user's files can't be read.
    pub fn history(
        &self,
        user_id: &str,
        id: &str,
        control: &dyn Control,
    ) -> Result<Vec<AnyRecord>> {
        let Some(user) = self.user(user_id, false, control)? else { return Ok(Vec::new()) };
        let from_uri = user.owner.parse_uri(id);
        let id = from_uri.as_ref().map_or(id, |(_, id)| id.as_str());
        let mut revisions = user.view.read().earlier(id);
        revisions.extend(find(&user, id));
        Ok(revisions)
    }
}

/// A record of a user who is at hand. Who holds a user never asks the engine for the same one
/// again: a deletion waits for its holders and lets nobody open users meanwhile.
pub(crate) fn find(user: &User, id: &str) -> Option<AnyRecord> {
    let from_uri = user.owner.parse_uri(id);
    let id = from_uri.as_ref().map_or(id, |(_, id)| id.as_str());
    let view = user.view.read();
    if let Some(episode) = view.episodes.by_id(id).or_else(|| view.merged_into(id)) {
        return Some(AnyRecord::Episode(Arc::clone(episode)));
    }
    if let Some(fact) = view.facts.by_id(id) {
        return Some(AnyRecord::Semantic(Arc::clone(fact)));
    }
    view.messages.slot(id).map(|slot| AnyRecord::Message(Arc::clone(view.messages.get(slot))))
}

fn select<'a, R: 'a, K: Ord>(
    records: impl Iterator<Item = &'a Arc<R>>,
    page: &Page,
    time: impl Fn(&R) -> K,
    wrap: impl Fn(Arc<R>) -> AnyRecord,
) -> Vec<AnyRecord> {
    let mut all: Vec<&Arc<R>> = records.collect();
    // Stable: records of one moment stay in the order of arrival.
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
