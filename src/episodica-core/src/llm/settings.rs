//! Settings of a model: its name, its endpoint and its fallback.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::remote::RemoteEndpoint;

/// A model at an endpoint. Unknown names in JSON are errors; `model` and `endpoint` have no
/// default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LlmSettings {
    /// The model's name on the server.
    pub model: String,
    /// The server.
    pub endpoint: RemoteEndpoint,
    /// The model to use if this one fails. It has its own circuit breaker and may have its own
    /// fallback.
    #[serde(default)]
    pub fallback: Option<Box<LlmSettings>>,
    /// Maximum number of tokens of every answer; replaces the default of each prompt (200 to
    /// 4,000). Reasoning models need more.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// The model's maximum number of tokens for prompt and answer together; prompts are shortened
    /// to fit. `None` = assumed to be at least 32,768.
    #[serde(default)]
    pub context_window: Option<u32>,
    /// Additional fields of each request (`reasoning_effort`, `seed`, ...); they override the
    /// package's own.
    #[serde(default)]
    pub extra: Map<String, Value>,
}

impl LlmSettings {
    /// `model` at `base_url` with default settings.
    pub fn new(model: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            endpoint: RemoteEndpoint::new(base_url),
            fallback: None,
            max_tokens: None,
            context_window: None,
            extra: Map::new(),
        }
    }

    /// Reads settings like `{"model": "...", "endpoint": {"base_url": "..."}}`.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for unknown names and wrong types; the message contains no secrets.
    pub fn from_json(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|error| {
            Error::new(ErrorKind::Config, format!("settings of the model are not valid: {error}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_with_their_fallback() {
        let settings = LlmSettings::from_json(concat!(
            r#"{"model":"big","endpoint":{"base_url":"https://a/v1","api_key":"k"},"#,
            r#""fallback":{"model":"small","endpoint":{"base_url":"http://b"}}}"#,
        ))
        .unwrap();
        assert_eq!(settings.fallback.unwrap().model, "small");
        assert_eq!(settings.endpoint.max_attempts, 3);
        let error = LlmSettings::from_json(r#"{"model":"big"}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "settings of the model are not valid: missing field `endpoint` at line 1 column 15"
        );
        assert!(
            LlmSettings::from_json(r#"{"model":"big","endpoint":{"base_url":"x"},"tokens":1}"#)
                .is_err()
        );
    }
}
