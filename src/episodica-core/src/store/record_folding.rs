//! Folds the lines of a user's logs: revisions, removals, messages in order.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::codec::{StateRecord, UNPLACED};
use crate::model::{Episode, Message, SemanticMemory, StoreProblem};

/// Earlier revisions of records, oldest first, by id.
pub type History<T> = HashMap<String, Vec<Arc<T>>>;

/// The result of opening a user from a known prefix of the logs.
#[derive(Debug)]
pub enum OpenedLogs {
    /// The prefix does not match, or the logs need repair: all records.
    Whole(LoadedUser),
    /// Only the records after the prefix, in log order: each revision separately, without history.
    /// Episodes have references instead of messages.
    Behind(LoadedUser),
}

/// All records of a user's logs.
#[derive(Debug, Default)]
pub struct LoadedUser {
    /// In the order of their `seq`, each id once; includes messages that exist only inside imported
    /// episodes.
    pub messages: Vec<Arc<Message>>,
    /// The messages that exist only inside episodes. Opening for writing appends them to the log.
    pub unlogged: Vec<Arc<Message>>,
    /// The `seq` of the next message.
    pub next_seq: u64,
    /// The current revision of every episode, in the order of first appearance; the messages are
    /// shared with `messages`.
    pub episodes: Vec<Arc<Episode>>,
    /// Earlier revisions, oldest first, by id; for removed (merged) episodes, all revisions.
    pub episode_history: History<Episode>,
    /// The current revision of every fact, in the order of first appearance; includes superseded
    /// facts (see [`SemanticMemory::is_current`]).
    pub semantic: Vec<Arc<SemanticMemory>>,
    /// Earlier revisions, oldest first, by id; for removed facts, all revisions.
    pub semantic_history: History<SemanticMemory>,
    /// States of the message log, then the episode log, then the fact log, each in order; later
    /// states replace earlier ones.
    pub states: Vec<StateRecord>,
    /// The problems found, and how each was handled.
    pub problems: Vec<StoreProblem>,
}

/// Records of one kind by id, with revisions folded.
pub(super) struct FoldedRecords<T> {
    current: Vec<Option<Arc<T>>>,
    places: HashMap<String, usize>,
    history: History<T>,
}

impl LoadedUser {
    /// True without records and states.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
            && self.episodes.is_empty()
            && self.semantic.is_empty()
            && self.states.is_empty()
    }
}

impl<T> Default for FoldedRecords<T> {
    fn default() -> Self {
        Self { current: Vec::new(), places: HashMap::new(), history: HashMap::new() }
    }
}

impl<T> FoldedRecords<T> {
    fn put(&mut self, id: &str, record: T) {
        let record = Arc::new(record);
        match self.places.get(id) {
            None => {
                self.places.insert(id.to_owned(), self.current.len());
                self.current.push(Some(record));
            }
            Some(place) => {
                if let Some(earlier) = self.current[*place].replace(record) {
                    self.history.entry(id.to_owned()).or_default().push(earlier);
                }
            }
        }
    }

    fn take_out(&mut self, id: &str) {
        if let Some(earlier) = self.places.get(id).and_then(|place| self.current[*place].take()) {
            self.history.entry(id.to_owned()).or_default().push(earlier);
        }
    }

    /// Applies a line of the log, decoded by `read` if the line is a record; returns notes about
    /// it.
    pub fn apply(
        &mut self,
        entry: FoldEntry<'_>,
        id: fn(&T) -> String,
        read: impl FnOnce(&[u8]) -> Result<(T, Vec<String>), String>,
    ) -> Result<Vec<String>, String> {
        match entry {
            FoldEntry::Deleted(id) => {
                self.take_out(id);
                Ok(Vec::new())
            }
            FoldEntry::Record(line) => {
                let (record, notes) = read(line)?;
                let own = id(&record);
                self.put(&own, record);
                Ok(notes)
            }
        }
    }

