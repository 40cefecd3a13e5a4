//! The only door to language models.
//!
//! [`LanguageModel`] is what the rest of the engine sees: a prompt in, a text with its cost out, whatever serves it. Retries, fallback and the
//! circuit breaker are behind it; what an answer means is the business of `boundary` and `generate`. The engine keeps the books.

mod chat;

pub use chat::{Answer, AnswerSchema, LanguageModel, Phase, Prompt};
