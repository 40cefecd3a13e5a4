//! The only access to language models.
//!
//! [`LanguageModel`] is the interface for the rest of the engine: it takes a prompt and returns a
//! text with its cost, from any server. It hides retries, fallback and the circuit breaker;
//! `boundary` and `generate` interpret the answers. [`OpenAiModel`] is the implementation for
//! endpoints; the engine counts the usage ([`UsageLedger`]).

mod chat;
pub mod json;
mod ledger;
mod openai;
mod prompts;
mod settings;
pub mod testing;

pub use chat::{AnswerSchema, ChatAnswer, ChatPrompt, LanguageModel, NoAnswer, UsagePhase};
pub use ledger::UsageLedger;
pub use openai::OpenAiModel;
pub use prompts::{
    PROMPT_VERSION, PromptTemplate, WindowBudget, format_before, format_conversation, is_chinese,
    is_from_prompt, render_prompt, single_line,
};
pub use settings::LlmSettings;
