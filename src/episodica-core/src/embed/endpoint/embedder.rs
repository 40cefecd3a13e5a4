//! The embedder of an endpoint: batches, cache and usage counters.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use crate::sync::Mutex;
use lru::LruCache;
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::answer::EmbeddingBody;
use crate::control::{CallControl, Uninterrupted};
use crate::embed::{Embedder, SHORTEST_CUT, shortened_text};
use crate::error::{Error, ErrorKind, Result};
use crate::llm::{ChatAnswer, NoAnswer, UsageLedger, UsagePhase};
use crate::model::ServiceHealth;
use crate::remote::{
    CallFailure, FailureCause, RemoteEndpoint, RemoteService, RetryTimer, SystemTimer,
};
use crate::text::count_tokens;

/// Maximum configurable number of texts per request.
const MAX_BATCH_SIZE: usize = 100;
/// Text that is sent to learn the dimension if every text is empty.
const PROBE: &str = "a";

/// An embedding model at an endpoint. Unknown names in JSON are errors; `model` and `endpoint` have
/// no default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingSettings {
    /// The model's name at the server.
    pub model: String,
    /// The server; its address excludes the final `/embeddings`.
    pub endpoint: RemoteEndpoint,
    /// Dimension of the vectors, sent with each request; `None` = the model's default.
    #[serde(default)]
    pub dimensions: Option<usize>,
    /// Texts per request, 1 to 100.
    #[serde(default = "default_batch_size")]
    pub batch_size: usize,
    /// Number of vectors cached in memory; the least recently used are dropped first. 0 = no cache.
    #[serde(default = "default_cache_entries")]
    pub cache_entries: usize,
}

fn default_batch_size() -> usize {
    32
}

fn default_cache_entries() -> usize {
    4096
}

impl EmbeddingSettings {
    /// Settings for `model` at `base_url`, with defaults for all others.
    pub fn new(model: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            endpoint: RemoteEndpoint::new(base_url),
            dimensions: None,
            batch_size: default_batch_size(),
            cache_entries: default_cache_entries(),
        }
    }

    /// Reads settings like `{"model": "...", "endpoint": {"base_url": "..."}}`.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for an unknown name or a value of the wrong type; the message repeats
    /// no secrets.
    pub fn from_json(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|error| {
            config_error(format!("settings of the embedder are not valid: {error}"))
        })
    }
}

/// SHA-256 of a text.
type Key = [u8; 32];
type Vector = Arc<[f32]>;

/// An [`Embedder`] that calls a server. Thread safe. Create one for all users, since it owns the
/// cache and the circuit breaker.
pub struct EndpointEmbedder {
    settings: EmbeddingSettings,
    remote: RemoteService,
    dimension: OnceLock<usize>,
    cache: Option<Mutex<LruCache<Key, Vector>>>,
    ledger: Arc<UsageLedger>,
}

impl EndpointEmbedder {
    /// Creates the embedder without sending a request. Counts requests, tokens and failures in
    /// `ledger` under [`UsagePhase::Embedding`].
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for invalid values.
    pub fn new(settings: EmbeddingSettings, ledger: Arc<UsageLedger>) -> Result<Self> {
        Self::with_timer(settings, ledger, Arc::new(SystemTimer::default()))
    }

