//! Which label stands in which row. Rows are dense: removing one moves the last row into its place.

use episodica_core::{Error, Result};
use rustc_hash::FxHashMap;

/// Labels in row order, and the way back. Invariant: `rows[labels[row]] == row` for every row, and
/// nothing else is in `rows`.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    labels: Vec<u64>,
    rows: FxHashMap<u64, usize>,
}

/// What a removal did to the rows: `removed` is gone, and the row that was `last` now stands there
/// (unless they are the same).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) removed: usize,
    pub(crate) last: usize,
}

impl Labels {
    /// Takes labels in row order.
    ///
    /// # Errors
    /// `InvalidInput` for a label that occurs twice.
    pub(crate) fn from_rows(labels: Vec<u64>) -> Result<Self> {
        let mut rows = FxHashMap::with_capacity_and_hasher(labels.len(), Default::default());
        for (row, &label) in labels.iter().enumerate() {
            if rows.insert(label, row).is_some() {
                return Err(Error::invalid(format!("label occurs twice: `{label}`")));
            }
        }
        Ok(Self { labels, rows })
    }

    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.labels.capacity() * size_of::<u64>()
            + self.rows.capacity() * (size_of::<(u64, usize)>() + 1)
    }

    pub(crate) fn as_slice(&self) -> &[u64] {
        &self.labels
    }

    pub(crate) fn label(&self, row: usize) -> u64 {
        self.labels[row]
    }

    pub(crate) fn row(&self, label: u64) -> Option<usize> {
        self.rows.get(&label).copied()
    }

    /// The row of `label`; a new label gets the next row.
    pub(crate) fn row_or_insert(&mut self, label: u64) -> usize {
        let next = self.labels.len();
        let row = *self.rows.entry(label).or_insert(next);
        if row == next {
            self.labels.push(label);
        }
        row
    }

    /// Takes back the rows from `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        for label in self.labels.drain(len..) {
            self.rows.remove(&label);
        }
    }

    /// Removes `label`, if it is there, and says which rows that touched.
    pub(crate) fn swap_remove(&mut self, label: u64) -> Option<Moved> {
        let removed = self.rows.remove(&label)?;
        let last = self.labels.len() - 1;
        self.labels.swap_remove(removed);
        if let Some(&moved) = self.labels.get(removed) {
            self.rows.insert(moved, removed);
        }
        Some(Moved { removed, last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removal_moves_the_last_row() {
        let mut labels = Labels::from_rows(vec![10, 20, 30]).unwrap();
        assert_eq!(labels.swap_remove(10), Some(Moved { removed: 0, last: 2 }));
        assert_eq!(labels.as_slice(), [30, 20]);
        assert_eq!(labels.row(30), Some(0));
        assert_eq!(labels.swap_remove(20), Some(Moved { removed: 1, last: 1 }));
        assert_eq!(labels.swap_remove(20), None);
        assert_eq!(labels.row_or_insert(30), 0);
        assert_eq!(labels.row_or_insert(40), 1);
        labels.truncate(1);
        assert_eq!((labels.len(), labels.row(40)), (1, None));
    }

    #[test]
    fn a_label_twice_is_refused() {
        assert_eq!(
            Labels::from_rows(vec![1, 2, 1]).unwrap_err().to_string(),
            "label occurs twice: `1`"
        );
    }
}
