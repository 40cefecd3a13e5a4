//! The index that compares vectors exactly: all rows if there are few, otherwise those that a
//! sketch of signs proposes.
//!
//! [`RowMatrix`] holds the only copy of the vectors, in half precision if there are many. Inner
//! products are computed as in FAISS in either precision.

use episodica_core::Result;
use episodica_core::index::{Matrix, VectorIndex, search_until_no_tie};
use ndarray::{Array1, ArrayView1, ArrayView2};

use crate::input;
use crate::labels::RowLabels;
use crate::mean::RunningMean;
use crate::native::index_error;
use crate::rows::{MANY, RowMatrix};
use crate::sketch::SignSketch;

/// Up to this many rows, all are compared; above it, only those that the sketch chooses.
const COMPARE_ALL: usize = MANY;
/// Number of rows that the sketch considers; see [`proposed_count`].
const PROPOSED: [usize; 3] = [1_024, 12, 128];
/// Number of rows that the sketch chooses for comparison; see [`proposed_count`].
const CHOSEN: [usize; 3] = [192, 3, 1_024];

/// The largest of `least`, `each` per `wanted` row, and one in `share` of all rows.
fn proposed_count([least, each, share]: [usize; 3], wanted: usize, all: usize) -> usize {
    least.max(wanted.saturating_mul(each)).max(all / share)
}

/// Compares every vector, or the signs of every vector. Invariant: `rows` holds `labels.len()` rows
/// in the order of `labels`; `sketch` holds the signs of the stored rows, and `mean` their sum.
pub(crate) struct FlatIndex {
    rows: RowMatrix,
    labels: RowLabels,
    sketch: SignSketch,
    mean: RunningMean,
    dimension: usize,
}

impl FlatIndex {
    pub(crate) fn new(dimension: usize) -> Result<Self> {
        let rows = RowMatrix::new(dimension)?;
        Ok(Self {
            sketch: SignSketch::new(dimension),
            mean: RunningMean::new(dimension),
            labels: RowLabels::default(),
            rows,
            dimension,
        })
    }

    /// Restores an index from stored rows. Rows in half precision keep it, even if there are few.
    pub(crate) fn from_stored(labels: Vec<u64>, rows: Matrix<'_>) -> Result<Self> {
        if rows.nrows() != labels.len() {
            return Err(index_error(format!(
                "the number of vectors is not that of the labels, {}: `{}`",
                labels.len(),
                rows.nrows()
            )));
        }
        let dimension = rows.ncols();
        Self::over_rows(RowMatrix::over_matrix(rows)?, RowLabels::from_rows(labels)?, dimension)
    }

    fn over_rows(rows: RowMatrix, labels: RowLabels, dimension: usize) -> Result<Self> {
        let (mut sketch, mut mean) = (SignSketch::new(dimension), RunningMean::new(dimension));
        mean.add_rows(rows.all_rows());
        // A value that is not finite makes the sum of its column not finite, so rows in half
        // precision are checked only if a sum is not finite.
        if rows.native_index().is_some() || !mean.is_finite() {
            input::check_finite(rows.all_rows(), dimension)?;
        }
        sketch.append_rows(rows.all_rows(), dimension);
        Ok(Self { rows, labels, sketch, mean, dimension })
    }

    /// Inner products of some rows, the best `k` among them; `None` if FAISS is to compare all
    /// rows.
    fn compare_proposed(&self, query: &[f32], k: usize) -> Option<Vec<(u64, f32)>> {
        let (proposed, chosen) =
            (proposed_count(PROPOSED, k, self.len()), proposed_count(CHOSEN, k, self.len()));
        let rows = if self.len() > COMPARE_ALL && proposed < self.len() / 2 {
            self.sketch.nearest_rows(query, proposed, chosen)
        } else if self.rows.native_index().is_none() {
            (0..self.len()).collect()
        } else {
            return None;
        };
        let products = self.rows.all_rows().inner_products(query, &rows);
        Some(rows.iter().map(|row| self.labels.label_at(*row)).zip(products).collect())
    }
}

impl VectorIndex for FlatIndex {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn len(&self) -> usize {
        self.labels.len()
    }

    fn labels(&self) -> &[u64] {
        self.labels.as_slice()
    }

