//! Replaces the file of a log: to remove lines, or because a failed sync made the file unreliable.

use std::path::Path;

use super::open::{LineRewrite, LogHealth, LogPosition, RecordLog};
use crate::error::{Error, ErrorKind, Result};
use crate::store::files::{io_error, remove_file, temporary_path};
use crate::store::scan::{BadLine, LogScan, RawLine, scan_log};

/// Encodes the line that notes where bytes were removed from a log: offset before, bytes removed,
/// bytes inserted instead.
pub(crate) type NoteCuts<'a> = &'a dyn Fn(Vec<[u64; 3]>) -> Result<Vec<u8>>;

/// A durable copy of a log under its temporary name.
struct CopiedLog {
    position: LogPosition,
    checksum: crc32fast::Hasher,
    file_number: u64,
}

impl RecordLog {
    /// Rewrites the log, each line as `decide` returns, and replaces the file atomically: after a
    /// crash, either the old or the new file exists.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`. Either the old file is in place and the log unchanged, or the new file is
    /// in place and only its name is not durable yet; the next append then syncs the name first.
    pub fn rewrite_lines(
        &mut self,
        decide: &mut dyn FnMut(RawLine<'_>) -> LineRewrite,
    ) -> Result<()> {
        self.rewrite_with(None, decide)
    }

    /// [`RecordLog::rewrite_lines`] that appends a note of the changes if it makes any.
    ///
    /// # Errors
    /// As [`RecordLog::rewrite_lines`].
    pub(crate) fn rewrite_noting(
        &mut self,
        note: NoteCuts<'_>,
        decide: &mut dyn FnMut(RawLine<'_>) -> LineRewrite,
    ) -> Result<()> {
        self.rewrite_with(Some(note), decide)
    }

    fn rewrite_with(
        &mut self,
        note: Option<NoteCuts<'_>>,
        decide: &mut dyn FnMut(RawLine<'_>) -> LineRewrite,
    ) -> Result<()> {
        self.check_writable()?;
        self.restore_end()?;
        self.check_unchanged()?;
        match self.file_number {
            Some(_) => self.replace_file(&[], note, decide),
            None => Ok(()),
        }
    }

    /// Restores the acknowledged part of the file after a failed append.
    pub(crate) fn restore_end(&mut self) -> Result<()> {
        match self.health {
            LogHealth::Sound => return Ok(()),
            LogHealth::Cut => {
                let fail = |error| io_error("cannot cut back the log", &self.place.path, error);
                let mut file = self.place.backend.open_append(&self.place.path).map_err(fail)?;
                file.truncate_to(self.position.bytes).map_err(fail)?;
                if let Err(error) = file.sync_data() {
                    let error = fail(error);
                    self.health = LogHealth::Untrusted;
                    return Err(error);
                }
            }
            LogHealth::Untrusted => self.replace_file(&[], None, &mut |_| LineRewrite::Keep)?,
        }
        self.health = LogHealth::Sound;
        Ok(())
    }

    /// Replaces the file with a copy without the lines that `decide` drops. `known_bad` lines are
    /// expected to be bad; any other bad line keeps the old file in place.
    pub(super) fn replace_file(
        &mut self,
        known_bad: &[BadLine],
        note: Option<NoteCuts<'_>>,
        decide: &mut dyn FnMut(RawLine<'_>) -> LineRewrite,
    ) -> Result<()> {
        let temporary = temporary_path(&self.place.path);
        remove_file(&*self.place.backend, &temporary)?;
        drop(self.handle.take_file());
        let copied = self.write_copy(&temporary, known_bad, note, decide).and_then(|copied| {
            self.place
                .backend
                .rename_file(&temporary, &self.place.path)
                .map_err(|error| io_error("cannot replace the log", &self.place.path, error))?;
            Ok(copied)
        });
        match copied {
            Ok(copied) => {
                self.directory_dirty = true;
                self.health = LogHealth::Sound;
                self.unterminated = false;
                self.unsettled = false;
                self.position = copied.position;
                self.checksum = Some(copied.checksum);
                self.file_number = Some(copied.file_number);
                self.sync_directory()
            }
            Err(error) => {
                let _ = self.place.backend.remove_file(&temporary);
                Err(error)
            }
        }
    }

    fn write_copy(
        &self,
        temporary: &Path,
        known_bad: &[BadLine],
        note: Option<NoteCuts<'_>>,
        decide: &mut dyn FnMut(RawLine<'_>) -> LineRewrite,
    ) -> Result<CopiedLog> {
        const FLUSH_BYTES: usize = 1 << 20;
        let fail = |error| io_error("cannot write the new log", temporary, error);
        let (backend, path) = (&*self.place.backend, &self.place.path);
        let mut file = backend.create_new(temporary).map_err(fail)?;
        let mut pending = Vec::with_capacity(FLUSH_BYTES);
        let (mut position, mut checksum) = (LogPosition::default(), crc32fast::Hasher::new());
        let (mut failed, mut cuts) = (None, LogCuts::default());
        let found = scan_log(backend, path, Some(self.position.bytes), &mut |line| {
            let before = pending.len();
            match decide(line) {
                LineRewrite::Drop => return Ok(()),
                LineRewrite::Keep => {
                    cuts.note_kept(line);
                    pending.extend_from_slice(line.bytes);
                    pending.push(b'\n');
                }
                LineRewrite::Replace(bytes) => {
                    cuts.note_replaced(line, bytes.len() as u64);
                    pending.extend_from_slice(&bytes);
                }
            }
            let added = &pending[before..];
            checksum.update(added);
            position.bytes += added.len() as u64;
            position.records += added.iter().filter(|byte| **byte == b'\n').count() as u64;
            if pending.len() >= FLUSH_BYTES && failed.is_none() {
                failed = file.append_bytes(&pending).err();
                pending.clear();
            }
            Ok(())
        })?;
        self.check_copied(&found, known_bad)?;
        let cuts = cuts.cuts_until(self.position.bytes);
        if let (Some(note), false) = (note, cuts.is_empty()) {
            let line = note(cuts)?;
            checksum.update(&line);
            position.bytes += line.len() as u64;
            position.records += 1;
            pending.extend_from_slice(&line);
        }
        let rest = failed.or_else(|| file.append_bytes(&pending).err());
        if let Some(error) = rest.or_else(|| file.sync_data().err()) {
            return Err(fail(error));
        }
        let stamp = backend.stat_path(temporary).map_err(fail)?;
        let file_number = stamp.map_or(0, |stamp| stamp.file_number);
        Ok(CopiedLog { position, checksum, file_number })
    }

    /// If a line was good when it was acknowledged and is bad now, the disk is failing: keeps the
    /// old file.
    fn check_copied(&self, found: &LogScan, known_bad: &[BadLine]) -> Result<()> {
        let is_known = |bad: &BadLine| known_bad.iter().any(|known| known.range == bad.range);
        let news = found.bad.iter().find(|bad| !is_known(bad));
        if news.is_none() && found.good_bytes == self.position.bytes {
            return Ok(());
        }
        Err(Error::new(ErrorKind::CorruptStore, "the log changed on disk while it was open")
            .at_path(&self.place.path, news.map(|bad| bad.number))
            .with_hint("close the store and open it again; check the disk"))
    }
}

/// The differences between a copy and the log.
#[derive(Default)]
pub(crate) struct LogCuts {
    /// The end of the last line that was copied or replaced.
    at: u64,
    found: Vec<[u64; 3]>,
}

impl LogCuts {
    pub fn note_kept(&mut self, line: RawLine<'_>) {
        self.skip_to(line.offset);
        self.at = line.offset + line.bytes.len() as u64 + 1;
    }

    pub fn note_replaced(&mut self, line: RawLine<'_>, new: u64) {
        self.skip_to(line.offset);
        let length = line.bytes.len() as u64 + 1;
        self.found.push([line.offset, length, new]);
        self.at = line.offset + length;
    }

    fn skip_to(&mut self, offset: u64) {
        if offset > self.at {
            self.found.push([self.at, offset - self.at, 0]);
        }
    }

    /// All differences, for a log of this length.
    pub fn cuts_until(mut self, end: u64) -> Vec<[u64; 3]> {
        self.skip_to(end);
        self.found
    }
}
