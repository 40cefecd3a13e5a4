//! The settings of a memory.

use super::choices::{BoundaryMode, LearnFrom, RetrievalPreset, SecretPolicy};
use super::setting::{NumberBounds, settings};
use crate::clock::DisplayZone;
use crate::error::{Error, ErrorKind, Result};

/// The default weights of a message's terms, as measured (docs/scoring.md).
pub const MESSAGE_WEIGHTS: [f32; 8] = [2.5, 0.5, 0.85, 1.2, 2.0, 1.0, 0.2, 1.5];
/// The default weights with the table of token vectors, which tell less than those of sentences.
pub const STATIC_WEIGHTS: [f32; MESSAGE_WEIGHTS.len()] = [3.0, 0.5, 0.5, 1.4, 2.0, 1.0, 0.2, 1.5];

settings! {
    /// The engine's configuration. Unknown names are errors, so that a typing error cannot pass as
    /// a setting.
    pub struct MemoryConfig {
        /// Minimum number of messages in an episode; a shorter segment joins its neighbour, unless
        /// more than a day or another session lies between them. At most `buffer_size_max`.
        buffer_size_min: usize = 2, NumberBounds::between(1.0, 1000.0);
        /// Maximum number of messages in an episode.
        buffer_size_max: usize = 25, NumberBounds::between(1.0, 1000.0);
        /// How episodes are cut: `heuristic` rules, by a model that reads a `window` of messages or
        /// judges each `message`, or `auto` (`window` with an LLM, `heuristic` without).
        boundary_mode: BoundaryMode = BoundaryMode::Auto, NumberBounds::any();
        /// Minimum confidence of a boundary.
        boundary_confidence_threshold: f32 = 0.7, NumberBounds::between(0.0, 1.0);
        /// A pause of this many minutes ends an episode.
        time_gap_minutes: f64 = 30.0, NumberBounds::above(0.0);
        /// New messages that a model sees per call.
        boundary_window_messages: usize = 20, NumberBounds::at_least(1.0);
        /// If true, a model writes a narrative as the content of each episode; if false, only its
        /// title and a sentence that sums it up.
        narratives: bool = false, NumberBounds::any();
        /// Merge a new episode into a similar recent one.
        merge_episodes: bool = false, NumberBounds::any();
        /// Minimum cosine similarity of two episodes that are merged.
        merge_similarity_threshold: f32 = 0.85, NumberBounds::between(0.0, 1.0);
        /// Maximum time between two episodes that are merged, in minutes.
        merge_max_gap_minutes: f64 = 60.0, NumberBounds::above(0.0);
        /// Learn facts from finished episodes.
        semantic_memory: bool = true, NumberBounds::any();
        /// Whose messages facts are learned from: the `user`'s, the `assistant`'s, or `both`.
        learn_from: LearnFrom = LearnFrom::Both, NumberBounds::any();
        /// If true, a model sees the known facts nearest to an episode and learns only new facts;
        /// if false, it learns from each episode alone.
        prediction_correction: bool = true, NumberBounds::any();
        /// Minimum similarity of a known fact that is shown with an episode.
        statement_similarity_threshold: f32 = 0.0, NumberBounds::between(0.0, 1.0);
        /// Minimum confidence of a fact.
        min_confidence: f32 = 0.6, NumberBounds::between(0.0, 1.0);
        /// Minimum importance of a fact.
        min_importance: f32 = 0.5, NumberBounds::between(0.0, 1.0);
        /// Named set of ranking parameters: `default` (the best by measurement, no thresholds),
        /// `cortex` (Cortex-Mem's thresholds, which depend on the intent of the question) or
        /// `memo` (0.7 x similarity + 0.3 x importance).
        preset: RetrievalPreset = RetrievalPreset::Default, NumberBounds::any();
        /// Weights of summary, content and messages in an episode's score, not all 0;
        /// renormalised over the layers present.
        layer_weights: [f32; 3] = [0.0, 0.2, 0.5], NumberBounds::at_least(0.0);
        /// Weights of the terms of a message's score: words, tokens, vector, speaker, date,
        /// statement, answer, role. With `embedding="static"` other weights are the default.
        message_weights: [f32; MESSAGE_WEIGHTS.len()] = MESSAGE_WEIGHTS, NumberBounds::any();
        /// `k` of reciprocal rank fusion.
        rrf_k: f32 = 60.0, NumberBounds::above(0.0);
        /// Number of messages from which a user's indexes are saved at closing and read at opening.
        snapshot_threshold: usize = 2_048, NumberBounds::at_least(1.0);
        /// Memory that a process with many users may take, in bytes. Open users may take half of
        /// it before the least recently used are closed; the other half is for memory that they
        /// share.
        memory_budget_bytes: usize = 512 << 20, NumberBounds::at_least(0.0);
        /// Maximum number of log files that stay open, over all users; at most a quarter of the
        /// process's file handles are used. The least recently used files are closed first, and
        /// all of them if handles run out.
        max_open_files: usize = 128, NumberBounds::at_least(1.0);
        /// Maximum length of a message, in bytes of UTF-8.
        max_message_bytes: usize = 16 << 20, NumberBounds::at_least(1.0);
        /// How to treat keys, passwords, card and account numbers in messages: `mask` them as
        /// `[secret: github token]`, `keep` them, `refuse` the message, or `auto` (`mask` in tools'
        /// output and imported conversations, else `keep`).
        secrets: SecretPolicy = SecretPolicy::Auto, NumberBounds::any();
        /// Maximum time, in seconds, that a search waits for the vector of its question. After
        /// that, the search ranks by words and reports this in `degraded`.
        search_timeout_seconds: f64 = 2.0, NumberBounds::above(0.0);
        /// Maximum number of simultaneous model calls, over all users.
        llm_concurrency: usize = 8, NumberBounds::at_least(1.0);
        /// Zone in which dates are shown, in contexts, records, displays and the command line: a
        /// name like `Europe/Paris` or an offset like `+08:00`. By default each date is shown by
        /// the clock of the message that it comes from.
        timezone: Option<String> = None, NumberBounds::any();
        /// Keep prompts and answers for inspection (private text!).
        trace: bool = false, NumberBounds::any();
        /// Keep model answers by the hash of their prompt (private text, deleted with the user).
        llm_cache: bool = true, NumberBounds::any();
    }
}

