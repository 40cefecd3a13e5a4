//! The request fields that a server accepts. Learned from the server's error responses, and kept
//! once a request has succeeded, in the store too.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::llm::chat::ChatPrompt;
use crate::remote::{CallFailure, FailureCause};

/// Ways to request JSON, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum JsonFormat {
    Schema,
    /// `json_object` with the schema inside, as accepted by llama.cpp, Together and Fireworks.
    ObjectSchema,
    Object,
    Plain,
}

impl JsonFormat {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Schema => "json_schema",
            Self::ObjectSchema => "json_object with schema",
            Self::Object => "json_object",
            Self::Plain => "text",
        }
    }
}

/// Additional tokens for a model that once used up its limit by reasoning before the answer.
const THINKING_TOKENS: u32 = 8_000;

/// See the module documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ServerDialect {
    pub(super) format: JsonFormat,
    /// `max_completion_tokens` instead of `max_tokens`.
    completion_tokens: bool,
    temperature: bool,
    /// True if the model reasons before it answers.
    thinks: bool,
    /// True to send the instructions as a `system` message; otherwise they start the user's
    /// message.
    system: bool,
    /// True if the server answers only as a stream.
    stream: bool,
    /// The server's maximum for an answer. Not kept for later processes, as it may be raised.
    #[serde(skip)]
    pub(super) most_tokens: Option<u32>,
    /// The server's context window, for prompt and answer. Not kept either.
    #[serde(skip)]
    pub(super) window: Option<u32>,
}

impl Default for ServerDialect {
    fn default() -> Self {
        Self {
            format: JsonFormat::Schema,
            completion_tokens: false,
            temperature: true,
            thinks: false,
            system: true,
            stream: false,
            most_tokens: None,
            window: None,
        }
    }
}

impl ServerDialect {
    /// Maximum number of requests that learning adds to one call. Each step only removes a field or
    /// narrows a limit, so learning ends.
    pub(super) const MAX_STEPS: usize = 8;

    /// The body of a request.
    pub(super) fn request_body(
        self,
        model: &str,
        prompt: &ChatPrompt,
        max_tokens: u32,
        extra: &Map<String, Value>,
    ) -> Value {
        let schema = &prompt.schema;
        let system = match self.format {
            JsonFormat::Schema => prompt.system.clone(),
            // Servers require the word JSON in the prompt for `json_object`.
            _ => {
                format!(
                    "{}\n\nAnswer with one JSON object that fits this JSON schema, and nothing \
                     else:\n{}",
                    prompt.system, schema.schema
                )
            }
        };
        let user = &prompt.user;
        let messages = if self.system {
            json!([{"role": "system", "content": system}, {"role": "user", "content": user}])
        } else {
            json!([{"role": "user", "content": format!("{system}\n\n{user}")}])
        };
        let mut body = json!({"model": model, "messages": messages});
        if self.stream {
            body["stream"] = true.into();
        }
        body[if self.completion_tokens { "max_completion_tokens" } else { "max_tokens" }] =
            max_tokens.into();
        if self.temperature {
            body["temperature"] = 0.into();
        }
        match self.format {
            JsonFormat::Schema => {
                let form = json!({"name": schema.name, "strict": true, "schema": schema.schema});
                body["response_format"] = json!({"type": "json_schema", "json_schema": form});
            }
            JsonFormat::ObjectSchema => {
                body["response_format"] = json!({"type": "json_object", "schema": schema.schema});
            }
            JsonFormat::Object => body["response_format"] = json!({"type": "json_object"}),
            JsonFormat::Plain => {}
        }
        for (key, value) in extra {
            body[key.as_str()] = value.clone();
        }
        body
    }

    /// The part that later processes may rely on.
    pub(super) fn without_limits(self) -> Self {
        Self { most_tokens: None, window: None, ..self }
    }

    /// Extra tokens for an answer, beyond the usual limit.
    pub(super) fn more_tokens(self) -> u32 {
        if self.thinks { THINKING_TOKENS } else { 0 }
    }

    /// The dialect to try if an answer reached its limit before its first word.
    pub(super) fn with_more_room(self) -> Option<Self> {
        (!self.thinks).then_some(Self { thinks: true, ..self })
    }

    /// The dialect to try after this error; `None` if the form of the request is not the cause.
    pub(super) fn after_failure(self, failure: &CallFailure, max_tokens: u32) -> Option<Self> {
        let mentions = |words: &[&str]| words.iter().any(|word| failure.mentions_word(word));
        // Where a template raises, servers in Python give no reason.
        let is_mute = failure.cause() == FailureCause::Status(500)
            && failure.says_only("internal server error");
        if self.system && is_mute {
            return Some(Self { system: false, ..self });
        }
        let FailureCause::Status(status @ (400 | 404 | 415 | 422 | 501)) = failure.cause() else {
            return None;
        };
        if !self.completion_tokens && mentions(&["max_completion_tokens"]) {
            return Some(Self { completion_tokens: true, ..self });
        }
        if self.temperature && mentions(&["temperature"]) {
            return Some(Self { temperature: false, ..self });
        }
        if self.system
            && mentions(&["system"])
            && mentions(&["role", "system message", "system prompt", "developer instruction"])
        {
            return Some(Self { system: false, ..self });
        }
        if !self.stream && mentions(&["stream mode", "stream=true", "streaming", "set stream"]) {
            return Some(Self { stream: true, ..self });
        }
        if let Some(limited) = self.with_limits(failure, max_tokens) {
            return Some(limited);
        }
        let blamed = mentions(&[
            "response_format",
            "json_schema",
            "json_object",
            "json mode",
            "schema",
            "structured",
            "grammar",
            "requested parameters",
        ]);
        // Some servers give no reason. An unknown model, and a prompt that is too long or not
        // allowed, are not problems of form.
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
            JsonFormat::Schema => JsonFormat::ObjectSchema,
            JsonFormat::ObjectSchema => JsonFormat::Object,
            JsonFormat::Object => JsonFormat::Plain,
            JsonFormat::Plain => return None,
        };
        (blamed || silent).then_some(Self { format, ..self })
    }

    /// The dialect with the limits stated in the server's error, if they are lower than the
    /// requested ones.
    fn with_limits(self, failure: &CallFailure, max_tokens: u32) -> Option<Self> {
        let mentions = |words: &[&str]| words.iter().any(|word| failure.mentions_word(word));
        if mentions(&["context length", "context window", "context size", "n_ctx"]) {
            let window =
                failure.stated_numbers().into_iter().find(|number| *number >= LEAST_WINDOW)?;
            return match self.window {
                None => Some(Self { window: Some(window), ..self }),
                // The server counts more tokens in the prompt than this process does.
                Some(_) if max_tokens >= 2 * LEAST_TOKENS => {
                    Some(Self { most_tokens: Some(max_tokens / 2), ..self })
                }
                Some(_) => None,
            };
        }
        if !mentions(&["max_tokens", "max_completion_tokens", "completion tokens", "output tokens"])
        {
            return None;
        }
        let numbers = failure.stated_numbers().into_iter();
        let most = numbers.filter(|most| (LEAST_TOKENS..max_tokens).contains(most)).max()?;
        Some(Self { most_tokens: Some(most), ..self })
    }
}

/// Smaller numbers in a server's error are not taken for limits.
const LEAST_TOKENS: u32 = 256;
const LEAST_WINDOW: u32 = 1_024;
