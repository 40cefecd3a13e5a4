//! Changes of records, derived from the logs: what each line behind a cursor did.
//!
//! Nothing is kept that the logs don't hold, so the events are the same in every process and after
//! every restart. Two things live in memory: how far each user's logs were read, so that a look at
//! many users costs one look at the lengths of their logs, and the ids that this process deleted,
//! of which the logs keep a mark only. docs/format.md, *Events*, defines what follows from a line.

mod cursor;
mod event;
mod lines;
mod page;
#[cfg(test)]
mod tests;

pub use event::{ChangeEvent, ChangeKind, EventPage};
pub(crate) use page::FeedPositions;
