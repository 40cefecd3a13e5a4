//! A snapshot of a user's indexes, which saves rebuilding them at the next opening.
//!
//! One file, `snapshots/<user>.snapshot`: a JSON line with a checksum, which identifies the logs
//! and vectors of the snapshot, followed by packs, which only the engine interprets. The snapshot
//! is used only if the logs and vectors still begin with the bytes that they had when it was taken,
//! and the packs are intact; otherwise it counts as missing. It contains texts of records, so every
//! deletion removes it.

use std::borrow::Cow;
use std::io::Read;

use serde::{Deserialize, Serialize};

use super::backend::{FileBackend, parent_of};
use super::files::{FileSum, remove, replace_with_pieces, sync_dir};
use super::layout::StoreLayout;
use super::line::{check_line, encode_line};
use super::log::LogSum;
use crate::error::Result;
use crate::ids::Owner;
use crate::pack::{ColumnUnpacker, PackSum};

/// Maximum length of the first line.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// The data that a snapshot was built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotHead {
    /// The writer's version and settings that the body depends on; only a reader with the same
    /// value uses it.
    pub made_by: String,
    /// The three logs.
    pub logs: [LogSum; 3],
    /// The vectors of each log: the length of its file at the time, and the checksum up to there.
    pub vectors: [Option<FileSum>; 3],
    /// Number of vectors of each log.
    pub rows: [usize; 3],
    /// True for each log whose manifest names all of its vectors.
    pub is_named: [bool; 3],
    /// Dimension of the vectors.
    pub dimension: usize,
    /// The packs of the body.
    pub packs: Vec<PackSum>,
}

#[derive(Serialize, Deserialize)]
struct SnapshotLine<'a> {
    owner: Cow<'a, Owner>,
    #[serde(flatten)]
    head: Cow<'a, SnapshotHead>,
}

impl<'a> SnapshotLine<'a> {
    fn line(owner: &'a Owner, head: &'a SnapshotHead) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        let named = Self { owner: Cow::Borrowed(owner), head: Cow::Borrowed(head) };
        encode_line(&mut line, &named)?;
        Ok(line)
    }
}

/// Writes a snapshot of these packs, durably.
///
/// # Errors
/// `Io`; the earlier snapshot, or none, is then in place.
pub(super) fn save(
    backend: &dyn FileBackend,
    layout: &StoreLayout,
    owner: &Owner,
    head: &SnapshotHead,
    packs: &[Vec<u8>],
) -> Result<()> {
    let path = layout.snapshot_path(owner);
    let line = SnapshotLine::line(owner, head)?;
    let parts: Vec<&[u8]> = std::iter::once(&line).chain(packs).map(Vec::as_slice).collect();
    replace_with_pieces(backend, &path, &parts)
}

/// The head of a snapshot; `None` if it is missing, unreadable or another user's.
pub(super) fn head(
    backend: &dyn FileBackend,
    layout: &StoreLayout,
    owner: &Owner,
) -> Option<SnapshotHead> {
    let mut source = backend.read_from(&layout.snapshot_path(owner), 0).ok()?;
    let mut bytes = Vec::new();
    // A head is short: without a line feed up to this length, the file is not a snapshot.
    while bytes.len() < MAX_HEAD_BYTES && !bytes.contains(&b'\n') {
        if source.by_ref().take(4_096).read_to_end(&mut bytes).ok()? == 0 {
            break;
        }
    }
    let line = &bytes[..bytes.iter().position(|byte| *byte == b'\n')?];
    let named: SnapshotLine<'_> =
        (check_line(line) == Ok(true)).then(|| serde_json::from_slice(line).ok()).flatten()?;
    (*named.owner == *owner).then(|| named.head.into_owned())
}

/// Opens a pack of a snapshot for reading; `None` if the head lists no pack with this number.
pub(super) fn pack(
    backend: &dyn FileBackend,
    layout: &StoreLayout,
    owner: &Owner,
    head: &SnapshotHead,
    number: usize,
) -> Option<ColumnUnpacker<'static>> {
    let line = SnapshotLine::line(owner, head).ok()?;
    let earlier = head.packs.get(..number)?.iter();
    let before = earlier.fold(0_u64, |sum, pack| sum.saturating_add(pack.bytes));
    let path = layout.snapshot_path(owner);
    let (start, pack) = ((line.len() as u64).saturating_add(before), *head.packs.get(number)?);
    // Never allocates more than the file contains.
    let end = start.checked_add(pack.bytes)?;
    backend.stat(&path).ok()?.filter(|stamp| end <= stamp.bytes)?;
    Some(ColumnUnpacker::new(backend.read_from(&path, start).ok()?, pack))
}

/// Removes a snapshot, durably.
///
/// # Errors
/// `Io`.
pub(super) fn discard(
    backend: &dyn FileBackend,
    layout: &StoreLayout,
    owner: &Owner,
) -> Result<()> {
    let path = layout.snapshot_path(owner);
    if remove(backend, &path)? { sync_dir(backend, parent_of(&path)) } else { Ok(()) }
}
