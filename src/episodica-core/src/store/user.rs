//! An open user: appends records durably, and erases records.
//!
//! A [`UserStore`] encodes records as lines and sends them to the [`UserLogs`] of the user's store,
//! together with the end of the log that the user's view has seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::sync::{Mutex, MutexGuard};
use serde::Serialize;

use super::codec::{DeletedLine, LogHeader, StateRecord};
use super::erase::UserErasure;
use super::layout::LogKind;
use super::line::encode_line;
use super::loading::{self, LaterRecords};
use super::log::{LogPosition, LogSum, OpenMode};
use super::log_store::{AppendAnswer, BatchId, Hold, LineBatch, LogHead, TurnHolder, UserLogs};
use super::record_folding::{LoadedUser, OpenedLogs};
use super::remote_cache::RemoteCache;
use super::shared::SharedStore;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::Owner;
use crate::model::{Episode, Message, SemanticMemory, StoreProblem};

/// The open logs of one user; for writing, at most one instance per user and store.
#[derive(Debug)]
pub struct UserStore {
    owner: Owner,
    logs: Box<dyn UserLogs>,
    /// The head at opening.
    opened: LogHead,
    /// The end of the caller's view, log by log. The lock of one log is held during an append to
    /// that log; all three locks, taken in this order, during a rewrite.
    ends: [Mutex<u64>; 3],
    batches: AtomicU64,
    /// If the logs are on another medium: the files derived from them on this machine.
    apart: Option<(Arc<RemoteCache>, Arc<SharedStore>)>,
    /// True if another writer interfered with a change of several steps, which therefore stopped
    /// half-way, as if this process had died there: the user must be opened again.
    is_stopped: AtomicBool,
}

impl UserStore {
    pub(super) fn open(
        owner: &Owner,
        logs: Box<dyn UserLogs>,
        opened: LogHead,
    ) -> Result<(Self, LoadedUser)> {
        let loaded = loading::load_user(&*logs, owner)?;
        Ok((Self::over_logs(owner, logs, opened), loaded))
    }

    /// Opens the logs and reads the lines after their `known` prefix; all lines, if the logs begin
    /// differently.
    pub(super) fn open_behind(
        owner: &Owner,
        logs: Box<dyn UserLogs>,
        opened: LogHead,
        known: &[LogSum; 3],
    ) -> Result<(Self, OpenedLogs)> {
        match loading::load_behind(&*logs, owner, known)? {
            Ok(behind) => Ok((Self::over_logs(owner, logs, opened), OpenedLogs::Behind(behind))),
            Err(mended) => {
                let (user, mut loaded) = Self::open(owner, logs, opened)?;
                loaded.problems.splice(0..0, mended);
                Ok((user, OpenedLogs::Whole(loaded)))
            }
        }
    }

