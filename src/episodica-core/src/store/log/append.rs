//! Appending: one write, one sync, acknowledged when both have succeeded.

use serde::Serialize;

use super::open::{LogHealth, LogPosition, OpenMode, RecordLog};
use crate::error::{Error, ErrorKind, Result};
use crate::store::backend::{BackendFile, parent_of};
use crate::store::files::{in_directory, io_error, sync_up};
use crate::store::line::encode_line;

/// Encodes records as lines of a log.
///
/// # Errors
/// `InvalidInput` for a record that is too long.
pub fn encode_records<T: Serialize>(records: &[T]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    records.iter().try_for_each(|record| encode_line(&mut bytes, record))?;
    Ok(bytes)
}

impl RecordLog {
    /// Appends the records in one write and syncs; when this returns, the records survive a power
    /// cut. After an error, no record is acknowledged.
    ///
    /// Without records, this makes all records durable that were readable at opening: a writer that
    /// died before syncing may have left them readable but not durable. Call this before
    /// acknowledging a record as known.
    ///
    /// # Errors
    /// `ReadOnly`; `InvalidInput` for a record that is too long; `Io`, for example for a full disk:
    /// call again once the cause is fixed.
    pub fn append_records<T: Serialize>(&mut self, records: &[T]) -> Result<LogPosition> {
        let lines = encode_records(records)?;
        self.append_lines(&lines, records.len() as u64)
    }

    /// Works as [`RecordLog::append_records`] for `count` records that [`encode_records`] encoded.
    ///
    /// # Errors
    /// As [`RecordLog::append_records`].
    pub fn append_lines(&mut self, lines: &[u8], count: u64) -> Result<LogPosition> {
        self.check_writable()?;
        if lines.is_empty() && !self.unsettled {
            return Ok(self.position);
        }
        self.restore_end()?;
        self.check_unchanged()?;
        if lines.is_empty() && self.file_number.is_none() {
            return Ok(self.position);
        }
        // If the name is not durable yet, opening the file syncs it.
        let kept = self.handle.take_file().filter(|_| !self.directory_dirty);
        let mut file = match kept {
            Some(file) => file,
            None => self.open_file()?,
        };
        let terminated: Vec<u8>;
        let bytes = if self.unterminated && !lines.is_empty() {
            terminated = [b"\n", lines].concat();
            &terminated
        } else {
            lines
        };
        if let Err(error) = file.append_bytes(bytes) {
            let error = io_error("cannot append to the log", &self.place.path, error);
            return Err(self.note_failure(LogHealth::Cut, error));
        }
        if let Err(error) = file.sync_data() {
            let error = io_error("cannot sync the log", &self.place.path, error);
            return Err(self.note_failure(LogHealth::Untrusted, error));
        }
        self.handle.put_file(file);
        if let Some(checksum) = &mut self.checksum {
            checksum.update(bytes);
        }
        self.unterminated &= lines.is_empty();
        self.unsettled = false;
        self.position.bytes += bytes.len() as u64;
        self.position.records += count;
        Ok(self.position)
    }

    pub(super) fn check_writable(&self) -> Result<()> {
        match self.place.mode {
            OpenMode::ReadWrite => Ok(()),
            OpenMode::ReadOnly => {
                Err(Error::new(ErrorKind::ReadOnly, "the store was opened for reading only")
                    .at_path(&self.place.path, None))
            }
        }
    }

    /// Records the required repair, tries it at once, and returns the error.
    fn note_failure(&mut self, health: LogHealth, error: Error) -> Error {
        self.health = health;
        // If this fails too, the next append repeats the repair before it writes.
        let _ = self.restore_end();
        error
    }

    /// Refuses to write into a file that another program changed, or to a name that now refers to
    /// another file.
    pub(super) fn check_unchanged(&mut self) -> Result<()> {
        self.place.root.check_directory(&*self.place.backend)?;
        let stamp = self.file_stamp()?;
        match (self.file_number, stamp) {
            (None, None) => Ok(()),
            (Some(number), Some(stamp))
                if stamp.file_number == number && stamp.bytes == self.position.bytes =>
            {
                Ok(())
            }
            // Created by an append that failed right after, or by a `touch`.
            (None, Some(stamp)) if stamp.bytes == 0 => {
                self.file_number = Some(stamp.file_number);
                self.directory_dirty = true;
                Ok(())
            }
            _ => Err(Error::new(
                ErrorKind::CorruptStore,
                "the log was changed by another program while it was open",
            )
            .at_path(&self.place.path, None)
            .with_hint("close the store and open it again; nothing was written")),
        }
    }

    fn open_file(&mut self) -> Result<Box<dyn BackendFile>> {
        let path = &self.place.path;
        let file = match self.file_number {
            Some(_) => self
                .place
                .backend
                .open_append(path)
                .map_err(|error| io_error("cannot open the log", path, error))?,
            None => {
                let backend = &*self.place.backend;
                self.directory_dirty = true;
                let file = in_directory(backend, path, || backend.create_new(path))
                    .map_err(|error| io_error("cannot create the log", path, error))?;
                self.file_number = self.file_stamp()?.map(|stamp| stamp.file_number);
                file
            }
        };
        if !self.directory_dirty {
            return Ok(file);
        }
        // In the cache, the file can be closed if syncing the directory needs a handle.
        self.handle.put_file(file);
        self.sync_directory()?;
        self.handle.take_file().map_or_else(|| self.open_file(), Ok)
    }

    pub(super) fn sync_directory(&mut self) -> Result<()> {
        if self.directory_dirty {
            let place = &self.place;
            sync_up(&*place.backend, place.root.path(), parent_of(&place.path))?;
            self.directory_dirty = false;
        }
        Ok(())
    }
}
