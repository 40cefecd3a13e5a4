//! FAISS as an implementation of the core's [`VectorIndex`]: a flat index by inner product, exact
//! for few vectors; half precision and a sketch for many.
//!
//! It stores vectors under the caller's labels and nothing else. The caller is responsible for
//! durability and checksums. The engine creates one [`FaissFactory`].
//!
//! ```
//! use episodica_core::index::{VectorIndex, VectorIndexFactory};
//! use episodica_faiss::FaissFactory;
//! use ndarray::array;
//!
//! let mut index = FaissFactory.create_index(2)?;
//! index.add_vectors(&[7, 8], array![[1.0, 0.0], [0.6, 0.8]].view())?;
//! assert_eq!(index.search_nearest(array![1.0, 0.0].view(), 1)?, [(7, 1.0)]);
//! # Ok::<(), episodica_core::Error>(())
//! ```

mod flat;
mod input;
mod labels;
mod mean;
mod native;
mod rows;
mod sketch;

use episodica_core::Result;
use episodica_core::index::{Matrix, VectorIndex, VectorIndexFactory};

/// Creates the indexes of this crate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FaissFactory;

fn check_dimension(dimension: usize) -> Result<()> {
    if dimension > 0 {
        Ok(())
    } else {
        Err(native::index_error("dimension of a vector index must be positive, got `0`"))
    }
}

impl VectorIndexFactory for FaissFactory {
    fn create_index(&self, dimension: usize) -> Result<Box<dyn VectorIndex>> {
        check_dimension(dimension)?;
        Ok(Box::new(flat::FlatIndex::new(dimension)?))
    }

    fn restore_index(&self, labels: Vec<u64>, rows: Matrix<'_>) -> Result<Box<dyn VectorIndex>> {
        check_dimension(rows.ncols())?;
        Ok(Box::new(flat::FlatIndex::from_stored(labels, rows)?))
    }

    fn library_version(&self) -> String {
        format!("FAISS {}", native::faiss_version())
    }
}
