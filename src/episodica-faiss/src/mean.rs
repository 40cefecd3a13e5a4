//! The mean of all rows, kept while rows come and go: the mean score of a query is its product with it, and no row need be read.

use ndarray::Array1;

/// The sum of rows. Summed in double precision: what is added and taken away again leaves nothing that single precision would show.
pub(crate) struct Mean {
    sum: Vec<f64>,
}

impl Mean {
    pub(crate) fn over(rows: &[f32], dimension: usize) -> Self {
        let mut mean = Self { sum: vec![0.0; dimension] };
        mean.add(rows);
        mean
    }

    /// Takes in whole rows.
    pub(crate) fn add(&mut self, rows: &[f32]) {
        for row in rows.chunks_exact(self.sum.len()) {
            self.sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
        }
    }

    /// Takes a row away that was taken in.
    pub(crate) fn take(&mut self, row: &[f32]) {
        self.sum.iter_mut().zip(row).for_each(|(sum, value)| *sum -= f64::from(*value));
    }

    /// The mean of `count` rows; zeros for none.
    pub(crate) fn of(&self, count: usize) -> Array1<f32> {
        self.sum.iter().map(|sum| (sum / count.max(1) as f64) as f32).collect()
    }
}
