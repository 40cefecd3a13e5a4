//! FAISS as an implementation of the core's [`VectorIndex`]: flat (exact; half precision and a
//! sketch for many vectors) and HNSW (approximate), both by inner product.
//!
//! It stores vectors under the caller's labels and nothing else. The caller is responsible for
//! durability, checksums and the choice of the structure. The engine creates one [`FaissFactory`].
//!
//! ```
//! use episodica_core::index::{VectorIndex, VectorIndexFactory, VectorIndexKind};
//! use episodica_faiss::FaissFactory;
//! use ndarray::array;
//!
//! let mut index = FaissFactory::default().create(VectorIndexKind::Flat, 2)?;
//! index.add(&[7, 8], array![[1.0, 0.0], [0.6, 0.8]].view())?;
//! assert_eq!(index.search(array![1.0, 0.0].view(), 1)?, [(7, 1.0)]);
//! # Ok::<(), episodica_core::Error>(())
//! ```

mod flat;
mod graph_file;
mod hnsw;
mod input;
mod labels;
mod mean;
mod native;
mod rows;
mod sketch;

use std::path::Path;

use episodica_core::Result;
use episodica_core::index::{Matrix, VectorIndex, VectorIndexFactory, VectorIndexKind};

/// Number of candidates that an HNSW search keeps. With 64, recall@10 over 100,000 clustered
/// vectors exceeds .95.
pub const HNSW_EF_SEARCH: u16 = 64;

/// Number of candidates that an HNSW insertion keeps.
pub const HNSW_EF_CONSTRUCTION: u16 = 80;

/// Creates and reads the indexes of this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaissFactory {
    /// Number of candidates that an HNSW search keeps; a larger number finds more but takes longer.
    /// Flat indexes ignore it.
    pub ef_search: u16,
    /// Number of candidates that an HNSW insertion keeps; a larger number gives a better graph but
    /// takes longer. Flat indexes ignore it.
    pub ef_construction: u16,
}

impl Default for FaissFactory {
    fn default() -> Self {
        Self { ef_search: HNSW_EF_SEARCH, ef_construction: HNSW_EF_CONSTRUCTION }
    }
}

fn positive(dimension: usize) -> Result<()> {
    if dimension > 0 {
        Ok(())
    } else {
        Err(native::failure("dimension of a vector index must be positive, got `0`"))
    }
}

impl VectorIndexFactory for FaissFactory {
    fn create(&self, kind: VectorIndexKind, dimension: usize) -> Result<Box<dyn VectorIndex>> {
        positive(dimension)?;
        Ok(match kind {
            VectorIndexKind::Flat => Box::new(flat::FlatIndex::new(dimension)?),
            VectorIndexKind::Hnsw => Box::new(hnsw::HnswIndex::new(dimension, *self)?),
        })
    }

    fn restore(&self, labels: Vec<u64>, rows: Matrix<'_>) -> Result<Box<dyn VectorIndex>> {
        positive(rows.ncols())?;
        Ok(Box::new(flat::FlatIndex::restore(labels, rows)?))
    }

    fn read(
        &self,
        path: &Path,
        dimension: usize,
        labels: Vec<u64>,
    ) -> Result<Box<dyn VectorIndex>> {
        positive(dimension)?;
        graph_file::check(path, dimension)?;
        Ok(Box::new(hnsw::HnswIndex::read(path, dimension, labels, *self)?))
    }

    fn version(&self) -> String {
        format!("FAISS {}", native::version())
    }
}
