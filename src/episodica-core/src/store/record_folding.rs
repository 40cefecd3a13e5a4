//! Folds the lines of a user's logs: revisions, removals, messages in order.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::codec::StateRecord;
use crate::model::{Episode, Message, SemanticMemory, StoreProblem};

/// Earlier revisions of records, oldest first, by id.
pub type History<T> = HashMap<String, Vec<Arc<T>>>;

/// Versions of messages that are in the log and do not hold yet, oldest first, by id.
pub type AwaitedEdits = BTreeMap<String, Vec<Arc<Message>>>;

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
    /// In the order of their `seq`, each id once.
    pub messages: Vec<Arc<Message>>,
    /// Earlier versions of messages, oldest first, by id.
    pub message_history: History<Message>,
    /// Versions that do not hold yet.
    pub edits: AwaitedEdits,
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
    fn put_revision(&mut self, id: &str, record: T) {
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

    /// Applies a line of the log, decoded by `read` if the line is a record.
    pub fn apply_line(
        &mut self,
        entry: FoldEntry<'_>,
        id: fn(&T) -> String,
        read: impl FnOnce(&[u8]) -> Result<T, String>,
    ) -> Result<(), String> {
        match entry {
            FoldEntry::Deleted(id) => self.take_out(id),
            FoldEntry::Edited(_) => {}
            FoldEntry::Record(line) => {
                let record = read(line)?;
                self.put_revision(&id(&record), record);
            }
        }
        Ok(())
    }

    pub fn finish(self) -> (Vec<Arc<T>>, History<T>) {
        (self.current.into_iter().flatten().collect(), self.history)
    }
}

/// A line of a log that changes records.
pub(super) enum FoldEntry<'a> {
    Record(&'a [u8]),
    Deleted(&'a str),
    /// The newer versions of these messages hold.
    Edited(&'a [String]),
}

/// Messages by id, with their versions folded.
#[derive(Default)]
pub(super) struct FoldedMessages {
    messages: Vec<Arc<Message>>,
    places: HashMap<String, usize>,
    history: History<Message>,
    edits: AwaitedEdits,
    interner: TextInterner,
}

impl FoldedMessages {
    pub fn put_version(&mut self, mut message: Message) {
        self.interner.intern_message(&mut message);
        let id = &message.message_id;
        if !self.places.contains_key(id) {
            self.places.insert(id.clone(), self.messages.len());
            self.messages.push(Arc::new(message));
        } else if message.edited_at.is_some() {
            self.edits.entry(id.clone()).or_default().push(Arc::new(message));
        }
        // Anything else is a repetition: a call repeated after a crash may have written twice.
    }

    /// Makes the newest versions of these messages hold.
    pub fn adopt_newest(&mut self, ids: &[String]) {
        for id in ids {
            let Some(place) = self.places.get(id) else { continue };
            for version in self.edits.remove(id).unwrap_or_default() {
                let earlier = std::mem::replace(&mut self.messages[*place], version);
                self.history.entry(id.clone()).or_default().push(earlier);
            }
        }
    }

    /// The messages in the order of their `seq`, their earlier versions, and those that do not
    /// hold yet.
    pub fn finish(mut self) -> (Vec<Arc<Message>>, History<Message>, AwaitedEdits) {
        self.messages.sort_by_key(|message| message.seq);
        (self.messages, self.history, self.edits)
    }
}

/// Shares one allocation between equal strings: roles, names and sessions repeat with every
/// message.
#[derive(Default)]
pub(super) struct TextInterner(HashSet<Arc<str>>);

impl TextInterner {
    fn intern_text(&mut self, text: &mut Arc<str>) {
        match self.0.get(&**text) {
            Some(known) => *text = Arc::clone(known),
            None => {
                self.0.insert(Arc::clone(text));
            }
        }
    }

    pub fn intern_message(&mut self, message: &mut Message) {
        self.intern_text(&mut message.role);
        let texts = [&mut message.name, &mut message.session_id, &mut message.agent_id];
        for text in texts.into_iter().flatten() {
            self.intern_text(text);
        }
    }
}

/// Gives episodes their messages in place of references, and takes out references to messages that
/// are not found; returns the number of these.
pub(super) fn attach_messages<'a>(
    messages: &[Arc<Message>],
    episodes: impl Iterator<Item = &'a mut Arc<Episode>>,
) -> usize {
    let known: HashMap<&str, &Arc<Message>> =
        messages.iter().map(|message| (message.message_id.as_str(), message)).collect();
    let mut missing = 0;
    for episode in episodes {
        let episode = Arc::make_mut(episode);
        let named = episode.original_messages.len();
        episode.original_messages.retain_mut(|message| {
            let found = known.get(message.message_id.as_str());
            found.inspect(|one| *message = Arc::clone(one)).is_some()
        });
        episode.message_count = episode.original_messages.len();
        missing += named - episode.message_count;
    }
    missing
}
