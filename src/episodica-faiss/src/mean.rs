//! The mean of all rows, updated when rows are added or removed. Its inner product with a query is
//! the query's mean score, so that no row need be read.

use half::slice::HalfFloatSliceExt;
use ndarray::Array1;

use crate::rows::RowSlice;

/// The sum of rows. In double precision, so that adding and removing a row leaves no difference
/// that is visible in single precision.
pub(crate) struct RunningMean {
    sum: Vec<f64>,
}

impl RunningMean {
    pub(crate) fn new(dimension: usize) -> Self {
        Self { sum: vec![0.0; dimension] }
    }

    pub(crate) fn over_rows(rows: RowSlice<'_>, dimension: usize) -> Self {
        let mut mean = Self::new(dimension);
        mean.add_rows(rows);
        mean
    }

    /// Adds whole rows.
    pub(crate) fn add_rows(&mut self, rows: RowSlice<'_>) {
        self.for_each(rows, |sum, value| *sum += value);
    }

    /// Subtracts rows that were added before.
    pub(crate) fn subtract_rows(&mut self, rows: RowSlice<'_>) {
        self.for_each(rows, |sum, value| *sum -= value);
    }

    fn for_each(&mut self, rows: RowSlice<'_>, change: impl Fn(&mut f64, f64)) {
        let d = self.sum.len();
        let mut take_in = |row: &[f32]| {
            self.sum.iter_mut().zip(row).for_each(|(sum, value)| change(sum, f64::from(*value)))
        };
        match rows {
            RowSlice::Single(rows) => rows.chunks_exact(d).for_each(take_in),
            RowSlice::Half(rows) => {
                let mut buffer = vec![0.0; d];
                for row in rows.chunks_exact(d) {
                    row.convert_to_f32_slice(&mut buffer);
                    take_in(&buffer);
                }
            }
        }
    }

    /// True if all sums, and hence all added values, are finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.sum.iter().all(|sum| sum.is_finite())
    }

    /// The mean of `count` rows; zeros for none.
    pub(crate) fn mean_of(&self, count: usize) -> Array1<f32> {
        self.sum.iter().map(|sum| (sum / count.max(1) as f64) as f32).collect()
    }
}
