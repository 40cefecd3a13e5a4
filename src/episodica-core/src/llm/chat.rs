//! What is asked of a model, and what comes back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::control::Control;
use crate::error::Result;
use crate::model::ServiceHealth;

/// Which step of the engine asks; the books are kept by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Where episodes end.
    Boundary,
    /// The text of an episode.
    Episode,
    /// What the known statements let expect of an episode.
    Predict,
    /// What was not expected.
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
            Self::Predict => "predict",
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

/// Something that answers prompts: an endpoint, or a caller's function.
pub trait LanguageModel: Send + Sync {
    /// Its name, as stamped into what it makes.
    fn model(&self) -> &str;

    /// Asks; retries, fallback and breaker included. Blocks its thread, and gives up soon after
    /// `control` says so.
    ///
    /// # Errors
    /// [`ErrorKind::Llm`](crate::ErrorKind::Llm) when no answer is to be had; `Interrupted`.
    fn complete(&self, prompt: &Prompt, control: &dyn Control) -> Result<Answer>;

    /// Would a call be sent now? `false` while the circuit breaker refuses all of them.
    fn is_available(&self) -> bool {
        true
    }

    /// Counters and the state of the breaker. No secret inside.
    fn health(&self) -> ServiceHealth;
}
