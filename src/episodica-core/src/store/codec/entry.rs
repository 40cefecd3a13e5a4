//! Reads a single line of a log, for readers that follow the logs.

use std::collections::HashSet;

use super::{
    DeletedLine, ERASED_PREFIX, ErasedLine, StateRecord, episode_of_line, fact_of_line, is_deleted,
    is_state, read_message,
};
use crate::ids::Owner;
use crate::model::{Episode, Message, SemanticMemory};
use crate::store::layout::LogKind;

/// The beginning of this package's lines with a revision of a record.
fn line_prefix(kind: LogKind) -> &'static [u8] {
    match kind {
        LogKind::Messages => b"{\"message_id\":\"",
        LogKind::Episodes => b"{\"episode_id\":\"",
        LogKind::Semantic => b"{\"memory_id\":\"",
    }
}

/// The content of a line.
#[derive(Debug, Clone)]
pub enum LogEntry {
    /// A message.
    Message(Message),
    /// An episode, or a revision of one.
    Episode(Box<Episode>),
    /// A fact, or a revision of one.
    Fact(Box<SemanticMemory>),
    /// Progress of work.
    State(StateRecord),
    /// A record was removed from the current ones; its lines stay as history.
    Removed(String),
    /// Lines were erased.
    Erased(ErasedLine),
    /// A header, a line of a later version, or no record.
    Other,
}

impl LogEntry {
    /// Reads a line.
    pub fn from_line(owner: &Owner, kind: LogKind, line: &[u8]) -> Self {
        if line.starts_with(ERASED_PREFIX) {
            return Self::read_note(line);
        }
        if is_state(line) {
            return serde_json::from_slice(line).map_or(Self::Other, Self::State);
        }
        if is_deleted(line) {
            let removed = serde_json::from_slice::<DeletedLine>(line);
            return removed.map_or(Self::Other, |gone| Self::Removed(gone.deleted));
        }
        match kind {
            LogKind::Messages => read_message(line).map_or(Self::Other, Self::Message),
            LogKind::Episodes => episode_of_line(owner, line)
                .map_or(Self::Other, |episode| Self::Episode(Box::new(episode))),
            LogKind::Semantic => {
                fact_of_line(owner, line).map_or(Self::Other, |fact| Self::Fact(Box::new(fact)))
            }
        }
    }

    /// Reads only the note of an erasure; any other line is [`LogEntry::Other`].
    pub fn read_note(line: &[u8]) -> Self {
        if !line.starts_with(ERASED_PREFIX) {
            return Self::Other;
        }
        serde_json::from_slice(line).map_or(Self::Other, Self::Erased)
    }

    /// False if the beginning of a line rules out that it is a revision of one of these records.
    pub fn may_be(kind: LogKind, line: &[u8], ids: &HashSet<&str>) -> bool {
        let Some(rest) = line.strip_prefix(line_prefix(kind)) else {
            return !is_state(line) && !is_deleted(line);
        };
        let end = rest.iter().position(|byte| *byte == b'"').unwrap_or(rest.len());
        let id = std::str::from_utf8(&rest[..end]).unwrap_or("\\");
        id.contains('\\') || ids.contains(id)
    }
}
