//! Logs in files: one JSONL file a user and kind, written by the one process that has the store's
//! lock.
//!
//! Each log has its own lock in memory, so that a message is not kept waiting by an episode on its
//! way to the disk. Generation and epoch are counted in memory: nobody else writes. (Where several
//! processes write, they move to the user's own lock file, and the end is compared under its lock;
//! nothing above changes.)

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::adopt::{self, LogSource};
use super::backend::FileStamp;
use super::codec::{LogHeader, is_state};
use super::erase::{self, Erasure};
use super::files::io_error;
use super::layout::LogKind;
use super::line::check_line;
use super::lock;
use super::log::{Log, LogFile, LogPosition, LogSum, Mode, Recovery};
use super::log_store::{Answer, Batch, BatchId, Head, LogStore, Turn, UserLogs};
use super::scan::{Line, Visit};
use super::shared::{Registration, Shared};
use crate::error::{Error, ErrorKind, Result};
use crate::ids::Owner;
use crate::model::Problem;

/// A directory of log files.
#[derive(Debug)]
pub(super) struct FileLogs {
    shared: Arc<Shared>,
    /// Each opening gets its own epoch.
    epoch: AtomicU64,
}

impl FileLogs {
    pub fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), epoch: AtomicU64::new(0) }
    }
}

impl LogStore for FileLogs {
    fn open(&self, owner: &Owner) -> Result<(Box<dyn UserLogs>, Head)> {
        let shared = &self.shared;
        let registration = match shared.mode {
            Mode::ReadWrite => {
                let registration = Registration::new(shared, owner)?;
                erase::finish_pending_of(shared, owner)?;
                Some(registration)
            }
            Mode::ReadOnly => None,
        };
        let [messages, episodes, semantic] = LogKind::ALL;
        let sources = [
            adopt::source(shared, owner, messages)?,
            adopt::source(shared, owner, episodes)?,
            adopt::source(shared, owner, semantic)?,
        ];
        check_header(shared, owner, &sources[messages as usize])?;
        let mut logs = FileUserLogs {
            owner: owner.clone(),
            shared: Arc::clone(shared),
            sources,
            logs: Default::default(),
            opened_at: [None; 3],
            ends: Default::default(),
            generation: AtomicU64::new(0),
            epoch: self.epoch.fetch_add(1, Ordering::SeqCst),
            last_batch: Mutex::default(),
            erasing: AtomicBool::new(false),
            _registration: registration,
        };
        logs.opened_at = logs.stamps()?;
        for (end, stamp) in logs.ends.iter_mut().zip(&logs.opened_at) {
            *end = stamp.map_or(0, |stamp| stamp.bytes).into();
        }
        let head = logs.known_head();
        Ok((Box::new(logs), head))
    }

    fn users(&self, tenant: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let shared = &self.shared;
        let mut users = shared.layout.users(&*shared.backend, tenant)?;
        users.retain(|user| {
            after.is_none_or(|after| user.as_str() > after)
                && !shared.deleted.iter().any(|owner| owner.tenant == tenant && owner.user == *user)
        });
        users.truncate(limit);
        Ok(users)
    }

    fn erase(&self, owner: &Owner) -> Result<usize> {
        erase::erase_user(&self.shared, owner)
    }
}

/// The log files of one user.
#[derive(Debug)]
struct FileUserLogs {
    owner: Owner,
    shared: Arc<Shared>,
    sources: [LogSource; 3],
    /// Open from the first reading on.
    logs: [Mutex<Option<Log>>; 3],
    /// State of the three files at opening.
    opened_at: [Option<FileStamp>; 3],
    /// How far each log reaches; kept apart, so that nobody waits for an append to learn it.
    ends: [AtomicU64; 3],
    generation: AtomicU64,
    epoch: u64,
    last_batch: Mutex<Option<BatchId>>,
    /// An erasure stopped half-way and has to be finished before anything is appended.
    erasing: AtomicBool,
    /// Keeps a second opening out.
    _registration: Option<Registration>,
}

