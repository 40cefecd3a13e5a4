//! Chat Completions of any server that speaks OpenAI's protocol.
//!
//! Asks for strict JSON and goes down to what the server accepts (`dialect`), at temperature 0,
//! without streaming or tools. Reading the JSON is the caller's business ([`json`](super::json)).

mod dialect;
mod model;
#[cfg(test)]
mod tests;

pub use model::OpenAiModel;
