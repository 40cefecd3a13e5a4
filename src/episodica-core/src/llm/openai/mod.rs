//! Chat Completions of any server with OpenAI's protocol.
//!
//! Requests strict JSON at temperature 0, without streaming or tools, and relaxes the request until
//! the server accepts it (`dialect`). The caller parses the JSON ([`json`](super::json)).

mod dialect;
mod model;
mod reading;
#[cfg(test)]
mod tests;

pub use model::OpenAiModel;
