//! A user's files besides the logs: vector caches, the snapshot, counts of uses, dead letters,
//! model answers.

use std::collections::BTreeMap;

use super::backend::LockGuard;
use super::cache::{self, VectorCache, VectorCacheHead, WriteGraph};
use super::dead_letter::{DeadLetter, DeadLetters};
use super::files::FileSum;
use super::layout::{LogKind, SideFile};
use super::llm_files::{AnswerCache, UserTrace};
use super::log::LogFile;
use super::npy::NpyHeader;
use super::snapshot::{self, SnapshotHead};
use super::store::Store;
use super::uses::{self, RecordUse};
use crate::error::Result;
use crate::ids::Owner;
use crate::matrix::Matrix;
use crate::model::StoreProblem;
use crate::pack::ColumnUnpacker;

impl Store {
    /// Writes the vector cache of one log, durably. `write_graph` writes the graph to the path that
    /// it gets; without it, the file of an earlier index is removed. Returns length and checksum of
    /// the vector file.
    ///
    /// # Errors
    /// `ReadOnly`; `Internal` if rows and vectors do not match; any error of `write_graph`; `Io`.
    /// The log is unchanged; a partial cache counts as missing.
    pub fn save_vectors(
        &self,
        owner: &Owner,
        kind: LogKind,
        head: &VectorCacheHead,
        vectors: &Matrix<'_>,
        write_graph: Option<WriteGraph<'_>>,
    ) -> Result<FileSum> {
        self.shared.check_writable()?;
        self.note_generation(owner)?;
        let paths = self.layout().cache_paths(owner, kind);
        cache::save(&**self.backend(), owner, &paths, head, vectors, write_graph)
    }

    /// Appends vectors to the file of one log, which begins with bytes of checksum `known`,
    /// durably. The manifest does not name them. Returns the checksum of the longer file; `None` if
    /// the file is missing or too short. The caller holds the lock of the caches.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`.
    pub fn append_vectors(
        &self,
        owner: &Owner,
        kind: LogKind,
        known: &FileSum,
        vectors: &Matrix<'_>,
    ) -> Result<Option<FileSum>> {
        self.shared.check_writable()?;
        self.note_generation(owner)?;
        let path = self.layout().cache_paths(owner, kind).embeddings;
        cache::append(&**self.backend(), &path, known, vectors)
    }

    /// Locks the caches of a user; `None` if another process holds the lock and `wait` is false.
    ///
    /// # Errors
    /// `StoreLocked`; `Io`.
    pub fn lock_caches(&self, owner: &Owner, wait: bool) -> Result<Option<Box<dyn LockGuard>>> {
        let locks = self.shared.locks(owner);
        if wait { locks.caches().map(Some) } else { locks.try_caches() }
    }

    /// The model of the vectors in a cache; `None` without a cache.
    pub fn vectors_model(&self, owner: &Owner, kind: LogKind) -> Option<String> {
        cache::model(&**self.backend(), &self.layout().cache_paths(owner, kind))
    }

    /// Reads the vector cache of one log; `None` if it is missing, or damaged, which adds a
    /// problem. `model` and `dimension` (if known) are those of the current embedder.
    ///
    /// # Errors
    /// `EmbeddingMismatch` if an intact cache has another model or dimension; `Io`.
    pub fn load_vectors(
        &self,
        owner: &Owner,
        kind: LogKind,
        model: &str,
        dimension: Option<usize>,
        problems: &mut Vec<StoreProblem>,
    ) -> Result<Option<VectorCache>> {
        let paths = self.layout().cache_paths(owner, kind);
        cache::load(&**self.backend(), owner, paths, model, dimension, problems)
    }

    /// Removes the vector cache of one log, manifest first.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`.
    pub fn remove_vectors(&self, owner: &Owner, kind: LogKind) -> Result<()> {
        self.shared.check_writable()?;
        cache::remove(&**self.backend(), &self.layout().cache_paths(owner, kind))
    }