    fn over_logs(owner: &Owner, logs: Box<dyn UserLogs>, opened: LogHead) -> Self {
        let head = logs.seen_head();
        logs.finish_opening();
        Self {
            owner: owner.clone(),
            logs,
            opened,
            ends: head.ends.map(Mutex::new),
            batches: AtomicU64::new(0),
            apart: None,
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Sets the files derived from these logs.
    pub(super) fn with_cache(mut self, apart: Arc<RemoteCache>, shared: Arc<SharedStore>) -> Self {
        self.apart = Some((apart, shared));
        self
    }

    /// Appends messages, then states, in one durable write. Without records, this makes the lines
    /// durable that were readable at opening: call it before acknowledging a message as already
    /// known.
    ///
    /// # Errors
    /// `ReadOnly`; `InvalidInput` for a record that is too long; `CorruptStore` if another program
    /// changed the log; `Io`, for example for a full disk: call again once the cause is fixed.
    pub fn append_messages(
        &self,
        messages: &[Arc<Message>],
        states: &[StateRecord],
    ) -> Result<LogPosition> {
        self.append_records(LogKind::Messages, messages, &[], states)
    }

    /// [`UserStore::append_messages`] for a caller that can retry: returns `None`, without writing,
    /// if another writer was faster.
    ///
    /// # Errors
    /// As [`UserStore::append_messages`].
    pub fn try_append_messages(&self, messages: &[Arc<Message>]) -> Result<Option<LogPosition>> {
        self.try_append(LogKind::Messages, messages, &[], &[])
    }

    /// Appends episodes, whose messages are in the log (a known id becomes its next revision), then
    /// removes the `deleted` ids from
    /// the current episodes, then appends states, in one durable write. If only part of an
    /// episode's line survives a crash, neither the episode nor the lines after it exist.
    ///
    /// # Errors
    /// As [`UserStore::append_messages`].
    pub fn append_episodes(
        &self,
        episodes: &[Arc<Episode>],
        deleted: &[&str],
        states: &[StateRecord],
    ) -> Result<LogPosition> {
        // An episode never survives without its messages: the writer of some may have died before
        // they were durable. (If another one has appended since, it has synced them.)
        self.try_append_messages(&[])?;
        self.append_records(LogKind::Episodes, episodes, deleted, states)
    }

    /// Appends facts (a known id becomes its next revision), then removes the `deleted` ids from
    /// the current facts, then appends states, in one durable write. [`StateRecord::Learned`]
    /// follows the facts, so it never survives without them.
    ///
    /// # Errors
    /// As [`UserStore::append_messages`].
    pub fn append_semantic(
        &self,
        facts: &[Arc<SemanticMemory>],
        deleted: &[&str],
        states: &[StateRecord],
    ) -> Result<LogPosition> {
        self.append_records(LogKind::Semantic, facts, deleted, states)
    }

    fn append_records<T: Serialize>(
        &self,
        kind: LogKind,
        records: &[T],
        deleted: &[&str],
        states: &[StateRecord],
    ) -> Result<LogPosition> {
        self.try_append(kind, records, deleted, states)?.ok_or_else(|| {
            self.is_stopped.store(true, Ordering::SeqCst);
            conflict_error()
        })
    }

    fn try_append<T: Serialize>(
        &self,
        kind: LogKind,
        records: &[T],
        deleted: &[&str],
        states: &[StateRecord],
    ) -> Result<Option<LogPosition>> {
        let mut lines = Vec::new();
        let mut count = (records.len() + deleted.len() + states.len()) as u64;
        records.iter().try_for_each(|record| encode_line(&mut lines, record))?;
        deleted.iter().try_for_each(|id| {
            encode_line(&mut lines, &DeletedLine { deleted: (*id).to_owned() })
        })?;
        states.iter().try_for_each(|state| encode_line(&mut lines, state))?;
        self.finish_erasure()?;
        let mut end = self.ends[kind as usize].lock();
        let mut expected = self.expected_head();
        expected.ends[kind as usize] = *end;
        let number = self.batches.fetch_add(1, Ordering::Relaxed);
        if kind == LogKind::Messages && *end == 0 && count > 0 {
            let mut named = Vec::new();
            encode_line(&mut named, &LogHeader::new(&self.owner))?;
            named.append(&mut lines);
            lines = named;
            count += 1;
        }
        let batch = LineBatch {
            kind,
            lines: &lines,
            records: count,
            id: BatchId { epoch: self.opened.epoch, number },
        };
        match self.logs.append_batch(&expected, &batch)? {
            AppendAnswer::Done(head) => *end = head.log_end(kind),
            AppendAnswer::Conflict(_) => return Ok(None),
        }
        Ok(Some(self.logs.log_position(kind)))
    }

    fn expected_head(&self) -> LogHead {
        // A rewrite by this process raises the generation for all views but its own.
        LogHead { generation: self.logs.seen_head().generation, ..self.opened }
    }

    fn lock_ends(&self) -> [MutexGuard<'_, u64>; 3] {
        let [messages, episodes, semantic] = &self.ends;
        [messages.lock(), episodes.lock(), semantic.lock()]
    }

    /// Removes records, and every revision, quarantined copy, trace and cached model answer of
    /// them; returns the number of removed or rewritten files. If a crash interrupts this, opening
    /// the store continues it.
    ///
    /// Also removes the vector caches; the caller saves them again.
    ///
    /// # Errors
    /// `Internal` if a current episode would keep one of the messages; `ReadOnly`; `Io`. If
    /// [`UserStore::is_erasing`] is then true, the next append or opening the store first finishes
    /// the deletion.
    pub fn erase_records(&self, erasure: UserErasure) -> Result<usize> {
        let mut ends = self.lock_ends();
        let outcome = self.logs.rewrite_logs(&self.expected_head(), erasure);
        self.note_rewrite(&mut ends);
        match outcome? {
            (AppendAnswer::Done(head), there) => {
                let here = self.apart.as_ref().map_or(Ok(0), |(apart, shared)| {
                    apart.remove_rewritten(shared, &self.owner, head.generation)
                })?;
                Ok(there + here)
            }
            (AppendAnswer::Conflict(_), _) => {
                self.is_stopped.store(true, Ordering::SeqCst);
                Err(conflict_error())
            }
        }
    }

    /// True if a deletion was interrupted. The next append or opening the store first finishes it.
    pub fn is_erasing(&self) -> bool {
        self.logs.is_erasing()
    }

    /// Finishes an interrupted deletion, if there is one, before anything else is written.
    ///
    /// # Errors
    /// `Io`; call again.
    pub fn finish_erasure(&self) -> Result<()> {
        if !self.is_erasing() {
            return Ok(());
        }
        let mut ends = self.lock_ends();
        let outcome = self.logs.finish_erasure();
        self.note_rewrite(&mut ends);
        outcome
    }

    /// Records the ends after a rewrite by this process.
    fn note_rewrite(&self, ends: &mut [MutexGuard<'_, u64>; 3]) {
        let head = self.logs.seen_head();
        for (end, new) in ends.iter_mut().zip(head.ends) {
            **end = new;
        }
    }

    /// Whether the logs may be written.
    pub fn open_mode(&self) -> OpenMode {
        self.logs.open_mode()
    }

    /// The end of a log.
    pub fn log_position(&self, kind: LogKind) -> LogPosition {
        self.logs.log_position(kind)
    }

    /// Length and checksum of the three logs; `None` if one ends in an unterminated line.
    ///
    /// # Errors
    /// `Io` if a log cannot be read.
    pub fn log_sums(&self) -> Result<Option<[LogSum; 3]>> {
        let [messages, episodes, semantic] = LogKind::ALL.map(|kind| self.logs.log_sum(kind));
        Ok(match (messages?, episodes?, semantic?) {
            (Some(messages), Some(episodes), Some(semantic)) => {
                Some([messages, episodes, semantic])
            }
            _ => None,
        })
    }

    /// Reads the logs again and reports damage since opening.
    ///
    /// # Errors
    /// `Io` if a file cannot be read.
    pub fn check_logs(&self) -> Result<Vec<StoreProblem>> {
        self.logs.find_damage()
    }

    /// True if the logs contain the lines read and written here, and no others.
    ///
    /// # Errors
    /// `Io` if a file can't be checked.
    pub fn is_current(&self) -> Result<bool> {
        Ok(!self.is_stopped.load(Ordering::SeqCst) && self.logs.is_current()?)
    }

    /// True if other machines may append although this process holds the lock: then only the append
    /// itself tells whether one did.
    pub fn is_shared(&self) -> bool {
        self.apart.is_some()
    }

    /// True if no line was removed from the logs since they were read.
    ///
    /// # Errors
    /// `Io`.
    pub fn is_continued(&self) -> Result<bool> {
        Ok(self.logs.current_head()?.generation == self.logs.seen_head().generation)
    }

    /// Reads the records that other processes have appended; `None` if the logs were rewritten, and
    /// the user must be opened again. The caller adds all records to the view.
    ///
    /// # Errors
    /// `Io`: the user must then be opened again, too.
    pub fn load_appended(&self) -> Result<Option<LoadedUser>> {
        if self.is_stopped.load(Ordering::SeqCst) {
            return Ok(None);
        }
        let mut behind = LaterRecords::new(&self.owner);
        // The ends are locked first, so that no append of another thread finishes in between.
        let mut ends = self.lock_ends();
        let Some(head) =
            self.logs.visit_appended(&mut |kind, line| behind.read_line(kind, line.bytes))?
        else {
            return Ok(None);
        };
        for (end, new) in ends.iter_mut().zip(head.ends) {
            **end = new;
        }
        Ok(Some(behind.finish()))
    }

    /// Releases the lock even if a failed append left damage: the next opening repairs it. Nothing
    /// may be written here any more.
    pub fn let_go(&self) {
        self.logs.let_go();
    }

    /// Locks out other processes' appends until the result is dropped.
    ///
    /// # Errors
    /// `StoreLocked`, naming the holder; `Io`.
    pub fn exclude_writers(&self) -> Result<Hold<'_>> {
        self.logs.exclude_writers()
    }

    /// Takes the turn to form memories among all processes, if it is free.
    ///
    /// # Errors
    /// `Io`.
    pub fn try_turn(&self) -> Result<TurnHolder> {
        self.logs.try_turn()
    }
}

fn conflict_error() -> Error {
    Error::new(ErrorKind::Conflict, "another process modified the logs")
}
