//! Follows a log: reads the lines that other processes have appended.

use std::io::{self, Cursor, Read};

use super::open::{LogHealth, RecordLog};
use crate::error::Result;
use crate::store::files::io_error;
use crate::store::scan::{ScanStart, Visit, scan_from};

/// The whole lines after the known part of a log.
#[derive(Debug)]
pub(crate) struct LogTail {
    bytes: Vec<u8>,
    /// An unfinished line after the whole ones: its writer may still be writing.
    unfinished: Vec<u8>,
    file_number: Option<u64>,
}

impl RecordLog {
    /// True if the file still ends where this log ends.
    ///
    /// # Errors
    /// As [`RecordLog::file_stamp`].
    pub(crate) fn is_current(&self) -> Result<bool> {
        let path = &self.place.path;
        let stamp = self.place.backend.stat_unchecked(path);
        let stamp = stamp.map_err(|error| io_error("cannot look at the log", path, error))?;
        Ok(match (self.file_number, stamp) {
            (None, None) => true,
            (None, Some(stamp)) => stamp.bytes == 0,
            (Some(number), Some(stamp)) => {
                stamp.file_number == number && stamp.bytes == self.position.bytes
            }
            (Some(_), None) => false,
        })
    }

    /// Reads the bytes that other processes have appended; `None` if the file does not continue
    /// this log.
    ///
    /// # Errors
    /// `Io` if the file can't be read.
    pub(crate) fn read_tail(&self) -> Result<Option<LogTail>> {
        let nothing = |file_number| {
            Ok(Some(LogTail { bytes: Vec::new(), unfinished: Vec::new(), file_number }))
        };
        let before = self.file_stamp()?;
        let number = before.map(|stamp| stamp.file_number);
        match before {
            None if self.file_number.is_none() => return nothing(None),
            None => return Ok(None),
            Some(_) if self.health != LogHealth::Sound => return Ok(None),
            Some(stamp) => {
                let is_same = self.file_number.is_none_or(|own| own == stamp.file_number);
                if !is_same || stamp.bytes < self.position.bytes {
                    return Ok(None);
                }
                if stamp.bytes == self.position.bytes {
                    return nothing(self.file_number);
                }
            }
        }
        let path = &self.place.path;
        let fail = |error| io_error("cannot read the log", path, error);
        let mut bytes = Vec::new();
        match self.place.backend.read_from(path, self.position.bytes) {
            // The user was deleted meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            source => source.and_then(|mut source| source.read_to_end(&mut bytes)).map_err(fail)?,
        };
        // The file was replaced meanwhile: these lines may be of either file.
        if self.file_stamp()?.map(|stamp| stamp.file_number) != number {
            return Ok(None);
        }
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let unfinished = bytes.split_off(whole);
        Ok(Some(LogTail { bytes, unfinished, file_number: number }))
    }

    /// Adds a tail to this log and passes its records to `visit`. If other writers are locked out
    /// (`alone`), an unfinished line belongs to a dead writer and is cut off. `false` if a line is
    /// not a record, or if the unfinished line is one: the log must then be opened again.
    ///
    /// # Errors
    /// `Io` if the line can't be cut off.
    pub(crate) fn take_tail(
        &mut self,
        tail: LogTail,
        alone: bool,
        visit: Visit<'_>,
    ) -> Result<bool> {
        if !self.take_lines(tail.bytes, tail.file_number, visit)? {
            return Ok(false);
        }
        if tail.unfinished.is_empty() || !alone {
            return Ok(true);
        }
        if serde_json::from_slice::<serde::de::IgnoredAny>(&tail.unfinished).is_ok() {
            return Ok(false);
        }
        if self.file_number.is_none() {
            self.file_number = tail.file_number;
        }
        self.health = LogHealth::Cut;
        self.restore_end()?;
        Ok(true)
    }

    fn take_lines(
        &mut self,
        bytes: Vec<u8>,
        file_number: Option<u64>,
        visit: Visit<'_>,
    ) -> Result<bool> {
        if bytes.is_empty() {
            return Ok(true);
        }
        let checksum = self.checksum.clone();
        let is_summed = checksum.is_some();
        let start = ScanStart {
            bytes: self.position.bytes,
            records: self.position.records,
            checksum: checksum.unwrap_or_default(),
        };
        let found = scan_from(Box::new(Cursor::new(bytes)), start, visit)
            .map_err(|error| io_error("cannot read the log", &self.place.path, error))?;
        if !found.bad.is_empty() || found.torn_bytes > 0 || found.unterminated {
            return Ok(false);
        }
        if self.file_number.is_none() {
            self.file_number = file_number;
            self.directory_dirty = true;
        }
        self.position.bytes = found.good_bytes;
        self.position.records = found.records;
        self.checksum = found.checksum.filter(|_| is_summed);
        self.unterminated = false;
        // The writer of these lines may have died before they were durable.
        self.unsettled = true;
        Ok(true)
    }

    /// Opens the log again.
    ///
    /// # Errors
    /// As [`RecordLog::open`].
    pub(crate) fn reopen(&self, visit: Visit<'_>) -> Result<Self> {
        Self::open(self.place.clone(), visit).map(|(log, _)| log)
    }

    /// True unless a failed append left damage to repair first.
    pub(crate) fn is_sound(&self) -> bool {
        self.health == LogHealth::Sound
    }
}
