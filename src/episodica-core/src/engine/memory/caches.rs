//! Writes the caches that make the next opening fast: vector caches, and the snapshot of a large
//! user. They are written at closing, and in the background as logs grow; in the background, only
//! new vectors and pages of records are appended. One process at a time writes them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::embed::is_earlier_default;
use crate::engine::memory::indexing::IndexingSettings;
use crate::engine::memory::record_rows::RecordRows;
use crate::engine::memory::snapshot::{PackedView, Positions, WrittenSnapshot, snapshot_head};
use crate::engine::memory::user::{UserMemory, WriterState};
use crate::engine::memory::vector_files::{MissingVectors, VectorFiles};
use crate::engine::memory::vectors::cached;
use crate::engine::memory::view::UserView;
use crate::error::{ErrorKind, Result};
use crate::index::{TextIndex, VectorIndex, VectorIndexKind};
use crate::model::UnreadableRow;
use crate::store::backend::LockGuard;
use crate::store::{FileSum, LogKind, LogSum, OpenMode, Store, VectorCacheHead, WriteGraph};

/// A snapshot is due if at least `SNAPSHOT_STEP` records, and one in `SNAPSHOT_SHARE` of all
/// records, were written since the last one.
const SNAPSHOT_STEP: u64 = 2_048;
const SNAPSHOT_SHARE: u64 = 32;

/// What to do about caches that another process is writing now, or that belong to another model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ForeignCaches {
    /// Give up in both cases.
    Left,
    /// Wait for the other process; give up if the caches belong to another model.
    Awaited,
    /// Wait for the other process; replace caches of another model.
    Replaced,
}

impl UserMemory {
    /// Writes changed caches and, for a large user, the snapshot. The caller holds the user's
    /// `FormingTurn`.
    pub fn save_for_next_opening(&self, store: &Store, to: &IndexingSettings<'_>) -> Result<()> {
        let (writer, _following) = (self.writer.lock(), self.following.lock());
        let Some(_caches) = self.lock_caches(store, to, ForeignCaches::Awaited)? else {
            return Ok(());
        };
        self.write_uses(store)?;
        catch_unsound(|| self.save_for_next(&writer, store, to))?;
        if self.is_unsound() && self.store.mode() == OpenMode::ReadWrite {
            store.remove_snapshot(&self.owner)?;
        }
        Ok(())
    }

    /// True once a record of the snapshot could not be read.
    pub fn is_unsound(&self) -> bool {
        self.view.read().is_unsound()
    }

    fn save_for_next(
        &self,
        writer: &WriterState,
        store: &Store,
        to: &IndexingSettings<'_>,
    ) -> Result<()> {
        if self.store.is_erasing() {
            return self.write_changed(store, to).map(drop);
        }
        let wanted = self.wants_snapshot(to);
        let stale = wanted
            && self.snapshot.lock().as_ref().map(WrittenSnapshot::positions)
                != Some(LogKind::ALL.map(|kind| self.store.position(kind)));
        if stale {
            // A new snapshot needs vector files whose rows are in the order of the labels: rewrite
            // them.
            self.note_change();
        }
        // In the last case nothing has changed, and the snapshot on disk is valid.
        match self.write_changed(store, to)? {
            _ if self.store.mode() == OpenMode::ReadOnly => Ok(()),
            _ if !wanted => store.remove_snapshot(&self.owner),
            Some(files) => self.save_snapshot(writer, store, to, files),
            None => Ok(()),
        }
    }

    /// Writes the vector caches, if any vector changed.
    pub fn save_caches(&self, store: &Store, to: &IndexingSettings<'_>) -> Result<()> {
        let Some(_caches) = self.lock_caches(store, to, ForeignCaches::Awaited)? else {
            return Ok(());
        };
        self.write_changed(store, to).map(drop)
    }

    /// Writes the vector caches, replacing those of another model.
    pub fn replace_caches(&self, store: &Store, to: &IndexingSettings<'_>) -> Result<()> {
        let Some(_caches) = self.lock_caches(store, to, ForeignCaches::Replaced)? else {
            return Ok(());
        };
        self.write_changed(store, to).map(drop)
    }

    /// Locks the caches. Take the writer lock before this lock, never after it: a deletion holds
    /// the writer lock while it waits for this one. Returns `None` if the caches must not be
    /// written from here: another process is writing them, they belong to another model, or this
    /// view still has erased records.
    fn lock_caches(
        &self,
        store: &Store,
        to: &IndexingSettings<'_>,
        others: ForeignCaches,
    ) -> Result<Option<Box<dyn LockGuard>>> {
        if self.store.mode() == OpenMode::ReadOnly {
            return Ok(None);
        }
        let guard = match store.lock_caches(&self.owner, others != ForeignCaches::Left) {
            // The process that writes them is suspended. Caches can be written later.
            Err(error) if error.kind() == ErrorKind::StoreLocked => None,
            guard => guard?,
        };
        if guard.is_none() || self.is_outdated() || !self.store.is_continued()? {
            return Ok(None);
        }
        let is_foreign = |kind: LogKind| {
            let model = store.vectors_model(&self.owner, kind);
            let present = to.embedder.model();
            model.is_some_and(|model| model != present && !is_earlier_default(&model, present))
        };
        let keeps = others != ForeignCaches::Replaced && LogKind::ALL.into_iter().any(is_foreign);
        Ok(guard.filter(|_| !keeps))
    }

