//! One text field of one kind of record, indexed twice: by words and by meaning.

use half::f16;
use ndarray::{Array2, ArrayView1, ArrayView2};

use super::{Postings, VectorIndex, VectorIndexFactory};
use crate::error::Result;
use crate::matrix::Matrix;

/// Postings and vectors over the same slots. Vectors may lag (with a remote embedder) or be missing
/// (if the embedder fails); word search never waits for them.
#[derive(Default)]
pub struct TextIndex {
    /// The word index.
    pub postings: Postings,
    vectors: Option<Box<dyn VectorIndex>>,
}

impl TextIndex {
    /// Creates a field without vectors.
    pub(crate) fn of_words(postings: Postings) -> Self {
        Self { postings, vectors: None }
    }

    /// The vectors; `None` until some were added.
    pub fn vector_index(&self) -> Option<&dyn VectorIndex> {
        self.vectors.as_deref()
    }

    /// Number of vectors.
    pub(crate) fn vector_count(&self) -> usize {
        self.vector_index().map_or(0, VectorIndex::len)
    }

    /// Takes over the vectors of another field.
    pub(crate) fn take_vectors(&mut self, other: Self) {
        self.vectors = other.vectors;
    }

    /// Adds or replaces the vectors of slots, rounded to half precision: an index of many rows
    /// keeps no more, and a score must not depend on the number of rows. The first call sets the
    /// dimension; rows of another dimension are not added, and the result is false.
    ///
    /// # Errors
    /// `Index` if the library fails.
    pub fn add_vectors(
        &mut self,
        factory: &dyn VectorIndexFactory,
        slots: &[u64],
        rows: ArrayView2<'_, f32>,
    ) -> Result<bool> {
        if slots.is_empty() {
            return Ok(true);
        }
        if self.vector_index().is_some_and(|vectors| vectors.dimension() != rows.ncols()) {
            return Ok(false);
        }
        let index = match &mut self.vectors {
            Some(index) => index,
            none => none.insert(factory.create_index(rows.ncols())?),
        };
        index.add_vectors(slots, rounded(rows).view())?;
        Ok(true)
    }

    /// Replaces all vectors by stored ones.
    ///
    /// # Errors
    /// `Index` for values that are not finite; `InvalidInput` for a duplicate slot.
    pub fn restore_vectors(
        &mut self,
        factory: &dyn VectorIndexFactory,
        slots: Vec<u64>,
        rows: Matrix<'_>,
    ) -> Result<()> {
        self.vectors = match slots.len() {
            0 => None,
            _ => {
                let rows = match rows {
                    Matrix::Single(rows) => rounded(rows.view()).into(),
                    halves @ Matrix::Half(_) => halves,
                };
                Some(factory.restore_index(slots, rows)?)
            }
        };
        Ok(())
    }

    /// Removes a record from both indexes.
    ///
    /// # Errors
    /// `Index` if the library fails.
    pub fn remove_slot(&mut self, slot: u32) -> Result<()> {
        self.postings.remove_record(slot);
        if let Some(vectors) = &mut self.vectors {
            vectors.remove_labels(&[u64::from(slot)])?;
        }
        Ok(())
    }

    /// The `k` slots nearest in meaning, best first; none for a vector of another dimension.
    ///
    /// # Errors
    /// `Index` if the library fails.
    pub fn nearest_slots(&self, query: ArrayView1<'_, f32>, k: usize) -> Result<Vec<(u32, f32)>> {
        let Some(vectors) = self.matching_vectors(query) else { return Ok(Vec::new()) };
        let found = vectors.search_nearest(query, k)?;
        Ok(found.into_iter().map(|(label, score)| (label as u32, score)).collect())
    }

    /// The `k` slots nearest in meaning, best first, with all that tie with the last, so that the
    /// order of arrival does not decide among equals.
    ///
    /// # Errors
    /// `Index` for a query of another dimension.
    pub fn nearest_and_ties(
        &self,
        query: ArrayView1<'_, f32>,
        k: usize,
    ) -> Result<Vec<(u32, f32)>> {
        let Some(vectors) = self.matching_vectors(query) else { return Ok(Vec::new()) };
        let found = vectors.search_with_ties(query, k)?;
        Ok(found.into_iter().map(|(label, score)| (label as u32, score)).collect())
    }

    /// The vectors, if they have the dimension of `query`.
    fn matching_vectors(&self, query: ArrayView1<'_, f32>) -> Option<&dyn VectorIndex> {
        self.vector_index().filter(|vectors| vectors.dimension() == query.len())
    }

    /// Approximate size in memory, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.postings.heap_bytes() + self.vector_index().map_or(0, VectorIndex::heap_bytes)
    }
}

/// The rows as half precision can write them.
fn rounded(rows: ArrayView2<'_, f32>) -> Array2<f32> {
    rows.mapv(|number| f16::from_f32(number).to_f32())
}
