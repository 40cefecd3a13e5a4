//! Opens a log: reads it once, repairs it, and determines its end.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::model::StoreProblem;
use crate::store::backend::{EntryKind, FileBackend, FileStamp};
use crate::store::files::{io_error, remove_file, temporary_path};
use crate::store::handles::{CachedHandle, HandleCache};
use crate::store::quarantine;
use crate::store::scan::{BadLine, LogScan, RawLine, ScanStart, Visit, scan_from, scan_log};
use crate::store::store_root::StoreRoot;

/// Whether the store may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Takes no lock and writes nothing, not even repairs.
    ReadOnly,
    /// May write and repair.
    ReadWrite,
}

/// The findings and repairs of opening a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogRecovery {
    /// Number of records read.
    pub records: u64,
    /// Length of an unfinished last line: cut off, or skipped if read-only.
    pub torn_bytes: u64,
    /// Number of lines moved to the quarantine, or skipped if read-only.
    pub quarantined: u64,
    /// Readable descriptions, one per finding.
    pub problems: Vec<StoreProblem>,
}

/// The end of a log: identifies the state of the log from which a cache was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LogPosition {
    /// Length in bytes.
    pub bytes: u64,
    /// Number of records, from the first line.
    pub records: u64,
}

/// A prefix of a log: its end and its checksum. The default is the empty prefix, which matches
/// every log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSum {
    /// The end.
    #[serde(flatten)]
    pub position: LogPosition,
    /// CRC-32 in eight lower-case hex digits.
    pub crc32: String,
}

impl Default for LogSum {
    fn default() -> Self {
        Self { position: LogPosition::default(), crc32: format!("{:08x}", 0) }
    }
}

/// What [`RecordLog::rewrite_lines`] does with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineRewrite {
    /// Copy the line byte by byte.
    Keep,
    /// Remove the line.
    Drop,
    /// Replace the line with these bytes: whole lines, each with its line feed, as
    /// [`encode_records`](super::encode_records) encodes them.
    Replace(Vec<u8>),
}

/// The repair that the file needs before the next append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogHealth {
    Sound,
    /// Bytes after the last acknowledged one must be cut off.
    Cut,
    /// A sync failed: the file's content is unreliable.
    Untrusted,
}

/// The file of a log, and the permitted operations.
#[derive(Debug, Clone)]
pub(crate) struct LogFile {
    pub backend: Arc<dyn FileBackend>,
    /// The root of the store: directories are synced from here down.
    pub root: Arc<StoreRoot>,
    /// The file, somewhere below `root`; it need not exist yet.
    pub path: PathBuf,
    pub mode: OpenMode,
    pub handles: Arc<HandleCache>,
    /// Where opening stops reading, because other processes may be appending.
    pub until: Option<u64>,
    /// True if opening may remove a dead writer's leftovers: only while other writers are locked
    /// out.
    pub mends: bool,
}

/// An open log; see the module documentation.
#[derive(Debug)]
pub struct RecordLog {
    pub(super) place: LogFile,
    /// The file, while it is kept open between two appends.
    pub(super) handle: CachedHandle,
    /// File number that this log's name refers to; `None` if the file does not exist.
    pub(super) file_number: Option<u64>,
    pub(super) position: LogPosition,
    /// Checksum of the acknowledged part; `None` if computing it requires another read.
    pub(super) checksum: Option<crc32fast::Hasher>,
    pub(super) health: LogHealth,
    /// True if the last record lacks its line feed.
    pub(super) unterminated: bool,
    /// True if a name in the directory was changed and perhaps not synced: nothing may be
    /// acknowledged before the sync.
    pub(super) directory_dirty: bool,
    /// True if the file existed at opening: its writer may have died before syncing.
    pub(super) unsettled: bool,
}

impl RecordLog {
    /// Opens a log and passes every record to `visit`, oldest first.
    ///
    /// A line for which `visit` returns `Err(reason)` is quarantined. A file of any content can be
    /// opened.
    ///
    /// # Errors
    /// `Io` if the file cannot be read or repaired; `Conflict` if it needs a repair that
    /// [`LogFile::mends`] rules out; `CorruptStore` for anything but a regular file.
    pub(crate) fn open(place: LogFile, visit: Visit<'_>) -> Result<(Self, LogRecovery)> {
        let mut log = Self::unread(place);
        let recovery = log.load_records(visit)?;
        Ok((log, recovery))
    }

    fn unread(place: LogFile) -> Self {
        Self {
            handle: place.handles.cached_handle(),
            place,
            file_number: None,
            position: LogPosition::default(),
            checksum: None,
            health: LogHealth::Sound,
            unterminated: false,
            directory_dirty: false,
            unsettled: false,
        }
    }

    fn load_records(&mut self, visit: Visit<'_>) -> Result<LogRecovery> {
        self.remove_leftovers()?;
        let found = scan_log(&*self.place.backend, &self.place.path, self.place.until, visit)?;
        self.take_over(&found)?;
        let recovery = self.recovery_report(&found);
        if self.place.mode == OpenMode::ReadWrite {
            self.repair_lines(&found)?;
        }
        Ok(recovery)
    }

