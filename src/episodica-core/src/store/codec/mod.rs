//! Converts between log lines and records: the codec for this package's records.
//!
//! Nemori's records have the same form, but lack this package's additional keys, give dates without
//! an offset (read as UTC), and often leave out a message's id or give one that matches no message.
//! A missing value is derived from the line alone, so every opening of the same file gives the same
//! ids. The types of the model are strict; only this module is lenient. (`legacy` reads Nemori's
//! oldest files, JSON arrays.)

mod entry;
mod episode;
mod lenient;
mod message;
mod semantic;
mod state;

pub use entry::LogEntry;
pub(crate) use episode::read_episode;
pub(crate) use lenient::{MAX_JSON_DEPTH, is_too_deep};
pub(crate) use message::{UNPLACED, message_of_line, read_message};
pub(crate) use semantic::read_semantic;
pub(crate) use state::{DeletedLine, ERASED_PREFIX, LogHeader, is_deleted, is_state};
pub use state::{ErasedLine, SessionState, StateRecord};
