//! Lists of plain values, stored end to end in one allocation.

use bytemuck::Pod;

use crate::model::block_size;
use crate::pack::{ColumnPacker, ColumnUnpacker};

/// Lists numbered from 0; see the module's documentation.
#[derive(Debug, Clone, Default)]
pub struct ListColumn<T> {
    values: Vec<T>,
    /// End of each list in `values`.
    ends: Vec<u32>,
}

impl<T: Pod> ListColumn<T> {
    /// Appends a list.
    pub fn push_list(&mut self, list: impl IntoIterator<Item = T>) {
        self.values.extend(list);
        self.ends.push(self.values.len() as u32);
    }

    /// Replaces a list. The cost depends on the number of later values.
    pub(crate) fn replace_list(&mut self, number: u32, list: &[T]) {
        let Some(end) = self.ends.get(number as usize).copied() else { return };
        let start = end as usize - self.get(number).len();
        self.values.splice(start..end as usize, list.iter().copied());
        let new_end = (start + list.len()) as u32;
        for later in &mut self.ends[number as usize..] {
            *later = *later - end + new_end;
        }
    }

    /// Appends empty lists until there are `len`.
    pub(crate) fn pad_to(&mut self, len: usize) {
        self.ends.resize(len.max(self.ends.len()), self.values.len() as u32);
    }

    /// Returns a list; an empty one for a number that was not used.
    pub fn get(&self, number: u32) -> &[T] {
        let Some(end) = self.ends.get(number as usize) else { return &[] };
        let start = if number == 0 { 0 } else { self.ends[number as usize - 1] };
        &self.values[start as usize..*end as usize]
    }

    /// The values of all lists, end to end.
    pub fn all_values(&self) -> &[T] {
        &self.values
    }

    /// Number of lists.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if it contains no lists.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Size in memory, in bytes.
    pub fn heap_bytes(&self) -> usize {
        block_size(self.values.capacity() * size_of::<T>())
            + block_size(self.ends.capacity() * size_of::<u32>())
    }

    /// Writes to a snapshot.
    pub fn pack_columns(&self, packer: &mut ColumnPacker) {
        packer.push_column(&self.values);
        packer.push_column(&self.ends);
    }

    /// Reads from a snapshot.
    pub(crate) fn unpack_columns(unpacker: &mut ColumnUnpacker<'_>) -> Option<Self> {
        let (values, ends): (Vec<T>, Vec<u32>) = (unpacker.next_column()?, unpacker.next_column()?);
        let whole = ends.last().map_or(0, |end| *end as usize) == values.len();
        (whole && ends.is_sorted()).then_some(Self { values, ends })
    }
}
