//! Settings whose value is one of a few words.

use serde::{Deserialize, Serialize};

/// How boundaries between episodes are found.
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
    /// One model call per message.
    Message,
}

impl BoundaryMode {
    /// The words in a settings file, in the order of the variants.
    pub const NAMES: &'static [&'static str] = &["auto", "heuristic", "window", "message"];
}

/// Whose messages facts are learned from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LearnFrom {
    /// Users, and assistants' statements about them.
    #[default]
    Both,
    /// Users only.
    User,
    /// Assistants only.
    Assistant,
}

impl LearnFrom {
    /// The words in a settings file, in the order of the variants.
    pub const NAMES: &'static [&'static str] = &["both", "user", "assistant"];
}

/// How to treat keys, passwords and card numbers in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretPolicy {
    /// `mask` in tools' output and imported conversations, `keep` in what others say.
    #[default]
    Auto,
    /// Stored as `[secret: github token]`.
    Mask,
    /// Stored as they come.
    Keep,
    /// A message with a secret is an error.
    Refuse,
}

impl SecretPolicy {
    /// The words in a settings file, in the order of the variants.
    pub const NAMES: &'static [&'static str] = &["auto", "mask", "keep", "refuse"];
}

/// A named set of retrieval parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetrievalPreset {
    /// The best by measurement, without thresholds.
    #[default]
    Default,
    /// Cortex-Mem's thresholds, which depend on the question's intent and are lowered until a
    /// record passes.
    Cortex,
    /// 0.7 similarity + 0.3 importance.
    Memo,
}

impl RetrievalPreset {
    /// The words in a settings file, in the order of the variants.
    pub const NAMES: &'static [&'static str] = &["default", "cortex", "memo"];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_files() {
        use BoundaryMode::{Auto, Heuristic, Message, Window};
        let modes = serde_json::to_value([Auto, Heuristic, Window, Message]).unwrap();
        assert_eq!(modes, serde_json::json!(BoundaryMode::NAMES));
        let sources = [LearnFrom::Both, LearnFrom::User, LearnFrom::Assistant];
        assert_eq!(serde_json::to_value(sources).unwrap(), serde_json::json!(LearnFrom::NAMES));
        let policies = {
            use SecretPolicy::{Auto, Keep, Mask, Refuse};
            [Auto, Mask, Keep, Refuse]
        };
        assert_eq!(serde_json::to_value(policies).unwrap(), serde_json::json!(SecretPolicy::NAMES));
        let presets = [RetrievalPreset::Default, RetrievalPreset::Cortex, RetrievalPreset::Memo];
        assert_eq!(
            serde_json::to_value(presets).unwrap(),
            serde_json::json!(RetrievalPreset::NAMES)
        );
    }
}
