//! The logs of one user in the database.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use episodica_core::ids::Owner;
use episodica_core::model::StoreProblem;
use episodica_core::store::log_store::{AppendAnswer, AppendLock, LineBatch, LogHead};
use episodica_core::store::{
    Hold, LineLog, LogKind, LogPosition, LogRecovery, LogSum, OpenMode, RawLine, TurnHolder,
    UserErasure, UserLogs, check_line, erase_lines,
};
use episodica_core::{Error, ErrorKind, Result};

use crate::pool::ConnectionPool;
use crate::reading::{LogSpan, ReadLine, ReadOutcome, read_span};
use crate::rows::{LogEnd, RowOwner, SeenLogs};
use crate::statements::SqlTexts;
use crate::turn;
use crate::writing::{WriteTarget, rolled_back};

#[derive(Debug)]
pub(crate) struct PgUserLogs {
    pub owner: Owner,
    pub who: RowOwner,
    pub pool: Arc<ConnectionPool>,
    pub statements: Arc<SqlTexts>,
    pub mode: OpenMode,
    /// The number of this opening, unique in the database; 0 if it only reads.
    pub epoch: u64,
    /// Identification of this process for others.
    pub holder: Arc<str>,
    pub state: Mutex<OpeningState>,
}

#[derive(Debug)]
pub(crate) struct OpeningState {
    /// The logs as last read or written.
    pub seen: SeenLogs,
    /// When the database was last found to contain nothing newer.
    pub looked: Option<Instant>,
    /// When the database was last found unavailable.
    pub missed: Option<Instant>,
}

/// Minimum time between two attempts while the database is unavailable.
const PAUSE_WHEN_AWAY: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct EmptyLock;

impl AppendLock for EmptyLock {}

impl PgUserLogs {
    fn lock_state(&self) -> MutexGuard<'_, OpeningState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the head of the logs; `None` while the database is unavailable.
    fn look_once(&self) -> Result<Option<SeenLogs>> {
        if self.lock_state().missed.is_some_and(|missed| missed.elapsed() < PAUSE_WHEN_AWAY) {
            return Ok(None);
        }
        let found = self.write_target().look_once();
        self.lock_state().missed = match &found {
            Err(error) if error.kind() == ErrorKind::StoreUnavailable => Some(Instant::now()),
            _ => None,
        };
        if let (Some(_), Err(error)) = (self.lock_state().missed, &found) {
            log::warn!(
                "the database is unreachable, answered from memory: {}",
                error.cause_chain()
            );
            return Ok(None);
        }
        found.map(Some)
    }

    fn known_logs(&self) -> SeenLogs {
        self.lock_state().seen
    }

    fn write_target(&self) -> WriteTarget<'_> {
        WriteTarget { pool: &self.pool, statements: &self.statements, who: self.who.clone() }
    }

    fn check_writable(&self) -> Result<()> {
        match self.mode {
            OpenMode::ReadWrite => Ok(()),
            OpenMode::ReadOnly => {
                Err(Error::new(ErrorKind::ReadOnly, "the store was opened for reading only"))
            }
        }
    }

    fn log_span(&self, kind: LogKind, from: LogEnd, to: &SeenLogs) -> Option<LogSpan> {
        let uid = to.uid?;
        Some(LogSpan { uid, generation: to.generation, kind, from, to: to.log_end(kind) })
    }

    fn read_all(&self, seen: &SeenLogs) -> Result<Option<[LineLog; 3]>> {
        let mut logs: [LineLog; 3] = Default::default();
        for (kind, log) in LogKind::ALL.into_iter().zip(&mut logs) {
            log.path = self.log_path(kind);
            let Some(span) = self.log_span(kind, LogEnd::default(), seen) else { continue };
            let outcome = read_span(&self.pool, &self.statements, &span, &mut |read| {
                log.lines.push(read.line.as_bytes().to_vec());
                true
            })?;
            if outcome != ReadOutcome::Whole {
                return Ok(None);
            }
        }
        Ok(Some(logs))
    }

    fn line_problem(&self, kind: LogKind, number: u64, reason: &str) -> StoreProblem {
        StoreProblem {
            path: self.log_path(kind),
            line: Some(number),
            message: format!("line is not a record: {reason}"),
            remedy: "another program changed it: correct the row or restore a backup".into(),
            mended: false,
        }
    }

    /// The answer to a writer whose state is out of date.
    fn conflict_answer(&self) -> Result<AppendAnswer> {
        self.lock_state().looked = None;
        Ok(AppendAnswer::Conflict(self.write_target().read_state()?.head_at_epoch(self.epoch)))
    }

    /// # Errors
    /// `StoreRolledBack` if the logs end before the state seen earlier.
    fn check_not_rolled_back(&self, seen: &SeenLogs, now: &SeenLogs) -> Result<()> {
        let is_same = seen.uid.is_some() && now.uid == seen.uid;
        let is_shorter = now.generation == seen.generation
            && now.ends.iter().zip(&seen.ends).any(|(now, seen)| now.bytes < seen.bytes);
        if is_same && (is_shorter || now.generation < seen.generation) {
            return Err(rolled_back(&self.owner.user));
        }
        Ok(())
    }
}

