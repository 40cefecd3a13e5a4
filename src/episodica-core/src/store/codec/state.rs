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
    /// Closed by the caller; its last buffer is being segmented.
    Closing,
    /// Its episodes are in the log; facts are being extracted from them.
    Extracting,
    /// Its facts are in the log and are being indexed.
    Indexing,
    /// Done.
    Closed,
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
    /// Written by a later version of the same format; kept in the log, but ignored here.
    #[serde(other)]
    Unknown,
}

/// The first line of a message log: the log's user. (Other records name their user themselves.)
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

/// Removes the record with this id from the current records; its lines stay as history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Deleted {
    pub deleted: String,
}

/// True if the line is a [`StateRecord`]: only these lines begin with this prefix.
pub(crate) fn is_state(line: &[u8]) -> bool {
    line.starts_with(b"{\"type\":")
}

/// True if the line is a [`Deleted`].
pub(crate) fn is_deleted(line: &[u8]) -> bool {
    line.starts_with(b"{\"deleted\":")
}
