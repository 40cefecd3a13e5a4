//! Lines of the logs to records and back: the codec of our own records.
//!
//! Records that Nemori wrote have the same form, but lack the keys we added, write dates without an
//! offset (taken as UTC), and name messages loosely or not at all. A missing value is derived from
//! the line alone, so every opening of the same file gives the same ids. The types of the model
//! stay strict; leniency lives here. (Nemori's oldest files, JSON arrays, are read by `legacy`.)

mod episode;
mod lenient;
mod message;
mod semantic;
mod state;

pub(crate) use episode::read_episode;
pub(crate) use lenient::{MAX_JSON_DEPTH, is_too_deep};
pub(crate) use message::{UNPLACED, message_of_line, read_message};
pub(crate) use semantic::read_semantic;
pub(crate) use state::{Deleted, LogHeader, is_deleted, is_state};
pub use state::{SessionState, StateRecord};
