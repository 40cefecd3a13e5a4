//! The log files of one user: read, followed, appended to and rewritten under the user's lock file.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::sync::Mutex;

use super::backend::{FileStamp, LockGuard};
use super::erase::{self, UserErasure};
use super::files::io_error;
use super::layout::LogKind;
use super::lock::LockHolder;
use super::locks::UserLocks;
use super::log::{LogFile, LogPosition, LogRecovery, LogSum, LogTail, OpenMode, RecordLog};
use super::log_store::{
    AppendAnswer, AppendLock, BatchId, FollowVisit, Hold, LineBatch, LogHead, TurnHolder, UserLogs,
};
use super::open_log::OpenLog;
use super::scan::Visit;
use super::shared::SharedStore;
use crate::error::{ErrorKind, Result};
use crate::ids::Owner;
use crate::model::StoreProblem;

/// The lock of an opening, and how often it was taken.
#[derive(Debug, Default)]
struct HeldLock {
    times: usize,
    guard: Option<Box<dyn LockGuard>>,
}

#[derive(Debug)]
pub(super) struct FileUserLogs {
    pub owner: Owner,
    shared: Arc<SharedStore>,
    pub locks: UserLocks,
    held: Mutex<HeldLock>,
    is_held: AtomicBool,
    /// True if the lock is kept between operations, because damage that others must not see is not
    /// repaired yet.
    is_kept: AtomicBool,
    /// True if the logs no longer continue the view, or some lines did not reach it.
    is_lost: AtomicBool,
    /// Appends under way. Each has followed the logs first, and excludes other writers.
    appending: AtomicUsize,
    pub paths: [PathBuf; 3],
    /// Each is opened by its first read.
    logs: [Mutex<Option<RecordLog>>; 3],
    /// State of the three files at opening.
    pub opened_at: [Option<FileStamp>; 3],
    /// Where opening stops reading: the ends that the three logs had at the same time.
    pub until: [Option<u64>; 3],
    /// True if opening holds the lock and repairs the logs.
    pub mends: bool,
    /// The end of each log; separate from the log, so that reading it does not wait for an append.
    pub ends: [AtomicU64; 3],
    pub generation: AtomicU64,
    /// True if lines that others may have read were removed, and the generation could not be
    /// raised.
    is_raise_due: AtomicBool,
    epoch: u64,
    last_batch: Mutex<Option<BatchId>>,
    /// True if an erasure was interrupted: it must be finished before the next append.
    erasing: AtomicBool,
}

#[derive(Debug)]
struct FileHold<'a>(&'a FileUserLogs);

impl AppendLock for FileHold<'_> {}

impl Drop for FileHold<'_> {
    fn drop(&mut self) {
        self.0.release_lock();
    }
}

impl FileUserLogs {
    /// Creates a handle without reading the logs.
    pub fn new(shared: &Arc<SharedStore>, owner: &Owner, epoch: u64) -> Self {
        Self {
            owner: owner.clone(),
            shared: Arc::clone(shared),
            locks: shared.user_locks(owner),
            held: Mutex::default(),
            is_held: AtomicBool::new(false),
            is_kept: AtomicBool::new(false),
            is_lost: AtomicBool::new(false),
            appending: AtomicUsize::new(0),
            paths: LogKind::ALL.map(|kind| shared.layout.log_path(owner, kind)),
            logs: Default::default(),
            opened_at: [None; 3],
            until: [None; 3],
            mends: false,
            ends: Default::default(),
            generation: AtomicU64::new(0),
            is_raise_due: AtomicBool::new(false),
            epoch,
            last_batch: Mutex::default(),
            erasing: AtomicBool::new(false),
        }
    }

    /// Keeps the lock until the logs are read and repaired.
    pub fn keep_lock(&self, guard: Option<Box<dyn LockGuard>>) {
        *self.held.lock() = HeldLock { times: 1, guard };
        self.is_held.store(true, Ordering::SeqCst);
    }

    /// State of the three files.
    ///
    /// # Errors
    /// `Io`.
    pub fn file_stamps(&self) -> Result<[Option<FileStamp>; 3]> {
        let mut stamps = [None; 3];
        // Facts first, messages last: each record was written after the records that it refers to.
        for (stamp, path) in stamps.iter_mut().zip(&self.paths).rev() {
            let found = self.shared.backend.stat_unchecked(path);
            *stamp = found.map_err(|error| io_error("cannot look at the log", path, error))?;
        }
        Ok(stamps)
    }

    fn log_file(&self, kind: LogKind) -> LogFile {
        let mends = self.mends;
        let until = if mends { None } else { self.until[kind as usize] };
        let place = self.shared.log_file(self.paths[kind as usize].clone());
        LogFile { until, mends, ..place }
    }

