//! The interface of vector indexes. FAISS implements it in its own crate; the core has no FFI.

use ndarray::{Array1, ArrayView1, ArrayView2};

use crate::error::Result;
use crate::matrix::Matrix;

/// Vectors with labels, searched by inner product (equal to the cosine, since rows are normalised).
/// Vectors are identified by labels, never by positions.
pub trait VectorIndex: Send + Sync {
    /// Dimension of every vector.
    fn dimension(&self) -> usize;

    /// Number of vectors.
    fn len(&self) -> usize;

    /// True if it contains no vectors.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Labels of all vectors, in the row order of [`VectorIndex::vectors`].
    fn labels(&self) -> &[u64];

    /// All vectors by row, shape `(len, dimension)`, borrowed in the precision in which they are
    /// stored.
    fn vectors(&self) -> Matrix<'_>;

    /// The vector with a label.
    fn vector_of(&self, label: u64) -> Option<Array1<f32>>;

    /// True if the label has a vector.
    fn has_label(&self, label: u64) -> bool;

    /// The mean of all vectors; zeros if there are none. Its inner product with a query is the
    /// query's mean score. The cost does not depend on `len`.
    fn mean_vector(&self) -> Array1<f32>;

    /// Adds rows; replaces the vectors of labels that exist. The cost does not depend on `len` for
    /// new labels. An index may round stored vectors to half precision at any time.
    ///
    /// # Errors
    /// `Index` for rows of another dimension, for values that are not finite in half precision, or
    /// if the library fails.
    fn add_vectors(&mut self, labels: &[u64], vectors: ArrayView2<'_, f32>) -> Result<()>;

    /// Removes labels and returns the number of those that existed; ignores unknown ones.
    ///
    /// # Errors
    /// `Index` if the library fails.
    fn remove_labels(&mut self, labels: &[u64]) -> Result<usize>;

    /// The `k` nearest vectors (or all, if there are fewer) as `(label, inner product)`, best
    /// first, ties by label.
    ///
    /// # Errors
    /// `Index` for a query of another dimension, or if the library fails.
    fn search_nearest(&self, query: ArrayView1<'_, f32>, k: usize) -> Result<Vec<(u64, f32)>>;

    /// The result of [`VectorIndex::search_nearest`] with all vectors that tie with the last.
    ///
    /// # Errors
    /// As [`VectorIndex::search_nearest`].
    fn search_with_ties(&self, query: ArrayView1<'_, f32>, k: usize) -> Result<Vec<(u64, f32)>> {
        search_until_no_tie(self, query, k)
    }

    /// The exact inner product with each label's stored vector; `None` for an unknown label.
    fn inner_products(&self, query: ArrayView1<'_, f32>, labels: &[u64]) -> Vec<Option<f32>>;

    /// Approximate size in memory, in bytes: vectors, labels and the structure itself.
    fn heap_bytes(&self) -> usize;
}

/// Implements [`VectorIndex::search_with_ties`] by searches alone. Asks for one more vector than
/// wanted: if that one ties with the last wanted vector, searches again for more.
///
/// # Errors
/// As [`VectorIndex::search_nearest`].
pub fn search_until_no_tie(
    index: &(impl VectorIndex + ?Sized),
    query: ArrayView1<'_, f32>,
    k: usize,
) -> Result<Vec<(u64, f32)>> {
    let mut asked = k.saturating_add(1);
    loop {
        let mut found = index.search_nearest(query, asked)?;
        let last = k.checked_sub(1).and_then(|last| found.get(last));
        let Some(least) = last.map(|(_, score)| *score) else { return Ok(found) };
        if found.len() < asked || found.last().is_some_and(|last| last.1 < least) {
            found.retain(|(_, score)| *score >= least);
            return Ok(found);
        }
        asked = asked.saturating_mul(4);
    }
}

/// Creates vector indexes.
pub trait VectorIndexFactory: Send + Sync {
    /// Creates an empty index.
    ///
    /// # Errors
    /// `Index` for dimension 0, or if the library fails.
    fn create_index(&self, dimension: usize) -> Result<Box<dyn VectorIndex>>;

    /// Creates an index over rows from [`VectorIndex::vectors`], with `labels` in row order.
    /// Owned rows in half precision are moved, not copied.
    ///
    /// # Errors
    /// As [`VectorIndex::add_vectors`]; `InvalidInput` for a duplicate label.
    fn restore_index(&self, labels: Vec<u64>, rows: Matrix<'_>) -> Result<Box<dyn VectorIndex>>;

    /// Name and version of the library, for `doctor`.
    fn library_version(&self) -> String;
}
