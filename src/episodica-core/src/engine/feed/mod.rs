//! Changes of records, derived from the log lines after a cursor.
//!
//! Only the logs are stored, so the events are the same in every process and after every restart.
//! Memory holds how far each user's logs were read, so that a poll only looks at the lengths of the
//! logs. It also holds the ids that this process deleted, because the logs keep only their marks
//! (hashes). docs/format.md, *Events*, defines the events of each line.

mod cursor;
mod event;
mod lines;
pub(crate) mod page;
#[cfg(test)]
mod tests;

pub use event::{ChangeEvent, ChangeKind, EventPage};
pub(crate) use page::FeedPositions;