    /// True if enough records were written since the last snapshot.
    pub fn is_snapshot_due(&self, to: &IndexingSettings<'_>) -> bool {
        let records = |positions: &Positions| positions.iter().map(|end| end.records).sum::<u64>();
        let now = records(&LogKind::ALL.map(|kind| self.store.position(kind)));
        let written = self.snapshot.lock().as_ref().map(WrittenSnapshot::positions);
        let before = written.as_ref().map_or(0, records);
        now.saturating_sub(before) >= SNAPSHOT_STEP.max(now / SNAPSHOT_SHARE)
            && self.view.read().messages.len() >= to.config.snapshot_threshold
    }

    /// Takes a snapshot of an open user, unless another process has just taken one.
    pub fn save_snapshot_now(&self, store: &Store, to: &IndexingSettings<'_>) -> Result<()> {
        catch_unsound(|| self.take_snapshot(store, to))
    }

    fn take_snapshot(&self, store: &Store, to: &IndexingSettings<'_>) -> Result<()> {
        let Some(caches) = self.lock_caches(store, to, ForeignCaches::Left)? else { return Ok(()) };
        self.write_uses(store)?;
        let base = self.snapshot_on_disk(store, to);
        if !self.is_snapshot_due(to) {
            return Ok(());
        }
        let Some(rows) = self.rows_written_ahead(store, base.as_ref()) else { return Ok(()) };
        // A deletion that holds the writer lock may be waiting for the caches.
        drop(caches);
        // From here on neither the logs nor the view can change.
        let writer = self.writer.lock();
        let following = self.following.lock();
        let Some(_caches) = self.lock_caches(store, to, ForeignCaches::Left)? else {
            return Ok(());
        };
        let view = self.view.read();
        let now = self.snapshot_on_disk(store, to);
        let [now, before] = [&now, &base].map(|one| one.as_ref().map(|one| &one.head));
        if writer.gone || !self.is_fit_for_snapshot(&view, to) || now != before {
            return Ok(());
        }
        let (next_seq, sums) = (self.next_seq(&writer), self.store.sums()?);
        drop((writer, following));
        let Some(sums) = sums else { return Ok(()) };
        let files = base.and_then(|written| written.files);
        let mut files = files.map_or_else(VectorFiles::default, |files| (*files).clone());
        let mut lacks = files.lacks(&view);
        if lacks.iter().any(|lack| matches!(lack, MissingVectors::All)) {
            self.forget_snapshot(store)?;
        }
        for (kind, lack) in LogKind::ALL.into_iter().zip(&mut lacks) {
            if matches!(lack, MissingVectors::All) {
                *lack = MissingVectors::Nothing;
                files.rewritten(&view, kind, self.write_cache(&view, kind, store, to)?);
            }
        }
        if !files.is_named.contains(&false) {
            self.vectors_changed.store(false, Ordering::SeqCst);
        }
        let packed = PackedView::new(&view, next_seq, &files, rows);
        // Records may change again while the files are written.
        drop(view);
        for (kind, lack) in LogKind::ALL.into_iter().zip(lacks) {
            let (sum, MissingVectors::Rows(rows)) = (&mut files.sums[kind as usize], lack) else {
                continue;
            };
            let Some(known) = sum.take() else { return Ok(()) };
            *sum = store.append_vectors(&self.owner, kind, &known, &rows)?;
            if sum.is_none() {
                *self.snapshot.lock() = None;
                return Ok(());
            }
        }
        self.place_snapshot(store, packed, sums, files, to)
    }

    /// Returns the snapshot on disk, with the rows of its vectors if this view wrote it.
    fn snapshot_on_disk(
        &self,
        store: &Store,
        to: &IndexingSettings<'_>,
    ) -> Option<WrittenSnapshot> {
        let head = snapshot_head(store, &self.owner, to)?;
        let mut known = self.snapshot.lock();
        let own = known.take().filter(|known| known.head == head);
        Some(known.insert(own.unwrap_or(WrittenSnapshot { head, files: None })).clone())
    }

    /// Encodes the records as rows, after the rows of `base` if this view wrote that. The view is
    /// locked only for a part of the records at a time, so that writers do not wait for long.
    /// `None` if a record can't be encoded.
    fn rows_written_ahead(
        &self,
        store: &Store,
        base: Option<&WrittenSnapshot>,
    ) -> Option<RecordRows> {
        let mut rows = match base.filter(|written| written.files.is_some()) {
            Some(written) => RecordRows::of_snapshot(store, &self.owner, &written.head),
            None => RecordRows::default(),
        };
        loop {
            let view = self.view.read();
            if view.erased || rows.are_nearly_whole(&view) {
                return Some(rows);
            }
            rows.go_on(&view)?;
        }
    }

