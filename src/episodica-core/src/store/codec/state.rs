//! Lines other than messages, episodes and facts: headers, removals, and how far work on the
//! records has come.

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::ids::Owner;

/// How far the processing of a session has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Takes messages.
    Active,
    /// Closed by the caller; its last buffer is being segmented.
    Closing,
    /// Its episodes are in the log; their facts are being learned.
    Extracting,
    /// Its facts are in the log; they are being indexed.
    Indexing,
    /// Done.
    Closed,
}

/// A line that says how far work has come. Later lines win.
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
    /// The facts of an episode are all in the log (semantic log, in one append with them).
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

/// The first line of a message log: whose it is. (Other records name their user themselves.)
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "log")]
pub(crate) struct LogHeader {
    pub tenant: String,
    pub user_id: String,
}

impl LogHeader {
    /// The header of a user's log.
    pub fn new(owner: &Owner) -> Self {
        Self { tenant: owner.tenant.clone(), user_id: owner.user.clone() }
    }
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
