//! One append-only file of JSON lines that survives crashes, full disks and flipped bits.
//!
//! Promises (docs/format.md has them in full):
//! * When [`Log::append`] returns, its records survive a power cut. A record that was not
//!   acknowledged is there whole or not at all; the records of one call reach the disk in order, so
//!   what survives of an unacknowledged call is a beginning of it.
//! * After a failed write the file is cut back to its last acknowledged byte before anything else
//!   is written. After a failed *sync* the kernel may have thrown the pages away and call them
//!   clean, so nothing it says about that file is believed any more: the acknowledged part is
//!   copied into a new file, which is synced and takes the name.
//! * Opening cuts off a torn last line and moves lines that are no records to
//!   `<file>.quarantine.jsonl`; all others stay, in order.
//!
//! The log knows nothing about what its records mean.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use super::backend::{Backend, BackendFile, EntryKind, FileStamp, io_error, parent_of, sync_up};
use super::cache::{sum, sum_of_file};
use super::line::encode_line;
use super::quarantine;
use super::scan::{BadLine, Line, Scan, scan};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Problem;

/// May the store be written?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Takes no lock, writes nothing, not even to repair.
    ReadOnly,
    /// The one writer.
    ReadWrite,
}

/// What opening a log found and mended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Records read.
    pub records: u64,
    /// Bytes of an unfinished last line: cut off, or passed over when read-only.
    pub torn_bytes: u64,
    /// Lines moved to the quarantine, or passed over when read-only.
    pub quarantined: u64,
    /// The same for people, one entry each.
    pub problems: Vec<Problem>,
}

/// The end of a log: which state of it a cache was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LogPosition {
    /// Length in bytes.
    pub bytes: u64,
    /// Records, from the first line on.
    pub records: u64,
}

/// How far a log reaches, and a checksum over all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSum {
    /// The end.
    #[serde(flatten)]
    pub position: LogPosition,
    /// CRC-32 in eight lower-case hex digits.
    pub crc32: String,
}

/// What [`Log::rewrite`] does with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rewrite {
    /// Copy it byte by byte.
    Keep,
    /// Leave it out.
    Drop,
    /// Put these bytes in its place: whole lines, each with its line feed, as [`encode_records`]
    /// makes them.
    Replace(Vec<u8>),
}

/// What the file needs before it may be appended to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Sound,
    /// Bytes behind the last acknowledged one have to go.
    Cut,
    /// A sync failed: the file is not to be trusted.
    Untrusted,
}

/// Most files that are kept open between two appends, over all logs of the process: a store has
/// more users than a process has handles.
const MAX_KEPT_FILES: usize = 128;

static KEPT_FILES: AtomicUsize = AtomicUsize::new(0);

/// A file kept open for the next append.
#[derive(Debug)]
struct KeptFile(Box<dyn BackendFile>);

impl KeptFile {
    /// Keeps the file if there is room, else closes it.
    fn new(file: Box<dyn BackendFile>) -> Option<Self> {
        let room = |kept| (kept < MAX_KEPT_FILES).then_some(kept + 1);
        KEPT_FILES
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, room)
            .is_ok()
            .then(|| Self(file))
    }
}

