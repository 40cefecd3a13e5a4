//! Indexes over records: postings for words, vectors for meaning. Caches of the log, never the truth.

mod vectors;

pub use vectors::{VectorIndex, VectorIndexFactory, VectorIndexKind};
