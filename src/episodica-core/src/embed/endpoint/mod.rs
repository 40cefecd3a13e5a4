//! Vectors from any server that speaks OpenAI's embeddings protocol.
//!
//! Texts are sent in batches, each text once: repeats within a call and, as far as the cache
//! reaches, earlier calls cost nothing. Rows are checked (number, length, finite) and normalised
//! here. Texts are not shortened: a server that refuses one is quoted with its number.

mod answer;
mod embedder;
#[cfg(test)]
mod tests;

pub use embedder::{EmbeddingSettings, EndpointEmbedder};