    /// Opens a log with a known prefix, and passes the records after it to `visit`; `None` if the
    /// log begins differently, or a line after the prefix is not a record. Nothing has been changed
    /// then; use [`RecordLog::open`].
    ///
    /// # Errors
    /// As [`RecordLog::open`].
    pub(crate) fn open_behind(
        place: LogFile,
        known: &LogSum,
        visit: Visit<'_>,
    ) -> Result<Option<(Self, LogRecovery)>> {
        let mut log = Self::unread(place);
        let fail = |error| io_error("cannot read the log", &log.place.path, error);
        let source = log.place.backend.read_from(&log.place.path, 0);
        let mut source = match source {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Box::new(io::empty()),
            other => other.map_err(fail)?,
        };
        if let Some(until) = log.place.until {
            source = Box::new(source.take(until));
        }
        let Some(start) = read_beginning(&mut source, known).map_err(fail)? else {
            return Ok(None);
        };
        // A refused line that is valid JSON may be a record for a full read.
        let mut refused = false;
        let found = scan_from(source, start, &mut |line| {
            visit(line).inspect_err(|_| {
                refused |= serde_json::from_slice::<serde::de::IgnoredAny>(line.bytes).is_ok();
            })
        });
        let found = found.map_err(fail)?;
        if refused || !found.bad.is_empty() || found.unterminated {
            return Ok(None);
        }
        log.remove_leftovers()?;
        log.take_over(&found)?;
        let mut recovery = log.recovery_report(&found);
        recovery.records -= known.position.records;
        if log.place.mode == OpenMode::ReadWrite {
            log.repair_lines(&found)?;
        }
        Ok(Some((log, recovery)))
    }

    fn take_over(&mut self, found: &LogScan) -> Result<()> {
        self.file_number = self.file_stamp()?.map(|stamp| stamp.file_number);
        self.unsettled = self.file_number.is_some();
        self.directory_dirty = self.unsettled;
        self.position = LogPosition { bytes: found.good_bytes, records: found.records };
        self.checksum.clone_from(&found.checksum);
        self.unterminated = found.unterminated;
        Ok(())
    }