/// The lock of one log, which is open.
type OpenLog<'a> = parking_lot::MappedMutexGuard<'a, Log>;

impl FileUserLogs {
    fn stamps(&self) -> Result<[Option<FileStamp>; 3]> {
        let mut stamps = [None; 3];
        for (stamp, LogSource { path, .. }) in stamps.iter_mut().zip(&self.sources) {
            let found = self.shared.backend.stat(path);
            *stamp = found.map_err(|error| io_error("cannot look at the log", path, error))?;
        }
        Ok(stamps)
    }

    fn place(&self, kind: LogKind) -> LogFile {
        self.shared.log_file(self.sources[kind as usize].path.clone())
    }

    /// One log; opened, and mended, if nobody has read it yet.
    fn log(&self, kind: LogKind) -> Result<OpenLog<'_>> {
        let mut log = self.logs[kind as usize].lock();
        if log.is_none() {
            *log = Some(Log::open(self.place(kind), &mut |_| Ok(()))?.0);
        }
        MutexGuard::try_map(log, Option::as_mut)
            .map_err(|_| Error::internal("a log that was opened is not open"))
    }

    /// All logs, always locked in the same order, so that two callers can't wait for each other.
    fn all_logs(&self) -> Result<[OpenLog<'_>; 3]> {
        let [messages, episodes, semantic] = LogKind::ALL;
        Ok([self.log(messages)?, self.log(episodes)?, self.log(semantic)?])
    }

    fn is_hidden(&self) -> bool {
        self.shared.deleted.contains(&self.owner)
    }

    fn known_head(&self) -> Head {
        Head {
            generation: self.generation.load(Ordering::SeqCst),
            epoch: self.epoch,
            ends: self.ends.each_ref().map(|end| end.load(Ordering::SeqCst)),
            last_batch: *self.last_batch.lock(),
        }
    }

    fn note_ends(&self, logs: &[OpenLog<'_>; 3]) {
        for (end, log) in self.ends.iter().zip(logs) {
            end.store(log.position().bytes, Ordering::SeqCst);
        }
    }

    fn raise_generation(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
    }
}

impl UserLogs for FileUserLogs {
    fn mode(&self) -> Mode {
        self.shared.mode
    }

    fn head(&self) -> Result<Head> {
        let head = self.known_head();
        if self.shared.mode == Mode::ReadWrite {
            return Ok(head);
        }
        // A reader asks the files: the writer is another process.
        let stamps = self.stamps()?;
        let generation = head.generation + u64::from(stamps != self.opened_at);
        let ends = stamps.map(|stamp| stamp.map_or(0, |stamp| stamp.bytes));
        Ok(Head { generation, ends, ..head })
    }

    fn read(&self, kind: LogKind, known: &LogSum, visit: Visit<'_>) -> Result<Option<Recovery>> {
        let source = &self.sources[kind as usize];
        let converted = source.legacy.is_empty() && source.problems.is_empty();
        if self.is_hidden() || (*known != LogSum::default() && !converted) {
            return Ok((*known == LogSum::default()).then(Recovery::default));
        }
        let mut log = self.logs[kind as usize].lock();
        let (open, mut recovery) = if *known == LogSum::default() {
            for row in &source.legacy {
                // What is wrong with these is reported when the store is opened for writing and
                // converts them.
                let _ = visit(Line { number: 0, offset: 0, bytes: row });
            }
            Log::open(self.place(kind), visit)?
        } else {
            match Log::open_behind(self.place(kind), known, visit)? {
                Some(opened) => opened,
                None => return Ok(None),
            }
        };
        self.ends[kind as usize].store(open.position().bytes, Ordering::SeqCst);
        if recovery.quarantined > 0 && self.shared.mode == Mode::ReadWrite {
            self.raise_generation();
        }
        *log = Some(open);
        recovery.problems.splice(0..0, source.problems.iter().cloned());
        Ok(Some(recovery))
    }

