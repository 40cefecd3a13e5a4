//! The multilingual sentence encoder inside the package: one light layer over a table of pieces.
//!
//! It was trained to give English texts the vectors of all-MiniLM-L6-v2, and other texts those of
//! multilingual-e5-small, mapped to the same space (`assets/NOTICE`). `pieces` splits a text,
//! `forward` computes the vectors, `embedder` implements the trait.

mod embedder;
mod forward;
mod pieces;

pub(crate) use embedder::piece_ids;
pub use embedder::{COMPACT_MODEL, CompactEmbedder};
