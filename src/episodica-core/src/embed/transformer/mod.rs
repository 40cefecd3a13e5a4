//! Sentence encoders of the BERT family, from a sentence-transformers folder, computed here.
//!
//! `folder` reads the settings, `weights` the parameters, `forward` computes, `embedder` ties them
//! to the trait. Float32 on the CPU, one thread a pack of sequences, no padding. Nothing is
//! downloaded.

mod embedder;
mod folder;
mod forward;
#[cfg(test)]
mod tests;
mod weights;

pub use embedder::TransformerEmbedder;
