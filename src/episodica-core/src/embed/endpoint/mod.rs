//! Vectors from any server with OpenAI's embeddings protocol.
//!
//! Texts are sent in batches. A text that occurs several times in a call, or is still in the cache,
//! is not sent again. Rows are checked (number, length, finite values) and normalised. A text is
//! shortened only if the server rejects it.

mod answer;
mod embedder;
#[cfg(test)]
mod tests;

pub use embedder::{EmbeddingSettings, EndpointEmbedder};
