//! One text field of one kind of record, indexed twice: by words and by meaning.

use ndarray::{ArrayView1, ArrayView2};

use super::{Postings, VectorIndex, VectorIndexFactory, VectorIndexKind};
use crate::error::Result;
use crate::matrix::Matrix;

/// Postings and vectors over the same slots. Vectors may lag behind (a remote embedder) or be
/// absent (none works): words never wait for them.
#[derive(Default)]
pub struct TextIndex {
    /// Words.
    pub postings: Postings,
    vectors: Option<Box<dyn VectorIndex>>,
}

impl TextIndex {
    /// Words without vectors so far.
    pub(crate) fn of_words(postings: Postings) -> Self {
        Self { postings, vectors: None }
    }

    /// The vectors, once there are any.
    pub fn vectors(&self) -> Option<&dyn VectorIndex> {
        self.vectors.as_deref()
    }

    /// How many vectors.
    pub(crate) fn vector_count(&self) -> usize {
        self.vectors().map_or(0, VectorIndex::len)
    }

    /// Takes over the vectors of another field.
    pub(crate) fn take_vectors(&mut self, other: Self) {
        self.vectors = other.vectors;
    }

    /// Takes over vectors that were read from a cache.
    pub(crate) fn set_vectors(&mut self, vectors: Box<dyn VectorIndex>) {
        self.vectors = Some(vectors);
    }

    /// Adds (or replaces) the vectors of slots; the first call fixes the dimension. From
    /// `hnsw_threshold` vectors on, the index becomes a graph. `false` and nothing added for rows
    /// of another dimension.
    ///
    /// # Errors
    /// `Index` for a failure of the library.
    pub fn add_vectors(
        &mut self,
        factory: &dyn VectorIndexFactory,
        hnsw_threshold: usize,
        slots: &[u64],
        rows: ArrayView2<'_, f32>,
    ) -> Result<bool> {
        if slots.is_empty() {
            return Ok(true);
        }
        if self.vectors().is_some_and(|vectors| vectors.dimension() != rows.ncols()) {
            return Ok(false);
        }
        let index = match &mut self.vectors {
            Some(index) => index,
            none => none.insert(factory.create(VectorIndexKind::Flat, rows.ncols())?),
        };
        index.add(slots, rows)?;
        if index.kind() == VectorIndexKind::Flat && index.len() >= hnsw_threshold {
            *index = graph_over(factory, index.labels(), &index.vectors())?;
        }
        Ok(true)
    }

    /// Takes over the vectors of slots as they were stored, in place of all that there were.
    ///
    /// # Errors
    /// `Index` for numbers that are not finite; `InvalidInput` for a slot that occurs twice.
    pub fn restore_vectors(
        &mut self,
        factory: &dyn VectorIndexFactory,
        hnsw_threshold: usize,
        slots: Vec<u64>,
        rows: Matrix<'_>,
    ) -> Result<()> {
        self.vectors = match slots.len() {
            0 => None,
            count if count >= hnsw_threshold => Some(graph_over(factory, &slots, &rows)?),
            _ => Some(factory.restore(slots, rows)?),
        };
        Ok(())
    }

    /// Removes a record from both sides.
    ///
    /// # Errors
    /// `Index` for a failure of the library.
    pub fn remove(&mut self, slot: u32) -> Result<()> {
        self.postings.remove(slot);
        if let Some(vectors) = &mut self.vectors {
            vectors.remove(&[u64::from(slot)])?;
        }
        Ok(())
    }

    /// The `k` slots nearest in meaning, best first; none for a vector of another dimension.
    ///
    /// # Errors
    /// `Index` for a failure of the library.
    pub fn nearest(&self, query: ArrayView1<'_, f32>, k: usize) -> Result<Vec<(u32, f32)>> {
        let Some(vectors) = self.fitting(query) else { return Ok(Vec::new()) };
        let found = vectors.search(query, k)?;
        Ok(found.into_iter().map(|(label, score)| (label as u32, score)).collect())
    }

    /// The `k` slots nearest in meaning, best first, and all that are as near as the last of them:
    /// which of equal ones come first is not for the order of arrival to say.
    ///
    /// # Errors
    /// `Index` for a query of another dimension.
    pub fn nearest_and_ties(
        &self,
        query: ArrayView1<'_, f32>,
        k: usize,
    ) -> Result<Vec<(u32, f32)>> {
        let Some(vectors) = self.fitting(query) else { return Ok(Vec::new()) };
        let found = vectors.search_with_ties(query, k)?;
        Ok(found.into_iter().map(|(label, score)| (label as u32, score)).collect())
    }

    /// The vectors, if they have the dimension of `query`.
    fn fitting(&self, query: ArrayView1<'_, f32>) -> Option<&dyn VectorIndex> {
        self.vectors().filter(|vectors| vectors.dimension() == query.len())
    }

    /// Rough size in memory, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.postings.heap_bytes() + self.vectors().map_or(0, VectorIndex::heap_bytes)
    }
}

/// A graph over rows, in single precision whatever they are in.
fn graph_over(
    factory: &dyn VectorIndexFactory,
    labels: &[u64],
    rows: &Matrix<'_>,
) -> Result<Box<dyn VectorIndex>> {
    let mut graph = factory.create(VectorIndexKind::Hnsw, rows.ncols())?;
    rows.for_each_chunk(|at, chunk| graph.add(&labels[at..at + chunk.nrows()], chunk))?;
    Ok(graph)
}
