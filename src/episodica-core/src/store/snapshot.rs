//! A user's indexes as the last process left them, beside the logs: what need not be built again.
//!
//! One file, `snapshots/<user>.snapshot`: a line of JSON with a checksum, which says what the
//! snapshot belongs to, and behind it packs, which only the engine understands. It is believed only
//! if every byte of the logs and of the vectors is what it was when it was written, and the packs
//! are; whatever disagrees is a snapshot that isn't there. It holds the texts of records, so it
//! goes with every deletion.

use std::io::Read;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::backend::{FileStamp, io_error, parent_of};
use super::cache::{Sum, read_vectors, remove};
use super::layout::LogKind;
use super::line::{check_line, encode_line};
use super::log::{Log, LogSum};
use super::store::{Inner, Store, replace_with_pieces};
use super::user::{LogSource, UserStore};
use crate::error::Result;
use crate::ids::Owner;
use crate::matrix::Matrix;
use crate::pack::{PackSum, Unpacker};

/// The longest first line.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// What a snapshot belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotHead {
    /// Who wrote it, with all that the body depends on beside the logs: only the same reads it.
    pub made_by: String,
    /// The three logs.
    pub logs: [LogSum; 3],
    /// The vectors of each.
    pub vectors: [Option<Sum>; 3],
    /// Length of a vector.
    pub dimension: usize,
    /// The packs that the body is made of.
    pub packs: Vec<PackSum>,
}

impl Store {
    /// Writes a snapshot of these packs, durably.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`: then the earlier one is in place, or none.
    pub fn save_snapshot(
        &self,
        owner: &Owner,
        head: &SnapshotHead,
        packs: &[Vec<u8>],
    ) -> Result<()> {
        self.inner.check_writable()?;
        let (backend, path) = (&**self.backend(), self.layout().snapshot_path(owner));
        let directory = parent_of(&path);
        backend
            .create_dir_all(directory)
            .map_err(|error| io_error("cannot make the directory", directory, error))?;
        let mut line = Vec::new();
        encode_line(&mut line, head)?;
        let parts: Vec<&[u8]> = std::iter::once(&line).chain(packs).map(Vec::as_slice).collect();
        replace_with_pieces(backend, &path, &parts)
    }

    /// The head of a user's snapshot; `None` if there is none that can be read.
    pub fn snapshot_head(&self, owner: &Owner) -> Option<SnapshotHead> {
        let mut source = self.backend().read_from(&self.layout().snapshot_path(owner), 0).ok()?;
        let mut bytes = Vec::new();
        // A head is short: what has no line feed by then is none.
        while bytes.len() < MAX_HEAD_BYTES && !bytes.contains(&b'\n') {
            if source.by_ref().take(4_096).read_to_end(&mut bytes).ok()? == 0 {
                break;
            }
        }
        let line = &bytes[..bytes.iter().position(|byte| *byte == b'\n')?];
        (check_line(line) == Ok(true)).then(|| serde_json::from_slice(line).ok()).flatten()
    }

    /// A pack of a user's snapshot, to be read from the file; `None` if the head knows of none
    /// under this number.
    pub fn snapshot_pack(
        &self,
        owner: &Owner,
        head: &SnapshotHead,
        number: usize,
    ) -> Option<Unpacker<'static>> {
        let mut line = Vec::new();
        encode_line(&mut line, head).ok()?;
        let before: u64 = head.packs.get(..number)?.iter().map(|pack| pack.bytes).sum();
        let source = self
            .backend()
            .read_from(&self.layout().snapshot_path(owner), line.len() as u64 + before)
            .ok()?;
        Some(Unpacker::new(source, *head.packs.get(number)?))
    }

    /// Removes a user's snapshot, durably.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`.
    pub fn remove_snapshot(&self, owner: &Owner) -> Result<()> {
        self.inner.check_writable()?;
        let (backend, path) = (&**self.backend(), self.layout().snapshot_path(owner));
        match remove(backend, &path)? {
            true => backend
                .sync_dir(parent_of(&path))
                .map_err(|error| io_error("cannot sync the directory", parent_of(&path), error)),
            false => Ok(()),
        }
    }

    /// As many vectors of a log; `None` if they are not those that the head means.
    pub fn snapshot_vectors(
        &self,
        owner: &Owner,
        head: &SnapshotHead,
        kind: LogKind,
        count: usize,
    ) -> Option<Matrix<'static>> {
        let path = self.layout().cache_paths(owner, kind).embeddings;
        let expected = head.vectors[kind as usize].as_ref()?;
        read_vectors(&**self.backend(), &path, expected, (count, head.dimension)).ok()?.ok()
    }
}

/// Three open logs, and the state of their files before they were opened.
type OpenLogs = ([Log; 3], [Option<FileStamp>; 3]);

impl UserStore {
    /// Opens the logs without reading their records; `None` if they are not, byte for byte, what is
    /// `known` of them.
    pub(super) fn known_logs(
        inner: &Inner,
        sources: &[LogSource; 3],
        known: &[LogSum; 3],
    ) -> Result<Option<OpenLogs>> {
        if sources.iter().any(|source| !source.legacy.is_empty()) {
            return Ok(None);
        }
        let read_at = Self::stamps(inner, sources)?;
        let open = |kind: LogKind| {
            let (source, known) = (&sources[kind as usize], &known[kind as usize]);
            Log::open_known(
                Arc::clone(&inner.backend),
                inner.layout.root(),
                &source.path,
                inner.mode,
                known,
            )
        };
        let others = || (open(LogKind::Messages), open(LogKind::Semantic));
        let (episodes, (messages, semantic)) = rayon::join(|| open(LogKind::Episodes), others);
        Ok(match (messages?, episodes?, semantic?) {
            (Some(messages), Some(episodes), Some(semantic)) => {
                Some(([messages, episodes, semantic], read_at))
            }
            _ => None,
        })
    }

    /// Length and checksum of the three logs; `None` where one holds more than what was
    /// acknowledged.
    ///
    /// # Errors
    /// `Io` when one can't be read.
    pub fn sums(&self) -> Result<Option<[LogSum; 3]>> {
        let [messages, episodes, semantic] = self.lock_logs();
        Ok(match (messages.sum()?, episodes.sum()?, semantic.sum()?) {
            (Some(messages), Some(episodes), Some(semantic)) => {
                Some([messages, episodes, semantic])
            }
            _ => None,
        })
    }
}
