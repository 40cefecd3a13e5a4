//! What stands in the logs besides messages, episodes and memories: removals, and how far the work
//! on them is.

use serde::{Deserialize, Serialize};

use crate::clock::Moment;

/// How far a session is on its way into the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Takes messages.
    Active,
    /// Closed by the caller; its last buffer is being segmented.
    Closing,
    /// Its episodes are in the log; their memories are being learned.
    Extracting,
    /// Its memories are in the log; they are being indexed.
    Indexing,
    /// Done.
    Closed,
}

/// A line that says how far the work is. Later lines win.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StateRecord {
    /// A session went from one state to the next (message log).
    Session {
        /// The session.
        session_id: String,
        /// Where it is now.
        state: SessionState,
        /// Since when.
        at: Moment,
    },
    /// The semantic memories of an episode are all in the log (semantic log, in one append with
    /// them).
    Learned {
        /// The episode.
        episode_id: String,
        /// Its revision then.
        #[serde(default)]
        revision: u32,
        /// Since when.
        at: Moment,
        /// By the rules, because the configured model could not: to be learned again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pending_llm: bool,
    },
    /// Written by a later version within the same format; kept in the log, without a meaning here.
    #[serde(other)]
    Unknown,
}

/// Takes the record with this id out of the current ones; its lines stay as history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Deleted {
    pub deleted: String,
}

/// Does the line hold a [`StateRecord`]? They begin like this, and no other record does.
pub(crate) fn is_state(line: &[u8]) -> bool {
    line.starts_with(b"{\"type\":")
}

/// Does the line hold a [`Deleted`]?
pub(crate) fn is_deleted(line: &[u8]) -> bool {
    line.starts_with(b"{\"deleted\":")
}
