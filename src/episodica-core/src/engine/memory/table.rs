//! The records of one kind, by slot.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::index::StringInterner;
use crate::model::{InMemory, RecordShelf, ShelfRows, ShelfWriter, block_size, map_of_lists_bytes};
use crate::pack::{ColumnPacker, ColumnUnpacker};
use crate::store::History;

/// Marks an id without a current record, and a revision without a slot.
const NONE: u32 = u32::MAX;

/// A record in a slot, or in the history of an id.
enum TableCell<R> {
    /// Replaced or deleted.
    Gone,
    /// In this row of the shelf, not read yet.
    Shelved(u32),
    /// In memory.
    Here(Arc<R>),
}

struct EarlierRevision<R> {
    /// Its slot, or [`NONE`].
    slot: u32,
    cell: TableCell<R>,
}

/// Memory of a record outside the shelf.
fn bytes_of<R: InMemory>(cell: &TableCell<R>) -> usize {
    match cell {
        TableCell::Gone | TableCell::Shelved(_) => 0,
        TableCell::Here(record) => record.heap_bytes(),
    }
}

fn bytes_of_all<'a, R: InMemory + 'a>(
    revisions: impl IntoIterator<Item = &'a EarlierRevision<R>>,
) -> usize {
    revisions.into_iter().map(|earlier| bytes_of(&earlier.cell)).sum()
}

/// Records of one kind, by slot. A new revision takes a new slot, so that indexes only append.
pub(crate) struct RecordTable<R> {
    cells: Vec<TableCell<R>>,
    ids: StringInterner,
    /// The slot of the current revision of each id, by the number of the id. An id may be numbered
    /// before it has a record.
    slots: Vec<u32>,
    len: usize,
    /// Earlier revisions of each record, oldest first, keyed by the number of the record's id in
    /// `ids`.
    history: FxHashMap<u32, Vec<EarlierRevision<R>>>,
    /// The records with a slot.
    shelf: RecordShelf<R>,
    /// Earlier revisions without a slot.
    older: RecordShelf<R>,
    /// Memory of the records outside the shelves.
    record_bytes: usize,
}

impl<R: InMemory> Default for RecordTable<R> {
    fn default() -> Self {
        Self {
            cells: Vec::new(),
            ids: StringInterner::default(),
            slots: Vec::new(),
            len: 0,
            history: FxHashMap::default(),
            shelf: RecordShelf::default(),
            older: RecordShelf::default(),
            record_bytes: 0,
        }
    }
}

impl<R: InMemory> RecordTable<R> {
    /// Stores a revision; returns its slot, and the slot of the revision that it replaces.
    pub fn put_revision(&mut self, id: &str, record: Arc<R>) -> (u32, Option<u32>) {
        let (number, slot) = (self.number_of(id), self.cells.len() as u32);
        self.record_bytes += record.heap_bytes();
        self.cells.push(TableCell::Here(record));
        let earlier = std::mem::replace(&mut self.slots[number as usize], slot);
        if earlier == NONE {
            self.len += 1;
            return (slot, None);
        }
        let cell = std::mem::replace(&mut self.cells[earlier as usize], TableCell::Gone);
        self.history.entry(number).or_default().push(EarlierRevision { slot: earlier, cell });
        (slot, Some(earlier))
    }

    /// Removes a record with its history; returns its slot.
    pub fn remove_record(&mut self, id: &str) -> Option<u32> {
        let number = self.ids.number_of(id)?;
        self.remove_history(id);
        let slot = std::mem::replace(&mut self.slots[number as usize], NONE);
        if slot == NONE {
            return None;
        }
        let removed = std::mem::replace(&mut self.cells[slot as usize], TableCell::Gone);
        self.record_bytes -= bytes_of(&removed);
        self.len -= 1;
        Some(slot)
    }

    pub fn remove_history(&mut self, id: &str) {
        let Some(number) = self.ids.number_of(id) else { return };
        let removed = self.history.remove(&number).unwrap_or_default();
        self.record_bytes -= bytes_of_all(&removed);
    }

    /// Keeps the earlier revisions for which `keep` holds. Reads all of them.
    pub fn retain_history(&mut self, keep: impl Fn(&R) -> bool) {
        let mut history = std::mem::take(&mut self.history);
        let before = bytes_of_all(history.values().flatten());
        history.retain(|_, revisions| {
            revisions.retain(|earlier| self.read_earlier(earlier).is_some_and(|was| keep(was)));
            !revisions.is_empty()
        });
        self.record_bytes -= before - bytes_of_all(history.values().flatten());
        self.history = history;
    }

    /// Keeps only the latest `most` earlier revisions of each record, and none of removed records.
    pub fn trim_history(&mut self, most: usize) {
        let mut history = std::mem::take(&mut self.history);
        let before = bytes_of_all(history.values().flatten());
        history.retain(|number, revisions| {
            revisions.drain(..revisions.len().saturating_sub(most));
            self.slots[*number as usize] != NONE
        });
        self.record_bytes -= before - bytes_of_all(history.values().flatten());
        self.history = history;
    }