impl MemoryConfig {
    /// Checks every bound.
    ///
    /// # Errors
    /// `Config`, naming the field and its value.
    pub(crate) fn validate(&self) -> Result<()> {
        self.check_bounds()?;
        let fail = |text: String| Err(Error::new(ErrorKind::Config, text));
        if self.buffer_size_min > self.buffer_size_max {
            return fail(format!(
                "buffer_size_min must be at most buffer_size_max ({}): `{}`",
                self.buffer_size_max, self.buffer_size_min
            ));
        }
        if self.layer_weights.iter().sum::<f32>() <= 0.0 {
            return fail(format!("layer_weights must not all be 0: `{:?}`", self.layer_weights));
        }
        self.zone().map(drop)
    }

    /// The time zone in which dates are shown.
    ///
    /// # Errors
    /// `Config` for an unknown name.
    pub fn zone(&self) -> Result<DisplayZone> {
        self.timezone.as_deref().map_or_else(|| Ok(DisplayZone::default()), DisplayZone::from_name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_bounds_are_checked() {
        MemoryConfig::default().validate().expect("defaults");
        let said = |config: MemoryConfig| config.validate().unwrap_err().to_string();
        assert_eq!(
            said(MemoryConfig { min_confidence: 1.5, ..MemoryConfig::default() }),
            "min_confidence must be between 0 and 1: `1.5`"
        );
        assert_eq!(
            said(MemoryConfig { buffer_size_min: 30, ..MemoryConfig::default() }),
            "buffer_size_min must be at most buffer_size_max (25): `30`"
        );
        assert_eq!(
            said(MemoryConfig { layer_weights: [0.0; 3], ..MemoryConfig::default() }),
            "layer_weights must not all be 0: `[0.0, 0.0, 0.0]`"
        );
        let mut weights = MESSAGE_WEIGHTS;
        weights[0] = f32::NAN;
        assert_eq!(
            said(MemoryConfig { message_weights: weights, ..MemoryConfig::default() }),
            "message_weights must be a finite number: `NaN`"
        );
    }

    #[test]
    fn the_table_says_what_serde_says() {
        // By way of text, which keeps the digits of single precision.
        let text = serde_json::to_string(&MemoryConfig::default()).unwrap();
        let defaults: serde_json::Value = serde_json::from_str(&text).unwrap();
        let schema = MemoryConfig::schema();
        let names: Vec<_> = schema.iter().map(|setting| setting.name).collect();
        assert_eq!(names, defaults.as_object().unwrap().keys().collect::<Vec<_>>());
        for setting in schema {
            let digits = defaults[setting.name].to_string();
            assert_eq!(setting.default.to_string(), digits, "{}", setting.name);
            assert!(setting.documentation.ends_with(['.', ')']), "{}", setting.documentation);
        }
    }
}