    fn vectors(&self) -> Matrix<'_> {
        self.rows.as_matrix()
    }

    fn vector_of(&self, label: u64) -> Option<Array1<f32>> {
        Some(self.rows.row_at(self.labels.row_of(label)?).to_single().into())
    }

    fn has_label(&self, label: u64) -> bool {
        self.labels.row_of(label).is_some()
    }

    fn mean_vector(&self) -> Array1<f32> {
        self.mean.mean_of(self.len())
    }

    fn add_vectors(&mut self, labels: &[u64], vectors: ArrayView2<'_, f32>) -> Result<()> {
        let d = self.dimension;
        let vectors = input::checked_rows(&vectors, labels.len(), d)?;
        let vectors = vectors.as_slice().expect("invariant: standard layout");
        let before = self.labels.len();
        let rows: Vec<usize> =
            labels.iter().map(|&label| self.labels.row_or_insert(label)).collect();
        let new = self.labels.len() - before;
        let added = if new == labels.len() {
            self.rows.append_rows(vectors)
        } else {
            let mut appended = vec![0.0; new * d];
            for (vector, &row) in
                vectors.chunks_exact(d).zip(&rows).filter(|(_, row)| **row >= before)
            {
                appended[(row - before) * d..][..d].copy_from_slice(vector);
            }
            self.rows.append_rows(&appended)
        };
        match added {
            Err(error) => {
                self.labels.truncate(before);
                return Err(error);
            }
            Ok(true) => self.mean = RunningMean::over_rows(self.rows.all_rows(), d),
            Ok(false) => self.mean.add_rows(self.rows.from(before)),
        }
        self.sketch.append_rows(self.rows.from(before), d);
        for (vector, row) in vectors.chunks_exact(d).zip(rows).filter(|(_, row)| *row < before) {
            self.mean.subtract_rows(self.rows.row_at(row));
            self.rows.set_row(row, vector);
            self.mean.add_rows(self.rows.row_at(row));
            self.sketch.set_row(row, self.rows.row_at(row));
        }
        Ok(())
    }

    fn remove_labels(&mut self, labels: &[u64]) -> Result<usize> {
        let before = self.labels.len();
        for &label in labels {
            if let Some(moved) = self.labels.swap_remove(label) {
                self.mean.subtract_rows(self.rows.row_at(moved.removed));
                self.rows.copy_row(moved.last, moved.removed);
                self.sketch.copy_row(moved.last, moved.removed);
                self.sketch.truncate(moved.last);
            }
        }
        let left = self.labels.len();
        if left < before {
            self.rows.truncate(left)?;
        }
        Ok(before - left)
    }

    fn search_nearest(&self, query: ArrayView1<'_, f32>, k: usize) -> Result<Vec<(u64, f32)>> {
        let query = input::checked_query(&query, self.dimension)?;
        let query = query.as_slice().expect("invariant: standard layout");
        let k = k.min(self.len());
        if k == 0 {
            return Ok(Vec::new());
        }
        if let Some(hits) = self.compare_proposed(query, k) {
            return Ok(input::best_hits(hits, k));
        }
        let native =
            self.rows.native_index().expect("invariant: FAISS has the rows not compared here");
        // FAISS breaks ties arbitrarily. Asks for one more row than wanted: if that row ties with
        // the last wanted one, asks for more until the whole tie is included.
        let mut asked = (k + 1).min(self.len());
        loop {
            let (scores, rows) = native.search_rows(query, asked)?;
            if asked < self.len() && scores[asked - 1] >= scores[k - 1] {
                asked = asked.saturating_mul(2).min(self.len());
                continue;
            }
            let hits = rows.into_iter().zip(scores).filter_map(|(row, score)| {
                Some((self.labels.label_at(usize::try_from(row).ok()?), score))
            });
            return Ok(input::best_hits(hits.collect(), k));
        }
    }

    fn search_with_ties(&self, query: ArrayView1<'_, f32>, k: usize) -> Result<Vec<(u64, f32)>> {
        let checked = input::checked_query(&query, self.dimension)?;
        let numbers = checked.as_slice().expect("invariant: standard layout");
        let hits =
            (1..=self.len()).contains(&k).then(|| self.compare_proposed(numbers, k)).flatten();
        match hits {
            Some(hits) => Ok(input::best_and_ties(hits, k)),
            None => search_until_no_tie(self, query, k),
        }
    }

    fn inner_products(&self, query: ArrayView1<'_, f32>, labels: &[u64]) -> Vec<Option<f32>> {
        input::label_products(query, labels, &self.labels, self.dimension, |query, rows| {
            self.rows.all_rows().inner_products(query, rows)
        })
    }

    fn heap_bytes(&self) -> usize {
        self.rows.heap_bytes() + self.labels.heap_bytes() + self.sketch.heap_bytes()
    }
}
