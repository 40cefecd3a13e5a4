//! Appending: one write, one sync, acknowledged when both have succeeded.

use serde::Serialize;

use super::open::{Health, Log, LogPosition, Mode};
use crate::error::{Error, ErrorKind, Result};
use crate::store::backend::{BackendFile, parent_of};
use crate::store::files::{create_dir_all, io_error, sync_up};
use crate::store::line::encode_line;

/// The records as lines of a log.
///
/// # Errors
/// `InvalidInput` for a record that is too long.
pub fn encode_records<T: Serialize>(records: &[T]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    records.iter().try_for_each(|record| encode_line(&mut bytes, record))?;
    Ok(bytes)
}

impl Log {
    /// Appends the records in one write and syncs; when it returns they survive a power cut. After
    /// an error none is acknowledged.
    ///
    /// Without any records it makes durable all records that were there at opening: a writer that
    /// died before its sync may have left them readable only. Call it before acknowledging a record
    /// as known.
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
        // A name that is not durable yet is synced where the file is opened.
        let kept = self.handle.take().filter(|_| !self.directory_dirty);
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
        if let Err(error) = file.append(bytes) {
            let error = io_error("cannot append to the log", &self.place.path, error);
            return Err(self.fail(Health::Cut, error));
        }
        if let Err(error) = file.sync_data() {
            let error = io_error("cannot sync the log", &self.place.path, error);
            return Err(self.fail(Health::Untrusted, error));
        }
        self.handle.put(file);
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
            Mode::ReadWrite => Ok(()),
            Mode::ReadOnly => {
                Err(Error::new(ErrorKind::ReadOnly, "the store was opened for reading only")
                    .at(&self.place.path, None))
            }
        }
    }

    /// Remembers what the file needs, tries to mend it at once, and hands the error on.
    fn fail(&mut self, health: Health, error: Error) -> Error {
        self.health = health;
        // If this fails too, the next append tries again before it writes.
        let _ = self.repair();
        error
    }

    /// Refuses to write into a file that somebody else changed, or under a name that now means
    /// another file.
    pub(super) fn check_unchanged(&mut self) -> Result<()> {
        self.place.root.check(&*self.place.backend)?;
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
            .at(&self.place.path, None)
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
                create_dir_all(&*self.place.backend, parent_of(path))?;
                self.directory_dirty = true;
                let file = self
                    .place
                    .backend
                    .create_new(path)
                    .map_err(|error| io_error("cannot create the log", path, error))?;
                self.file_number = self.stamp()?.map(|stamp| stamp.file_number);
                file
            }
        };
        self.sync_directory()?;
        Ok(file)
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