    /// Number of revisions that [`RecordTable::trim_history`] would keep, including current ones.
    pub fn revisions_kept(&self, most: usize) -> usize {
        self.len + self.history.values().map(|revisions| revisions.len().min(most)).sum::<usize>()
    }

    /// Adds a revision to the history of an id.
    pub fn put_earlier(&mut self, id: &str, record: Arc<R>) {
        let number = self.number_of(id);
        self.record_bytes += record.heap_bytes();
        let earlier = EarlierRevision { slot: NONE, cell: TableCell::Here(record) };
        self.history.entry(number).or_default().push(earlier);
    }

    /// The number of an id, with or without a record.
    pub fn number_of(&mut self, id: &str) -> u32 {
        let (number, new) = self.ids.intern_key(id);
        if new {
            self.slots.push(NONE);
        }
        number
    }

    /// Sets the earlier revisions as they were read from a log.
    pub fn set_history(&mut self, history: History<R>) {
        for (id, revisions) in history {
            let number = self.number_of(&id);
            self.record_bytes += revisions.iter().map(|record| record.heap_bytes()).sum::<usize>();
            let earlier = |record| EarlierRevision { slot: NONE, cell: TableCell::Here(record) };
            self.history.insert(number, revisions.into_iter().map(earlier).collect());
        }
    }

    /// Earlier revisions of a record, oldest first.
    pub fn earlier_revisions(&self, id: &str) -> Vec<Arc<R>> {
        let revisions = self.ids.number_of(id).and_then(|number| self.history.get(&number));
        revisions.into_iter().flatten().filter_map(|one| self.read_earlier(one).cloned()).collect()
    }

    pub fn revision_history(&self) -> History<R> {
        self.history
            .keys()
            .map(|number| self.ids.key_of(*number))
            .map(|id| (id.to_owned(), self.earlier_revisions(id)))
            .collect()
    }

    fn read_cell<'a>(&'a self, cell: &'a TableCell<R>) -> Option<&'a Arc<R>> {
        match cell {
            TableCell::Gone => None,
            TableCell::Shelved(row) => Some(self.shelf.get(*row)),
            TableCell::Here(record) => Some(record),
        }
    }

    fn read_earlier<'a>(&'a self, earlier: &'a EarlierRevision<R>) -> Option<&'a Arc<R>> {
        match earlier.cell {
            TableCell::Shelved(row) if earlier.slot == NONE => Some(self.older.get(row)),
            _ => self.read_cell(&earlier.cell),
        }
    }

    /// True if the record in a slot was neither replaced nor deleted.
    pub fn is_current(&self, slot: u32) -> bool {
        self.cells.get(slot as usize).is_some_and(|cell| !matches!(cell, TableCell::Gone))
    }

    /// The record in a slot, unless it was replaced or deleted.
    pub fn get(&self, slot: u32) -> Option<&Arc<R>> {
        self.cells.get(slot as usize).and_then(|cell| self.read_cell(cell))
    }

    /// The slot of the current revision.
    pub fn slot_by_id(&self, id: &str) -> Option<u32> {
        self.slot_of(self.ids.number_of(id)?)
    }

    /// The slot of the current revision, by the number of its id.
    pub fn slot_of(&self, number: u32) -> Option<u32> {
        self.slots.get(number as usize).copied().filter(|slot| *slot != NONE)
    }

    /// The current revision.
    pub fn by_id(&self, id: &str) -> Option<&Arc<R>> {
        self.slot_by_id(id).and_then(|slot| self.get(slot))
    }

    /// The slots of current revisions, in ascending order.
    pub fn current_slots(&self) -> impl DoubleEndedIterator<Item = u32> {
        (0..self.cells.len() as u32).filter(|slot| self.is_current(*slot))
    }

