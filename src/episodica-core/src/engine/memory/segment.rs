//! Writes the segment, which makes the next opening fast: at closing, and in the background as the
//! logs of a large user grow. One process at a time writes it.

use std::cell::Cell;
use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, RwLockReadGuard};

use ndarray::Array2;
use rustc_hash::FxHashMap;

use crate::embed::is_earlier_default;
use crate::engine::memory::indexing::IndexingSettings;
use crate::engine::memory::record_rows::RecordRows;
use crate::engine::memory::snapshot::{packed_snapshot, readable_snapshot, unpack_labels};
use crate::engine::memory::user::UserMemory;
use crate::engine::memory::vector_field::VectorField;
use crate::engine::memory::view::UserView;
use crate::error::{ErrorKind, Result};
use crate::ids::VectorKey;
use crate::index::TextIndex;
use crate::matrix::Matrix;
use crate::model::UnreadableRow;
use crate::store::backend::LockGuard;
use crate::store::{LogKind, LogSum, NewSegment, NewVectors, OpenMode, Segment, Store};

/// A snapshot is due if at least `SNAPSHOT_STEP` records, and one in `SNAPSHOT_SHARE` of all
/// records, were written since the last one.
const SNAPSHOT_STEP: u64 = 2_048;
const SNAPSHOT_SHARE: u64 = 32;

/// The last segment on disk.
#[derive(Debug, Clone)]
pub(crate) struct WrittenSegment {
    pub segment: Segment,
    /// The view that came from it or wrote it, and so has the same slots.
    pub view: Option<Arc<()>>,
}

impl WrittenSegment {
    /// The segment, if it has the slots of `view`.
    fn segment_for(&self, view: &UserView) -> Option<&Segment> {
        let is_own = self.view.as_ref().is_some_and(|own| Arc::ptr_eq(own, &view.identity));
        is_own.then_some(&self.segment)
    }
}

/// What to do about a segment that another process is writing now, or that belongs to another
/// model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ForeignSegment {
    /// Give up in both cases.
    Left,
    /// Wait for the other process; give up if the segment belongs to another model.
    Awaited,
    /// Wait for the other process; replace a segment of another model.
    Replaced,
}

/// The snapshot for the segment: the number of the next message, the logs that the view has, and
/// the rows written ahead.
type SnapshotBasis = (u64, [LogSum; 3], RecordRows);

impl UserMemory {
    /// Writes the segment if it has changed; for a large user, with a snapshot. The caller holds
    /// the user's `FormingTurn`.
    pub fn save_for_next_opening(&self, store: &Store, to: &IndexingSettings<'_>) -> Result<()> {
        let (writer, _following) = (self.writer.lock(), self.following.lock());
        let Some(_caches) = self.lock_caches(store, to, ForeignSegment::Awaited)? else {
            return Ok(());
        };
        self.write_uses(store)?;
        catch_unsound(|| {
            let view = self.view.read();
            let fits = !self.store.is_erasing() && self.is_fit_for_snapshot(&view, to);
            let logs = if fits { self.store.log_sums()? } else { None };
            let next_seq = writer.next_seq.max(self.followed_seq.load(Ordering::SeqCst));
            self.write_changed(view, store, to, logs.map(|logs| (next_seq, logs)))
        })?;
        if self.is_unsound() {
            store.remove_segment(&self.owner)?;
        }
        Ok(())
    }

    /// True once a record of the snapshot could not be read.
    pub fn is_unsound(&self) -> bool {
        self.view.read().is_unsound()
    }

    /// Writes the segment without a snapshot, if any vector changed.
    pub fn save_vectors(&self, store: &Store, to: &IndexingSettings<'_>) -> Result<()> {
        self.write_vectors(store, to, ForeignSegment::Awaited)
    }

    /// Writes the vectors, replacing a segment of another model.
    pub fn replace_segment(&self, store: &Store, to: &IndexingSettings<'_>) -> Result<()> {
        self.write_vectors(store, to, ForeignSegment::Replaced)
    }

