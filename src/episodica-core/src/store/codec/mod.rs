//! Converts between log lines and records.

mod entry;
mod records;
mod state;

pub use entry::LogEntry;
pub(crate) use records::{
    MAX_JSON_DEPTH, episode_of_line, fact_of_line, is_too_deep, message_of_line, read_episode,
    read_fact, read_message,
};
pub(crate) use state::{DeletedLine, ERASED_PREFIX, LogHeader, is_deleted, is_state};
pub use state::{ErasedLine, SessionState, StateRecord};
