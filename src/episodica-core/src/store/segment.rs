//! A user's derived file, the segment: vectors, and for a large user the indexes and records too.
//!
//! `segments/<user>.segment` consists of the packs of a snapshot, the keys and vectors of each
//! embedded text, and a footer. The footer is one JSON line with a checksum, which lists the parts
//! with their checksums. The file is replaced as a whole: after a crash, either the old or the new
//! one exists. Damage makes it count as missing.
//!
//! Numbers are little-endian, without padding. A key is the first 16 bytes of SHA-256 of a text;
//! the vectors have length 1 and follow all keys of their part, in single or in half precision.
//!
//! A vector is found by the hash of its text, so it outlives changes of the logs. A snapshot, which
//! only the engine interprets, holds only while the logs begin with the bytes that they had when it
//! was taken. The file contains texts of records, so every deletion removes it.

use std::borrow::Cow;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::backend::{BackendFile, FileBackend};
use super::files::replace_with;
use super::line::{check_line, encode_line};
use super::log::LogSum;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::{Owner, VectorKey};
use crate::matrix::Matrix;
use crate::model::StoreProblem;
use crate::pack::{ColumnUnpacker, PackSum};

const VERSION: u32 = 1;

/// Maximum length of the footer.
const MAX_FOOTER_BYTES: u64 = 64 << 10;

/// Vectors that are written at a time.
const ROWS_AT_ONCE: usize = 4_096;

const _: () =
    assert!(cfg!(target_endian = "little"), "numbers are written as they stand in memory");

/// The parts of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentFooter {
    /// Name and version of the embedding model.
    pub model: String,
    /// Vectors of messages, two parts that earlier versions used for episodes, and of facts.
    pub vectors: [VectorPart; 4],
    /// The snapshot of a view, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotPart>,
}

/// The vectors of one kind of text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorPart {
    /// Number of vectors.
    pub rows: usize,
    /// Numbers of each vector.
    pub dimension: usize,
    /// True in half precision.
    pub half: bool,
    /// CRC-32 of the keys.
    pub keys_crc32: u32,
    /// CRC-32 of the vectors.
    pub rows_crc32: u32,
}

/// A snapshot: the packs of a view, and the data that it was built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotPart {
    /// The writer's version and settings that the packs depend on; only a reader with the same
    /// value uses them.
    pub made_by: String,
    /// The three logs.
    pub logs: [LogSum; 3],
    /// The packs.
    pub packs: Vec<PackSum>,
}

impl VectorPart {
    /// Length of the keys and of the vectors; `None` for a length that no file has.
    fn byte_lengths(&self) -> Option<(u64, u64)> {
        let width = if self.half { 2 } else { 4 };
        let numbers = self.rows.checked_mul(self.dimension)?.checked_mul(width)?;
        Some((self.rows.checked_mul(size_of::<VectorKey>())? as u64, numbers as u64))
    }
}

impl SegmentFooter {
    /// Where a pack begins.
    fn pack_start(&self, number: usize) -> Option<u64> {
        let packs = self.snapshot.as_ref().map_or(&[][..], |snapshot| &snapshot.packs);
        packs.get(..number)?.iter().try_fold(0_u64, |sum, pack| sum.checked_add(pack.bytes))
    }

    /// Where the keys of a part begin. Number 4: the end of the last part.
    fn part_start(&self, number: usize) -> Option<u64> {
        let packs = self.snapshot.as_ref().map_or(0, |snapshot| snapshot.packs.len());
        self.vectors[..number].iter().try_fold(self.pack_start(packs)?, |sum, part| {
            let (keys, rows) = part.byte_lengths()?;
            sum.checked_add(keys)?.checked_add(rows)
        })
    }
}

/// The footer as a line.
#[derive(Serialize, Deserialize)]
struct FooterLine<'a> {
    version: u32,
    owner: Cow<'a, Owner>,
    #[serde(flatten)]
    footer: Cow<'a, SegmentFooter>,
}

/// Vectors that are about to be written.
pub struct NewVectors<'a> {
    /// The keys of the texts, one for each row.
    pub keys: Vec<VectorKey>,
    /// Numbers of each vector.
    pub dimension: usize,
    /// True to write half precision.
    pub is_half: bool,
    /// Returns rows in this order, in any precision.
    pub rows: Box<dyn Fn(Range<usize>) -> io::Result<Matrix<'static>> + 'a>,
}

impl NewVectors<'_> {
    /// A part without vectors.
    pub fn none() -> Self {
        Self {
            keys: Vec::new(),
            dimension: 0,
            is_half: false,
            rows: Box::new(|_| Ok(Matrix::default())),
        }
    }
}