    /// Writes a snapshot of these packs, durably.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`; after an `Io` error the earlier snapshot, or none, is in place.
    pub fn save_snapshot(
        &self,
        owner: &Owner,
        head: &SnapshotHead,
        packs: &[Vec<u8>],
    ) -> Result<()> {
        self.shared.check_writable()?;
        self.note_generation(owner)?;
        snapshot::save(&**self.backend(), self.layout(), owner, head, packs)
    }

    /// The head of a user's snapshot; `None` if no snapshot is readable.
    pub fn snapshot_head(&self, owner: &Owner) -> Option<SnapshotHead> {
        snapshot::head(&**self.backend(), self.layout(), owner)
    }

    /// Opens a pack of a user's snapshot for reading; `None` if the head lists no pack with this
    /// number.
    pub fn snapshot_pack(
        &self,
        owner: &Owner,
        head: &SnapshotHead,
        number: usize,
    ) -> Option<ColumnUnpacker<'static>> {
        snapshot::pack(&**self.backend(), self.layout(), owner, head, number)
    }

    /// Removes a user's snapshot, durably.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`.
    pub fn remove_snapshot(&self, owner: &Owner) -> Result<()> {
        self.shared.check_writable()?;
        snapshot::discard(&**self.backend(), self.layout(), owner)
    }

    /// `count` vectors of a log; `None` if they are not the vectors that the head refers to.
    pub fn snapshot_vectors(
        &self,
        owner: &Owner,
        head: &SnapshotHead,
        kind: LogKind,
        count: usize,
    ) -> Option<Matrix<'static>> {
        let path = self.layout().cache_paths(owner, kind).embeddings;
        let (expected, shape) = (head.vectors[kind as usize].as_ref()?, (count, head.dimension));
        let header = NpyHeader::Earlier;
        cache::read_vectors(&**self.backend(), &path, expected, shape, header).ok()?.ok()
    }

    /// How often a user's records were returned, by their ids.
    ///
    /// # Errors
    /// `Io`.
    pub fn uses(&self, owner: &Owner) -> Result<BTreeMap<String, RecordUse>> {
        Ok(uses::decode(&self.logs.uses(owner)?.0))
    }

    /// Applies `change` to the counts, durably; repeats it if another process changed them
    /// meanwhile. The caller holds the lock of the caches.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`.
    pub fn change_uses(
        &self,
        owner: &Owner,
        change: &dyn Fn(BTreeMap<String, RecordUse>) -> BTreeMap<String, RecordUse>,
    ) -> Result<()> {
        loop {
            let (bytes, number) = self.logs.uses(owner)?;
            let changed = uses::encode(&change(uses::decode(&bytes)))?;
            if self.logs.put_uses(owner, &changed, number)? {
                return Ok(());
            }
        }
    }

    /// Opens a user's dead letters; the second value is all of them, oldest first.
    ///
    /// # Errors
    /// `Io`.
    pub fn dead_letters(&self, owner: &Owner) -> Result<(DeadLetters, Vec<DeadLetter>)> {
        DeadLetters::open(self.side_file(owner, SideFile::DeadLetters))
    }

    /// Opens a user's cache of model answers.
    ///
    /// # Errors
    /// `Io`.
    pub fn answers(&self, owner: &Owner) -> Result<AnswerCache> {
        self.note_generation(owner)?;
        AnswerCache::open(self.side_file(owner, SideFile::LlmCache))
    }

    /// Opens a user's trace.
    ///
    /// # Errors
    /// `Io`.
    pub fn trace(&self, owner: &Owner) -> Result<UserTrace> {
        self.note_generation(owner)?;
        UserTrace::open(self.side_file(owner, SideFile::Trace))
    }

    /// If the logs are on another medium: notes their generation before files derived from them are
    /// written.
    fn note_generation(&self, owner: &Owner) -> Result<()> {
        self.apart.as_ref().map_or(Ok(()), |apart| apart.note(&self.shared, &*self.logs, owner))
    }

    fn side_file(&self, owner: &Owner, file: SideFile) -> LogFile {
        self.shared.log_file(self.layout().side_path(owner, file))
    }
}