impl UserLogs for PgUserLogs {
    fn open_mode(&self) -> OpenMode {
        self.mode
    }

    fn current_head(&self) -> Result<LogHead> {
        Ok(self.write_target().read_state()?.head_at_epoch(self.epoch))
    }

    fn seen_head(&self) -> LogHead {
        self.known_logs().head_at_epoch(self.epoch)
    }

    fn is_current(&self) -> Result<bool> {
        let staleness = self.pool.address().staleness;
        let is_fresh = |looked: Instant| !staleness.is_zero() && looked.elapsed() < staleness;
        if self.lock_state().looked.is_some_and(is_fresh) {
            return Ok(true);
        }
        let asked = Instant::now();
        let now = if self.pool.address().reads_when_away {
            match self.look_once()? {
                Some(now) => now,
                None => return Ok(true),
            }
        } else {
            self.write_target().read_state()?
        };
        let mut state = self.lock_state();
        if !now.has_same_logs(&state.seen) {
            return Ok(false);
        }
        state.seen.fence = now.fence;
        state.looked = Some(asked);
        Ok(true)
    }

    fn visit_appended(
        &self,
        visit: &mut dyn FnMut(LogKind, RawLine<'_>) -> Result<(), String>,
    ) -> Result<Option<LogHead>> {
        let (seen, asked) = (self.known_logs(), Instant::now());
        let now = self.write_target().read_state()?;
        self.check_not_rolled_back(&seen, &now)?;
        // A user without lines may have no row, or a row that is still empty.
        let is_new = seen.uid.is_none() && seen.ends == <[LogEnd; 3]>::default();
        if !is_new && (now.uid, now.generation) != (seen.uid, seen.generation) {
            return Ok(None);
        }
        for kind in LogKind::ALL {
            let Some(span) = self.log_span(kind, seen.log_end(kind), &now) else { continue };
            let mut is_sound = true;
            let outcome = read_span(&self.pool, &self.statements, &span, &mut |read| {
                let bytes = read.line.as_bytes();
                let line = RawLine { number: read.end.lines, offset: read.start, bytes };
                is_sound = check_line(bytes).is_ok() && visit(kind, line).is_ok();
                is_sound
            })?;
            match outcome {
                ReadOutcome::Whole => {}
                ReadOutcome::Discontinued => return Err(rolled_back(&self.owner.user)),
                ReadOutcome::Refused | ReadOutcome::Rewritten => return Ok(None),
            }
        }
        *self.lock_state() = OpeningState { seen: now, looked: Some(asked), missed: None };
        Ok(Some(now.head_at_epoch(self.epoch)))
    }

    fn exclude_writers(&self) -> Result<Hold<'_>> {
        // No lock can be held across statements; the append compares the head instead.
        self.check_writable()?;
        Ok(Box::new(EmptyLock))
    }

