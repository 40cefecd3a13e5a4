//! Deletion without remnants, finished even after a crash.
//!
//! First, an intent is written durably to a file in `intents/`; then the records or files are
//! removed; then the intent is removed. Opening the store finishes every pending intent; opening a
//! user finishes the user's. An intent contains ids and replacement records, never the erased
//! content.

mod apply;
mod compact;
mod derived;
mod directories;
mod editable_log;
mod erasure;
mod intents;
mod lines;
mod mentions;
mod records;
mod removal;
mod stale;
#[cfg(test)]
mod tests;

pub use compact::KEPT_REVISIONS;
pub(super) use derived::remove_derived;
pub use erasure::UserErasure;
pub(super) use intents::{interrupted_deletions, is_under_way, pending_deletions, removes_user};
pub use lines::{LineLog, erase_lines};
pub(super) use records::{erase_records, finish_records};
pub(super) use removal::{erase_user, finish_pending, finish_pending_of, remove_user_files};
