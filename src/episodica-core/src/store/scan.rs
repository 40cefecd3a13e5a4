//! Reads a log line by line, in memory bounded by its longest line, and judges each line.

use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use super::backend::{Backend, io_error};
use super::line::{MAX_LINE_BYTES, check_line};
use crate::error::Result;

/// How much is read at once.
const CHUNK_BYTES: usize = 256 << 10;

/// A line as it stands in the file, without its line feed.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// Number of the line, from 1.
    pub number: u64,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Its bytes, the checksum key included.
    pub bytes: &'a [u8],
}

/// A line that is no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadLine {
    pub number: u64,
    pub range: Range<u64>,
    pub reason: String,
}

/// What one pass over a log found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Scan {
    /// Length of the part that holds whole lines.
    pub good_bytes: u64,
    /// Bytes behind it: a line that was never finished.
    pub torn_bytes: u64,
    /// The last record is whole but for its line feed, which is missing or (`torn_bytes` 1)
    /// damaged.
    pub unterminated: bool,
    /// Records seen.
    pub records: u64,
    /// Lines that are no records, torn one excepted.
    pub bad: Vec<BadLine>,
}

struct LineReader {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// The unread part of the buffer.
    start: usize,
    end: usize,
    /// Where in the file `start` is.
    offset: u64,
    finished: bool,
}

struct Piece {
    range: Range<usize>,
    offset: u64,
    bytes: u64,
    terminated: bool,
    overlong: bool,
}

impl LineReader {
    fn new(source: Box<dyn Read + Send>) -> Self {
        Self { source, buffer: vec![0; CHUNK_BYTES], start: 0, end: 0, offset: 0, finished: false }
    }

    fn fill(&mut self) -> io::Result<()> {
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
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }

    fn next(&mut self) -> io::Result<Option<Piece>> {
        let (mut searched, mut dropped) = (0, 0_u64);
        loop {
            let unread = &self.buffer[self.start..self.end];
            if let Some(at) = unread[searched..].iter().position(|byte| *byte == b'\n') {
                return Ok(Some(self.take(searched + at, dropped, true)));
            }
            searched = unread.len();
            if searched > MAX_LINE_BYTES {
                // Too long to be one of ours: forget the text, keep counting.
                dropped += searched as u64;
                (self.start, self.end, searched) = (0, 0, 0);
            }
            if self.finished {
                return Ok(
                    (searched as u64 + dropped > 0).then(|| self.take(searched, dropped, false))
                );
            }
            self.fill()?;
        }
    }

    fn take(&mut self, length: usize, dropped: u64, terminated: bool) -> Piece {
        let range = self.start..self.start + length;
        let bytes = dropped + length as u64 + u64::from(terminated);
        let piece = Piece {
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

/// Reads the log at `path` up to `limit` bytes; `visit` gets every line whose checksum holds and
/// says why one is no record.
///
/// Never fails for what the file holds. A file that isn't there is an empty log.
///
/// # Errors
/// `Io` when it can't be read.
pub(crate) fn scan(
    backend: &dyn Backend,
    path: &Path,
    limit: Option<u64>,
    visit: &mut dyn FnMut(Line<'_>) -> Result<(), String>,
) -> Result<Scan> {
    let source = match backend.read_from(path, 0) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Scan::default()),
        other => other.map_err(|error| io_error("cannot read the log", path, error))?,
    };
    let source: Box<dyn Read + Send> = match limit {
        Some(limit) => Box::new(source.take(limit)),
        None => source,
    };
    let mut reader = LineReader::new(source);
    let mut found = Scan::default();
    let mut number = 0;
    while let Some(piece) =
        reader.next().map_err(|error| io_error("cannot read the log", path, error))?
    {
        number += 1;
        let raw = &reader.buffer[piece.range.clone()];
        let text = raw.strip_suffix(b"\r").unwrap_or(raw);
        if piece.terminated && text.trim_ascii().is_empty() && !piece.overlong {
            found.good_bytes += piece.bytes;
            continue;
        }
        let mut judge = |bytes: &[u8]| match piece.overlong {
            true => Err(format!("the line is longer than {MAX_LINE_BYTES} bytes")),
            false => {
                check_line(bytes).and_then(|_| visit(Line { number, offset: piece.offset, bytes }))
            }
        };
        match judge(text) {
            Ok(()) => {
                found.records += 1;
                found.good_bytes += piece.bytes;
                found.unterminated = !piece.terminated;
            }
            Err(reason) if piece.terminated => {
                found.bad.push(BadLine {
                    number,
                    range: piece.offset..piece.offset + piece.bytes,
                    reason,
                });
                found.good_bytes += piece.bytes;
            }
            // The line feed itself may be what was damaged: then all before it is a whole record,
            // checksum and all.
            Err(_) => {
                let whole = text
                    .split_last()
                    .is_some_and(|(_, body)| check_line(body) == Ok(true) && judge(body).is_ok());
                found.torn_bytes = if whole { 1 } else { piece.bytes };
                found.good_bytes += piece.bytes - found.torn_bytes;
                found.records += u64::from(whole);
                found.unterminated = whole;
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::MemoryBackend;

    fn lines(bytes: &[u8]) -> (Vec<String>, Scan) {
        let disk = MemoryBackend::new();
        disk.put("/log", bytes);
        let mut seen = Vec::new();
        let found = scan(&disk, Path::new("/log"), None, &mut |line| {
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
