//! Sentence encoders of the BERT family, read from a sentence-transformers folder and run in this
//! process.
//!
//! `folder` reads the settings, `weights` the parameters, `forward` computes the vectors, and
//! `embedder` implements the trait. Computes in float32 on the CPU, one thread per pack of
//! sequences, without padding. Nothing is downloaded.

mod embedder;
mod folder;
mod forward;
#[cfg(test)]
mod tests;
mod weights;

pub use embedder::TransformerEmbedder;
pub(super) use forward::self_attention;