/// The content of a segment that is about to be written.
pub struct NewSegment<'a> {
    /// Name and version of the embedding model.
    pub model: String,
    /// The vectors, in the order of [`SegmentFooter::vectors`].
    pub vectors: [NewVectors<'a>; 4],
    /// The snapshot, with the bytes of its packs.
    pub snapshot: Option<(SnapshotPart, Vec<Vec<u8>>)>,
}

/// A segment on disk.
#[derive(Debug, Clone)]
pub struct Segment {
    backend: Arc<dyn FileBackend>,
    path: PathBuf,
    /// The parts.
    pub footer: SegmentFooter,
}

/// Writes a segment, durably.
///
/// # Errors
/// `Io`; the earlier segment, or none, is then in place.
pub(super) fn save_segment(
    backend: &Arc<dyn FileBackend>,
    owner: &Owner,
    path: PathBuf,
    segment: NewSegment<'_>,
) -> Result<Segment> {
    let NewSegment { model, vectors, snapshot } = segment;
    let (snapshot, packs) = snapshot.unzip();
    let mut footer = SegmentFooter { model, vectors: Default::default(), snapshot };
    replace_with(&**backend, &path, |file| {
        // Each pack is freed once it is written.
        for pack in packs.into_iter().flatten() {
            file.append_bytes(&pack)?;
        }
        for (new, part) in vectors.iter().zip(&mut footer.vectors) {
            part.write_vectors(new, file)?;
        }
        let line = FooterLine {
            version: VERSION,
            owner: Cow::Borrowed(owner),
            footer: Cow::Borrowed(&footer),
        };
        let mut bytes = b"\n".to_vec();
        encode_line(&mut bytes, &line).map_err(io::Error::other)?;
        file.append_bytes(&bytes)
    })?;
    Ok(Segment { backend: Arc::clone(backend), path, footer })
}

impl VectorPart {
    fn write_vectors(
        &mut self,
        new: &NewVectors<'_>,
        file: &mut dyn BackendFile,
    ) -> io::Result<()> {
        let keys: &[u8] = new.keys.as_flattened();
        file.append_bytes(keys)?;
        let mut sum = crc32fast::Hasher::new();
        for_each_chunk(&new.rows, new.keys.len(), |rows| {
            let rows = rows.in_precision(new.is_half);
            sum.update(rows.as_bytes());
            file.append_bytes(rows.as_bytes())
        })?;
        (self.rows, self.dimension, self.half) = (new.keys.len(), new.dimension, new.is_half);
        (self.keys_crc32, self.rows_crc32) = (crc32fast::hash(keys), sum.finalize());
        Ok(())
    }
}

