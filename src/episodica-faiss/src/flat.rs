//! The index that compares: FAISS's own rows are the only copy of the vectors. Of many rows those are compared that a sketch of signs proposes.

use std::path::Path;

use episodica_core::Result;
use episodica_core::index::{VectorIndex, VectorIndexKind};
use ndarray::{Array1, ArrayView1, ArrayView2};

use crate::input;
use crate::labels::Labels;
use crate::mean::Mean;
use crate::native::{Native, failure, inner_products};
use crate::sketch::Sketch;

/// Up to this many rows all are compared. Above, those that the sketch chooses.
const COMPARE_ALL: usize = 4_096;
/// Rows that it chooses from, at least; as many for each that is wanted; one of so many of all.
const PROPOSED: [usize; 3] = [1_024, 12, 128];
/// Rows that it chooses: the same.
const CHOSEN: [usize; 3] = [192, 3, 1_024];

/// At least `least`, `each` for each that is `wanted`, and one of `share` of all.
fn enough([least, each, share]: [usize; 3], wanted: usize, all: usize) -> usize {
    least.max(wanted.saturating_mul(each)).max(all / share)
}

/// Every vector is compared, or every sketch. Invariant: `native` is flat and holds `labels.len()` rows, in the order of `labels`, and `sketch`
/// their signs.
pub(crate) struct Flat {
    native: Native,
    labels: Labels,
    sketch: Sketch,
    mean: Mean,
    dimension: usize,
}

impl Flat {
    pub(crate) fn new(dimension: usize) -> Result<Self> {
        let (sketch, mean) = (Sketch::new(dimension), Mean::over(&[], dimension));
        Ok(Self { native: Native::new(c"Flat", dimension)?, labels: Labels::default(), sketch, mean, dimension })
    }

    pub(crate) fn read(path: &Path, dimension: usize, labels: Vec<u64>) -> Result<Self> {
        let native = Native::read(path, dimension)?;
        let labels = Labels::from_rows(labels)?;
        match native.flat_rows() {
            Some(rows) if rows.len() == labels.len() * dimension && native.total() == labels.len() => {
                let (sketch, mean) = (Sketch::over(rows, dimension), Mean::over(rows, dimension));
                Ok(Self { native, labels, sketch, mean, dimension })
            }
            _ => Err(failure("file is not a flat index with one vector for each label").at(path, None)),
        }
    }

    fn rows(&self) -> &[f32] {
        self.native.flat_rows().expect("invariant: the index is flat")
    }
}

impl VectorIndex for Flat {
    fn kind(&self) -> VectorIndexKind {
        VectorIndexKind::Flat
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn len(&self) -> usize {
        self.labels.len()
    }

    fn labels(&self) -> &[u64] {
        self.labels.as_slice()
    }

    fn vectors(&self) -> ArrayView2<'_, f32> {
        ArrayView2::from_shape((self.len(), self.dimension), self.rows()).expect("invariant: one row for each label")
    }

    fn vector(&self, label: u64) -> Option<ArrayView1<'_, f32>> {
        let row = self.labels.row(label)?;
        Some(ArrayView1::from(&self.rows()[row * self.dimension..][..self.dimension]))
    }

    fn mean(&self) -> Array1<f32> {
        self.mean.of(self.len())
    }

    fn add(&mut self, labels: &[u64], vectors: ArrayView2<'_, f32>) -> Result<()> {
        let d = self.dimension;
        let vectors = input::rows(&vectors, labels.len(), d)?;
        let vectors = vectors.as_slice().expect("invariant: standard layout");
        let before = self.labels.len();
        let rows: Vec<usize> = labels.iter().map(|&label| self.labels.row_or_insert(label)).collect();
        let new = self.labels.len() - before;
        let added = if new == labels.len() {
            self.native.add(vectors)
        } else {
            let mut appended = vec![0.0; new * d];
            for (vector, &row) in vectors.chunks_exact(d).zip(&rows).filter(|(_, row)| **row >= before) {
                appended[(row - before) * d..][..d].copy_from_slice(vector);
            }
            self.native.add(&appended)
        };
        if let Err(error) = added {
            self.labels.truncate(before);
            return Err(error);
        }
        let stored = self.native.flat_rows().expect("invariant: the index is flat");
        self.sketch.extend(&stored[before * d..], d);
        self.mean.add(&stored[before * d..]);
        if new < labels.len() {
            for (vector, &row) in vectors.chunks_exact(d).zip(&rows).filter(|(_, row)| **row < before) {
                self.sketch.set(row, vector);
            }
            for (vector, row) in vectors.chunks_exact(d).zip(rows).filter(|(_, row)| *row < before) {
                let stored = self.native.flat_rows_mut().expect("invariant: the index is flat");
                self.mean.take(&stored[row * d..][..d]);
                self.mean.add(vector);
                stored[row * d..][..d].copy_from_slice(vector);
            }
        }
        Ok(())
    }

    fn remove(&mut self, labels: &[u64]) -> Result<usize> {
        let d = self.dimension;
        let before = self.labels.len();
        for &label in labels {
            if let Some(moved) = self.labels.swap_remove(label) {
                let stored = self.native.flat_rows_mut().expect("invariant: the index is flat");
                self.mean.take(&stored[moved.removed * d..][..d]);
                stored.copy_within(moved.last * d..(moved.last + 1) * d, moved.removed * d);
                self.sketch.copy(moved.last, moved.removed);
                self.sketch.truncate(moved.last);
            }
        }
        let left = self.labels.len();
        if left < before {
            self.native.truncate(left)?;
        }
        Ok(before - left)
    }

    fn search(&self, query: ArrayView1<'_, f32>, k: usize) -> Result<Vec<(u64, f32)>> {
        let query = input::query(&query, self.dimension)?;
        let query = query.as_slice().expect("invariant: standard layout");
        let k = k.min(self.len());
        if k == 0 {
            return Ok(Vec::new());
        }
        let (proposed, chosen) = (enough(PROPOSED, k, self.len()), enough(CHOSEN, k, self.len()));
        if self.len() > COMPARE_ALL && proposed < self.len() / 2 {
            let rows = self.rows();
            let hits = self.sketch.nearest(query, proposed, chosen).into_iter().map(|row| {
                let mut product = [0.0];
                inner_products(query, &rows[row * self.dimension..][..self.dimension], &mut product);
                (self.labels.label(row), product[0])
            });
            return Ok(input::best(hits.collect(), k));
        }
        // FAISS breaks ties as it likes. One more than wanted shows whether a tie runs over the edge; then more are asked for, until the
        // whole tie is in view.
        let mut asked = (k + 1).min(self.len());
        loop {
            let (scores, rows) = self.native.search(query, asked)?;
            if asked < self.len() && scores[asked - 1] >= scores[k - 1] {
                asked = asked.saturating_mul(2).min(self.len());
                continue;
            }
            let hits = rows.into_iter().zip(scores).filter_map(|(row, score)| Some((self.labels.label(usize::try_from(row).ok()?), score)));
            return Ok(input::best(hits.collect(), k));
        }
    }

    fn scores(&self, query: ArrayView1<'_, f32>, labels: &[u64]) -> Vec<Option<f32>> {
        input::scores(query, labels, &self.labels, self.rows(), self.dimension)
    }

    fn write(&self, path: &Path) -> Result<()> {
        self.native.write(path)
    }
}