    fn visit_after(
        &self,
        kind: LogKind,
        known: &LogSum,
        visit: &mut dyn FnMut(RawLine<'_>) -> Result<(), String>,
    ) -> Result<Option<LogRecovery>> {
        let seen = self.known_logs();
        let Some(from) = LogEnd::from_sum(known) else { return Ok(None) };
        if from.bytes > seen.log_end(kind).bytes {
            return Ok(None);
        }
        let Some(span) = self.log_span(kind, from, &seen) else {
            return Ok(Some(LogRecovery::default()));
        };
        let (mut recovery, all) = (LogRecovery::default(), from == LogEnd::default());
        let outcome = read_span(&self.pool, &self.statements, &span, &mut |read| {
            let ReadLine { start, end, line } = read;
            let bytes = line.as_bytes();
            let shown = check_line(bytes)
                .and_then(|_| visit(RawLine { number: end.lines, offset: start, bytes }));
            match shown {
                Ok(()) => recovery.records += 1,
                Err(_) if !all => return false,
                Err(reason) => {
                    recovery.quarantined += 1;
                    recovery.problems.push(self.line_problem(kind, end.lines, &reason));
                }
            }
            true
        })?;
        match outcome {
            ReadOutcome::Whole => Ok(Some(recovery)),
            ReadOutcome::Refused | ReadOutcome::Discontinued => Ok(None),
            ReadOutcome::Rewritten => {
                Err(Error::new(ErrorKind::Conflict, "the logs were rewritten while they were read"))
            }
        }
    }

    fn append_batch(&self, expected: &LogHead, batch: &LineBatch<'_>) -> Result<AppendAnswer> {
        self.check_writable()?;
        let seen = self.known_logs();
        let is_own = expected.epoch == self.epoch
            && expected.generation == seen.generation
            && expected.log_end(batch.kind) == seen.log_end(batch.kind).bytes;
        if !is_own {
            return self.conflict_answer();
        }
        if batch.lines.is_empty() {
            return Ok(AppendAnswer::Done(seen.head_at_epoch(self.epoch)));
        }
        let mut before = seen;
        loop {
            if let Some(after) = self.write_target().append_batch(&before, batch)? {
                let mut state = self.lock_state();
                // Another thread may have written one of the other logs meanwhile.
                let kind = batch.kind as usize;
                state.seen.ends[kind] = after.ends[kind];
                (state.seen.uid, state.seen.generation) = (after.uid, after.generation);
                state.seen.fence = state.seen.fence.max(after.fence);
                state.seen.batch = Some(batch.id);
                return Ok(AppendAnswer::Done(state.seen.head_at_epoch(self.epoch)));
            }
            // If another writer only raised the fence, the batch is still valid.
            let now = self.write_target().read_state()?;
            let is_fence_only = (now.uid, now.generation) == (before.uid, before.generation)
                && now.log_end(batch.kind) == before.log_end(batch.kind)
                && now.fence != before.fence;
            if !is_fence_only {
                self.lock_state().looked = None;
                return Ok(AppendAnswer::Conflict(now.head_at_epoch(self.epoch)));
            }
            before.fence = now.fence;
            self.lock_state().seen.fence = now.fence;
        }
    }

    fn rewrite_logs(
        &self,
        expected: &LogHead,
        erasure: UserErasure,
    ) -> Result<(AppendAnswer, usize)> {
        self.check_writable()?;
        let seen = self.known_logs();
        let now = self.write_target().read_state()?;
        if expected.epoch != self.epoch
            || expected.generation != seen.generation
            || !now.has_same_logs(&seen)
        {
            return Ok((self.conflict_answer()?, 0));
        }
        let Some(mut logs) = self.read_all(&now)? else { return Ok((self.conflict_answer()?, 0)) };
        if now.uid.is_none() {
            // The user has no rows, so there is nothing to erase.
            let head = LogHead { generation: seen.generation, ..seen.head_at_epoch(self.epoch) };
            return Ok((AppendAnswer::Done(head), 0));
        }
        let generation = self.write_target().next_generation()?;
        let changed = erase_lines(&self.owner, &erasure, generation, &mut logs)?;
        match self.write_target().rewrite_logs(&now, generation, &logs)? {
            Some(after) => {
                *self.lock_state() = OpeningState { seen: after, looked: None, missed: None };
                Ok((AppendAnswer::Done(after.head_at_epoch(self.epoch)), changed))
            }
            None => Ok((self.conflict_answer()?, 0)),
        }
    }

    fn is_erasing(&self) -> bool {
        // An erasure is a single transaction, so it is never left unfinished.
        false
    }

    fn finish_erasure(&self) -> Result<()> {
        Ok(())
    }

    fn log_position(&self, kind: LogKind) -> LogPosition {
        self.known_logs().log_end(kind).to_position()
    }

    fn log_sum(&self, kind: LogKind) -> Result<Option<LogSum>> {
        Ok(Some(self.known_logs().log_end(kind).to_sum()))
    }

    fn find_damage(&self) -> Result<Vec<StoreProblem>> {
        let (seen, mut problems) = (self.known_logs(), Vec::new());
        for kind in LogKind::ALL {
            let Some(span) = self.log_span(kind, LogEnd::default(), &seen) else { continue };
            let mut at = LogEnd::default();
            read_span(&self.pool, &self.statements, &span, &mut |read| {
                at = at.after_line(read.line.as_bytes());
                if let Err(reason) = check_line(read.line.as_bytes()) {
                    problems.push(self.line_problem(kind, read.end.lines, &reason));
                } else if at != read.end {
                    let reason = "it does not continue the lines before it";
                    problems.push(self.line_problem(kind, read.end.lines, reason));
                }
                at = read.end;
                true
            })?;
        }
        Ok(problems)
    }

    fn log_path(&self, kind: LogKind) -> PathBuf {
        let Owner { tenant, user } = &self.owner;
        let place = self.pool.address().public_address();
        format!("{place}#{tenant}/{user}/{}", kind.name()).into()
    }

    fn try_turn(&self) -> Result<TurnHolder> {
        if self.mode == OpenMode::ReadOnly {
            return Ok(TurnHolder::Other(None));
        }
        turn::take_turn(&self.pool, &self.statements, self.known_logs().uid, &self.holder)
    }
}
