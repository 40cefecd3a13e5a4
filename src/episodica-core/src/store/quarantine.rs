//! The quarantine of a log, `<file>.quarantine.jsonl`: lines that are not records.
//!
//! One JSON object per line: `file`, `line` (the number at that time), `reason`, and `text`, or
//! `base64` if the bytes are not UTF-8. A line longer than one mebibyte is split into pieces with a
//! `part` from 0. The store never reads these lines back; they let people recover the text.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::{Deserialize, Serialize};

use super::backend::{BackendFile, FileBackend, parent_of};
use super::files::{self, io_error, replace_file};
use super::line::encode_line;
use super::scan::BadLine;
use crate::error::Result;

/// Maximum bytes of a bad line in one row; bounds the memory use.
const PIECE_BYTES: usize = 1 << 20;

#[derive(Serialize)]
struct QuarantineRow<'a> {
    file: &'a str,
    line: u64,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

pub(crate) fn path_for(log: &Path) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(".quarantine.jsonl");
    name.into()
}

/// Copies the bad lines into the quarantine and syncs it; lines already there after a crash are not
/// written twice.
///
/// # Errors
/// `Io`; the log is then unchanged.
pub(crate) fn save_lines(backend: &dyn FileBackend, log: &Path, bad: &[BadLine]) -> Result<()> {
    let path = path_for(log);
    let fail = |error| io_error("cannot write the quarantine", &path, error);
    let (mut file, known) = open_quarantine(backend, &path).map_err(fail)?;
    let known: HashSet<&[u8]> = known.split_inclusive(|byte| *byte == b'\n').collect();
    let name = log.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    for line in bad {
        let source = backend
            .read_from(log, line.range.start)
            .map_err(|error| io_error("cannot read the log", log, error))?;
        let mut source = source.take(line.range.end - line.range.start);
        let mut piece = Vec::new();
        for part in 0.. {
            piece.clear();
            let read = source.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut piece);
            let read = read.map_err(|error| io_error("cannot read the log", log, error))?;
            if read == 0 && part > 0 {
                break;
            }
            let bytes = piece.strip_suffix(b"\n").unwrap_or(&piece);
            let text = std::str::from_utf8(bytes).ok();
            let row = QuarantineRow {
                file: &name,
                line: line.number,
                reason: &line.reason,
                part: (line.range.end - line.range.start > PIECE_BYTES as u64).then_some(part),
                text,
                base64: text.is_none().then(|| BASE64_STANDARD.encode(bytes)),
            };
            let mut encoded = Vec::new();
            encode_line(&mut encoded, &row)?;
            if !known.contains(encoded.as_slice()) {
                file.append_bytes(&encoded).map_err(fail)?;
            }
            if read < PIECE_BYTES {
                break;
            }
        }
    }
    file.sync_data().map_err(fail)?;
    backend.sync_dir(parent_of(&path)).map_err(fail)
}

/// True if the log has a quarantine.
///
/// # Errors
/// `Io`.
pub(crate) fn has_quarantine(backend: &dyn FileBackend, log: &Path) -> Result<bool> {
    let path = path_for(log);
    let stamp = backend.stat_path(&path);
    Ok(stamp.map_err(|error| io_error("cannot look at the quarantine", &path, error))?.is_some())
}

/// Removes every row whose text contains one of `needles` (in JSON form), and every row that cannot
/// be searched (`base64`, `part`). `true` if any row was removed.
///
/// # Errors
/// `Io`.
pub(crate) fn scrub_rows(backend: &dyn FileBackend, log: &Path, needles: &[&str]) -> Result<bool> {
    #[derive(Deserialize)]
    struct KeptLine {
        text: Option<String>,
        part: Option<u64>,
    }
    let path = path_for(log);
    if files::is_irregular(backend, &path) {
        return files::remove_file(backend, &path);
    }
    let Some(bytes) = files::read_file(backend, &path, "cannot read the quarantine")? else {
        return Ok(false);
    };
    let keeps = |row: &&[u8]| match serde_json::from_slice(row) {
        Ok(KeptLine { text: Some(text), part: None }) => {
            !needles.iter().any(|needle| text.contains(needle))
        }
        _ => false,
    };
    let kept: Vec<u8> =
        bytes.split_inclusive(|byte| *byte == b'\n').filter(keeps).flatten().copied().collect();
    if kept.len() == bytes.len() {
        return Ok(false);
    }
    if kept.is_empty() {
        let fail = |error| io_error("cannot remove the quarantine", &path, error);
        backend.remove_file(&path).map_err(fail)?;
        backend.sync_dir(parent_of(&path)).map_err(fail)?;
    } else {
        replace_file(backend, &path, &kept)?;
    }
    Ok(true)
}

/// The file, ready for whole lines, and its content.
fn open_quarantine(
    backend: &dyn FileBackend,
    path: &Path,
) -> std::io::Result<(Box<dyn BackendFile>, Vec<u8>)> {
    if backend.stat_path(path)?.is_none() {
        return Ok((backend.create_new(path)?, Vec::new()));
    }
    let known = backend.read_file(path)?;
    let mut file = backend.open_append(path)?;
    if known.last().is_some_and(|byte| *byte != b'\n') {
        file.append_bytes(b"\n")?;
    }
    Ok((file, known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::MemoryBackend;

    #[test]
    fn saving_twice_writes_once() {
        let disk = MemoryBackend::new();
        let log = Path::new("/m/a_messages.jsonl");
        disk.put(log, b"{bad\n\xff\n");
        let bad = [
            BadLine { number: 1, range: 0..5, reason: "not JSON".into() },
            BadLine { number: 2, range: 5..7, reason: "not UTF-8".into() },
        ];
        save_lines(&disk, log, &bad).unwrap();
        let first = disk.read_file(&path_for(log)).unwrap();
        save_lines(&disk, log, &bad).unwrap();
        assert_eq!(disk.read_file(&path_for(log)).unwrap(), first);
        let rows: Vec<serde_json::Value> = first
            .split(|byte| *byte == b'\n')
            .filter(|row| !row.is_empty())
            .map(|row| serde_json::from_slice(row).unwrap())
            .collect();
        assert_eq!(
            (rows[0]["text"].as_str(), rows[1]["base64"].as_str()),
            (Some("{bad"), Some("/w=="))
        );
        assert_eq!((&rows[1]["file"], &rows[1]["line"]), (&"a_messages.jsonl".into(), &2.into()));
    }
}
