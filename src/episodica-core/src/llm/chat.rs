//! What is asked of a model, and what comes back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::control::Control;
use crate::error::{Error, Result};
use crate::model::ServiceHealth;

/// Which step of the engine asks; the books are kept by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Where episodes end.
    Boundary,
    /// The text of an episode, and its facts.
    Episode,
    /// Facts, where they were not asked for together with the text.
    Extract,
    /// What to do with candidates beside what is known.
    Reconcile,
    /// Vectors.
    Embedding,
}

impl Phase {
    /// The word used in `usage()` and in traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Boundary => "boundary",
            Self::Episode => "episode",
            Self::Extract => "extract",
            Self::Reconcile => "reconcile",
            Self::Embedding => "embedding",
        }
    }
}

/// The JSON that an answer should have.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerSchema {
    /// Letters, digits and underscores.
    pub name: &'static str,
    /// A JSON schema in the dialect that servers accept for strict output: every property required,
    /// no additional ones.
    pub schema: Value,
}

/// One question to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// Which step asks.
    pub phase: Phase,
    /// The task.
    pub system: String,
    /// The material, fenced as data.
    pub user: String,
    /// The form of the answer.
    pub schema: AnswerSchema,
    /// Most tokens of the answer.
    pub max_tokens: u32,
}

/// What a model said, and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The text, as it came.
    pub text: String,
    /// The model that answered (the fallback's where that one did).
    pub model: String,
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Tokens of the answer.
    pub completion_tokens: u64,
    /// The server did not say what it used: both counts are ours (o200k_base).
    pub counted_locally: bool,
    /// Requests that were sent until this answer came, 1 or more.
    pub attempts: u32,
    /// From the first request to the answer.
    pub seconds: f64,
}

/// A question without an answer: why, and what it cost all the same.
#[derive(Debug)]
pub struct NoAnswer {
    /// What went wrong.
    pub error: Error,
    /// The same question would fare the same: its content was refused, or nothing was said to it.
    pub refused: bool,
    /// Requests that were sent, 0 where the circuit breaker refused.
    pub attempts: u32,
    /// Tokens of prompts that the server counted.
    pub prompt_tokens: u64,
    /// Tokens of answers that could not be used, as the server counted them.
    pub completion_tokens: u64,
    /// From the first request to giving up.
    pub seconds: f64,
}

impl From<Error> for Box<NoAnswer> {
    fn from(error: Error) -> Self {
        Self::new(NoAnswer {
            error,
            refused: false,
            attempts: 1,
            prompt_tokens: 0,
            completion_tokens: 0,
            seconds: 0.0,
        })
    }
}

/// Something that answers prompts: an endpoint, or a caller's function.
pub trait LanguageModel: Send + Sync {
    /// Its name, as stamped into what it makes.
    fn model(&self) -> &str;

    /// Asks; retries, fallback and breaker included. Blocks its thread, and gives up soon after
    /// `control` says so.
    ///
    /// # Errors
    /// [`ErrorKind::Llm`](crate::ErrorKind::Llm) when no answer is to be had; `Interrupted`.
    fn complete(&self, prompt: &Prompt, control: &dyn Control) -> Result<Answer, Box<NoAnswer>>;

    /// Tokens that prompt and answer may have together; `None` = enough for any of ours.
    fn context_window(&self) -> Option<u32> {
        None
    }

    /// Would a call be sent now? `false` while the circuit breaker refuses all of them.
    fn is_available(&self) -> bool {
        true
    }

    /// Counters and the state of the breaker. No secret inside.
    fn health(&self) -> ServiceHealth;
}
