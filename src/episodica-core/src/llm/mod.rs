//! The only access to language models.
//!
//! [`LanguageModel`] is the interface for the rest of the engine: it takes a prompt and returns a
//! text with its cost, from any server. It hides retries, fallback and the circuit breaker;
//! `boundary` and `generate` interpret the answers. [`OpenAiModel`] is the implementation for
//! endpoints; the engine counts the usage ([`Ledger`]).

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
    Budget, PROMPT_VERSION, Template, before, conversation, is_chinese, is_from_prompt, render,
    single_line,
};
pub use settings::LlmSettings;
