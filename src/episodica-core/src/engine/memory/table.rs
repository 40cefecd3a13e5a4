//! The records of one kind, under slots.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::index::Keys;
use crate::model::{InMemory, Shelf, ShelfWriter, block, map_of_lists_bytes};
use crate::pack::{Packer, Unpacker};
use crate::store::History;

/// Marks an id under which there is no current record.
const NONE: u32 = u32::MAX;

/// A record in a slot, or in the history of an id.
enum Cell<R> {
    /// Replaced or deleted.
    Gone,
    /// In this row of the shelf, not read yet.
    Shelved(u32),
    /// In memory.
    Here(Arc<R>),
}

/// What a record takes that no shelf holds.
fn bytes_of<R: InMemory>(cell: &Cell<R>) -> usize {
    match cell {
        Cell::Gone | Cell::Shelved(_) => 0,
        Cell::Here(record) => record.heap_bytes(),
    }
}

fn bytes_of_all<R: InMemory>(history: &FxHashMap<u32, Vec<Cell<R>>>) -> usize {
    history.values().flatten().map(bytes_of).sum()
}

/// Records of one kind under slots. A new revision takes a new slot, so that indexes only ever
/// append.
pub(crate) struct Table<R> {
    cells: Vec<Cell<R>>,
    ids: Keys,
    /// The slot of the current revision of each id, by the number of the id; ids may be named
    /// before there is a record of theirs.
    slots: Vec<u32>,
    len: usize,
    /// Earlier revisions, oldest first, by the number of the id.
    history: FxHashMap<u32, Vec<Cell<R>>>,
    shelf: Shelf<R>,
    /// What the records take that no shelf holds.
    record_bytes: usize,
}

impl<R: InMemory> Default for Table<R> {
    fn default() -> Self {
        Self {
            cells: Vec::new(),
            ids: Keys::default(),
            slots: Vec::new(),
            len: 0,
            history: FxHashMap::default(),
            shelf: Shelf::default(),
            record_bytes: 0,
        }
    }
}

impl<R: InMemory> Table<R> {
    /// Stores a revision; returns its slot, and the slot of the revision that it replaces.
    pub fn put(&mut self, id: &str, record: Arc<R>) -> (u32, Option<u32>) {
        let (number, slot) = (self.number(id), self.cells.len() as u32);
        self.record_bytes += record.heap_bytes();
        self.cells.push(Cell::Here(record));
        let earlier = std::mem::replace(&mut self.slots[number as usize], slot);
        if earlier == NONE {
            self.len += 1;
            return (slot, None);
        }
        let replaced = std::mem::replace(&mut self.cells[earlier as usize], Cell::Gone);
        self.history.entry(number).or_default().push(replaced);
        (slot, Some(earlier))
    }

    /// Removes a record with its history; returns its slot.
    pub fn remove(&mut self, id: &str) -> Option<u32> {
        let number = self.ids.number(id)?;
        self.remove_history(id);
        let slot = std::mem::replace(&mut self.slots[number as usize], NONE);
        if slot == NONE {
            return None;
        }
        let removed = std::mem::replace(&mut self.cells[slot as usize], Cell::Gone);
        self.record_bytes -= bytes_of(&removed);
        self.len -= 1;
        Some(slot)
    }

    /// Removes the earlier revisions of a record.
    pub fn remove_history(&mut self, id: &str) {
        let Some(number) = self.ids.number(id) else { return };
        let removed = self.history.remove(&number).unwrap_or_default();
        self.record_bytes -= removed.iter().map(bytes_of).sum::<usize>();
    }

    /// Keeps the earlier revisions for which `keep` holds. Reads all of them.
    pub fn retain_history(&mut self, keep: impl Fn(&R) -> bool) {
        let mut history = std::mem::take(&mut self.history);
        let before = bytes_of_all(&history);
        history.retain(|_, cells| {
            cells.retain(|cell| self.read(cell).is_some_and(|record| keep(record)));
            !cells.is_empty()
        });
        self.record_bytes -= before - bytes_of_all(&history);
        self.history = history;
    }

    /// Adds a revision to the history of an id.
    pub fn put_earlier(&mut self, id: &str, record: Arc<R>) {
        let number = self.number(id);
        self.record_bytes += record.heap_bytes();
        self.history.entry(number).or_default().push(Cell::Here(record));
    }

    /// The number of an id, with or without a record.
    pub fn number(&mut self, id: &str) -> u32 {
        let (number, new) = self.ids.intern(id);
        if new {
            self.slots.push(NONE);
        }
        number
    }

    /// Sets the earlier revisions, as a log was read.
    pub fn set_history(&mut self, history: History<R>) {
        for (id, revisions) in history {
            let number = self.number(&id);
            self.record_bytes += revisions.iter().map(|record| record.heap_bytes()).sum::<usize>();
            self.history.insert(number, revisions.into_iter().map(Cell::Here).collect());
        }
    }

    /// Earlier revisions of a record, oldest first.
    pub fn earlier(&self, id: &str) -> Vec<Arc<R>> {
        let cells = self.ids.number(id).and_then(|number| self.history.get(&number));
        cells.into_iter().flatten().filter_map(|cell| self.read(cell).cloned()).collect()
    }

    /// Earlier revisions of all records.
    pub fn history(&self) -> History<R> {
        self.history
            .keys()
            .map(|number| self.ids.key(*number))
            .map(|id| (id.to_owned(), self.earlier(id)))
            .collect()
    }