    /// Cuts off an unfinished line and moves bad lines to the quarantine.
    fn repair_lines(&mut self, found: &LogScan) -> Result<()> {
        if !self.place.mends && (found.torn_bytes > 0 || !found.bad.is_empty()) {
            return Err(Error::new(ErrorKind::Conflict, "the log needs repair")
                .at_path(&self.place.path, None));
        }
        if found.torn_bytes > 0 {
            self.health = LogHealth::Cut;
            self.restore_end()?;
        }
        if !found.bad.is_empty() {
            quarantine::save_lines(&*self.place.backend, &self.place.path, &found.bad)?;
            // Some bad lines are not passed again: scanning skips lines with a wrong checksum.
            let mut drop_bad = |line: RawLine<'_>| {
                let bad = found.bad.binary_search_by_key(&line.offset, |bad| bad.range.start);
                if bad.is_ok() { LineRewrite::Drop } else { LineRewrite::Keep }
            };
            self.replace_file(&found.bad, None, &mut drop_bad)?;
        }
        if self.unterminated {
            // Other readers accept a line only with its line feed. On a full disk the line feed is
            // added before the next record.
            let _ = self.terminate_line();
        }
        Ok(())
    }

    fn terminate_line(&mut self) -> io::Result<()> {
        let mut file = self.place.backend.open_append(&self.place.path)?;
        file.append_bytes(b"\n")?;
        self.unterminated = false;
        self.position.bytes += 1;
        Ok(())
    }

    fn remove_leftovers(&self) -> Result<()> {
        if !self.place.mends {
            return Ok(());
        }
        let leftover = temporary_path(&self.place.path);
        let stamp = self.place.backend.stat_path(&leftover);
        if stamp.map_err(|error| io_error("cannot look for leftovers", &leftover, error))?.is_some()
        {
            remove_file(&*self.place.backend, &leftover)?;
        }
        Ok(())
    }

    fn recovery_report(&self, found: &LogScan) -> LogRecovery {
        let writable = self.place.mode == OpenMode::ReadWrite;
        let quarantine = quarantine::path_for(&self.place.path);
        let set_aside = |line: &BadLine| StoreProblem {
            path: self.place.path.clone(),
            line: Some(line.number),
            message: format!("line is not a record: {}", line.reason),
            remedy: if writable {
                format!("it was moved to `{}`; the other lines are untouched", quarantine.display())
            } else {
                "open the store for writing to move it to the quarantine".into()
            },
            mended: writable,
        };
        let mut problems: Vec<StoreProblem> = found.bad.iter().map(set_aside).collect();
        if found.torn_bytes > 0 && !found.unterminated {
            let done = if writable { "cut off" } else { "skipped" };
            problems.push(StoreProblem {
                path: self.place.path.clone(),
                line: Some(found.records + found.bad.len() as u64 + 1),
                message: format!("the last line was never finished: `{}` bytes", found.torn_bytes),
                remedy: format!("it was {done}; nothing acknowledged is lost"),
                mended: true,
            });
        }
        LogRecovery {
            records: found.records,
            torn_bytes: found.torn_bytes,
            quarantined: found.bad.len() as u64,
            problems,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// The end of the acknowledged part.
    pub fn end_position(&self) -> LogPosition {
        self.position
    }

    /// Length and checksum of the acknowledged part; `None` if it ends in an unterminated line.
    ///
    /// # Errors
    /// `Io` if the part must be read again and cannot be.
    pub fn log_sum(&mut self) -> Result<Option<LogSum>> {
        if self.health != LogHealth::Sound || self.unterminated {
            return Ok(None);
        }
        if self.checksum.is_none() {
            let path = &self.place.path;
            let acknowledged = Some(self.position.bytes);
            let found = scan_log(&*self.place.backend, path, acknowledged, &mut |_| Ok(()))?;
            self.checksum = found.checksum.filter(|_| found.good_bytes == self.position.bytes);
        }
        let sum = |checksum: crc32fast::Hasher| LogSum {
            position: self.position,
            crc32: format!("{:08x}", checksum.finalize()),
        };
        Ok(self.checksum.clone().map(sum))
    }

    /// The state of the file on disk; `None` if it does not exist.
    ///
    /// # Errors
    /// `Io` if the state cannot be read; `CorruptStore` for anything but a regular file.
    pub fn file_stamp(&self) -> Result<Option<FileStamp>> {
        let path = &self.place.path;
        let stamp = self.place.backend.stat_path(path);
        let stamp = stamp.map_err(|error| io_error("cannot look at the log", path, error))?;
        if stamp.is_some_and(|stamp| stamp.kind != EntryKind::File) {
            let error = Error::new(ErrorKind::CorruptStore, "a log is not a regular file");
            return Err(error.at_path(path, None).with_hint(
                "a link, directory, FIFO or device in place of a log is not opened; move it away",
            ));
        }
        Ok(stamp)
    }

    /// Reads the acknowledged part again and reports damage since opening.
    ///
    /// # Errors
    /// `Io` if the file cannot be read.
    pub fn find_damage(&self) -> Result<Vec<StoreProblem>> {
        let path = &self.place.path;
        let problem = |line, message, remedy: &str| StoreProblem {
            path: path.clone(),
            line,
            message,
            remedy: remedy.into(),
            mended: false,
        };
        if self.place.mode == OpenMode::ReadWrite {
            let stamp = self.file_stamp()?;
            let own = stamp.is_none_or(|stamp| {
                Some(stamp.file_number) == self.file_number && stamp.bytes >= self.position.bytes
            });
            if !own || (stamp.is_none() && self.position.bytes > 0) {
                let message = "the log was changed by another program while it was open".to_owned();
                return Ok(vec![problem(None, message, "close the store and open it again")]);
            }
        }
        let acknowledged = Some(self.position.bytes);
        let found = scan_log(&*self.place.backend, path, acknowledged, &mut |_| Ok(()))?;
        let remedy = "close the store and open it again, which moves the line to the quarantine; \
            check the disk";
        let damaged = |bad: &BadLine| {
            problem(Some(bad.number), format!("line is no longer a record: {}", bad.reason), remedy)
        };
        // For a read-only log, opening already reported the initially bad lines.
        let writable = self.place.mode == OpenMode::ReadWrite;
        Ok(found.bad.iter().filter(|_| writable).map(damaged).collect())
    }

    /// Passes every record of the acknowledged part to `visit`, oldest first, in bounded memory.
    ///
    /// # Errors
    /// `Io` if the file cannot be read.
    pub fn for_each(&self, visit: &mut dyn FnMut(RawLine<'_>)) -> Result<()> {
        let mut visit = |line: RawLine<'_>| {
            visit(line);
            Ok(())
        };
        let acknowledged = Some(self.position.bytes);
        scan_log(&*self.place.backend, &self.place.path, acknowledged, &mut visit).map(|_| ())
    }
}

/// Reads the bytes of a known prefix; returns the start of the next line, or `None` if the source
/// begins differently.
fn read_beginning(source: &mut dyn Read, known: &LogSum) -> io::Result<Option<ScanStart>> {
    let (mut checksum, mut left) = (crc32fast::Hasher::new(), known.position.bytes);
    let mut chunk = vec![0; 256 << 10];
    while left > 0 {
        let most = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        match source.read(&mut chunk[..most]) {
            Ok(0) => return Ok(None),
            Ok(count) => {
                checksum.update(&chunk[..count]);
                left -= count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let sum = format!("{:08x}", checksum.clone().finalize());
    let LogPosition { bytes, records } = known.position;
    Ok((sum == known.crc32).then_some(ScanStart { bytes, records, checksum }))
}