    fn append(&self, expected: &Head, batch: &Batch<'_>) -> Result<Answer> {
        self.finish_erasure()?;
        let mut log = self.log(batch.kind)?;
        let present = self.known_head();
        if !agrees(&present, expected, batch.kind) {
            return Ok(Answer::Conflict(present));
        }
        let position = log.append_lines(batch.lines, batch.records)?;
        self.ends[batch.kind as usize].store(position.bytes, Ordering::SeqCst);
        *self.last_batch.lock() = Some(batch.id);
        Ok(Answer::Done(self.known_head()))
    }

    fn rewrite(&self, expected: &Head, erasure: Erasure) -> Result<(Answer, usize)> {
        let mut logs = self.all_logs()?;
        let present = self.known_head();
        if (present.generation, present.epoch) != (expected.generation, expected.epoch) {
            return Ok((Answer::Conflict(present), 0));
        }
        let begun = || {
            self.erasing.store(true, Ordering::SeqCst);
            self.raise_generation();
        };
        let open = logs.each_mut().map(|log| &mut **log);
        let files = erase::erase_records(&self.shared, &self.owner, erasure, open, begun);
        self.note_ends(&logs);
        let files = files?;
        self.erasing.store(false, Ordering::SeqCst);
        Ok((Answer::Done(self.known_head()), files))
    }

    fn is_erasing(&self) -> bool {
        self.erasing.load(Ordering::SeqCst)
    }

    fn finish_erasure(&self) -> Result<()> {
        if !self.is_erasing() {
            return Ok(());
        }
        let mut logs = self.all_logs()?;
        let open = logs.each_mut().map(|log| &mut **log);
        let finished = erase::finish_records(&self.shared, &self.owner, open);
        self.note_ends(&logs);
        finished?;
        self.raise_generation();
        self.erasing.store(false, Ordering::SeqCst);
        Ok(())
    }

    fn position(&self, kind: LogKind) -> LogPosition {
        self.logs[kind as usize].lock().as_ref().map(Log::position).unwrap_or_default()
    }

    fn sum(&self, kind: LogKind) -> Result<Option<LogSum>> {
        self.log(kind)?.sum()
    }

    fn check(&self) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        for log in self.all_logs()? {
            problems.extend(log.check()?);
        }
        Ok(problems)
    }

    fn path(&self, kind: LogKind) -> PathBuf {
        self.sources[kind as usize].path.clone()
    }

    fn turn(&self) -> Result<Turn> {
        Ok(match self.shared.mode {
            Mode::ReadWrite => Turn::Mine,
            Mode::ReadOnly => Turn::Other(lock::holder(&*self.shared.backend, &self.shared.layout)),
        })
    }
}

/// Maximum length of a header: two ids of 512 bytes, each byte escaped.
const MAX_HEADER_BYTES: u64 = 8 << 10;

/// Rejects a message log whose header names another user, before its lines are shown or repaired.
fn check_header(shared: &Shared, owner: &Owner, source: &LogSource) -> Result<()> {
    let fail = |error| io_error("cannot read the log", &source.path, error);
    let file = match shared.backend.read_from(&source.path, 0) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(fail)?,
    };
    let mut bytes = Vec::new();
    file.take(MAX_HEADER_BYTES).read_to_end(&mut bytes).map_err(fail)?;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    // A damaged header is handled as any bad line.
    let sound = is_state(line) && check_line(line) == Ok(true);
    match serde_json::from_slice::<LogHeader>(line) {
        Ok(header) if sound && header != LogHeader::new(owner) => {
            let message = format!(
                "the log belongs to user `{}` of tenant `{}`, not to `{}`",
                header.user_id, header.tenant, owner.user
            );
            Err(Error::new(ErrorKind::CorruptStore, message)
                .at(&source.path, Some(1))
                .with_hint("rename the file to its user's name, or move it away"))
        }
        _ => Ok(()),
    }
}

/// May a batch be appended to a log, given what its writer has seen?
fn agrees(present: &Head, expected: &Head, kind: LogKind) -> bool {
    present.generation == expected.generation
        && present.epoch == expected.epoch
        && present.end(kind) == expected.end(kind)
}
