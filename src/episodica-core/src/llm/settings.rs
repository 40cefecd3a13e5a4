//! Which model, where, and what takes its place.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::remote::Endpoint;

/// A model behind an endpoint. Unknown names are refused in JSON; `model` and `endpoint` have no
/// default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LlmSettings {
    /// The name that the server knows it by.
    pub model: String,
    /// The server.
    pub endpoint: Endpoint,
    /// Asked when this one has no answer; has its own breaker, and may have a fallback in turn.
    #[serde(default)]
    pub fallback: Option<Box<LlmSettings>>,
    /// Most tokens of any answer, in place of what each question usually gets (200 to 4,000). A
    /// reasoning model needs more.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// Tokens that the model takes, prompt and answer together; prompts are made to fit. `None` =
    /// 32,768 or more.
    #[serde(default)]
    pub context_window: Option<u32>,
    /// Further fields of each request (`reasoning_effort`, `seed`, ...); they win over ours.
    #[serde(default)]
    pub extra: Map<String, Value>,
}

impl LlmSettings {
    /// `model` at `base_url`, everything else by default.
    pub fn new(model: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            endpoint: Endpoint::new(base_url),
            fallback: None,
            max_tokens: None,
            context_window: None,
            extra: Map::new(),
        }
    }

    /// Reads settings like `{"model": "...", "endpoint": {"base_url": "..."}}`.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for anything unknown or of the wrong type; secrets are not repeated.
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