    pub fn finish(self) -> (Vec<Arc<T>>, History<T>) {
        (self.current.into_iter().flatten().collect(), self.history)
    }
}

/// A line of a log that is not a state.
pub(super) enum FoldEntry<'a> {
    Record(&'a [u8]),
    Deleted(&'a str),
}

/// Shares one allocation between equal strings: roles, names and sessions repeat with every
/// message.
#[derive(Default)]
pub(super) struct TextInterner(HashSet<Arc<str>>);

impl TextInterner {
    fn intern(&mut self, text: &mut Arc<str>) {
        match self.0.get(&**text) {
            Some(known) => *text = Arc::clone(known),
            None => {
                self.0.insert(Arc::clone(text));
            }
        }
    }

    pub fn message(&mut self, message: &mut Message) {
        self.intern(&mut message.role);
        let texts = [&mut message.name, &mut message.session_id, &mut message.agent_id];
        for text in texts.into_iter().flatten() {
            self.intern(text);
        }
    }
}

/// How the messages of a user's episodes were found.
#[derive(Debug, Default)]
pub(super) struct PlacedMessages {
    /// The next free `seq`.
    pub next_seq: u64,
    /// Messages that only lines of the episode log hold.
    pub unlogged: Vec<Arc<Message>>,
    /// Number of the named messages that were not found.
    pub missing: usize,
}

/// Adds the messages that exist only inside episodes, assigns each missing `seq`, sorts, and leaves
/// no reference in an episode: one to a message that is not found is taken out.
///
/// Imported messages come first if the log's numbers leave room for them (they are older if the
/// store began as another program's), else last.
pub(super) fn place_messages<'a>(
    messages: &mut Vec<Arc<Message>>,
    episodes: impl Iterator<Item = &'a mut Arc<Episode>>,
) -> PlacedMessages {
    let logged: HashSet<&str> =
        messages.iter().map(|message| message.message_id.as_str()).collect();
    let is_logged = |message: &Arc<Message>| logged.contains(message.message_id.as_str());
    let mut unlogged: Vec<Arc<Message>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut incomplete = Vec::new();
    for episode in episodes.filter(|episode| !episode.original_messages.iter().all(is_logged)) {
        let others = episode.original_messages.iter().filter(|message| !is_logged(message));
        for message in others.filter(|message| !message.is_reference()) {
            places.entry(message.message_id.clone()).or_insert_with(|| {
                unlogged.push(Arc::clone(message));
                unlogged.len() - 1
            });
        }
        incomplete.push(episode);
    }
    let is_placed = |message: &&Arc<Message>| message.seq != UNPLACED;
    let placed = || messages.iter().chain(&unlogged).filter(is_placed).map(|message| message.seq);
    let end = placed().max().map_or(0, |seq| seq + 1);
    let wanted = unlogged.iter().filter(|message| message.seq == UNPLACED).count() as u64;
    let mut front = match placed().min() {
        Some(first) if first < wanted => end,
        _ => 0,
    };
    for message in unlogged.iter_mut().filter(|message| message.seq == UNPLACED) {
        *message = Arc::new(Message { seq: front, ..Message::clone(message) });
        front += 1;
    }
    let mut missing = 0;
    for episode in incomplete {
        let episode = Arc::make_mut(episode);
        let before = episode.original_messages.len();
        episode.original_messages.retain_mut(|message| {
            let Some(place) = places.get(&message.message_id) else { return is_logged(message) };
            *message = Arc::clone(&unlogged[*place]);
            true
        });
        episode.message_count = episode.original_messages.len();
        missing += before - episode.message_count;
    }
    drop(logged);
    let mut next_seq = end.max(front);
    for message in messages.iter_mut().filter(|message| message.seq == UNPLACED) {
        *message = Arc::new(Message { seq: next_seq, ..Message::clone(message) });
        next_seq += 1;
    }
    messages.extend(unlogged.iter().cloned());
    messages.sort_by_key(|message| message.seq);
    PlacedMessages { next_seq, unlogged, missing }
}
