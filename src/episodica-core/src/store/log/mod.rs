//! An append-only file of JSON lines that survives crashes, full disks and flipped bits.
//!
//! Promises (docs/format.md has them in full):
//! * When [`RecordLog::append_records`] returns, its records survive a power cut. An unacknowledged
//!   record survives whole or not at all. The records of one call reach the disk in order, so a
//!   prefix of an unacknowledged call survives.
//! * After a failed write the file is cut back to its last acknowledged byte before the next write.
//!   After a failed *sync* the kernel may have dropped the pages and marked them clean, so the file
//!   is unreliable. The acknowledged part is then copied into a new file, which is synced and takes
//!   the name.
//! * Opening cuts off a torn last line and moves lines that are not records to
//!   `<file>.quarantine.jsonl`; all other lines stay, in order.
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
pub use open::{LineRewrite, LogPosition, LogRecovery, LogSum, OpenMode, RecordLog};
pub(crate) use rewrite::{LogCuts, NoteCuts};
