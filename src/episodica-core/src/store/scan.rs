//! Reads a log line by line, in memory bounded by its longest line, and validates each line.

use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use super::backend::FileBackend;
use super::files::io_error;
use super::line::{MAX_LINE_BYTES, check_line};
use crate::error::Result;

/// Bytes read at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// A line of a log, without its line feed.
#[derive(Debug, Clone, Copy)]
pub struct RawLine<'a> {
    /// Number of the line, from 1.
    pub number: u64,
    /// Its offset in bytes.
    pub offset: u64,
    /// Its bytes, the checksum key included.
    pub bytes: &'a [u8],
}

/// Receives the lines of a log; returns `Err(reason)` for a line that is not a record of the log.
pub type Visit<'a> = &'a mut dyn FnMut(RawLine<'_>) -> Result<(), String>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadLine {
    pub number: u64,
    pub range: Range<u64>,
    pub reason: String,
}

/// The result of one pass over a log.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogScan {
    /// Length of the part that consists of whole lines.
    pub good_bytes: u64,
    /// Bytes after this part: an unfinished line.
    pub torn_bytes: u64,
    /// True if the last record is complete but for its line feed. The line feed is missing
    /// (`torn_bytes` is 0) or damaged (`torn_bytes` is 1).
    pub unterminated: bool,
    /// Number of records.
    pub records: u64,
    /// Lines that are not records, except an unfinished last line.
    pub bad: Vec<BadLine>,
    /// Checksum of all bytes, if every line is a record that ends in a line feed.
    pub checksum: Option<crc32fast::Hasher>,
}

/// The start of reading: a position between two lines.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScanStart {
    /// Offset in bytes.
    pub bytes: u64,
    /// Number of records before the offset.
    pub records: u64,
    /// Checksum of the bytes before the offset.
    pub checksum: crc32fast::Hasher,
}

struct LineReader {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// The unread part of the buffer.
    start: usize,
    end: usize,
    /// Offset of `start` in the file.
    offset: u64,
    finished: bool,
    checksum: crc32fast::Hasher,
}

struct LogPiece {
    range: Range<usize>,
    offset: u64,
    bytes: u64,
    terminated: bool,
    overlong: bool,
}

impl LineReader {
    fn new(source: Box<dyn Read + Send>, start: ScanStart) -> Self {
        Self {
            source,
            buffer: vec![0; CHUNK_BYTES],
            start: 0,
            end: 0,
            offset: start.bytes,
            finished: false,
            checksum: start.checksum,
        }
    }

    fn fill_buffer(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.finished = true,
                Ok(count) => {
                    self.checksum.update(&self.buffer[self.end..self.end + count]);
                    self.end += count;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }

    fn next(&mut self) -> io::Result<Option<LogPiece>> {
        let (mut searched, mut dropped) = (0, 0_u64);
        loop {
            let unread = &self.buffer[self.start..self.end];
            if let Some(at) = unread[searched..].iter().position(|byte| *byte == b'\n') {
                return Ok(Some(self.take_piece(searched + at, dropped, true)));
            }
            searched = unread.len();
            if searched > MAX_LINE_BYTES {
                // Too long for a record: discard the text, keep counting.
                dropped += searched as u64;
                (self.start, self.end, searched) = (0, 0, 0);
            }
            if self.finished {
                return Ok((searched as u64 + dropped > 0)
                    .then(|| self.take_piece(searched, dropped, false)));
            }
            self.fill_buffer()?;
        }
    }

    fn take_piece(&mut self, length: usize, dropped: u64, terminated: bool) -> LogPiece {
        let range = self.start..self.start + length;
        let bytes = dropped + length as u64 + u64::from(terminated);
        let piece = LogPiece {
            range,
            offset: self.offset,
            bytes,
            terminated,
            overlong: dropped > 0 || length > MAX_LINE_BYTES,
        };
        self.start += length + usize::from(terminated);
        self.offset += bytes;
        piece
    }
}

/// Reads the log at `path` up to `limit` bytes; passes every line with a valid checksum to `visit`.
///
/// Never fails because of the file's content. A missing file is an empty log.
///
/// # Errors
/// `Io` if the file cannot be read.
pub(crate) fn scan_log(
    backend: &dyn FileBackend,
    path: &Path,
    limit: Option<u64>,
    visit: Visit<'_>,
) -> Result<LogScan> {
    let source = match backend.read_from(path, 0) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Box::new(io::empty()),
        other => other.map_err(|error| io_error("cannot read the log", path, error))?,
    };
    let source: Box<dyn Read + Send> = match limit {
        Some(limit) => Box::new(source.take(limit)),
        None => source,
    };
    scan_from(source, ScanStart::default(), visit)
        .map_err(|error| io_error("cannot read the log", path, error))
}

