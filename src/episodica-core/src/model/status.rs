//! Status of the memory: counts, health and cost.
//!
//! Plain data: the engine fills it, the Python package turns it into frozen classes with the same
//! names and fields.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Counts by name; the code that counts defines the names.
pub type Counts = BTreeMap<&'static str, u64>;

/// Counts of one user's memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserStats {
    /// The user.
    pub user_id: String,
    /// Messages in the log.
    pub messages: usize,
    /// Messages in the buffer, not yet in an episode.
    pub buffered: usize,
    /// Episodes.
    pub episodes: usize,
    /// Facts that still hold.
    pub semantic_memories: usize,
    /// Facts that no longer hold.
    pub superseded: usize,
    /// Archived episodes and facts, and expired facts.
    pub archived: usize,
    /// Episodes whose facts are still to be learned.
    pub pending_semantic: usize,
    /// Episodes that the rules wrote because the language model failed; the model rewrites them
    /// when it answers again.
    pub pending_llm: usize,
    /// Episodes that the rules wrote because the language model refused their messages; only
    /// `retry_pending` asks the model again.
    pub refused_llm: usize,
    /// Texts without a vector: not embedded yet, or the embedder failed. An episode has two texts.
    pub pending_vectors: usize,
    /// Vectors in the indexes.
    pub vectors: VectorCounts,
    /// Bytes of process memory that the user's indexes take while open.
    pub memory_bytes: usize,
}

/// Vectors by the kind of record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VectorCounts {
    /// Of messages.
    pub messages: usize,
    /// Of episodes: one for title and summary, one for the narrative.
    pub episodes: usize,
    /// Of facts.
    pub semantic: usize,
}

/// Counts of the whole store, and of events since it was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// The tenant.
    pub tenant: String,
    /// Users with data in the store.
    pub users: usize,
    /// Users whose indexes are in process memory.
    pub open_users: usize,
    /// Bytes of process memory that the open users take.
    pub memory_bytes: usize,
    /// The embedder's model.
    pub embedding_model: String,
    /// Dimension of the vectors; `None` until a remote model or a callable has answered once.
    pub embedding_dimension: Option<usize>,
    /// Searches since the store was opened.
    pub searches: u64,
    /// Messages embedded since the store was opened.
    pub messages_embedded: u64,
    /// Failed calls of the embedder since the store was opened.
    pub embedding_failures: u64,
    /// Users closed to stay within the memory budget.
    pub evictions: u64,
    /// Rejected facts, by reason.
    pub rejected_statements: Counts,
    /// Repairs, fallbacks to the rules and losses, by kind.
    pub mended: Counts,
}

/// Health of the store and the models.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelHealth {
    /// The failing parts, in the order `store`, `embedding`, `llm`; empty if all work.
    pub failing: Vec<&'static str>,
    /// The embedder.
    pub embedding: EmbeddingHealth,
    /// The language model.
    pub llm: LlmHealth,
    /// The latest failure that did not stop the work; `None` if there was none.
    pub last_failure: Option<String>,
    /// The store.
    pub store: StoreHealth,
}

impl ModelHealth {
    /// `ok`, or `degraded` if anything is failing.
    pub fn status(&self) -> &'static str {
        if self.failing.is_empty() { "ok" } else { "degraded" }
    }
}

/// Health of the embedder.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddingHealth {
    /// Its model.
    pub model: String,
    /// Calls that failed since the store was opened.
    pub failures: u64,
    /// The server that it calls; `None` without a server.
    pub endpoint: Option<ServiceHealth>,
}

/// Health of the language model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LlmHealth {
    /// True if a model is configured.
    pub configured: bool,
    /// The model's name; `None` without a model.
    pub model: Option<String>,
    /// True if a call would be sent now: false without a model, and while the circuit breaker
    /// refuses all calls.
    pub available: bool,
    /// The server or callable that answers; `None` without a model.
    pub endpoint: Option<ServiceHealth>,
}

/// Health of a server or callable. Contains no secret.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServiceHealth {
    /// The requested model.
    pub model: String,
    /// `endpoint` or `callable`.
    pub kind: &'static str,
    /// Scheme, host and port of a server; empty for a callable.
    pub endpoint: String,
    /// State of the circuit breaker: `closed` (calls are sent), `open` (calls are refused) or
    /// `half_open` (one call tests the server). A callable has none: `closed`.
    pub breaker: &'static str,
    /// Calls; retries do not count again.
    pub calls: u64,
    /// Requests sent.
    pub requests: u64,
    /// Requests after the first of a call.
    pub retries: u64,
    /// Calls whose last attempt failed, too.
    pub failures: u64,
    /// Calls that the circuit breaker refused.
    pub refused: u64,
    /// True if the latest call failed or was refused.
    pub failing: bool,
    /// How answers are requested: `json_schema`, `json_object` or `text`; empty for an embedder.
    pub format: &'static str,
    /// Texts whose vectors are kept in memory; 0 for a language model.
    pub cache_entries: usize,
    /// The server that is asked when this one fails.
    pub fallback: Option<Box<ServiceHealth>>,
}

/// The medium of the store, and its health.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreHealth {
    /// The medium of the records: `files` or `postgresql`.
    pub backend: &'static str,
    /// Directory of the store, or address of the database without a secret.
    pub path: PathBuf,
    /// Version of the server; `None` without a server.
    pub server_version: Option<String>,
    /// Why the last request failed; `None` if it did not.
    pub failure: Option<String>,
    /// The format version that this release writes.
    pub format: u32,
    /// True if the store was opened for reading only.
    pub read_only: bool,
    /// Problems that were found at opening and are not mended; `verify` lists them.
    pub problems: usize,
}

/// The cost of the models since the store was opened.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelUsage {
    /// All calls.
    pub total: CallCost,
    /// By the step of the work: `boundary`, `episode`, `extract`, `embedding`.
    pub by_phase: BTreeMap<&'static str, CallCost>,
    /// By the model that answered, or that failed.
    pub by_model: BTreeMap<String, CallCost>,
    /// By the user, without calls for several users at once.
    pub by_user: BTreeMap<String, CallCost>,
}

/// The cost of calls. A call is one question, however many requests it takes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CallCost {
    /// Calls that a model answered.
    pub calls: u64,
    /// Tokens of the prompts.
    pub prompt_tokens: u64,
    /// Tokens of the answers.
    pub completion_tokens: u64,
    /// Of the prompts' tokens, those that the server had in its cache.
    pub cached_prompt_tokens: u64,
    /// Of the answers' tokens, those of the model's reasoning.
    pub reasoning_tokens: u64,
    /// Wall-clock seconds until the answers.
    pub seconds: f64,
    /// Questions answered from the cache; not among `calls`.
    pub cached: u64,
    /// Calls that failed; not among `calls`.
    pub failures: u64,
    /// Repeated requests of answered calls.
    pub retries: u64,
    /// Answered calls whose tokens were counted here, because the server reported none.
    pub counted_locally: u64,
}