    /// [`new`](Self::new) with another timer for waits, circuit breaker and measured seconds.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn with_timer(
        settings: EmbeddingSettings,
        ledger: Arc<UsageLedger>,
        timer: Arc<dyn RetryTimer>,
    ) -> Result<Self> {
        if settings.model.trim().is_empty() {
            return Err(config_error("name of the embedding model is empty"));
        }
        if !(1..=MAX_BATCH_SIZE).contains(&settings.batch_size) {
            return Err(config_error(format!(
                "batch_size of the embedder is outside 1 to {MAX_BATCH_SIZE}: `{}`",
                settings.batch_size
            )));
        }
        if settings.dimensions == Some(0) {
            return Err(config_error("dimensions of the embedder must be above 0: `0`"));
        }
        let remote = RemoteService::with_timer(&settings.endpoint, timer)?;
        let dimension = settings.dimensions.map_or_else(OnceLock::new, OnceLock::from);
        let cache = NonZeroUsize::new(settings.cache_entries)
            .map(|entries| Mutex::new(LruCache::new(entries)));
        Ok(Self { settings, remote, dimension, cache, ledger })
    }

    /// Returns one row per text. If `control` stops it, the texts embedded so far stay in the
    /// cache.
    fn embed_cached(&self, texts: &[&str], control: &dyn CallControl) -> Result<Array2<f32>> {
        let keys: Vec<Option<Key>> = texts
            .iter()
            .map(|text| (!text.trim().is_empty()).then(|| Sha256::digest(text).into()))
            .collect();
        let mut known: HashMap<Key, Vector> = HashMap::new();
        // Each missing text once, with the position of its first occurrence.
        let mut missing: Vec<(usize, Key)> = Vec::new();
        {
            let mut cache = self.cache.as_ref().map(Mutex::lock);
            let mut seen = std::collections::HashSet::new();
            for (place, key) in keys.iter().enumerate() {
                let Some(key) = key.filter(|key| seen.insert(*key)) else { continue };
                match cache.as_mut().and_then(|cache| cache.get(&key)) {
                    Some(vector) => drop(known.insert(key, Arc::clone(vector))),
                    None => missing.push((place, key)),
                }
            }
        }
        for batch in missing.chunks(self.settings.batch_size) {
            let items: Vec<(usize, &str)> =
                batch.iter().map(|(place, _)| (*place, texts[*place])).collect();
            let rows = self.embed_batch(&items, control)?;
            let mut cache = self.cache.as_ref().map(Mutex::lock);
            for ((_, key), row) in batch.iter().zip(rows) {
                let vector: Vector = row.into();
                if let Some(cache) = &mut cache {
                    cache.put(*key, Arc::clone(&vector));
                }
                known.insert(*key, vector);
            }
        }
        if texts.is_empty() || self.dimension.get().is_some() {
            // The dimension is known, or no row needs it.
        } else {
            self.embed_batch(&[(0, PROBE)], control)?;
        }
        let mut rows = Array2::zeros((texts.len(), self.dimension.get().copied().unwrap_or(0)));
        for (key, mut row) in keys.iter().zip(rows.rows_mut()) {
            if let Some(vector) = key.and_then(|key| known.get(&key)) {
                row.iter_mut().zip(vector.iter()).for_each(|(to, from)| *to = *from);
            }
        }
        Ok(rows)
    }

    /// False while the circuit breaker rejects all calls.
    pub fn is_available(&self) -> bool {
        self.remote.is_available()
    }

    /// Embeds texts that have content, each with its position. If the server rejects a batch, the
    /// batch or a text in it may be too long, so the batch is halved. A single text is cut; if the
    /// server rejects even its shortest beginning, the error names its position.
    fn embed_batch(
        &self,
        items: &[(usize, &str)],
        control: &dyn CallControl,
    ) -> Result<Vec<Vec<f32>>> {
        match self.request_rows(items, control) {
            Ok(rows) => Ok(rows),
            Err(failure) if matches!(failure.cause(), FailureCause::Status(400 | 413 | 422)) => {
                match items {
                    [(place, text)] if text.len() > SHORTEST_CUT => {
                        self.embed_batch(&[(*place, shortened_text(text))], control)
                    }
                    [(place, _)] => Err(Error::new(
                        ErrorKind::Embedding,
                        format!("cannot embed item `{}`", place + 1),
                    )
                    .caused_by(failure.into_error(ErrorKind::Embedding))
                    .with_hint("the text may be longer than the model takes")),
                    _ => {
                        let (first, second) = items.split_at(items.len() / 2);
                        let mut rows = self.embed_batch(first, control)?;
                        rows.extend(self.embed_batch(second, control)?);
                        Ok(rows)
                    }
                }
            }
            Err(failure) => Err(failure.into_error(ErrorKind::Embedding)),
        }
    }

    fn request_rows(
        &self,
        items: &[(usize, &str)],
        control: &dyn CallControl,
    ) -> Result<Vec<Vec<f32>>, CallFailure> {
        let texts: Vec<&str> = items.iter().map(|(_, text)| *text).collect();
        let mut body = json!({"model": self.settings.model, "input": texts});
        if let Some(dimensions) = self.settings.dimensions {
            body["dimensions"] = dimensions.into();
        }
        let outcome = self.remote.post_json("embeddings", &body, control).and_then(|reply| {
            let body: EmbeddingBody = reply.parse_body("a list of embeddings")?;
            let tokens = body.token_count();
            let rows = body.into_rows(texts.len(), self.dimension.get().copied())?;
            if let Some(row) = rows.first() {
                self.dimension.get_or_init(|| row.len());
            }
            Ok((rows, tokens, reply))
        });
        match outcome {
            Ok((rows, tokens, reply)) => {
                let answer = ChatAnswer {
                    text: String::new(),
                    model: self.settings.model.clone(),
                    prompt_tokens: tokens.unwrap_or_else(|| {
                        texts.iter().map(|text| count_tokens(text) as u64).sum()
                    }),
                    completion_tokens: 0,
                    cached_tokens: 0,
                    reasoning_tokens: 0,
                    counted_locally: tokens.is_none(),
                    attempts: reply.attempts,
                    seconds: reply.seconds,
                };
                self.ledger.record_answer(UsagePhase::Embedding, None, &answer);
                Ok(rows)
            }
            Err(failure) => {
                if failure.cause() != FailureCause::Stopped {
                    let mut cost = Box::<NoAnswer>::from(Error::internal("without an answer"));
                    (cost.attempts, cost.seconds) = (failure.attempts(), failure.elapsed_seconds());
                    let model = &self.settings.model;
                    self.ledger.record_failure(UsagePhase::Embedding, None, model, &cost);
                }
                Err(failure)
            }
        }
    }
}

impl Embedder for EndpointEmbedder {
    fn model_name(&self) -> &str {
        &self.settings.model
    }

    fn dimension(&self) -> Option<usize> {
        self.dimension.get().copied()
    }

    fn is_local(&self) -> bool {
        false
    }

    fn embed_texts(&self, texts: &[&str]) -> Result<Array2<f32>> {
        self.embed_controlled(texts, &Uninterrupted)
    }

    fn embed_controlled(&self, texts: &[&str], control: &dyn CallControl) -> Result<Array2<f32>> {
        self.embed_cached(texts, control)
    }

    fn service_health(&self) -> Option<ServiceHealth> {
        Some(ServiceHealth {
            model: self.settings.model.clone(),
            cache_entries: self.cache.as_ref().map_or(0, |cache| cache.lock().len()),
            ..self.remote.service_health()
        })
    }
}

fn config_error(context: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, context)
}
