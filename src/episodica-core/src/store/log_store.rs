//! The interface between records and the medium that stores the logs.
//!
//! A [`LogStore`] is a directory of files ([`FileLogs`](super::file_logs::FileLogs)) or a database,
//! which implements the same two traits. One rule coordinates several writers: an append is
//! accepted only if the log still ends where the writer's view ends. The writer states its view as
//! a [`LogHead`]. If another writer was faster, the answer is [`AppendAnswer::Conflict`] with the
//! current head; the writer then reads the new lines, applies them to its view and decides again.
//! docs/decisions/025-log-store.md gives the reasons.
//!
//! This interface is above [`FileBackend`](super::FileBackend), because a database has no
//! counterpart to truncating, renaming and locking files.

use std::fmt;
use std::path::PathBuf;

use super::backend::LockGuard;
use super::erase::UserErasure;
use super::layout::LogKind;
use super::lock::LockHolder;
use super::log::{LogPosition, LogRecovery, LogSum, OpenMode};
use super::request_log::{KnownRequest, RequestNote};
use super::scan::{RawLine, Visit};
use crate::error::Result;
use crate::ids::Owner;
use crate::model::StoreProblem;

/// The ends of a user's logs and the other values that writers must agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogHead {
    /// Rises with each erasure and rewrite: a view of an older generation is invalid.
    pub generation: u64,
    /// Rises with each opening for writing: an append delayed since an earlier epoch is refused.
    pub epoch: u64,
    /// The end of each log, in the order of [`LogKind::ALL`], in the unit of the store: bytes in
    /// files and in a database, lines in the model for tests.
    pub ends: [u64; 3],
    /// The last appended batch, if the store records it.
    pub last_batch: Option<BatchId>,
}

impl LogHead {
    /// The end of one log.
    pub fn log_end(&self, kind: LogKind) -> u64 {
        self.ends[kind as usize]
    }
}

/// The ends of a user's logs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogEnds {
    /// The generation of the logs.
    pub generation: u64,
    /// Length and file number of each log; `None` without a file.
    pub files: [Option<(u64, u64)>; 3],
}

impl LogEnds {
    /// True if no log exists.
    pub fn is_nobody(&self) -> bool {
        self.files.iter().all(Option::is_none)
    }
}

/// Identifies a batch, so that a repeated batch is not written twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchId {
    /// The epoch of the sending opening: no two openings share one.
    pub epoch: u64,
    /// Its number within that opening.
    pub number: u64,
}

/// Lines that are appended to one log together.
#[derive(Debug, Clone, Copy)]
pub struct LineBatch<'a> {
    /// The log.
    pub kind: LogKind,
    /// Whole lines with checksums, as [`encode_records`](super::encode_records) encodes them. An
    /// empty batch makes the lines that existed at opening durable.
    pub lines: &'a [u8],
    /// Number of records.
    pub records: u64,
    /// The id of the batch.
    pub id: BatchId,
}

/// The result of an append or rewrite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendAnswer {
    /// Durable; the new head.
    Done(LogHead),
    /// Nothing was written, because the head is not the expected one.
    Conflict(LogHead),
}

/// Who has the turn to form a user's memories. Advisory: correctness depends on [`LogHead`] alone;
/// the turn keeps two processes from paying a model for the same work.
#[derive(Debug)]
pub enum TurnHolder {
    /// This process, until the guard is dropped.
    Mine(Box<dyn LockGuard>),
    /// Another process, with its identity if known.
    Other(Option<LockHolder>),
}