    fn read<'a>(&'a self, cell: &'a Cell<R>) -> Option<&'a Arc<R>> {
        match cell {
            Cell::Gone => None,
            Cell::Shelved(row) => Some(self.shelf.get(*row)),
            Cell::Here(record) => Some(record),
        }
    }

    /// True if the record in a slot was neither replaced nor deleted.
    pub fn contains(&self, slot: u32) -> bool {
        self.cells.get(slot as usize).is_some_and(|cell| !matches!(cell, Cell::Gone))
    }

    /// The record in a slot, unless it was replaced or deleted.
    pub fn get(&self, slot: u32) -> Option<&Arc<R>> {
        self.cells.get(slot as usize).and_then(|cell| self.read(cell))
    }

    /// The slot of the current revision.
    pub fn slot(&self, id: &str) -> Option<u32> {
        self.slot_of(self.ids.number(id)?)
    }

    /// The slot of the current revision, by the number of its id.
    pub fn slot_of(&self, number: u32) -> Option<u32> {
        self.slots.get(number as usize).copied().filter(|slot| *slot != NONE)
    }

    /// The current revision.
    pub fn by_id(&self, id: &str) -> Option<&Arc<R>> {
        self.slot(id).and_then(|slot| self.get(slot))
    }

    /// The slots of current revisions, rising.
    pub fn slots(&self) -> impl DoubleEndedIterator<Item = u32> {
        (0..self.cells.len() as u32).filter(|slot| self.contains(*slot))
    }

    /// Current revisions by rising slot. Reads all of them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, &Arc<R>)> {
        self.slots().filter_map(|slot| self.get(slot).map(|record| (slot, record)))
    }

    /// One more than the highest slot ever given out.
    pub fn slot_count(&self) -> usize {
        self.cells.len()
    }

    /// True once a record could not be read.
    pub fn is_unsound(&self) -> bool {
        self.shelf.is_unsound()
    }

    /// What the records and the table take in memory, about.
    pub fn heap_bytes(&self) -> usize {
        let history =
            map_of_lists_bytes::<u32, Cell<R>>(self.history.capacity(), self.history.len());
        block(self.cells.capacity() * size_of::<Cell<R>>())
            + self.ids.heap_bytes()
            + block(self.slots.capacity() * size_of::<u32>())
            + history
            + self.shelf.heap_bytes()
            + self.record_bytes
    }

    /// How many current revisions.
    pub fn len(&self) -> usize {
        self.len
    }

    /// For a snapshot; `encode` writes a record as the `read` of [`Table::unpack`] reads it, and
    /// is given its slot, or `None` with an earlier revision. `None` if one can't be written.
    pub fn pack(
        &self,
        packer: &mut Packer,
        encode: impl Fn(Option<u32>, &R) -> Option<Vec<u8>>,
    ) -> Option<()> {
        let mut history: Vec<(u32, &[Cell<R>])> =
            self.history.iter().map(|(number, cells)| (*number, cells.as_slice())).collect();
        history.sort_unstable_by_key(|(number, _)| *number);
        self.ids.pack(packer);
        packer.column(&self.slots);
        packer.column(
            &self
                .cells
                .iter()
                .map(|cell| u8::from(!matches!(cell, Cell::Gone)))
                .collect::<Vec<_>>(),
        );
        packer.column(
            &history
                .iter()
                .map(|(number, cells)| [*number, cells.len() as u32])
                .collect::<Vec<_>>(),
        );

        let current = (0_u32..).map(Some).zip(&self.cells);
        let earlier = history.iter().flat_map(|(_, cells)| cells.iter()).map(|cell| (None, cell));
        let mut unread = self.shelf.rows();
        let mut rows = ShelfWriter::default();
        for (slot, cell) in current.chain(earlier) {
            match cell {
                Cell::Gone => rows.push(&[]),
                Cell::Shelved(row) => rows.push(unread.row(*row)?),
                Cell::Here(record) => rows.push(&encode(slot, record)?),
            }
        }
        rows.pack(packer);
        Some(())
    }

    /// From a snapshot.
    pub fn unpack(
        unpacker: &mut Unpacker<'_>,
        read: impl Fn(&[u8]) -> Option<R> + Send + Sync + 'static,
    ) -> Option<Self> {
        let (ids, slots) = (Keys::unpack(unpacker)?, unpacker.column::<u32>()?);
        let alive: Vec<u8> = unpacker.column()?;
        let cells: Vec<Cell<R>> = (0..)
            .zip(&alive)
            .map(|(row, alive)| if *alive == 0 { Cell::Gone } else { Cell::Shelved(row) })
            .collect();
        let mut row = cells.len() as u32;
        let mut earlier = Vec::new();
        for [number, count] in unpacker.column::<[u32; 2]>()? {
            earlier.push((number, row..row.checked_add(count)?));
            row = row.checked_add(count)?;
        }
        let shelf = Shelf::unpack(unpacker, Box::new(read))?;
        let len = slots.iter().filter(|slot| **slot != NONE).count();
        let alive = |slot: u32| alive.get(slot as usize).is_some_and(|alive| *alive != 0);
        let sound = shelf.len() == row as usize
            && slots.len() == ids.len()
            && slots.iter().all(|slot| *slot == NONE || alive(*slot))
            && earlier.iter().all(|(number, _)| (*number as usize) < ids.len());
        if !sound {
            return None;
        }
        let revisions = |rows: std::ops::Range<u32>| rows.map(Cell::Shelved).collect();
        let history = earlier.into_iter().map(|(number, rows)| (number, revisions(rows))).collect();
        Some(Self { cells, ids, slots, len, history, shelf, record_bytes: 0 })
    }
}
