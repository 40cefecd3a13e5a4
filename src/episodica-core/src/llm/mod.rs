//! The only door to language models.
//!
//! [`LanguageModel`] is what the rest of the engine sees: a prompt in, a text with its cost out,
//! whatever serves it. Retries, fallback and the circuit breaker are behind it; what an answer
//! means is the business of `boundary` and `generate`. [`OpenAiModel`] is the one for endpoints;
//! the engine keeps the books ([`Ledger`]).

mod chat;
pub mod json;
mod ledger;
mod openai;
mod prompts;
mod settings;
pub mod testing;

pub use chat::{Answer, AnswerSchema, LanguageModel, NoAnswer, Phase, Prompt};
pub use ledger::Ledger;
pub use openai::OpenAiModel;
pub use prompts::{
    Budget, PROMPT_VERSION, Template, conversation, is_chinese, is_from_prompt, render, single_line,
};
pub use settings::LlmSettings;