    /// Current revisions in ascending order of slots. Reads all of them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, &Arc<R>)> {
        self.current_slots().filter_map(|slot| self.get(slot).map(|record| (slot, record)))
    }

    /// One more than the highest slot ever assigned.
    pub fn slot_count(&self) -> usize {
        self.cells.len()
    }

    /// True once a record could not be read.
    pub fn is_unsound(&self) -> bool {
        self.shelf.is_unsound() || self.older.is_unsound()
    }

    pub fn heap_bytes(&self) -> usize {
        let history = map_of_lists_bytes::<u32, EarlierRevision<R>>(
            self.history.capacity(),
            self.history.len(),
        );
        block_size(self.cells.capacity() * size_of::<TableCell<R>>())
            + self.ids.heap_bytes()
            + block_size(self.slots.capacity() * size_of::<u32>())
            + history
            + self.shelf.heap_bytes()
            + self.older.heap_bytes()
            + self.record_bytes
    }

    /// Number of current revisions.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Appends the rows of up to `count` more slots to `rows`. `encode` writes the form that the
    /// `read` of [`RecordTable::unpack_columns`] reads. `None` if a record can't be encoded.
    pub fn write_rows(
        &self,
        rows: &mut ShelfWriter,
        count: usize,
        encode: impl Fn(u32, &R) -> Option<Vec<u8>>,
    ) -> Option<()> {
        let first = rows.len();
        let end = self.cells.len().min(first.saturating_add(count));
        let is_wanted = |slot: u32| (first..end).contains(&(slot as usize));
        let replaced: FxHashMap<u32, &TableCell<R>> = self
            .history
            .values()
            .flatten()
            .filter(|earlier| is_wanted(earlier.slot))
            .map(|earlier| (earlier.slot, &earlier.cell))
            .collect();
        let mut unread = self.shelf.written_rows();
        for slot in first as u32..end as u32 {
            let cell = replaced.get(&slot).copied().unwrap_or(&self.cells[slot as usize]);
            write_row(rows, &mut unread, cell, |record| encode(slot, record))?;
        }
        Some(())
    }

    /// Writes the table and the `rows` of all slots into a snapshot; `encode` writes revisions
    /// without a slot. `None` if a record can't be encoded.
    pub fn pack_columns(
        &self,
        packer: &mut ColumnPacker,
        rows: ShelfWriter,
        encode: impl Fn(&R) -> Option<Vec<u8>>,
    ) -> Option<()> {
        let mut history: Vec<(u32, &[EarlierRevision<R>])> = self
            .history
            .iter()
            .map(|(number, revisions)| (*number, revisions.as_slice()))
            .collect();
        history.sort_unstable_by_key(|(number, _)| *number);
        let revisions = || history.iter().flat_map(|(_, revisions)| revisions.iter());
        rows.pack_columns(packer);
        let (mut rows, mut unread) = (ShelfWriter::default(), self.older.written_rows());
        let mut slots = Vec::new();
        for earlier in revisions() {
            slots.push(earlier.slot);
            if earlier.slot == NONE {
                write_row(&mut rows, &mut unread, &earlier.cell, &encode)?;
            }
        }
        rows.pack_columns(packer);
        self.ids.pack_columns(packer);
        packer.push_column(&self.slots);
        let is_there = |cell: &TableCell<R>| u8::from(!matches!(cell, TableCell::Gone));
        packer.push_values(self.cells.iter().map(is_there));
        let counts = history.iter().map(|(number, revisions)| [*number, revisions.len() as u32]);
        packer.push_values(counts);
        packer.push_column(&slots);
        Some(())
    }

    pub fn unpack_columns(
        unpacker: &mut ColumnUnpacker<'_>,
        read: impl Fn(&[u8]) -> Option<R> + Send + Sync + 'static,
    ) -> Option<Self> {
        let read = Arc::new(read);
        let again = Arc::clone(&read);
        let shelf = RecordShelf::unpack_columns(unpacker, Box::new(move |row| read(row)))?;
        let older = RecordShelf::unpack_columns(unpacker, Box::new(move |row| again(row)))?;
        let (ids, slots) =
            (StringInterner::unpack_columns(unpacker)?, unpacker.next_column::<u32>()?);
        let alive: Vec<u8> = unpacker.next_column()?;
        let (counts, mut revisions) =
            (unpacker.next_column::<[u32; 2]>()?, unpacker.next_column::<u32>()?.into_iter());
        let len = slots.iter().filter(|slot| **slot != NONE).count();
        let is_alive = |slot: u32| alive.get(slot as usize).is_some_and(|alive| *alive != 0);
        let sound = shelf.len() == alive.len()
            && slots.len() == ids.len()
            && slots.iter().all(|slot| *slot == NONE || is_alive(*slot))
            && counts.iter().all(|[number, _]| (*number as usize) < ids.len());
        if !sound {
            return None;
        }
        let mut history = FxHashMap::default();
        let mut row = 0;
        for [number, count] in counts {
            let mut earlier = Vec::new();
            for _ in 0..count {
                let slot = revisions.next()?;
                let at = if slot == NONE { row } else { slot };
                row += u32::from(slot == NONE);
                if slot != NONE && slot as usize >= shelf.len() {
                    return None;
                }
                earlier.push(EarlierRevision { slot, cell: TableCell::Shelved(at) });
            }
            history.insert(number, earlier);
        }
        if row as usize != older.len() || revisions.next().is_some() {
            return None;
        }
        let cells = (0..)
            .zip(&alive)
            .map(|(row, alive)| if *alive == 0 { TableCell::Gone } else { TableCell::Shelved(row) })
            .collect();
        Some(Self { cells, ids, slots, len, history, shelf, older, record_bytes: 0 })
    }
}

/// Appends the row of a cell, or an empty row if it has no record; `None` if the record can't be
/// encoded.
fn write_row<R>(
    rows: &mut ShelfWriter,
    unread: &mut ShelfRows<'_>,
    cell: &TableCell<R>,
    encode: impl FnOnce(&R) -> Option<Vec<u8>>,
) -> Option<()> {
    match cell {
        TableCell::Gone => rows.push_row(&[]),
        TableCell::Shelved(row) => rows.push_row(unread.read_row(*row)?),
        TableCell::Here(record) => rows.push_row(&encode(record)?),
    }
    Some(())
}