/// Receives the lines of several logs.
pub type FollowVisit<'a> = &'a mut dyn FnMut(LogKind, RawLine<'_>) -> Result<(), String>;

/// Locks out other writers until it is dropped.
pub trait AppendLock: fmt::Debug {}

/// See [`UserLogs::exclude_writers`].
pub type Hold<'a> = Box<dyn AppendLock + 'a>;

/// The logs of all users.
pub trait LogStore: fmt::Debug + Send + Sync {
    /// Opens the logs of a user, who need not have any. For writing, it raises the epoch and
    /// finishes interrupted deletions. Any number of openings may write at once.
    ///
    /// # Errors
    /// `StoreLocked`; `Io`.
    fn open_logs(&self, owner: &Owner) -> Result<(Box<dyn UserLogs>, LogHead)>;

    /// Up to `limit` users of a tenant after `after`, ordered by id.
    ///
    /// # Errors
    /// `Io`.
    fn list_users(&self, tenant: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>>;

    /// Removes all data of a user and raises the generation; returns the number of removed files or
    /// rows. When it returns no byte is left.
    ///
    /// # Errors
    /// `ReadOnly`; `StoreLocked`; `Io`: then call again, or open the store again.
    fn erase_user(&self, owner: &Owner) -> Result<usize>;

    /// Every tenant with users, sorted.
    ///
    /// # Errors
    /// `Io`.
    fn list_tenants(&self) -> Result<Vec<String>>;

    /// True if the user has a line in a log, or a file that opening converts to one.
    ///
    /// # Errors
    /// `Io`.
    fn has_user(&self, owner: &Owner) -> Result<bool>;

    /// The ends of a user's logs, without opening them.
    ///
    /// # Errors
    /// `Io`.
    fn log_ends(&self, owner: &Owner) -> Result<LogEnds>;

    /// The generation of each of these users' logs; `None` for a user without logs.
    ///
    /// # Errors
    /// `Io`.
    fn log_generations(&self, tenant: &str, users: &[String]) -> Result<Vec<Option<u64>>> {
        let one = |user: &String| {
            let ends = self.log_ends(&Owner { tenant: tenant.to_owned(), user: user.clone() })?;
            Ok((!ends.is_nobody()).then_some(ends.generation))
        };
        users.iter().map(one).collect()
    }

    /// Up to `most` bytes of a log from an offset on, including line feeds; fewer only at the end.
    ///
    /// # Errors
    /// `Io`.
    fn read_slice(&self, owner: &Owner, kind: LogKind, from: u64, most: u64) -> Result<Vec<u8>>;

    /// True while an erasure of the user is in progress or unfinished.
    ///
    /// # Errors
    /// `Io`.
    fn is_erasing(&self, owner: &Owner) -> Result<bool>;

    /// A user's counts of uses, and their version.
    ///
    /// # Errors
    /// `Io`.
    fn read_uses(&self, owner: &Owner) -> Result<(Vec<u8>, u64)>;

    /// Replaces the counts of uses, durably; `false` if another process changed them since version
    /// `number`. Empty `bytes` remove them.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`.
    fn put_uses(&self, owner: &Owner, bytes: &[u8], number: u64) -> Result<bool>;

    /// Notes a step of a request that may be sent again, and returns what is known of it then. All
    /// processes see the steps in the same order.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`.
    fn note_request(&self, note: &RequestNote<'_>) -> Result<Option<KnownRequest>>;

    /// Unregisters this process as a writer.
    fn unregister_writer(&self) {}

    /// The medium of the logs.
    fn log_medium(&self) -> LogMedium;
}

/// The medium of a store's logs, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogMedium {
    /// `files`, or the name of a database.
    pub name: &'static str,
    /// The directory or the address, without a secret.
    pub place: PathBuf,
    /// The version of the server; `None` without a server.
    pub version: Option<String>,
    /// Why the last request failed; `None` if it did not.
    pub failure: Option<String>,
}

/// The three logs of one user, open until dropped.
pub trait UserLogs: fmt::Debug + Send + Sync {
    /// Whether the logs may be written.
    fn open_mode(&self) -> OpenMode;

    /// The current ends of the logs.
    ///
    /// # Errors
    /// `Io`.
    fn current_head(&self) -> Result<LogHead>;

    /// The ends that this opening has read or written. A difference from [`UserLogs::current_head`]
    /// means that the view of this opening is outdated.
    fn seen_head(&self) -> LogHead;

    /// True if the logs have not changed since this opening saw them: cheaper than comparing heads.
    ///
    /// # Errors
    /// `Io`.
    fn is_current(&self) -> Result<bool>;

    /// Passes the lines that others have appended to `visit`, in the order of [`LogKind::ALL`] and
    /// up to a state that all logs had at one time. `None` if the logs no longer continue those
    /// seen (another generation), or contain a line that is not a record: the user must then be
    /// opened again.
    ///
    /// # Errors
    /// `Io`: the user must then be opened again, too.
    fn visit_appended(&self, visit: FollowVisit<'_>) -> Result<Option<LogHead>>;

    /// Locks out other writers until the result is dropped, if the medium can. A caller that then
    /// follows the logs, and only then appends, meets no conflict. Correctness does not depend on
    /// this lock. Taking it again is cheap.
    ///
    /// # Errors
    /// `StoreLocked`, naming the holder; `Io`.
    fn exclude_writers(&self) -> Result<Hold<'_>>;

    /// Ends the opening: all logs were read.
    fn finish_opening(&self) {}

    /// Releases the append lock; nothing may be written through this opening any more.
    fn let_go(&self) {}

    /// Passes every record after `known` to `visit`, oldest first; `None` if the log does not begin
    /// with `known`, or the rest needs repair. Every log begins with [`LogSum::default`], the empty
    /// prefix.
    ///
    /// In a writable store, the first read repairs the log: it cuts off an unfinished line and
    /// quarantines lines for which `visit` returns `Err`.
    ///
    /// # Errors
    /// `Io` if the log cannot be read or repaired.
    fn visit_after(
        &self,
        kind: LogKind,
        known: &LogSum,
        visit: Visit<'_>,
    ) -> Result<Option<LogRecovery>>;

    /// Appends a batch, durably, if generation, epoch and the end of its log match `expected`. The
    /// ends of the other logs do not matter: a message does not wait for an episode.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`: no record of the batch is acknowledged. Over a network the batch may still
    /// have been written; reading the log again tells.
    fn append_batch(&self, expected: &LogHead, batch: &LineBatch<'_>) -> Result<AppendAnswer>;

    /// Removes records and inserts replacements, in all logs at once, if generation and epoch match
    /// `expected`. Raises the generation.
    ///
    /// # Errors
    /// `Internal` if a current episode would keep an erased message; `ReadOnly`; `Io`. If
    /// [`UserLogs::is_erasing`] is then true, the next append first finishes the erasure.
    fn rewrite_logs(
        &self,
        expected: &LogHead,
        erasure: UserErasure,
    ) -> Result<(AppendAnswer, usize)>;

    /// True if an erasure was interrupted.
    fn is_erasing(&self) -> bool;

    /// Finishes an interrupted erasure, if there is one.
    ///
    /// # Errors
    /// `Io`; call again.
    fn finish_erasure(&self) -> Result<()>;

    /// The end of a log, as caches record it; zero before the first read.
    fn log_position(&self, kind: LogKind) -> LogPosition;

    /// Length and checksum of a log; `None` if it ends in an unterminated line.
    ///
    /// # Errors
    /// `Io`.
    fn log_sum(&self, kind: LogKind) -> Result<Option<LogSum>>;

    /// Reads the logs again and reports damage since opening.
    ///
    /// # Errors
    /// `Io`.
    fn find_damage(&self) -> Result<Vec<StoreProblem>>;

    /// The path of a log, for reports.
    fn log_path(&self, kind: LogKind) -> PathBuf;

    /// Takes the turn to form this user's memories, if it is free.
    ///
    /// # Errors
    /// `Io`.
    fn try_turn(&self) -> Result<TurnHolder>;
}

#[cfg(test)]
mod tests;