    fn write_vectors(
        &self,
        store: &Store,
        to: &IndexingSettings<'_>,
        others: ForeignSegment,
    ) -> Result<()> {
        let Some(_caches) = self.lock_caches(store, to, others)? else { return Ok(()) };
        if self.vectors_changed.load(Ordering::SeqCst) {
            return self.write_changed(self.view.read(), store, to, None);
        }
        Ok(())
    }

    /// Locks the segment. Take the writer lock before this lock, never after it: a deletion holds
    /// the writer lock while it waits for this one. Returns `None` if the segment must not be
    /// written from here: another process is writing it, it belongs to another model, or this view
    /// still has erased records.
    fn lock_caches(
        &self,
        store: &Store,
        to: &IndexingSettings<'_>,
        others: ForeignSegment,
    ) -> Result<Option<Box<dyn LockGuard>>> {
        if self.store.open_mode() == OpenMode::ReadOnly {
            return Ok(None);
        }
        let guard = match store.lock_caches(&self.owner, others != ForeignSegment::Left) {
            // The process that writes it is suspended. The segment can be written later.
            Err(error) if error.kind() == ErrorKind::StoreLocked => None,
            guard => guard?,
        };
        if guard.is_none() || self.is_outdated() || !self.store.is_continued()? {
            return Ok(None);
        }
        let present = to.embedder.model_name();
        let is_foreign = |segment: Segment| {
            let model = &segment.footer.model;
            model != present && !is_earlier_default(model, present)
        };
        let keeps = others != ForeignSegment::Replaced
            && store.open_segment(&self.owner).ok().flatten().is_some_and(is_foreign);
        Ok(guard.filter(|_| !keeps))
    }

    /// True if enough records were written since the last snapshot.
    pub fn is_snapshot_due(&self, to: &IndexingSettings<'_>) -> bool {
        let now =
            LogKind::ALL.map(|kind| self.store.log_position(kind).records).iter().sum::<u64>();
        let before = {
            let written = self.segment.lock();
            let snapshot =
                written.as_ref().and_then(|written| readable_snapshot(&written.segment.footer, to));
            let logs = snapshot.into_iter().flat_map(|snapshot| &snapshot.logs);
            logs.map(|log| log.position.records).sum()
        };
        now.saturating_sub(before) >= SNAPSHOT_STEP.max(now / SNAPSHOT_SHARE)
            && self.view.read().messages.len() >= to.config.snapshot_threshold
    }

    /// Takes a snapshot of an open user, unless another process has just taken one.
    pub fn save_snapshot_now(&self, store: &Store, to: &IndexingSettings<'_>) -> Result<()> {
        catch_unsound(|| self.take_snapshot(store, to))
    }

    fn take_snapshot(&self, store: &Store, to: &IndexingSettings<'_>) -> Result<()> {
        let lock = || self.lock_caches(store, to, ForeignSegment::Left);
        let Some(caches) = lock()? else { return Ok(()) };
        self.write_uses(store)?;
        let base = self.segment_on_disk(store);
        if !self.is_snapshot_due(to) {
            return Ok(());
        }
        let (own, identity) = {
            let view = self.view.read();
            let own = base.as_ref().and_then(|base| base.segment_for(&view));
            (own, Arc::clone(&view.identity))
        };
        let Some(rows) = self.rows_written_ahead(own) else { return Ok(()) };
        let known = KnownKeys::from_segment(own);
        // A deletion that holds the writer lock may be waiting for the caches.
        drop(caches);
        // From here on neither the logs nor the view can change.
        let writer = self.writer.lock();
        let following = self.following.lock();
        let Some(_caches) = lock()? else { return Ok(()) };
        let view = self.view.read();
        let now = self.segment_on_disk(store);
        let [now, before] = [&now, &base].map(|one| one.as_ref().map(|one| &one.segment.footer));
        let is_same = now == before && Arc::ptr_eq(&view.identity, &identity);
        if writer.gone || !self.is_fit_for_snapshot(&view, to) || !is_same {
            return Ok(());
        }
        let next_seq = writer.next_seq.max(self.followed_seq.load(Ordering::SeqCst));
        let logs = self.store.log_sums()?;
        drop((writer, following));
        match logs {
            Some(logs) => self.write_segment(view, store, to, Some((next_seq, logs, rows)), &known),
            None => Ok(()),
        }
    }

