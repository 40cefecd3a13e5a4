//! Chat Completions of any server with OpenAI's protocol.
//!
//! Asks for strict JSON and relaxes the request to what the server accepts (`dialect`), at
//! temperature 0, without streaming or tools. The caller reads the JSON ([`json`](super::json)).

mod dialect;
mod model;
mod reading;
#[cfg(test)]
mod tests;

pub use model::OpenAiModel;