/// Reads the lines of a source positioned at `start`; counts the lines before as good.
///
/// # Errors
/// Errors of the source.
pub(crate) fn scan_from(
    source: Box<dyn Read + Send>,
    start: ScanStart,
    visit: Visit<'_>,
) -> io::Result<LogScan> {
    let mut found =
        LogScan { good_bytes: start.bytes, records: start.records, ..LogScan::default() };
    let mut number = start.records;
    let mut reader = LineReader::new(source, start);
    while let Some(piece) = reader.next()? {
        number += 1;
        found.judge_line(&piece, &reader.buffer[piece.range.clone()], number, visit);
    }
    let whole = found.torn_bytes == 0 && !found.unterminated && found.bad.is_empty();
    found.checksum = whole.then_some(reader.checksum);
    Ok(found)
}

fn without_carriage_returns(line: &[u8]) -> &[u8] {
    &line[..line.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1)]
}

impl LogScan {
    fn judge_line(&mut self, piece: &LogPiece, raw: &[u8], number: u64, visit: Visit<'_>) {
        // All carriage returns go, because rewriting the log ends each line with a line feed alone.
        let text = without_carriage_returns(raw);
        if piece.terminated && text.trim_ascii().is_empty() && !piece.overlong {
            self.good_bytes += piece.bytes;
            return;
        }
        let mut show = |bytes: &[u8]| {
            if piece.overlong {
                return Err(format!("the line is longer than {MAX_LINE_BYTES} bytes"));
            }
            check_line(bytes).and_then(|_| visit(RawLine { number, offset: piece.offset, bytes }))
        };
        match show(text) {
            Ok(()) => {
                self.records += 1;
                self.good_bytes += piece.bytes;
                self.unterminated = !piece.terminated;
            }
            Err(reason) if piece.terminated => {
                let range = piece.offset..piece.offset + piece.bytes;
                self.bad.push(BadLine { number, range, reason });
                self.good_bytes += piece.bytes;
            }
            // The line feed itself may be the damaged byte: then the bytes before it are a whole
            // record with its checksum.
            Err(_) => {
                let whole = text
                    .split_last()
                    .is_some_and(|(_, body)| check_line(body) == Ok(true) && show(body).is_ok());
                self.torn_bytes = if whole { 1 } else { piece.bytes };
                self.good_bytes += piece.bytes - self.torn_bytes;
                self.records += u64::from(whole);
                self.unterminated = whole;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::MemoryBackend;

    fn lines(bytes: &[u8]) -> (Vec<String>, LogScan) {
        let disk = MemoryBackend::new();
        disk.put("/log", bytes);
        let mut seen = Vec::new();
        let found = scan_log(&disk, Path::new("/log"), None, &mut |line| {
            let value: serde_json::Value =
                serde_json::from_slice(line.bytes).map_err(|error| error.to_string())?;
            seen.push(format!("{}@{} {value}", line.number, line.offset));
            Ok(())
        })
        .unwrap();
        (seen, found)
    }

    #[test]
    fn whole_lines_torn_ends_and_bad_lines_are_told_apart() {
        let (seen, found) = lines(b"{\"a\":1}\n\n{bad\n{\"b\":2}\r\n{\"c\"");
        assert_eq!(seen, ["1@0 {\"a\":1}", "4@14 {\"b\":2}"]);
        assert_eq!(
            (found.good_bytes, found.torn_bytes, found.records, found.unterminated),
            (23, 4, 2, false)
        );
        assert_eq!((found.bad[0].number, found.bad[0].range.clone()), (3, 9..14));
    }

    #[test]
    fn a_line_is_the_same_however_many_carriage_returns_end_it() {
        for end in ["\n", "\r\n", "\r\r\r\n", "\r"] {
            let disk = MemoryBackend::new();
            disk.put("/log", format!("{{\"a\":1}}{end}").as_bytes());
            let mut seen = Vec::new();
            scan_log(&disk, Path::new("/log"), None, &mut |line| {
                seen.push(line.bytes.to_vec());
                Ok(())
            })
            .unwrap();
            assert_eq!(seen, [b"{\"a\":1}"], "{end:?}");
        }
    }

    #[test]
    fn a_last_record_without_line_feed_counts() {
        let (seen, found) = lines(b"{\"a\":1}");
        assert_eq!((seen.len(), found.torn_bytes, found.unterminated), (1, 0, true));
    }

    #[test]
    fn nesting_and_length_do_not_overflow() {
        let mut deep = b"[".repeat(1_000_000);
        deep.push(b'\n');
        deep.extend_from_slice(
            format!("{{\"long\":\"{}\"}}\n", "x".repeat(CHUNK_BYTES * 3)).as_bytes(),
        );
        let (seen, found) = lines(&deep);
        assert_eq!((seen.len(), found.bad.len()), (1, 1));
    }
}
