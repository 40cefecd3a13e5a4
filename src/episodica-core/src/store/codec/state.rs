//! Lines other than messages, episodes and facts: headers, removals, and the progress of work on
//! the records.

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::ids::Owner;

/// Progress of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Accepts messages.
    Active,
    /// Closed by the caller; the session's last buffer is being segmented.
    Closing,
    /// Its episodes are in the log; facts are being extracted from them.
    Extracting,
    /// Its facts are in the log and are being indexed.
    Indexing,
    /// Done.
    Closed,
}

impl SessionState {
    /// The name in the log and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Closing => "closing",
            Self::Extracting => "extracting",
            Self::Indexing => "indexing",
            Self::Closed => "closed",
        }
    }
}

/// A progress line. Later lines replace earlier ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StateRecord {
    /// A session changed its state (message log).
    Session {
        /// The session.
        session_id: String,
        /// Its new state.
        state: SessionState,
        /// Time of the change.
        at: Moment,
    },
    /// All facts of an episode are in the log (fact log, in the same append as the facts).
    Learned {
        /// The episode.
        episode_id: String,
        /// Its revision at that time.
        #[serde(default)]
        revision: u32,
        /// Time of learning.
        at: Moment,
        /// True if rules replaced the configured model, which failed: the episode must be learned
        /// again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pending_llm: bool,
    },
    /// The newer versions of these messages hold (message log): what follows from their words is in
    /// the logs.
    Edited {
        /// The messages.
        message_ids: Vec<String>,
        /// Time of the change.
        at: Moment,
    },
    /// A candidate repeated a known fact (fact log). Its text is left out: only the event feed
    /// needs the line.
    Ignored {
        /// The fact.
        memory_id: String,
        /// Ids of the candidate's source messages.
        #[serde(default)]
        source_messages: Vec<String>,
        /// Time of the decision.
        at: Moment,
    },
    /// Written by a later version of the same format; kept in the log, but ignored here.
    #[serde(other)]
    Unknown,
}

impl StateRecord {
    /// True if the state does not affect the memory.
    pub(crate) fn is_only_told(&self) -> bool {
        matches!(self, Self::Ignored { .. } | Self::Unknown)
    }
}

/// The first line of a message log: the log's user. (Other records name their user themselves.)
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "log")]
pub(crate) struct LogHeader {
    pub tenant: String,
    pub user_id: String,
}

impl LogHeader {
    pub fn new(owner: &Owner) -> Self {
        Self { tenant: owner.tenant.clone(), user_id: owner.user.clone() }
    }
}

/// Removes the record with this id from the current records; its lines stay as history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeletedLine {
    pub deleted: String,
}

/// Every line that holds an [`ErasedLine`] begins with these bytes.
pub(crate) const ERASED_PREFIX: &[u8] = b"{\"type\":\"erased\"";

/// The last line of a log after an erasure. It notes where lines were removed, so that earlier
/// places can be moved, and the marks of the removed records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "erased")]
pub struct ErasedLine {
    /// The first generation of the log without the lines.
    pub generation: u64,
    /// Offset before the erasure, bytes removed there, bytes inserted instead; in order.
    pub cuts: Vec<[u64; 3]>,
    /// Time of the erasure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Moment>,
    /// Marks of the deleted records of this log ([`mark_of`](crate::ids::mark_of)).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
}

impl ErasedLine {
    /// Converts an offset from before the erasure to the current offset.
    pub(crate) fn current_offset(&self, place: u64) -> u64 {
        let (mut gone_before, mut new_before) = (0, 0);
        for [from, gone, new] in &self.cuts {
            if *from >= place {
                break;
            }
            gone_before += (*gone).min(place - from);
            new_before += new;
        }
        (place + new_before).saturating_sub(gone_before)
    }
}

/// True if the line is a [`StateRecord`]: only these lines begin with this prefix.
pub(crate) fn is_state(line: &[u8]) -> bool {
    line.starts_with(b"{\"type\":")
}

/// True if the line is a [`DeletedLine`].
pub(crate) fn is_deleted(line: &[u8]) -> bool {
    line.starts_with(b"{\"deleted\":")
}