    /// Returns the segment on disk, if it is readable.
    fn segment_on_disk(&self, store: &Store) -> Option<WrittenSegment> {
        let segment = store.open_segment(&self.owner).ok().flatten()?;
        let mut known = self.segment.lock();
        let own = known.take().filter(|known| known.segment.footer == segment.footer);
        Some(known.insert(own.unwrap_or(WrittenSegment { segment, view: None })).clone())
    }

    /// Encodes the records as rows, after the rows of the view's own segment. The view is locked
    /// only for a part of the records at a time, so that writers do not wait for long. `None` if a
    /// record can't be encoded.
    fn rows_written_ahead(&self, own: Option<&Segment>) -> Option<RecordRows> {
        let mut rows = own.map(RecordRows::of_snapshot).unwrap_or_default();
        loop {
            let view = self.view.read();
            if view.erased || rows.are_nearly_whole(&view) {
                return Some(rows);
            }
            rows.go_on(&view)?;
        }
    }

    /// Writes the segment, unless the one on disk has the same vectors and a snapshot of the same
    /// logs. `logs`: the number of the next message and the logs of a snapshot.
    fn write_changed(
        &self,
        view: RwLockReadGuard<'_, UserView>,
        store: &Store,
        to: &IndexingSettings<'_>,
        logs: Option<(u64, [LogSum; 3])>,
    ) -> Result<()> {
        let written = self.segment_on_disk(store);
        let own = written.as_ref().and_then(|written| written.segment_for(&view));
        let on_disk = own.and_then(|own| own.footer.snapshot.as_ref());
        let is_same = on_disk.map(|snapshot| &snapshot.logs) == logs.as_ref().map(|(_, logs)| logs);
        if is_same && !self.vectors_changed.load(Ordering::SeqCst) {
            return Ok(());
        }
        let known = KnownKeys::from_segment(own);
        let basis = logs.map(|(next_seq, logs)| (next_seq, logs, RecordRows::default()));
        self.write_segment(view, store, to, basis, &known)
    }

    /// Writes the segment. The caller holds the lock of the caches. The view is locked until it is
    /// packed, and then for some thousand vectors at a time.
    fn write_segment(
        &self,
        view: RwLockReadGuard<'_, UserView>,
        store: &Store,
        to: &IndexingSettings<'_>,
        basis: Option<SnapshotBasis>,
        known: &KnownKeys,
    ) -> Result<()> {
        let snapshot = basis
            .and_then(|(next_seq, logs, rows)| packed_snapshot(&view, next_seq, logs, rows, to));
        let mut fields = VectorField::ALL.map(|field| Some(FieldRows::new(&view, field, known)));
        let (identity, is_rebuilt) = (Arc::clone(&view.identity), Cell::new(false));
        self.vectors_changed.store(false, Ordering::SeqCst);
        drop(view);
        let vectors = std::array::from_fn(|part| {
            let field = VectorField::ALL.iter().position(|field| field.part_number() == part);
            let Some(rows) = field.and_then(|field| fields[field].take()) else {
                return NewVectors::none();
            };
            let FieldRows { field, labels, keys, dimension, is_half } = rows;
            let (identity, is_rebuilt) = (&identity, &is_rebuilt);
            let rows = move |range: Range<usize>| {
                let view = self.view.read();
                if !Arc::ptr_eq(&view.identity, identity) {
                    is_rebuilt.set(true);
                    return Err(io::Error::other("the view was built anew"));
                }
                Ok(rows_of_labels(field.index(&view), &labels[range], dimension))
            };
            NewVectors { keys, dimension, is_half, rows: Box::new(rows) }
        });
        let model = to.embedder.model_name().to_owned();
        match store.save_segment(&self.owner, NewSegment { model, vectors, snapshot }) {
            Ok(segment) => {
                *self.segment.lock() = Some(WrittenSegment { segment, view: Some(identity) });
                Ok(())
            }
            Err(error) => {
                self.note_change();
                if is_rebuilt.get() { Ok(()) } else { Err(error) }
            }
        }
    }

