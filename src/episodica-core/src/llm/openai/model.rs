//! The model and its fallback.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use super::dialect::Dialect;
use crate::control::Control;
use crate::error::{Error, ErrorKind, Result};
use crate::llm::chat::{Answer, LanguageModel, Prompt};
use crate::llm::settings::LlmSettings;
use crate::model::ServiceHealth;
use crate::remote::{Cause, Failure, Remote, SystemTimer, Timer};
use crate::text::count_tokens;

/// A model behind an endpoint, with its fallback. Thread safe; make one for all users, because it
/// holds the breaker.
pub struct OpenAiModel {
    settings: LlmSettings,
    remote: Remote,
    dialect: Mutex<Dialect>,
    fallback: Option<Box<OpenAiModel>>,
}

impl OpenAiModel {
    /// Prepares the model; nothing is sent.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for values that can't be used.
    pub fn new(settings: LlmSettings) -> Result<Self> {
        Self::with_timer(settings, Arc::new(SystemTimer::default()))
    }

    /// [`new`](Self::new) with another timer for waits, breaker and measured seconds.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_timer(mut settings: LlmSettings, timer: Arc<dyn Timer>) -> Result<Self> {
        if settings.model.trim().is_empty() {
            return Err(Error::new(ErrorKind::Config, "name of the model is empty"));
        }
        if settings.max_tokens == Some(0) {
            return Err(Error::new(
                ErrorKind::Config,
                "max_tokens of the model is not above 0: `0`",
            ));
        }
        let remote = Remote::with_timer(&settings.endpoint, Arc::clone(&timer))?;
        let fallback = match settings.fallback.take() {
            Some(fallback) => Some(Box::new(Self::with_timer(*fallback, timer)?)),
            None => None,
        };
        Ok(Self { settings, remote, dialect: Mutex::default(), fallback })
    }

    /// This endpoint alone, without the fallback.
    fn ask(&self, prompt: &Prompt, control: &dyn Control) -> Result<Answer, Failure> {
        let started = self.remote.seconds();
        let max_tokens =
            self.settings.max_tokens.map_or(prompt.max_tokens, |most| most.min(prompt.max_tokens));
        let mut dialect = *self.dialect.lock();
        let (mut attempts, mut steps) = (0, 0);
        let (reply, seconds) = loop {
            let body = dialect.body(&self.settings.model, prompt, max_tokens, &self.settings.extra);
            let outcome = self.remote.post("chat/completions", &body, control);
            attempts += outcome.as_ref().map_or_else(Failure::attempts, |reply| reply.attempts);
            let seconds = self.remote.seconds() - started;
            match outcome {
                Ok(reply) => break (reply, seconds),
                Err(failure) => match dialect.after(&failure) {
                    Some(next) if steps < Dialect::MAX_STEPS => dialect = next,
                    _ => return Err(failure.over(attempts, seconds)),
                },
            }
            steps += 1;
        };
        let parsed =
            reply.parse("a chat completion").and_then(|value| read(&value, self.remote.origin()));
        let (text, usage) = parsed.map_err(|failure| failure.over(attempts, seconds))?;
        *self.dialect.lock() = dialect;
        let (prompt_tokens, completion_tokens) = usage.unwrap_or_else(|| {
            (
                (count_tokens(&prompt.system) + count_tokens(&prompt.user)) as u64,
                count_tokens(&text) as u64,
            )
        });
        let model = self.settings.model.clone();
        Ok(Answer {
            text,
            model,
            prompt_tokens,
            completion_tokens,
            counted_locally: usage.is_none(),
            attempts,
            seconds,
        })
    }
}

impl LanguageModel for OpenAiModel {
    fn model(&self) -> &str {
        &self.settings.model
    }

    fn complete(&self, prompt: &Prompt, control: &dyn Control) -> Result<Answer> {
        let failure = match self.ask(prompt, control) {
            Ok(answer) => return Ok(answer),
            Err(failure) => failure,
        };
        match &self.fallback {
            Some(fallback) if failure.cause() != Cause::Stopped => {
                let tried = failure.attempts();
                match fallback.complete(prompt, control) {
                    Ok(answer) => Ok(Answer {
                        attempts: answer.attempts + tried,
                        seconds: answer.seconds + failure.seconds(),
                        ..answer
                    }),
                    Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
                    Err(error) => Err(failure.into_error(ErrorKind::Llm).caused_by(error)),
                }
            }
            _ => Err(failure.into_error(ErrorKind::Llm)),
        }
    }

    fn is_available(&self) -> bool {
        self.remote.is_available()
            || self.fallback.as_ref().is_some_and(|fallback| fallback.is_available())
    }

    fn health(&self) -> ServiceHealth {
        ServiceHealth {
            model: self.settings.model.clone(),
            format: self.dialect.lock().format.name(),
            fallback: self.fallback.as_ref().map(|fallback| Box::new(fallback.health())),
            ..self.remote.health()
        }
    }
}

/// Text and the server's own count of prompt and answer.
fn read(reply: &Value, origin: &str) -> Result<(String, Option<(u64, u64)>), Failure> {
    let unusable = |what: &str| {
        Failure::new(Cause::Unusable, format!("server answered without {what}: `{origin}`"))
    };
    let choice = reply
        .get("choices")
        .and_then(|choices| choices.get(0))
        .ok_or_else(|| unusable("a choice"))?;
    let text = match &choice["message"]["content"] {
        Value::String(text) => text.clone(),
        // Parts: those with text, in order.
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()))
            .collect(),
        _ => String::new(),
    };
    if text.trim().is_empty() {
        return Err(
            match (choice["finish_reason"].as_str(), choice["message"]["refusal"].is_string()) {
                (Some("length"), _) => unusable(
                    "text, because all tokens allowed were used up (a reasoning model needs more)",
                ),
                (Some("content_filter"), _) | (_, true) => {
                    unusable("text, because it refuses the content")
                }
                _ => unusable("text"),
            },
        );
    }
    let tokens = |key: &str| reply["usage"][key].as_u64();
    let usage = match (tokens("prompt_tokens"), tokens("completion_tokens")) {
        (Some(prompt), Some(completion)) if prompt + completion > 0 => Some((prompt, completion)),
        _ => None,
    };
    Ok((text, usage))
}
