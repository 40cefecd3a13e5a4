//! Where the logs of users live: the seam between records and the medium that keeps them.
//!
//! A [`LogStore`] is today a directory of files ([`FileLogs`](super::file_logs::FileLogs)); a
//! database or object storage implements the same two traits. One rule serves several writers: an
//! append is accepted only if the log still ends where the writer's view ends. The writer states
//! what it has seen as a [`Head`]; when somebody else was faster, the answer is
//! [`Answer::Conflict`] with the present head, and the writer reads the lines between, applies them
//! to its view and decides again. docs/decisions/025-log-store.md gives the reasons.
//!
//! The seam lies above [`Backend`](super::Backend): truncating, renaming and locking files have no
//! counterpart in a database.

use std::fmt;
use std::path::PathBuf;

use super::erase::Erasure;
use super::layout::LogKind;
use super::lock::Holder;
use super::log::{LogPosition, LogSum, Mode, Recovery};
use super::scan::Visit;
use crate::error::Result;
use crate::ids::Owner;
use crate::model::Problem;

/// How far a user's logs reach, as far as writers have to agree on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Head {
    /// Rises with each erasure and rewrite: a view of an older generation is worthless.
    pub generation: u64,
    /// Rises with each opening for writing: an append that was delayed on its way since before is
    /// refused.
    pub epoch: u64,
    /// The end of each log, in the order of [`LogKind::ALL`], in the measure of the store: bytes
    /// in files, lines in a database.
    pub ends: [u64; 3],
    /// The last batch that was appended, if the store remembers it.
    pub last_batch: Option<BatchId>,
}

impl Head {
    /// The end of one log.
    pub fn end(&self, kind: LogKind) -> u64 {
        self.ends[kind as usize]
    }
}

/// Tells batches apart, so that a repeated one is not written twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchId {
    /// The epoch of the opening that sends it: no two openings have the same.
    pub epoch: u64,
    /// Its number within that opening.
    pub number: u64,
}

/// Lines of one log that are appended together.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// The log.
    pub kind: LogKind,
    /// Whole lines with checksums, as [`encode_records`](super::encode_records) writes them. None
    /// at all makes durable what was there at opening.
    pub lines: &'a [u8],
    /// How many.
    pub records: u64,
    /// Its identity.
    pub id: BatchId,
}

/// What became of an append or rewrite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Durable; the logs reach so far now.
    Done(Head),
    /// Nothing was written: the head is not the expected one.
    Conflict(Head),
}

/// Who forms a user's memories now. Advisory: correctness rests on [`Head`] alone, the turn keeps
/// two processes from paying a model twice.
#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    /// This process.
    Mine,
    /// Another process, as far as it says who it is.
    Other(Option<Holder>),
}

/// The logs of all users.
pub trait LogStore: fmt::Debug + Send + Sync {
    /// Opens the logs of a user, who need not have any. Writing, it raises the epoch and finishes
    /// deletions that were interrupted.
    ///
    /// # Errors
    /// `Internal` if the user is open for writing already; `Io`.
    fn open(&self, owner: &Owner) -> Result<(Box<dyn UserLogs>, Head)>;

    /// Up to `limit` users of a tenant in the order of their ids, those behind `after`.
    ///
    /// # Errors
    /// `Io`.
    fn users(&self, tenant: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>>;

    /// Removes everything of a user, who must not be open; returns how many files or rows there
    /// were. When it returns no byte is left.
    ///
    /// # Errors
    /// `ReadOnly`; `Internal` if the user is open; `Io`: then call again, or open the store again.
    fn erase(&self, owner: &Owner) -> Result<usize>;
}

/// The three logs of one user, open until dropped.
pub trait UserLogs: fmt::Debug + Send + Sync {
    /// Whether the logs may be written.
    fn mode(&self) -> Mode;

    /// How far the logs reach now. Read-only, this is how a view learns that it is out of date: the
    /// head differs from that of the opening.
    ///
    /// # Errors
    /// `Io`.
    fn head(&self) -> Result<Head>;

    /// Shows every record behind `known` to `visit`, oldest first; `None` if the log does not begin
    /// like `known`, or not everything behind it is sound. [`LogSum::default`], the empty
    /// beginning, always holds.
    ///
    /// Writing, the first reading mends the log: a torn line is cut off, lines for which `visit`
    /// answers `Err` are set aside.
    ///
    /// # Errors
    /// `Io` when the log can't be read or mended.
    fn read(&self, kind: LogKind, known: &LogSum, visit: Visit<'_>) -> Result<Option<Recovery>>;

    /// Appends a batch, durably, if generation, epoch and the end of its log are those of
    /// `expected`. The ends of the other logs don't matter: a message does not wait for an episode.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`: nothing of the batch is acknowledged. Over a network it may have been
    /// written all the same; [`settle`] finds out.
    fn append(&self, expected: &Head, batch: &Batch<'_>) -> Result<Answer>;

    /// Removes records and puts others in their place, in all logs at once, if generation and epoch
    /// are those of `expected`. Raises the generation.
    ///
    /// # Errors
    /// `Internal` if a current episode would keep an erased message; `ReadOnly`; `Io`: if
    /// [`UserLogs::is_erasing`] then, the next append finishes it first.
    fn rewrite(&self, expected: &Head, erasure: Erasure) -> Result<(Answer, usize)>;

    /// Is there an erasure that failed half-way?
    fn is_erasing(&self) -> bool;

    /// Finishes an erasure that failed half-way, if there is one.
    ///
    /// # Errors
    /// `Io`: call again.
    fn finish_erasure(&self) -> Result<()>;

    /// How far a log reaches, as caches state it; nothing before it was read.
    fn position(&self, kind: LogKind) -> LogPosition;

    /// Length and checksum of a log; `None` where it ends in a line without line feed.
    ///
    /// # Errors
    /// `Io`.
    fn sum(&self, kind: LogKind) -> Result<Option<LogSum>>;

    /// Reads the logs once more and reports what has been damaged since opening.
    ///
    /// # Errors
    /// `Io`.
    fn check(&self) -> Result<Vec<Problem>>;

    /// Where a log is, for reports.
    fn path(&self, kind: LogKind) -> PathBuf;

    /// Who forms this user's memories now.
    ///
    /// # Errors
    /// `Io`.
    fn turn(&self) -> Result<Turn>;
}

#[cfg(test)]
mod tests;