    /// True if no line is unfinished.
    ///
    /// # Errors
    /// `Io`.
    pub fn ends_in_line_feed(&self, kind: LogKind) -> Result<bool> {
        let path = &self.paths[kind as usize];
        let bytes = self.opened_at[kind as usize].map_or(0, |stamp| stamp.bytes);
        if bytes == 0 {
            return Ok(true);
        }
        let mut last = Vec::new();
        let source = self.shared.backend.read_from(path, bytes - 1);
        source
            .and_then(|source| source.take(1).read_to_end(&mut last))
            .map_err(|error| io_error("cannot read the log", path, error))?;
        Ok(last == b"\n")
    }

    /// Returns one log; opens and repairs it if it was not read yet.
    fn open_log(&self, kind: LogKind) -> Result<OpenLog<'_>> {
        let mut log = self.logs[kind as usize].lock();
        if log.is_none() {
            *log = Some(RecordLog::open(self.log_file(kind), &mut |_| Ok(()))?.0);
        }
        Ok(OpenLog(log))
    }

    /// Locks all logs, always in the same order, so that two callers can't deadlock.
    fn all_logs(&self) -> Result<[OpenLog<'_>; 3]> {
        let [messages, episodes, semantic] = LogKind::ALL;
        Ok([self.open_log(messages)?, self.open_log(episodes)?, self.open_log(semantic)?])
    }

    /// True if a reader must not show what a deletion of the user has not removed yet. (A writer
    /// finishes the deletion instead.)
    fn is_hidden(&self) -> Result<bool> {
        Ok(self.shared.mode == OpenMode::ReadOnly
            && erase::removes_user(&self.shared, &self.owner)?)
    }

    fn note_ends(&self, logs: &[OpenLog<'_>; 3]) {
        for (end, log) in self.ends.iter().zip(logs) {
            end.store(log.end_position().bytes, Ordering::SeqCst);
        }
    }

    /// Raises the generation for a change that this opening makes, so that its own view stays
    /// valid.
    fn raise_generation(&self) -> Result<()> {
        self.is_raise_due.store(true, Ordering::SeqCst);
        if self.locks.read_generation()? != self.generation.load(Ordering::SeqCst) {
            // Another process has rewritten the logs: this view is outdated, and keeps its old
            // number.
            self.locks.raise_generation()?;
        } else {
            self.generation.store(self.locks.raise_generation()?, Ordering::SeqCst);
        }
        self.is_raise_due.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// True if a failed append left bytes that others must not see.
    fn has_to_mend(&self) -> bool {
        let is_sound =
            |log: &Mutex<Option<RecordLog>>| log.lock().as_ref().is_none_or(RecordLog::is_sound);
        self.is_raise_due.load(Ordering::SeqCst) || !self.logs.iter().all(is_sound)
    }

    fn release_lock(&self) {
        let mut held = self.held.lock();
        held.times -= 1;
        if held.times == 0 {
            // Damage excludes other writers until it is repaired or this process ends.
            let is_kept = self.has_to_mend() && !self.is_lost.load(Ordering::SeqCst);
            self.is_kept.store(is_kept, Ordering::SeqCst);
            if !is_kept {
                self.is_held.store(false, Ordering::SeqCst);
                held.guard = None;
            }
        }
    }

    /// True if this opening excludes other writers, so it has seen all writes.
    fn keeps_others_out(&self) -> bool {
        self.appending.load(Ordering::SeqCst) > 0 || self.is_kept.load(Ordering::SeqCst)
    }

    fn follow_logs(&self, visit: FollowVisit<'_>) -> Result<bool> {
        if self.is_hidden()? {
            return Ok(false);
        }
        let mut logs = self.all_logs()?;
        let alone = self.is_held.load(Ordering::SeqCst);
        let mut tails: [Option<LogTail>; 3] = Default::default();
        // Facts first, messages last: each record was written after the records that it refers to.
        for (tail, log) in tails.iter_mut().zip(&logs).rev() {
            match log.read_tail()? {
                Some(found) => *tail = Some(found),
                None => return Ok(false),
            }
        }
        if self.locks.read_generation()? != self.generation.load(Ordering::SeqCst) {
            return Ok(false);
        }
        for ((kind, log), tail) in LogKind::ALL.into_iter().zip(&mut logs).zip(tails) {
            let Some(tail) = tail else { continue };
            if !log.take_tail(tail, alone, &mut |line| visit(kind, line))? {
                return Ok(false);
            }
        }
        self.note_ends(&logs);
        Ok(true)
    }

    /// True if `expected` matches the current head of this log.
    fn head_matches(&self, expected: &LogHead, kind: LogKind, log: &RecordLog) -> Result<bool> {
        Ok(expected.epoch == self.epoch
            && expected.generation == self.locks.read_generation()?
            && expected.log_end(kind) == log.end_position().bytes
            && (!log.is_sound() || log.is_current()?))
    }
}

impl UserLogs for FileUserLogs {
    fn open_mode(&self) -> OpenMode {
        self.shared.mode
    }

    fn current_head(&self) -> Result<LogHead> {
        let ends = self.file_stamps()?.map(|stamp| stamp.map_or(0, |stamp| stamp.bytes));
        Ok(LogHead { generation: self.locks.read_generation()?, ends, ..self.seen_head() })
    }

    fn seen_head(&self) -> LogHead {
        LogHead {
            generation: self.generation.load(Ordering::SeqCst),
            epoch: self.epoch,
            ends: self.ends.each_ref().map(|end| end.load(Ordering::SeqCst)),
            last_batch: *self.last_batch.lock(),
        }
    }

    fn is_current(&self) -> Result<bool> {
        if self.is_lost.load(Ordering::SeqCst)
            || self.locks.read_generation()? != self.generation.load(Ordering::SeqCst)
        {
            return Ok(false);
        }
        if self.keeps_others_out() {
            return Ok(true);
        }
        let stamps = self.file_stamps()?;
        Ok(stamps.iter().zip(&self.ends).zip(&self.opened_at).all(|((stamp, end), opened)| {
            let bytes = stamp.map_or(0, |stamp| stamp.bytes);
            bytes == end.load(Ordering::SeqCst)
                || self.open_mode() == OpenMode::ReadOnly && stamp == opened
        }))
    }

    fn visit_appended(&self, visit: FollowVisit<'_>) -> Result<Option<LogHead>> {
        if self.is_lost.load(Ordering::SeqCst) {
            return Ok(None);
        }
        if self.keeps_others_out() {
            return Ok(Some(self.seen_head()));
        }
        let followed = self.follow_logs(visit);
        self.is_lost.store(!matches!(followed, Ok(true)), Ordering::SeqCst);
        Ok(followed?.then(|| self.seen_head()))
    }

    fn exclude_writers(&self) -> Result<Hold<'_>> {
        self.shared.check_writable()?;
        let mut held = self.held.lock();
        if held.guard.is_none() {
            held.guard = Some(self.locks.lock_logs()?);
            self.is_held.store(true, Ordering::SeqCst);
        }
        held.times += 1;
        drop(held);
        let hold = FileHold(self);
        if self.is_raise_due.load(Ordering::SeqCst) {
            // On a full disk the lock is kept until this succeeds.
            let _ = self.raise_generation();
        }
        Ok(Box::new(hold))
    }

    fn finish_opening(&self) {
        if self.mends && self.held.lock().guard.is_some() {
            self.release_lock();
        }
    }

    fn let_go(&self) {
        self.is_lost.store(true, Ordering::SeqCst);
        let mut held = self.held.lock();
        if held.times == 0 {
            self.is_kept.store(false, Ordering::SeqCst);
            self.is_held.store(false, Ordering::SeqCst);
            held.guard = None;
        }
    }

    fn visit_after(
        &self,
        kind: LogKind,
        known: &LogSum,
        visit: Visit<'_>,
    ) -> Result<Option<LogRecovery>> {
        if self.is_hidden()? {
            return Ok((*known == LogSum::default()).then(LogRecovery::default));
        }
        let mut log = self.logs[kind as usize].lock();
        let mut place = self.log_file(kind);
        if let (Some(open), false) = (&*log, self.mends) {
            place.until = Some(open.end_position().bytes);
        }
        let opened = if *known == LogSum::default() {
            RecordLog::open(place, visit).map(Some)
        } else {
            RecordLog::open_behind(place, known, visit)
        };
        let (open, recovery) = match opened {
            Ok(Some(opened)) => opened,
            Ok(None) => return Ok(None),
            Err(error) => {
                if error.kind() == ErrorKind::Conflict {
                    // The next opening holds the lock and repairs the log.
                    self.shared.mending.lock().insert(self.owner.clone());
                }
                return Err(error);
            }
        };
        self.ends[kind as usize].store(open.end_position().bytes, Ordering::SeqCst);
        let is_mended = recovery.quarantined > 0 || recovery.torn_bytes > 0;
        if is_mended && self.shared.mode == OpenMode::ReadWrite {
            self.raise_generation()?;
        }
        *log = Some(open);
        Ok(Some(recovery))
    }

    fn append_batch(&self, expected: &LogHead, batch: &LineBatch<'_>) -> Result<AppendAnswer> {
        let _hold = self.exclude_writers()?;
        self.finish_erasure()?;
        let _appending = OpenCount::new(&self.appending);
        let mut log = self.open_log(batch.kind)?;
        if !self.head_matches(expected, batch.kind, &log)? {
            drop(log);
            return self.current_head().map(AppendAnswer::Conflict);
        }
        let position = log.append_lines(batch.lines, batch.records).inspect_err(|_| {
            // Others may have read the lines that are removed again.
            self.is_raise_due.store(true, Ordering::SeqCst);
        });
        if self.is_raise_due.load(Ordering::SeqCst) {
            let _ = self.raise_generation();
        }
        let position = position?;
        self.ends[batch.kind as usize].store(position.bytes, Ordering::SeqCst);
        *self.last_batch.lock() = Some(batch.id);
        Ok(AppendAnswer::Done(self.seen_head()))
    }

    fn rewrite_logs(
        &self,
        expected: &LogHead,
        erasure: UserErasure,
    ) -> Result<(AppendAnswer, usize)> {
        let _hold = self.exclude_writers()?;
        let _caches = self.locks.lock_caches()?;
        let _appending = OpenCount::new(&self.appending);
        let mut logs = self.all_logs()?;
        for (kind, log) in LogKind::ALL.into_iter().zip(&logs) {
            let seen = LogHead { ends: self.seen_head().ends, ..*expected };
            if !self.head_matches(&seen, kind, log)? {
                drop(logs);
                return Ok((AppendAnswer::Conflict(self.current_head()?), 0));
            }
        }
        // A failed append may have left the texts of records after the end of a log, which the
        // erasure does not read.
        for log in &mut logs {
            self.shared.with_reserve(|| log.restore_end())?;
        }
        // Raised before the erasure, so that readers drop their view, and after it, for readers
        // that opened in between.
        let begun = || {
            self.erasing.store(true, Ordering::SeqCst);
            self.shared.with_reserve(|| self.raise_generation())
        };
        let open = logs.each_mut().map(|log| &mut **log);
        let files = erase::erase_records(&self.shared, &self.owner, erasure, open, begun);
        self.note_ends(&logs);
        let files = files?;
        self.raise_generation()?;
        self.erasing.store(false, Ordering::SeqCst);
        Ok((AppendAnswer::Done(self.seen_head()), files))
    }

    fn is_erasing(&self) -> bool {
        self.erasing.load(Ordering::SeqCst)
    }

    fn finish_erasure(&self) -> Result<()> {
        if !self.is_erasing() {
            return Ok(());
        }
        let _hold = self.exclude_writers()?;
        let _caches = self.locks.lock_caches()?;
        let _appending = OpenCount::new(&self.appending);
        let mut logs = self.all_logs()?;
        let open = logs.each_mut().map(|log| &mut **log);
        self.shared.with_reserve(|| self.raise_generation())?;
        let finished = erase::finish_records(&self.shared, &self.owner, open);
        self.note_ends(&logs);
        finished?;
        self.raise_generation()?;
        self.erasing.store(false, Ordering::SeqCst);
        Ok(())
    }

    fn log_position(&self, kind: LogKind) -> LogPosition {
        self.logs[kind as usize].lock().as_ref().map(RecordLog::end_position).unwrap_or_default()
    }

    fn log_sum(&self, kind: LogKind) -> Result<Option<LogSum>> {
        self.open_log(kind)?.log_sum()
    }

    fn find_damage(&self) -> Result<Vec<StoreProblem>> {
        let mut problems = Vec::new();
        for log in self.all_logs()? {
            problems.extend(log.find_damage()?);
        }
        Ok(problems)
    }

    fn log_path(&self, kind: LogKind) -> PathBuf {
        self.paths[kind as usize].clone()
    }

    fn try_turn(&self) -> Result<TurnHolder> {
        if self.shared.mode == OpenMode::ReadOnly {
            let (backend, layout) = (&*self.shared.backend, &self.shared.layout);
            return Ok(TurnHolder::Other(LockHolder::last_holder(backend, &layout.lock_path())));
        }
        Ok(match self.locks.try_forming()? {
            Some(guard) => TurnHolder::Mine(guard),
            None => TurnHolder::Other(self.locks.forming_process()),
        })
    }
}

/// Increments a counter while it lives.
struct OpenCount<'a>(&'a AtomicUsize);

impl<'a> OpenCount<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for OpenCount<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