/// Passes all rows to `each`, some thousand at a time.
fn for_each_chunk(
    rows: &dyn Fn(Range<usize>) -> io::Result<Matrix<'static>>,
    count: usize,
    mut each: impl FnMut(Matrix<'static>) -> io::Result<()>,
) -> io::Result<()> {
    for start in (0..count).step_by(ROWS_AT_ONCE) {
        each(rows(start..count.min(start + ROWS_AT_ONCE))?)?;
    }
    Ok(())
}

/// Reads the footer of a segment; `None` without a segment.
///
/// # Errors
/// The reason why the file is not a segment of this user, for people.
fn read_footer(
    backend: &dyn FileBackend,
    owner: &Owner,
    path: &Path,
) -> Result<Option<SegmentFooter>, String> {
    let read = || {
        let Some(stamp) = backend.stat_path(path)? else { return Ok(None) };
        let start = stamp.bytes.saturating_sub(MAX_FOOTER_BYTES);
        let mut bytes = Vec::new();
        backend.read_from(path, start)?.take(MAX_FOOTER_BYTES).read_to_end(&mut bytes)?;
        Ok(Some((start, bytes)))
    };
    let Some((start, bytes)) = read().map_err(unreadable_reason)? else { return Ok(None) };
    let line = bytes.strip_suffix(b"\n").ok_or("the segment has no footer")?;
    let at = line.iter().rposition(|byte| *byte == b'\n').ok_or("the segment has no footer")?;
    match check_line(&line[at + 1..]) {
        Ok(true) => {}
        Ok(false) => return Err("the footer of the segment has no checksum".into()),
        Err(reason) => return Err(format!("the footer of the segment is damaged: {reason}")),
    }
    let read: FooterLine<'_> = serde_json::from_slice(&line[at + 1..])
        .map_err(|error| format!("the footer of the segment can't be read: {error}"))?;
    if read.version != VERSION {
        let found = read.version;
        return Err(format!("the segment has version {found}, this code reads version {VERSION}"));
    }
    if *read.owner != *owner {
        return Err("the segment belongs to another user".into());
    }
    let footer = read.footer.into_owned();
    if footer.part_start(4) != Some(start + at as u64) {
        return Err("the segment is not as long as its footer says".into());
    }
    Ok(Some(footer))
}

fn unreadable_reason(error: io::Error) -> String {
    format!("the segment can't be read: {error}")
}

fn segment_problem(path: &Path, message: String) -> StoreProblem {
    StoreProblem {
        path: path.to_owned(),
        line: None,
        message,
        remedy: "it is rebuilt from the log by itself; `rebuild_indices` does so at once".into(),
        mended: true,
    }
}

impl Segment {
    /// Opens a user's segment; `None` without a segment.
    ///
    /// # Errors
    /// A problem, if the file is not a segment of this user.
    pub(super) fn open(
        backend: &Arc<dyn FileBackend>,
        owner: &Owner,
        path: PathBuf,
    ) -> Result<Option<Self>, StoreProblem> {
        let footer = read_footer(&**backend, owner, &path)
            .map_err(|message| segment_problem(&path, message))?;
        Ok(footer.map(|footer| Self { backend: Arc::clone(backend), path, footer }))
    }

    /// Opens a pack of the snapshot for reading; `None` without a pack of this number.
    pub fn open_pack(&self, number: usize) -> Option<ColumnUnpacker<'static>> {
        let sum = *self.footer.snapshot.as_ref()?.packs.get(number)?;
        let start = self.footer.pack_start(number)?;
        Some(ColumnUnpacker::new(self.backend.read_from(&self.path, start).ok()?, sum))
    }

    /// Reads the keys of a part of the vectors.
    ///
    /// # Errors
    /// A problem, if they can't be used.
    pub fn read_keys(&self, number: usize) -> Result<Vec<VectorKey>, StoreProblem> {
        let part = &self.footer.vectors[number];
        self.read_checked(self.footer.part_start(number), part.keys_crc32, |source| {
            let mut keys = vec![VectorKey::default(); part.rows];
            source.read_exact(keys.as_flattened_mut())?;
            let sum = crc32fast::hash(keys.as_flattened());
            Ok((keys, sum))
        })
    }

    /// Reads a part of the vectors.
    ///
    /// # Errors
    /// A problem, if they can't be used.
    pub fn read_vectors(&self, number: usize) -> Result<Matrix<'static>, StoreProblem> {
        let part = &self.footer.vectors[number];
        let start = self.footer.part_start(number).zip(part.byte_lengths());
        self.read_checked(start.map(|(start, (keys, _))| start + keys), part.rows_crc32, |source| {
            Matrix::read_rows(source, (part.rows, part.dimension), part.half)
        })
    }

    /// Reads a value at `start`, if it has this checksum.
    fn read_checked<T>(
        &self,
        start: Option<u64>,
        crc32: u32,
        read: impl FnOnce(&mut dyn Read) -> io::Result<(T, u32)>,
    ) -> Result<T, StoreProblem> {
        let path = &self.path;
        let source = self.backend.read_from(path, start.unwrap_or_default());
        match source.and_then(|mut source| read(&mut *source)) {
            Ok((value, sum)) if sum == crc32 => Ok(value),
            Ok(_) => Err(segment_problem(path, "the vectors don't have their checksum".into())),
            Err(error) => Err(segment_problem(path, unreadable_reason(error))),
        }
    }

    /// Compares the model of the vectors with the present one, and the dimension if known.
    ///
    /// # Errors
    /// `EmbeddingMismatch`.
    pub fn check_model(&self, model: &str, dimension: Option<usize>) -> Result<()> {
        let parts = self.footer.vectors.iter().filter(|part| part.rows > 0);
        let mut stored = parts.map(|part| part.dimension);
        let is_other = |stored: &usize| {
            self.footer.model != model || dimension.is_some_and(|wanted| wanted != *stored)
        };
        let Some(other) = stored.find(is_other) else { return Ok(()) };
        let asked =
            dimension.map_or_else(String::new, |dimension| format!(" with {dimension} dimensions"));
        let context = format!(
            "the vectors come from embedding model `{}` with {other} dimensions, the store was \
             opened with `{model}`{asked}",
            self.footer.model
        );
        let error = Error::new(ErrorKind::EmbeddingMismatch, context);
        Err(error.at_path(&self.path, None).with_hint(
            "call `rebuild_indices` to embed everything with the new model, or open the store \
             with the old one",
        ))
    }
}

#[cfg(test)]
mod tests;