impl Drop for KeptFile {
    fn drop(&mut self) {
        KEPT_FILES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An open log; see the module's documentation.
#[derive(Debug)]
pub struct Log {
    backend: Arc<dyn Backend>,
    root: PathBuf,
    path: PathBuf,
    mode: Mode,
    /// Kept open from the first append on, while there are not too many of them.
    file: Option<KeptFile>,
    /// Number of the file this log has under its name; `None` while there is none.
    file_number: Option<u64>,
    position: LogPosition,
    health: Health,
    /// The last record misses its line feed.
    unterminated: bool,
    /// A name in the directory was changed and perhaps not synced: nothing may be acknowledged
    /// before it is.
    directory_dirty: bool,
    /// The file was found at opening; whoever wrote it may have died before syncing.
    unsettled: bool,
}

/// The records as lines of a log.
///
/// # Errors
/// `InvalidInput` for a record that is too long.
pub fn encode_records<T: Serialize>(records: &[T]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    records.iter().try_for_each(|record| encode_line(&mut bytes, record))?;
    Ok(bytes)
}

/// Name of the file in which a rewritten log grows.
fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    name.into()
}

impl Log {
    /// Opens the log at `path` somewhere below `root`, which need not be there yet, and shows every
    /// record to `visit`, oldest first.
    ///
    /// `visit` answers `Err(reason)` for a line that is no record of its kind; such a line is
    /// quarantined. Any bytes are survived.
    ///
    /// # Errors
    /// `Io` when the file can't be read or mended.
    pub fn open(
        backend: Arc<dyn Backend>,
        root: &Path,
        path: &Path,
        mode: Mode,
        visit: &mut dyn FnMut(Line<'_>) -> Result<(), String>,
    ) -> Result<(Self, Recovery)> {
        let mut log = Self::unread(backend, root, path, mode);
        if mode == Mode::ReadWrite {
            log.remove_leftovers()?;
        }
        let found = scan(&*log.backend, path, None, visit)?;
        log.file_number = log.stamp()?.map(|stamp| stamp.file_number);
        log.unsettled = log.file_number.is_some();
        log.directory_dirty = log.unsettled;
        log.position = LogPosition { bytes: found.good_bytes, records: found.records };
        log.unterminated = found.unterminated;
        let recovery = log.recovery(&found);
        if mode == Mode::ReadWrite {
            if found.torn_bytes > 0 {
                log.health = Health::Cut;
                log.repair()?;
            }
            if !found.bad.is_empty() {
                quarantine::save(&*log.backend, path, &found.bad)?;
                // Not every bad line is shown again: one whose checksum fails is left out before.
                let mut drop_bad = |line: Line<'_>| match found
                    .bad
                    .binary_search_by_key(&line.offset, |bad| bad.range.start)
                {
                    Ok(_) => Rewrite::Drop,
                    Err(_) => Rewrite::Keep,
                };
                log.replace_file(&found.bad, &mut drop_bad)?;
            }
        }
        Ok((log, recovery))
    }

    fn unread(backend: Arc<dyn Backend>, root: &Path, path: &Path, mode: Mode) -> Self {
        Self {
            backend,
            root: root.to_owned(),
            path: path.to_owned(),
            mode,
            file: None,
            file_number: None,
            position: LogPosition::default(),
            health: Health::Sound,
            unterminated: false,
            directory_dirty: false,
            unsettled: false,
        }
    }

    /// Opens a log that is known to somebody who saw all of it: `None` if it is not, byte for byte,
    /// what they saw.
    ///
    /// # Errors
    /// `Io` when the file can't be read.
    pub fn open_known(
        backend: Arc<dyn Backend>,
        root: &Path,
        path: &Path,
        mode: Mode,
        known: &LogSum,
    ) -> Result<Option<Self>> {
        let mut log = Self::unread(backend, root, path, mode);
        if mode == Mode::ReadWrite {
            log.remove_leftovers()?;
        }
        let stamp = log.stamp()?;
        if stamp.map_or(0, |stamp| stamp.bytes) != known.position.bytes {
            return Ok(None);
        }
        log.file_number = stamp.map(|stamp| stamp.file_number);
        log.unsettled = log.file_number.is_some();
        log.directory_dirty = log.unsettled;
        log.position = known.position;
        Ok((log.sum()?.as_ref() == Some(known)).then_some(log))
    }

    /// Length and checksum of the acknowledged part; `None` where it is not all that the file
    /// holds.
    ///
    /// # Errors
    /// `Io` when the file can't be read.
    pub fn sum(&self) -> Result<Option<LogSum>> {
        if self.health != Health::Sound || self.unterminated {
            return Ok(None);
        }
        let found = match sum_of_file(&*self.backend, &self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => sum(&[&[]]),
            other => other.map_err(|error| io_error("cannot read the log", &self.path, error))?,
        };
        Ok((found.bytes == self.position.bytes)
            .then_some(LogSum { position: self.position, crc32: found.crc32 }))
    }

    fn remove_leftovers(&self) -> Result<()> {
        let leftover = temporary(&self.path);
        match self
            .backend
            .stat(&leftover)
            .map_err(|error| io_error("cannot look for leftovers", &leftover, error))?
        {
            Some(_) => self
                .backend
                .remove_file(&leftover)
                .map_err(|error| io_error("cannot remove a leftover", &leftover, error)),
            None => Ok(()),
        }
    }

    fn recovery(&self, found: &Scan) -> Recovery {
        let writable = self.mode == Mode::ReadWrite;
        let quarantine = quarantine::path_for(&self.path);
        let mut problems: Vec<Problem> = found
            .bad
            .iter()
            .map(|line| Problem {
                path: self.path.clone(),
                line: Some(line.number),
                message: format!("line is no record: {}", line.reason),
                remedy: match writable {
                    true => format!(
                        "it was moved to `{}`; the other lines are untouched",
                        quarantine.display()
                    ),
                    false => "open the store for writing to move it to the quarantine".into(),
                },
                mended: writable,
            })
            .collect();
        if found.torn_bytes > 0 && !found.unterminated {
            problems.push(Problem {
                path: self.path.clone(),
                line: Some(found.records + found.bad.len() as u64 + 1),
                message: format!("the last line was never finished: `{}` bytes", found.torn_bytes),
                remedy: match writable {
                    true => "it was cut off; nothing acknowledged is lost".into(),
                    false => "it is passed over; nothing acknowledged is lost".into(),
                },
                mended: true,
            });
        }
        Recovery {
            records: found.records,
            torn_bytes: found.torn_bytes,
            quarantined: found.bad.len() as u64,
            problems,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How far the acknowledged part reaches.
    pub fn position(&self) -> LogPosition {
        self.position
    }

    /// The state of the file on disk; `None` while there is none.
    ///
    /// # Errors
    /// `Io` when it can't be asked.
    pub fn stamp(&self) -> Result<Option<FileStamp>> {
        let stamp = self
            .backend
            .stat(&self.path)
            .map_err(|error| io_error("cannot look at the log", &self.path, error))?;
        match stamp {
            Some(stamp) if stamp.kind != EntryKind::File => Err(Error::new(
                ErrorKind::CorruptStore,
                "a log is not a plain file",
            )
            .at(&self.path, None)
            .with_hint(
                "symbolic links and directories in place of a log are not followed; move it away",
            )),
            other => Ok(other),
        }
    }

    /// Reads the acknowledged part once more: what is wrong with it now, and wasn't when it was
    /// opened.
    ///
    /// # Errors
    /// `Io` when the file can't be read.
    pub fn check(&self) -> Result<Vec<Problem>> {
        let problem = |line, message, remedy: &str| Problem {
            path: self.path.clone(),
            line,
            message,
            remedy: remedy.into(),
            mended: false,
        };
        if self.mode == Mode::ReadWrite {
            let stamp = self.stamp()?;
            let own = stamp.is_none_or(|stamp| {
                Some(stamp.file_number) == self.file_number && stamp.bytes >= self.position.bytes
            });
            if !own || (stamp.is_none() && self.position.bytes > 0) {
                let message = "the log was changed by another program while it was open".to_owned();
                return Ok(vec![problem(None, message, "close the store and open it again")]);
            }
        }
        let found = scan(&*self.backend, &self.path, Some(self.position.bytes), &mut |_| Ok(()))?;
        let remedy = "close the store and open it again, which moves the line to the quarantine; check the disk";
        let damaged = |bad: &BadLine| {
            problem(Some(bad.number), format!("line is no record any more: {}", bad.reason), remedy)
        };
        // Read-only, lines that were bad from the beginning were reported when it was opened.
        Ok(if self.mode == Mode::ReadWrite {
            found.bad.iter().map(damaged).collect()
        } else {
            Vec::new()
        })
    }

    /// Shows every record of the acknowledged part to `visit`, oldest first, in bounded memory.
    ///
    /// # Errors
    /// `Io` when the file can't be read.
    pub fn for_each(&self, visit: &mut dyn FnMut(Line<'_>)) -> Result<()> {
        let mut visit = |line: Line<'_>| {
            visit(line);
            Ok(())
        };
        scan(&*self.backend, &self.path, Some(self.position.bytes), &mut visit).map(|_| ())
    }

    /// Appends the records in one write and syncs; when it returns they survive a power cut. None
    /// is acknowledged after an error.
    ///
    /// Without any records it makes sure that all records that were there at opening survive a
    /// power cut: a writer that died before its sync may have left them readable only. Call it
    /// before acknowledging that something is there already.
    ///
    /// # Errors
    /// `ReadOnly`; `InvalidInput` for a record that is too long; `Io` for a full disk and the like:
    /// call again when the cause is gone.
    pub fn append<T: Serialize>(&mut self, records: &[T]) -> Result<LogPosition> {
        let lines = encode_records(records)?;
        self.append_lines(&lines, records.len() as u64)
    }

    /// [`Log::append`] of `count` records that [`encode_records`] wrote.
    ///
    /// # Errors
    /// As [`Log::append`].
    pub fn append_lines(&mut self, lines: &[u8], count: u64) -> Result<LogPosition> {
        self.check_writable()?;
        if lines.is_empty() && !self.unsettled {
            return Ok(self.position);
        }
        self.repair()?;
        self.check_unchanged()?;
        if lines.is_empty() && self.file_number.is_none() {
            return Ok(self.position);
        }
        let mut kept = match self.file.take() {
            Some(kept) if !self.directory_dirty => Some(kept),
            _ => None,
        };
        let mut opened = if kept.is_none() { Some(self.open_file()?) } else { None };
        let file = kept
            .as_mut()
            .map(|kept| &mut kept.0)
            .or(opened.as_mut())
            .ok_or_else(|| Error::internal("no file"))?;
        let terminated: Vec<u8>;
        let bytes = match self.unterminated {
            true if !lines.is_empty() => {
                terminated = [b"\n", lines].concat();
                &terminated
            }
            _ => lines,
        };
        if let Err(error) = file.append(bytes) {
            return Err(
                self.fail(Health::Cut, io_error("cannot append to the log", &self.path, error))
            );
        }
        if let Err(error) = file.sync_data() {
            return Err(
                self.fail(Health::Untrusted, io_error("cannot sync the log", &self.path, error))
            );
        }
        self.file = kept.or_else(|| opened.and_then(KeptFile::new));
        self.unterminated &= lines.is_empty();
        self.unsettled = false;
        self.position.bytes += bytes.len() as u64;
        self.position.records += count;
        Ok(self.position)
    }

    fn check_writable(&self) -> Result<()> {
        match self.mode {
            Mode::ReadWrite => Ok(()),
            Mode::ReadOnly => {
                Err(Error::new(ErrorKind::ReadOnly, "the store was opened for reading only")
                    .at(&self.path, None))
            }
        }
    }

    /// Remembers what the file needs, tries to give it at once, and hands the error on.
    fn fail(&mut self, health: Health, error: Error) -> Error {
        self.health = health;
        self.file = None;
        // If this fails too, the next append tries again before it writes.
        let _ = self.repair();
        error
    }

    /// Refuses to write into a file that somebody else changed, or behind a name that now means
    /// another file.
    fn check_unchanged(&mut self) -> Result<()> {
        let stamp = self.stamp()?;
        match (self.file_number, stamp) {
            (None, None) => Ok(()),
            (Some(number), Some(stamp))
                if stamp.file_number == number && stamp.bytes == self.position.bytes =>
            {
                Ok(())
            }
            // Made by an append that failed right after, or by somebody's `touch`.
            (None, Some(stamp)) if stamp.bytes == 0 => {
                self.file_number = Some(stamp.file_number);
                self.directory_dirty = true;
                Ok(())
            }
            _ => Err(Error::new(
                ErrorKind::CorruptStore,
                "the log was changed by another program while it was open",
            )
            .at(&self.path, None)
            .with_hint("close the store and open it again; nothing was written")),
        }
    }

    fn open_file(&mut self) -> Result<Box<dyn BackendFile>> {
        let parent = parent_of(&self.path);
        let file = match self.file_number {
            Some(_) => self
                .backend
                .open_append(&self.path)
                .map_err(|error| io_error("cannot open the log", &self.path, error))?,
            None => {
                self.backend
                    .create_dir_all(parent)
                    .map_err(|error| io_error("cannot make the directory", parent, error))?;
                self.directory_dirty = true;
                let file = self
                    .backend
                    .create_new(&self.path)
                    .map_err(|error| io_error("cannot create the log", &self.path, error))?;
                self.file_number = self.stamp()?.map(|stamp| stamp.file_number);
                file
            }
        };
        self.sync_directory()?;
        Ok(file)
    }

    fn sync_directory(&mut self) -> Result<()> {
        if self.directory_dirty {
            let parent = parent_of(&self.path);
            let synced = sync_up(&*self.backend, &self.root, parent);
            synced.map_err(|error| io_error("cannot sync the directory", parent, error))?;
            self.directory_dirty = false;
        }
        Ok(())
    }

    /// Brings the file back to its acknowledged part, if it is not there already.
    fn repair(&mut self) -> Result<()> {
        match self.health {
            Health::Sound => return Ok(()),
            Health::Cut => {
                let fail = |error| io_error("cannot cut back the log", &self.path, error);
                let mut file = self.backend.open_append(&self.path).map_err(fail)?;
                file.truncate(self.position.bytes).map_err(fail)?;
                if let Err(error) = file.sync_data() {
                    let error = fail(error);
                    self.health = Health::Untrusted;
                    return Err(error);
                }
            }
            Health::Untrusted => self.replace_file(&[], &mut |_| Rewrite::Keep)?,
        }
        self.health = Health::Sound;
        Ok(())
    }

    /// Writes the log anew, each line as `decide` says, and puts it in place atomically: after a
    /// crash the old file is there or the new.
    ///
    /// # Errors
    /// `ReadOnly`, and `Io`; then the old file is in place and the log is as it was, or the new one
    /// is and only its name is not yet durable: the next append sees to that first.
    pub fn rewrite(&mut self, decide: &mut dyn FnMut(Line<'_>) -> Rewrite) -> Result<()> {
        self.check_writable()?;
        self.repair()?;
        self.check_unchanged()?;
        match self.file_number {
            Some(_) => self.replace_file(&[], decide),
            None => Ok(()),
        }
    }

    fn replace_file(
        &mut self,
        known_bad: &[BadLine],
        decide: &mut dyn FnMut(Line<'_>) -> Rewrite,
    ) -> Result<()> {
        let temporary = temporary(&self.path);
        self.remove_leftovers()?;
        self.file = None;
        let copied =
            self.write_copy(&temporary, known_bad, decide).and_then(|(position, number)| {
                self.backend
                    .rename(&temporary, &self.path)
                    .map_err(|error| io_error("cannot replace the log", &self.path, error))?;
                Ok((position, number))
            });
        match copied {
            Ok((position, number)) => {
                self.directory_dirty = true;
                self.health = Health::Sound;
                self.unterminated = false;
                self.unsettled = false;
                self.position = position;
                self.file_number = Some(number);
                self.sync_directory()
            }
            Err(error) => {
                let _ = self.backend.remove_file(&temporary);
                Err(error)
            }
        }
    }

    /// The durable copy's end, and the number of its file.
    fn write_copy(
        &self,
        temporary: &Path,
        known_bad: &[BadLine],
        decide: &mut dyn FnMut(Line<'_>) -> Rewrite,
    ) -> Result<(LogPosition, u64)> {
        const FLUSH_BYTES: usize = 1 << 20;
        let fail = |error| io_error("cannot write the new log", temporary, error);
        let mut file = self.backend.create_new(temporary).map_err(fail)?;
        let mut pending = Vec::with_capacity(FLUSH_BYTES);
        let mut position = LogPosition::default();
        let mut failed = None;
        let found = scan(&*self.backend, &self.path, Some(self.position.bytes), &mut |line| {
            let before = pending.len();
            match decide(line) {
                Rewrite::Drop => return Ok(()),
                Rewrite::Keep => {
                    pending.extend_from_slice(line.bytes);
                    pending.push(b'\n');
                }
                Rewrite::Replace(bytes) => pending.extend_from_slice(&bytes),
            }
            position.bytes += (pending.len() - before) as u64;
            position.records +=
                pending[before..].iter().filter(|byte| **byte == b'\n').count() as u64;
            if pending.len() >= FLUSH_BYTES && failed.is_none() {
                failed = file.append(&pending).err();
                pending.clear();
            }
            Ok(())
        })?;
        // A line that was good when it was acknowledged and is bad now means the disk is failing:
        // keep the old file, such as it is.
        let news =
            found.bad.iter().find(|bad| !known_bad.iter().any(|known| known.range == bad.range));
        if news.is_some() || found.good_bytes != self.position.bytes {
            return Err(Error::new(
                ErrorKind::CorruptStore,
                "the log changed on disk while it was open",
            )
            .at(&self.path, news.map(|bad| bad.number))
            .with_hint("close the store and open it again; check the disk"));
        }
        if let Some(error) =
            failed.or_else(|| file.append(&pending).err()).or_else(|| file.sync_data().err())
        {
            return Err(fail(error));
        }
        let stamp = self.backend.stat(temporary).map_err(fail)?;
        Ok((position, stamp.map_or(0, |stamp| stamp.file_number)))
    }
}

#[cfg(test)]
mod tests;
