//! The request dialect of one server: which of the usual fields it accepts. Learned from its
//! refusals, kept once a request succeeded.

use serde_json::{Map, Value, json};

use crate::llm::chat::Prompt;
use crate::remote::{Cause, Failure};

/// How a request asks for JSON, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Schema,
    Object,
    Plain,
}

impl Format {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Schema => "json_schema",
            Self::Object => "json_object",
            Self::Plain => "text",
        }
    }
}

/// Extra tokens for the reasoning of a model that has once used up its limit before its answer.
const THINKING_TOKENS: u32 = 8_000;

/// See the module documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) format: Format,
    /// `max_completion_tokens` instead of `max_tokens`.
    completion_tokens: bool,
    temperature: bool,
    /// The model reasons before it answers.
    thinks: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { format: Format::Schema, completion_tokens: false, temperature: true, thinks: false }
    }
}

impl Dialect {
    /// Maximum number of requests that learning adds to one call: each step goes in one direction.
    pub(super) const MAX_STEPS: usize = 5;

    /// The body of a request.
    pub(super) fn body(
        self,
        model: &str,
        prompt: &Prompt,
        max_tokens: u32,
        extra: &Map<String, Value>,
    ) -> Value {
        let schema = &prompt.schema;
        let system = match self.format {
            Format::Schema => prompt.system.clone(),
            // Servers with `json_object` require the word JSON in the prompt.
            _ => {
                format!(
                    "{}\n\nAnswer with one JSON object that fits this JSON schema, and nothing \
                     else:\n{}",
                    prompt.system, schema.schema
                )
            }
        };
        let mut body = json!({
            "model": model,
            "messages": [
                {"role": "system", "content": system}, {"role": "user", "content": prompt.user},
            ],
        });
        body[if self.completion_tokens { "max_completion_tokens" } else { "max_tokens" }] =
            max_tokens.into();
        if self.temperature {
            body["temperature"] = 0.into();
        }
        match self.format {
            Format::Schema => {
                let form = json!({"name": schema.name, "strict": true, "schema": schema.schema});
                body["response_format"] = json!({"type": "json_schema", "json_schema": form});
            }
            Format::Object => body["response_format"] = json!({"type": "json_object"}),
            Format::Plain => {}
        }
        for (key, value) in extra {
            body[key.as_str()] = value.clone();
        }
        body
    }

    /// Extra tokens for an answer, beyond the usual limit.
    pub(super) fn more_tokens(self) -> u32 {
        if self.thinks { THINKING_TOKENS } else { 0 }
    }

    /// The dialect to try after an answer that reached its limit before its first word.
    pub(super) fn with_more_room(self) -> Option<Self> {
        (!self.thinks).then_some(Self { thinks: true, ..self })
    }

    /// The dialect to try after this refusal; `None` if the form of the request is not the cause.
    pub(super) fn after(self, failure: &Failure) -> Option<Self> {
        let Cause::Status(status @ (400 | 404 | 415 | 422 | 501)) = failure.cause() else {
            return None;
        };
        let mentions = |words: &[&str]| words.iter().any(|word| failure.mentions(word));
        if !self.completion_tokens && mentions(&["max_completion_tokens"]) {
            return Some(Self { completion_tokens: true, ..self });
        }
        if self.temperature && mentions(&["temperature"]) {
            return Some(Self { temperature: false, ..self });
        }
        let blamed = mentions(&[
            "response_format",
            "json_schema",
            "json_object",
            "json mode",
            "schema",
            "structured",
            "grammar",
        ]);
        // Some servers give no reason. An unknown model and a prompt that is too long or forbidden
        // are not problems of form.
        let known = mentions(&[
            "context",
            "too long",
            "too many tokens",
            "model",
            "content_filter",
            "content management",
            "policy",
            "api key",
        ]);
        let silent = status != 404 && !known;
        let format = match self.format {
            Format::Schema => Format::Object,
            Format::Object => Format::Plain,
            Format::Plain => return None,
        };
        (blamed || silent).then_some(Self { format, ..self })
    }
}
