//! An append-only file of JSON lines that survives crashes, full disks and flipped bits.
//!
//! Promises (docs/format.md has them in full):
//! * When [`RecordLog::append`] returns, its records survive a power cut. A record that was not
//!   acknowledged is there whole or not at all; the records of one call reach the disk in order, so
//!   what survives of an unacknowledged call is a beginning of it.
//! * After a failed write the file is cut back to its last acknowledged byte before anything else
//!   is written. After a failed *sync* the kernel may have dropped the pages and call them clean,
//!   so the file is not trusted any more: the acknowledged part is copied into a new file, which is
//!   synced and takes the name.
//! * Opening cuts off a torn last line and moves lines that are not records to
//!   `<file>.quarantine.jsonl`; all others stay, in order.
//!
//! The log does not interpret its records.

mod append;
mod follow;
mod open;
mod rewrite;
#[cfg(test)]
mod tests;

pub use append::encode_records;
pub(crate) use follow::LogTail;
pub(crate) use open::LogFile;
pub use open::{LogPosition, LogRecovery, LogSum, OpenMode, RecordLog};
pub use rewrite::LineRewrite;
pub(crate) use rewrite::{LogCuts, NoteCuts};
