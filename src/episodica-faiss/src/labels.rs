//! Maps labels to rows. Rows are dense: when one is removed, the last row takes its place.

use episodica_core::{Error, Result};
use rustc_hash::FxHashMap;

/// Labels in row order, with a reverse lookup.
#[derive(Debug, Default)]
pub(crate) struct RowLabels {
    labels: Vec<u64>,
    /// The row of each label; `None` while labels are in ascending order, since binary search then
    /// finds the row.
    rows: Option<FxHashMap<u64, usize>>,
}

/// The effect of a removal: row `removed` is gone, and the row `last` took its place (unless they
/// are the same).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MovedRows {
    pub(crate) removed: usize,
    pub(crate) last: usize,
}

impl RowLabels {
    /// Creates the map from labels in row order.
    ///
    /// # Errors
    /// `InvalidInput` for a duplicate label.
    pub(crate) fn from_rows(labels: Vec<u64>) -> Result<Self> {
        let rise = labels.is_sorted_by(|a, b| a < b);
        let rows = if rise { None } else { Some(rows_of(&labels)?) };
        Ok(Self { labels, rows })
    }

    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let rows = self.rows.as_ref().map_or(0, FxHashMap::capacity);
        self.labels.capacity() * size_of::<u64>() + rows * (size_of::<(u64, usize)>() + 1)
    }

    pub(crate) fn as_slice(&self) -> &[u64] {
        &self.labels
    }

    pub(crate) fn label_at(&self, row: usize) -> u64 {
        self.labels[row]
    }

    pub(crate) fn row_of(&self, label: u64) -> Option<usize> {
        match &self.rows {
            Some(rows) => rows.get(&label).copied(),
            None => {
                // If no label was removed, the offset from the first label is the row.
                let beside = label.checked_sub(*self.labels.first()?)? as usize;
                if self.labels.get(beside) == Some(&label) {
                    return Some(beside);
                }
                self.labels.binary_search(&label).ok()
            }
        }
    }

    /// The row of `label`; a new label gets the next row.
    pub(crate) fn row_or_insert(&mut self, label: u64) -> usize {
        if let Some(row) = self.row_of(label) {
            return row;
        }
        let row = self.labels.len();
        if self.labels.last().is_some_and(|last| *last > label) {
            self.use_map();
        }
        self.labels.push(label);
        if let Some(rows) = &mut self.rows {
            rows.insert(label, row);
        }
        row
    }

    /// Removes the rows from `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        for label in self.labels.drain(len..) {
            if let Some(rows) = &mut self.rows {
                rows.remove(&label);
            }
        }
    }

    /// Removes `label` and returns the rows that this affected; `None` for an unknown label.
    pub(crate) fn swap_remove(&mut self, label: u64) -> Option<MovedRows> {
        let removed = self.row_of(label)?;
        let last = self.labels.len() - 1;
        if removed < last {
            self.use_map();
        }
        self.labels.swap_remove(removed);
        if let Some(rows) = &mut self.rows {
            rows.remove(&label);
            if let Some(moved) = self.labels.get(removed) {
                rows.insert(*moved, removed);
            }
        }
        Some(MovedRows { removed, last })
    }

    /// Switches to a hash map, since the labels will no longer be ascending.
    fn use_map(&mut self) {
        let labels = self.labels.iter().copied();
        self.rows.get_or_insert_with(|| labels.zip(0..).collect());
    }
}

fn rows_of(labels: &[u64]) -> Result<FxHashMap<u64, usize>> {
    let mut rows = FxHashMap::with_capacity_and_hasher(labels.len(), Default::default());
    for (row, &label) in labels.iter().enumerate() {
        if rows.insert(label, row).is_some() {
            return Err(Error::invalid(format!("label occurs twice: `{label}`")));
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removal_moves_the_last_row() {
        let mut labels = RowLabels::from_rows(vec![10, 20, 30]).unwrap();
        assert_eq!(labels.swap_remove(10), Some(MovedRows { removed: 0, last: 2 }));
        assert_eq!(labels.as_slice(), [30, 20]);
        assert_eq!(labels.row_of(30), Some(0));
        assert_eq!(labels.swap_remove(20), Some(MovedRows { removed: 1, last: 1 }));
        assert_eq!(labels.swap_remove(20), None);
        assert_eq!(labels.row_or_insert(30), 0);
        assert_eq!(labels.row_or_insert(40), 1);
        labels.truncate(1);
        assert_eq!((labels.len(), labels.row_of(40)), (1, None));
    }

    #[test]
    fn labels_that_rise_need_no_map_and_others_are_found_as_well() {
        let mut labels = RowLabels::from_rows(vec![3, 5, 8]).unwrap();
        assert_eq!((labels.row_or_insert(9), labels.row_or_insert(5)), (3, 1));
        assert_eq!(labels.swap_remove(9), Some(MovedRows { removed: 3, last: 3 }));
        assert!(labels.rows.is_none());
        assert_eq!(labels.row_or_insert(4), 3);
        let rows = |labels: &RowLabels| [3, 4, 5, 8, 9].map(|label| labels.row_of(label));
        assert_eq!(rows(&labels), [Some(0), Some(3), Some(1), Some(2), None]);
        labels.truncate(3);
        assert_eq!(rows(&labels), [Some(0), None, Some(1), Some(2), None]);
        assert_eq!(labels.swap_remove(5), Some(MovedRows { removed: 1, last: 2 }));
        assert_eq!(rows(&labels), [Some(0), None, None, Some(1), None]);
        let labels = RowLabels::from_rows(vec![8, 3]).unwrap();
        assert_eq!(rows(&labels), [Some(1), None, None, Some(0), None]);
    }

    #[test]
    fn a_label_twice_is_refused() {
        for labels in [[1, 2, 1], [1, 2, 2]] {
            let error = RowLabels::from_rows(labels.to_vec()).unwrap_err().to_string();
            assert_eq!(error, format!("label occurs twice: `{}`", labels[2]));
        }
    }
}