    /// True if the user is large enough for a snapshot and allows one.
    fn is_fit_for_snapshot(&self, view: &UserView, to: &IndexingSettings<'_>) -> bool {
        // A text that lacks a vector is found only by reading the logs.
        let is_whole =
            |field: VectorField| field.index(view).vector_count() == field.record_count(view);
        view.messages.len() >= to.config.snapshot_threshold
            && !view.erased
            && view.backlog.awaited_edits().is_empty()
            && VectorField::ALL.into_iter().all(is_whole)
            && self.problems.is_empty()
    }
}

/// The keys of the vectors in a segment that this view wrote or came from, by slot.
#[derive(Default)]
struct KnownKeys([FxHashMap<u32, VectorKey>; 2]);

impl KnownKeys {
    /// Reads the keys of a segment with a snapshot, which names the slots. Otherwise, no key is
    /// known.
    fn from_segment(own: Option<&Segment>) -> Self {
        let read = || {
            let segment = own?;
            let labels = unpack_labels(&mut segment.open_pack(0)?)?;
            let mut known = Self::default();
            let fields = VectorField::ALL.into_iter().zip(&mut known.0);
            for ((field, known), labels) in fields.zip(labels) {
                let keys = segment.read_keys(field.part_number()).ok()?;
                known.extend(labels.into_iter().zip(keys));
            }
            Some(known)
        };
        read().unwrap_or_default()
    }
}

/// The vectors of a field that are about to be written.
struct FieldRows {
    field: VectorField,
    labels: Vec<u64>,
    keys: Vec<VectorKey>,
    dimension: usize,
    is_half: bool,
}

impl FieldRows {
    fn new(view: &UserView, field: VectorField, known: &KnownKeys) -> Self {
        let labels: Vec<u64> = field
            .indexed_labels(view)
            .iter()
            .copied()
            .filter(|label| field.has_record(view, *label as u32))
            .collect();
        let known = &known.0[field as usize];
        let known = |label: &u64| known.get(&(*label as u32));
        let new = labels.iter().filter(|label| known(label).is_none()).map(|label| *label as u32);
        let mut computed = field.vector_keys(view, new.collect()).into_iter();
        let key = |label| known(label).copied().or_else(|| computed.next());
        let keys = labels.iter().filter_map(key).collect();
        let vectors = field.index(view).vector_index();
        Self {
            field,
            labels,
            keys,
            dimension: vectors.map_or(0, |vectors| vectors.dimension()),
            is_half: vectors.is_some_and(|vectors| vectors.vectors().is_half()),
        }
    }
}

/// The vectors of these labels. A vector that was removed meanwhile is zeros: a line after those of
/// the snapshot removes its record, too.
fn rows_of_labels(field: &TextIndex, labels: &[u64], dimension: usize) -> Matrix<'static> {
    let mut rows = Array2::<f32>::zeros((labels.len(), dimension));
    for (mut row, label) in rows.rows_mut().into_iter().zip(labels) {
        if let Some(vector) = field.vector_index().and_then(|vectors| vectors.vector_of(*label)) {
            row.assign(&vector);
        }
    }
    rows.into()
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
