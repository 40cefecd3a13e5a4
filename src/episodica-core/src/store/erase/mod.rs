//! Deletion without a trace, finished even when a crash comes between.
//!
//! An intent is first written, durably, to a file in `intents/`; then the records or files are
//! removed; then the intent is. Opening the store finishes every intent it finds; opening a user
//! finishes theirs. An intent names ids, and holds the records that take the place of others: never
//! the content that goes.

mod apply;
mod derived;
mod erasure;
mod intents;
mod records;
mod removal;
#[cfg(test)]
mod tests;

pub use erasure::Erasure;
pub(super) use intents::{pending, stopped};
pub(super) use records::{erase_records, finish_records};
pub(super) use removal::{erase_user, finish_pending, finish_pending_of};