    /// Removes the snapshot before the vector files are rewritten: the vectors that a snapshot
    /// names must exist.
    fn forget_snapshot(&self, store: &Store) -> Result<()> {
        *self.snapshot.lock() = None;
        store.remove_snapshot(&self.owner)
    }

    fn write_changed(
        &self,
        store: &Store,
        to: &IndexingSettings<'_>,
    ) -> Result<Option<VectorFiles>> {
        if self.store.mode() == OpenMode::ReadOnly
            || !self.vectors_changed.swap(false, Ordering::SeqCst)
        {
            return Ok(None);
        }
        self.forget_snapshot(store).inspect_err(|_| self.note_change())?;
        let view = self.view.read();
        let mut files = VectorFiles::default();
        for kind in LogKind::ALL {
            let written = self.write_cache(&view, kind, store, to);
            files.rewritten(&view, kind, written.inspect_err(|_| self.note_change())?);
        }
        Ok(Some(files))
    }

    /// Writes all vectors of one log; returns length and checksum of the file. The caller has
    /// removed the snapshot.
    fn write_cache(
        &self,
        view: &UserView,
        kind: LogKind,
        store: &Store,
        to: &IndexingSettings<'_>,
    ) -> Result<Option<FileSum>> {
        let Some((rows, vectors)) = cached(view, kind) else {
            store.remove_vectors(&self.owner, kind)?;
            return Ok(None);
        };
        let field = match kind {
            LogKind::Messages => &view.messages.field,
            LogKind::Episodes => &view.narratives,
            LogKind::Semantic => &view.statements,
        };
        // Only a graph gets a file: a flat index is built from the vectors. Episodes are too few
        // for a graph to be worth a file.
        let is_graph = |index: &&dyn VectorIndex| index.kind() == VectorIndexKind::Hnsw;
        let graph = field.vectors().filter(|_| kind != LogKind::Episodes).filter(is_graph);
        let head = VectorCacheHead {
            model: to.embedder.model().to_owned(),
            dimension: vectors.ncols(),
            index_kind: if graph.is_some() { "hnsw" } else { "flat" }.to_owned(),
            log: self.store.position(kind),
            rows,
        };
        let mut write = graph.map(|graph| |path: &Path| graph.write(path));
        let write = write.as_mut().map(|write| write as WriteGraph<'_>);
        store.save_vectors(&self.owner, kind, &head, &vectors, write).map(Some)
    }

    /// True if the user is large enough for a snapshot and allows one.
    pub(super) fn wants_snapshot(&self, to: &IndexingSettings<'_>) -> bool {
        self.is_fit_for_snapshot(&self.view.read(), to)
    }

    pub(super) fn is_fit_for_snapshot(&self, view: &UserView, to: &IndexingSettings<'_>) -> bool {
        let fields = [
            (&view.messages.field, view.messages.len()),
            (&view.abstracts, view.episodes.len()),
            (&view.narratives, view.episodes.len()),
            (&view.statements, view.facts.len()),
        ];
        // A snapshot would not help: a graph is read from its own file, and a text that lacks a
        // vector is found only by reading the logs.
        let is_flat = |field: &TextIndex| {
            field.vectors().is_none_or(|vectors| vectors.kind() == VectorIndexKind::Flat)
        };
        view.messages.len() >= to.config.snapshot_threshold
            && !view.erased
            && fields
                .iter()
                .all(|(field, records)| field.vector_count() == *records && is_flat(field))
            && self.problems.is_empty()
            && cfg!(target_endian = "little")
    }

    /// Writes the snapshot of a user whose vectors were just written.
    fn save_snapshot(
        &self,
        writer: &WriterState,
        store: &Store,
        to: &IndexingSettings<'_>,
        files: VectorFiles,
    ) -> Result<()> {
        let view = self.view.read();
        let Some(sums) = self.store.sums()? else { return store.remove_snapshot(&self.owner) };
        let packed = PackedView::new(&view, self.next_seq(writer), &files, RecordRows::default());
        self.place_snapshot(store, packed, sums, files, to)
    }

    pub(super) fn next_seq(&self, writer: &WriterState) -> u64 {
        writer.next_seq.max(self.followed_seq.load(Ordering::SeqCst))
    }

    /// Writes a packed snapshot; without one, removes the snapshot on disk.
    fn place_snapshot(
        &self,
        store: &Store,
        packed: Option<PackedView>,
        logs: [LogSum; 3],
        files: VectorFiles,
        to: &IndexingSettings<'_>,
    ) -> Result<()> {
        let Some(packed) = packed else { return store.remove_snapshot(&self.owner) };
        let head = packed.head(logs, &files, to);
        store.save_snapshot(&self.owner, &head, &packed.pieces)?;
        *self.snapshot.lock() = Some(WrittenSnapshot { head, files: Some(Arc::new(files)) });
        Ok(())
    }
}

/// Runs `work`, which may read damaged records of a snapshot. Ignores the failure to read them: the
/// next opening reads the logs.
fn catch_unsound(work: impl FnOnce() -> Result<()>) -> Result<()> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
        Ok(outcome) => outcome,
        Err(panic) if panic.is::<UnreadableRow>() => Ok(()),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
