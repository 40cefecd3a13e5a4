//! The interface of vector indexes. FAISS implements it in its own crate; the core has no FFI.

use std::path::Path;

use ndarray::{Array1, ArrayView1, ArrayView2};

use crate::error::Result;
use crate::matrix::Matrix;

/// The structure behind an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorIndexKind {
    /// Every vector is compared: exact.
    Flat,
    /// A navigable graph: approximate, for many vectors.
    Hnsw,
}

/// Vectors under labels, searched by inner product (cosine, as all rows are normalised). Labels,
/// never positions, name vectors.
pub trait VectorIndex: Send + Sync {
    /// The structure.
    fn kind(&self) -> VectorIndexKind;

    /// Length of every vector.
    fn dimension(&self) -> usize;

    /// How many vectors.
    fn len(&self) -> usize;

    /// Whether it has no vectors.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The label of every vector, in the order of the rows that [`VectorIndex::vectors`] gives.
    fn labels(&self) -> &[u64];

    /// All vectors, row by row, shape `(len, dimension)`, borrowed in the precision in which they
    /// are kept.
    fn vectors(&self) -> Matrix<'_>;

    /// The vector under a label.
    fn vector(&self, label: u64) -> Option<Array1<f32>>;

    /// Whether the label has a vector.
    fn contains(&self, label: u64) -> bool;

    /// The mean of all vectors, zeros without any: the mean score of a query is its inner product
    /// with it. Cost independent of `len`.
    fn mean(&self) -> Array1<f32>;

    /// Adds rows; a label that is already there is replaced. Cost independent of `len` for new
    /// labels. An index may round what it keeps to half precision, at any time.
    ///
    /// # Errors
    /// `Index` for rows of another dimension, numbers that are not finite in half precision, or a
    /// failure of the library.
    fn add(&mut self, labels: &[u64], vectors: ArrayView2<'_, f32>) -> Result<()>;

    /// Removes labels; unknown ones are passed over. Returns how many were there.
    ///
    /// # Errors
    /// `Index` for a failure of the library.
    fn remove(&mut self, labels: &[u64]) -> Result<usize>;

    /// The `k` nearest as `(label, inner product)`, best first, ties by label; fewer if there are
    /// fewer.
    ///
    /// # Errors
    /// `Index` for a query of another dimension, or a failure of the library.
    fn search(&self, query: ArrayView1<'_, f32>, k: usize) -> Result<Vec<(u64, f32)>>;

    /// The `k` nearest, as [`VectorIndex::search`] has them, and all that are as near as the last.
    ///
    /// # Errors
    /// As [`VectorIndex::search`].
    fn search_with_ties(&self, query: ArrayView1<'_, f32>, k: usize) -> Result<Vec<(u64, f32)>> {
        search_until_no_tie(self, query, k)
    }

    /// The exact inner product with each label's vector as it is kept; `None` for an unknown one.
    fn scores(&self, query: ArrayView1<'_, f32>, labels: &[u64]) -> Vec<Option<f32>>;

    /// Writes the structure to `path` (the library's own file format). The caller makes it durable
    /// and keeps checksum and labels.
    ///
    /// # Errors
    /// `Index` when it can't be written.
    fn write(&self, path: &Path) -> Result<()>;

    /// Rough size in memory, in bytes: of vectors, labels, and what the structure needs beside
    /// them.
    fn heap_bytes(&self) -> usize;
}

/// [`VectorIndex::search_with_ties`] by searches alone: one more than wanted shows whether a tie
/// runs over the edge; then more are asked for.
///
/// # Errors
/// As [`VectorIndex::search`].
pub fn search_until_no_tie(
    index: &(impl VectorIndex + ?Sized),
    query: ArrayView1<'_, f32>,
    k: usize,
) -> Result<Vec<(u64, f32)>> {
    let mut asked = k.saturating_add(1);
    loop {
        let mut found = index.search(query, asked)?;
        let last = k.checked_sub(1).and_then(|last| found.get(last));
        let Some(least) = last.map(|(_, score)| *score) else { return Ok(found) };
        if found.len() < asked || found.last().is_some_and(|last| last.1 < least) {
            found.retain(|(_, score)| *score >= least);
            return Ok(found);
        }
        asked = asked.saturating_mul(4);
    }
}

/// Makes and reads vector indexes.
pub trait VectorIndexFactory: Send + Sync {
    /// An empty index.
    ///
    /// # Errors
    /// `Index` for dimension 0 or a failure of the library.
    fn create(&self, kind: VectorIndexKind, dimension: usize) -> Result<Box<dyn VectorIndex>>;

    /// A flat index over rows as [`VectorIndex::vectors`] gave them; `labels` in row order. Owned
    /// rows in half precision are moved, not copied.
    ///
    /// # Errors
    /// `Index` as [`VectorIndex::add`]; `InvalidInput` for a label that occurs twice.
    fn restore(&self, labels: Vec<u64>, rows: Matrix<'_>) -> Result<Box<dyn VectorIndex>>;

    /// Reads what [`VectorIndex::write`] wrote; `labels` in row order. The caller has checked the
    /// file's checksum.
    ///
    /// # Errors
    /// `Index` when the file is not an index of `labels.len()` vectors of `dimension`.
    fn read(&self, path: &Path, dimension: usize, labels: Vec<u64>)
    -> Result<Box<dyn VectorIndex>>;

    /// Library and version, for `doctor`.
    fn version(&self) -> String;
}
