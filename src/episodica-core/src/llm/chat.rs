//! Requests to language models and their answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::control::CallControl;
use crate::error::{Error, Result};
use crate::model::ServiceHealth;

/// Steps of the engine that send requests; `usage()` counts by step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsagePhase {
    /// Judging for a message whether it opens an episode (`boundary_mode="message"`).
    Boundary,
    /// Finding the ends, texts and facts of a window's episodes.
    Episode,
    /// Finding the facts of an episode that has its text.
    Extract,
    /// Embedding texts.
    Embedding,
}

impl UsagePhase {
    /// The name used in `usage()` and in traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Boundary => "boundary",
            Self::Episode => "episode",
            Self::Extract => "extract",
            Self::Embedding => "embedding",
        }
    }
}

/// The JSON schema of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerSchema {
    /// Letters, digits and underscores.
    pub name: &'static str,
    /// A JSON schema as servers require it for strict output: every property required, no
    /// additional ones.
    pub schema: Value,
}

/// One request to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatPrompt {
    /// The step that sends it.
    pub phase: UsagePhase,
    /// The instructions.
    pub system: String,
    /// The material, fenced as data.
    pub user: String,
    /// The schema of the answer.
    pub schema: AnswerSchema,
    /// Maximum number of tokens of the answer.
    pub max_tokens: u32,
}

/// A model's answer with its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatAnswer {
    /// The text as received.
    pub text: String,
    /// The name of the model that answered: this model or its fallback.
    pub model: String,
    /// Prompt tokens.
    pub prompt_tokens: u64,
    /// Answer tokens.
    pub completion_tokens: u64,
    /// Prompt tokens that the server had in its cache, as it reports.
    pub cached_tokens: u64,
    /// Answer tokens of the model's reasoning, as the server reports.
    pub reasoning_tokens: u64,
    /// True if the server reported no usage and both counts are local (o200k_base).
    pub counted_locally: bool,
    /// Number of requests up to this answer, at least 1.
    pub attempts: u32,
    /// Seconds from the first request to the answer.
    pub seconds: f64,
}

/// A failed call: the error and the cost.
#[derive(Debug)]
pub struct NoAnswer {
    /// The error.
    pub error: Error,
    /// True if the server rejected the content, so a repetition would fail too.
    pub refused: bool,
    /// True if the server sent two empty answers without a reason.
    pub silent: bool,
    /// Number of requests; 0 if the circuit breaker rejected the call.
    pub attempts: u32,
    /// Prompt tokens that the server counted.
    pub prompt_tokens: u64,
    /// Tokens of unusable answers, as the server counted them.
    pub completion_tokens: u64,
    /// Seconds from the first request to the failure.
    pub seconds: f64,
}

impl From<Error> for Box<NoAnswer> {
    fn from(error: Error) -> Self {
        Self::new(NoAnswer {
            error,
            refused: false,
            silent: false,
            attempts: 1,
            prompt_tokens: 0,
            completion_tokens: 0,
            seconds: 0.0,
        })
    }
}

/// A model that answers prompts: an endpoint or a function of the caller.
pub trait LanguageModel: Send + Sync {
    /// The model's name, stored with its output.
    fn model_name(&self) -> &str;

    /// Sends a prompt, with retries, fallback and circuit breaker. Blocks the thread; returns soon
    /// after `control` requests a stop.
    ///
    /// # Errors
    /// [`ErrorKind::Llm`](crate::ErrorKind::Llm) without an answer; `Interrupted`.
    fn complete_prompt(
        &self,
        prompt: &ChatPrompt,
        control: &dyn CallControl,
    ) -> Result<ChatAnswer, Box<NoAnswer>>;

    /// Maximum number of tokens of prompt and answer together; `None` = enough for every prompt.
    fn context_window(&self) -> Option<u32> {
        None
    }

    /// True if a call would be sent now; false while the circuit breaker rejects all calls.
    fn is_available(&self) -> bool {
        true
    }

    /// What servers have taught about the form of requests, to be kept for later processes, if that
    /// has changed since the last call.
    fn take_learned(&self) -> Option<String> {
        None
    }

    /// Applies what an earlier process has kept.
    fn recall_learned(&self, _kept: &str) {}

    /// Counters and the state of the circuit breaker. Contains no secrets.
    fn service_health(&self) -> ServiceHealth;
}
