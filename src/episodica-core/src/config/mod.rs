//! Every knob of the engine, with its default and its bounds. Where values come from (keyword,
//! environment, TOML) is the caller's business.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// How segments are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundaryMode {
    /// `window` with an LLM, `heuristic` without.
    #[default]
    Auto,
    /// Rules over time, topic, cues and size.
    Heuristic,
    /// One model call over a window of messages.
    Window,
    /// One model call a message.
    Message,
}

/// A named set of retrieval numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// The measured best; no thresholds.
    #[default]
    Default,
    /// The seeds' thresholds by intent, with stepwise relaxation.
    Cortex,
    /// 0.7 similarity + 0.3 importance.
    Memo,
}

/// The measured weights of a message's terms (docs/scoring.md).
pub const MESSAGE_WEIGHTS: [f32; 7] = [2.5, 0.7, 0.3, 1.0, 1.5, 1.0, 0.2];
/// What the vectors of a sentence embedder count: they tell more than those of the static table.
pub const SENTENCE_VECTOR_WEIGHT: f32 = 0.5;

/// The engine's configuration. Unknown names are refused, so that a typing error can't pass as a
/// setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Fewest messages of an episode; a shorter segment joins its neighbour. 1 or more.
    pub buffer_size_min: usize,
    /// Most messages of an episode.
    pub buffer_size_max: usize,
    /// How segments are found.
    pub boundary_mode: BoundaryMode,
    /// A boundary below this confidence is not one. 0 to 1.
    pub boundary_confidence_threshold: f32,
    /// A pause of this many minutes ends a segment.
    pub time_gap_minutes: f64,
    /// Messages a model sees per boundary call.
    pub boundary_window_messages: usize,
    /// Merge a new episode into a similar recent one.
    pub merge_episodes: bool,
    /// Cosine from which two episodes are similar enough to merge.
    pub merge_similarity_threshold: f32,
    /// Episodes further apart than this are never merged.
    pub merge_max_gap_minutes: f64,
    /// Learn semantic memories.
    pub semantic_memory: bool,
    /// Predict from what is known and learn the difference (with an LLM); otherwise extract from
    /// each episode.
    pub prediction_correction: bool,
    /// Known statements below this similarity don't take part in a prediction.
    pub statement_similarity_threshold: f32,
    /// Semantic memories below this confidence are not kept.
    pub min_confidence: f32,
    /// Semantic memories below this importance are not kept.
    pub min_importance: f32,
    /// Named retrieval numbers.
    pub preset: Preset,
    /// Weights of L0, L1 and L2; renormalised over the layers present.
    pub layer_weights: [f32; 3],
    /// Weights of the terms of a message's score: words, tokens, vector, speaker, date, statement,
    /// answer. As it stands by default, the vector's weight is [`SENTENCE_VECTOR_WEIGHT`] with
    /// another embedder than the package's own.
    pub message_weights: [f32; 7],
    /// `k` of reciprocal rank fusion.
    pub rrf_k: f32,
    /// From this many vectors on, an index is a graph instead of a scan.
    pub hnsw_threshold: usize,
    /// From this many messages on, the indexes of a user are written when they are closed, and read
    /// when they are opened again.
    pub snapshot_threshold: usize,
    /// Memory that open users may take before the longest unused are closed.
    pub memory_budget_bytes: usize,
    /// Longest message, in bytes of UTF-8.
    pub max_message_bytes: usize,
    /// Model calls in flight at once, over all users.
    pub llm_concurrency: usize,
    /// Keep prompts and answers for inspection (private text!).
    pub trace: bool,
    /// Keep model answers by the hash of their prompt (private text, deleted with the user).
    pub llm_cache: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            buffer_size_min: 2,
            buffer_size_max: 25,
            boundary_mode: BoundaryMode::Auto,
            boundary_confidence_threshold: 0.7,
            time_gap_minutes: 30.0,
            boundary_window_messages: 20,
            merge_episodes: false,
            merge_similarity_threshold: 0.85,
            merge_max_gap_minutes: 60.0,
            semantic_memory: true,
            prediction_correction: true,
            statement_similarity_threshold: 0.0,
            min_confidence: 0.6,
            min_importance: 0.5,
            preset: Preset::Default,
            layer_weights: [0.2, 0.3, 0.5],
            message_weights: MESSAGE_WEIGHTS,
            rrf_k: 60.0,
            hnsw_threshold: 2_000_000,
            snapshot_threshold: 2_048,
            memory_budget_bytes: 512 << 20,
            max_message_bytes: 16 << 20,
            llm_concurrency: 8,
            trace: false,
            llm_cache: true,
        }
    }
}

impl Config {
    /// Checks every bound.
    ///
    /// # Errors
    /// `Config`, naming the field and its value.
    pub fn validate(&self) -> Result<()> {
        let fail = |text: String| Err(Error::new(ErrorKind::Config, text));
        if self.buffer_size_min < 1 || self.buffer_size_min > self.buffer_size_max {
            return fail(format!(
                "buffer_size_min must be at least 1 and at most buffer_size_max ({}): `{}`",
                self.buffer_size_max, self.buffer_size_min
            ));
        }
        if self.buffer_size_max > 1000 {
            return fail(format!(
                "buffer_size_max must be at most 1000: `{}`",
                self.buffer_size_max
            ));
        }
        for (name, value) in [
            ("boundary_confidence_threshold", self.boundary_confidence_threshold),
            ("merge_similarity_threshold", self.merge_similarity_threshold),
            ("statement_similarity_threshold", self.statement_similarity_threshold),
            ("min_confidence", self.min_confidence),
            ("min_importance", self.min_importance),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return fail(format!("{name} must be between 0 and 1: `{value}`"));
            }
        }
        for (name, value) in [
            ("time_gap_minutes", self.time_gap_minutes),
            ("merge_max_gap_minutes", self.merge_max_gap_minutes),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return fail(format!("{name} must be positive: `{value}`"));
            }
        }
        if self.layer_weights.iter().any(|weight| !(*weight >= 0.0 && weight.is_finite()))
            || self.layer_weights.iter().sum::<f32>() <= 0.0
        {
            return fail(format!(
                "layer_weights must be three numbers >= 0, not all 0: `{:?}`",
                self.layer_weights
            ));
        }
        if self.message_weights.iter().any(|weight| !weight.is_finite()) {
            return fail(format!("message_weights must be finite: `{:?}`", self.message_weights));
        }
        if !(self.rrf_k > 0.0 && self.rrf_k.is_finite()) {
            return fail(format!("rrf_k must be positive: `{}`", self.rrf_k));
        }
        for (name, value) in [
            ("boundary_window_messages", self.boundary_window_messages),
            ("hnsw_threshold", self.hnsw_threshold),
            ("snapshot_threshold", self.snapshot_threshold),
            ("max_message_bytes", self.max_message_bytes),
            ("llm_concurrency", self.llm_concurrency),
        ] {
            if value == 0 {
                return fail(format!("{name} must be at least 1: `0`"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_bounds_are_checked() {
        Config::default().validate().expect("defaults");
        let bad = Config { min_confidence: 1.5, ..Config::default() };
        assert_eq!(
            bad.validate().expect_err("out of range").to_string(),
            "min_confidence must be between 0 and 1: `1.5`"
        );
    }
}
