//! The model and its fallback.

use std::sync::Arc;

use crate::sync::Mutex;
use serde_json::Value;

use super::dialect::Dialect;
use crate::control::Control;
use crate::error::{Error, ErrorKind, Result};
use crate::llm::chat::{Answer, LanguageModel, NoAnswer, Prompt};
use crate::llm::settings::LlmSettings;
use crate::model::ServiceHealth;
use crate::remote::{Cause, Failure, Remote, SystemTimer, Timer};
use crate::text::count_tokens;

/// A model behind an endpoint, with its fallback. Thread safe; share one among all users, because
/// it holds the breaker.
pub struct OpenAiModel {
    settings: LlmSettings,
    remote: Remote,
    dialect: Mutex<Dialect>,
    fallback: Option<Box<OpenAiModel>>,
}

impl OpenAiModel {
    /// Prepares the model; sends nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for invalid values.
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
        if settings.context_window.is_some_and(|window| window < MIN_WINDOW) {
            let text = format!("context_window of the model must be at least {MIN_WINDOW}");
            return Err(Error::new(ErrorKind::Config, text));
        }
        let remote = Remote::with_timer(&settings.endpoint, Arc::clone(&timer))?;
        let fallback = match settings.fallback.take() {
            Some(fallback) => Some(Box::new(Self::with_timer(*fallback, timer)?)),
            None => None,
        };
        Ok(Self { settings, remote, dialect: Mutex::default(), fallback })
    }

    /// Asks this endpoint, without the fallback.
    fn ask(&self, prompt: &Prompt, control: &dyn Control) -> Result<Answer, Unanswered> {
        let started = self.remote.seconds();
        let mut dialect = *self.dialect.lock();
        let (mut attempts, mut steps) = (0, 0);
        // Tokens of answers without text.
        let mut spent = (0, 0);
        loop {
            let max_tokens = self.max_tokens(prompt, dialect);
            let body = dialect.body(&self.settings.model, prompt, max_tokens, &self.settings.extra);
            let outcome = self.remote.post("chat/completions", &body, control);
            attempts += outcome.as_ref().map_or_else(Failure::attempts, |reply| reply.attempts);
            let parsed = outcome.and_then(|reply| reply.parse("a chat completion"));
            let read = match &parsed {
                Ok(value) => read(value, self.remote.origin()),
                Err(_) => Read::default(),
            };
            let seconds = self.remote.seconds() - started;
            let failure = match (parsed, read.text) {
                (Ok(_), Ok(text)) => {
                    *self.dialect.lock() = dialect;
                    let counted = || {
                        let prompt = count_tokens(&prompt.system) + count_tokens(&prompt.user);
                        (prompt as u64, count_tokens(&text) as u64)
                    };
                    let (prompt_tokens, completion_tokens) = read.usage.unwrap_or_else(counted);
                    return Ok(Answer {
                        text,
                        model: self.settings.model.clone(),
                        prompt_tokens: prompt_tokens + spent.0,
                        completion_tokens: completion_tokens + spent.1,
                        counted_locally: read.usage.is_none(),
                        attempts,
                        seconds,
                    });
                }
                (Ok(_), Err(failure)) | (Err(failure), _) => failure,
            };
            let usage = read.usage.unwrap_or_default();
            spent = (spent.0 + usage.0, spent.1 + usage.1);
            let next = if read.is_dry && self.settings.max_tokens.is_none() {
                dialect.with_more_room()
            } else {
                dialect.after(&failure)
            };
            match next.filter(|_| steps < Dialect::MAX_STEPS) {
                Some(next) => dialect = next,
                None => {
                    let refused = read.is_silent || failure.is_about_content();
                    let failure = failure.over(attempts, seconds);
                    return Err(Unanswered { failure, refused, spent });
                }
            }
            steps += 1;
        }
    }

    /// The token limit of an answer: the configured one or the prompt's usual one, within the
    /// window.
    fn max_tokens(&self, prompt: &Prompt, dialect: Dialect) -> u32 {
        let usual = prompt.max_tokens.saturating_add(dialect.more_tokens());
        let wanted = self.settings.max_tokens.unwrap_or(usual);
        let Some(window) = self.settings.context_window else { return wanted };
        let asked = (count_tokens(&prompt.system) + count_tokens(&prompt.user)) as u32;
        wanted.min(window.saturating_sub(asked + asked / 8 + FRAME_TOKENS)).max(MIN_ANSWER_TOKENS)
    }
}

/// The smallest window that holds the instructions and a few messages.
const MIN_WINDOW: u32 = 2_048;
/// Tokens for the server's own conversation format.
const FRAME_TOKENS: u32 = 32;
/// The smallest answer limit that is sent, however full the window is.
const MIN_ANSWER_TOKENS: u32 = 64;

/// A request that this endpoint did not answer.
struct Unanswered {
    failure: Failure,
    refused: bool,
    /// Tokens of prompts and answers that the server counted.
    spent: (u64, u64),
}

impl From<Unanswered> for Box<NoAnswer> {
    fn from(unanswered: Unanswered) -> Self {
        let Unanswered { failure, refused, spent } = unanswered;
        let (attempts, seconds) = (failure.attempts(), failure.seconds());
        Self::new(NoAnswer {
            refused,
            attempts,
            prompt_tokens: spent.0,
            completion_tokens: spent.1,
            seconds,
            error: failure.into_error(ErrorKind::Llm),
        })
    }
}

impl LanguageModel for OpenAiModel {
    fn model(&self) -> &str {
        &self.settings.model
    }

    fn complete(&self, prompt: &Prompt, control: &dyn Control) -> Result<Answer, Box<NoAnswer>> {
        let first = match self.ask(prompt, control) {
            Ok(answer) => return Ok(answer),
            Err(unanswered) => unanswered,
        };
        let Some(fallback) =
            self.fallback.as_ref().filter(|_| first.failure.cause() != Cause::Stopped)
        else {
            return Err(first.into());
        };
        let mut first = Box::<NoAnswer>::from(first);
        match fallback.complete(prompt, control) {
            Ok(answer) => Ok(Answer {
                attempts: answer.attempts + first.attempts,
                seconds: answer.seconds + first.seconds,
                prompt_tokens: answer.prompt_tokens + first.prompt_tokens,
                completion_tokens: answer.completion_tokens + first.completion_tokens,
                ..answer
            }),
            Err(second) if second.error.kind() == ErrorKind::Interrupted => Err(second),
            Err(second) => {
                first.attempts += second.attempts;
                first.seconds += second.seconds;
                first.prompt_tokens += second.prompt_tokens;
                first.completion_tokens += second.completion_tokens;
                first.refused &= second.refused;
                first.error = first.error.caused_by(second.error);
                Err(first)
            }
        }
    }

    fn context_window(&self) -> Option<u32> {
        let fallback = self.fallback.as_ref().and_then(|fallback| fallback.context_window());
        self.settings.context_window.into_iter().chain(fallback).min()
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

/// The contents of an answer.
struct Read {
    text: Result<String, Failure>,
    /// The server's own count of prompt and answer tokens.
    usage: Option<(u64, u64)>,
    /// True if the token limit was reached before the first word.
    is_dry: bool,
    /// True if the server's answer was empty.
    is_silent: bool,
}

impl Default for Read {
    fn default() -> Self {
        Self { text: Ok(String::new()), usage: None, is_dry: false, is_silent: false }
    }
}

fn read(reply: &Value, origin: &str) -> Read {
    let unusable = |what: &str| {
        Failure::new(Cause::Unusable, format!("server answered without {what}: `{origin}`"))
    };
    let tokens = |key: &str| reply["usage"][key].as_u64();
    let usage = match (tokens("prompt_tokens"), tokens("completion_tokens")) {
        (Some(prompt), Some(completion)) if prompt + completion > 0 => Some((prompt, completion)),
        _ => None,
    };
    let Some(choice) = reply.get("choices").and_then(|choices| choices.get(0)) else {
        return Read { text: Err(unusable("a choice")), usage, ..Read::default() };
    };
    let text = match &choice["message"]["content"] {
        Value::String(text) => text.clone(),
        // Content parts: joins those with text, in order.
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()))
            .collect(),
        _ => String::new(),
    };
    if !text.trim().is_empty() {
        return Read { text: Ok(text), usage, ..Read::default() };
    }
    let reason = choice["finish_reason"].as_str();
    let is_refusal = reason == Some("content_filter") || choice["message"]["refusal"].is_string();
    let (is_dry, what) = match reason {
        Some("length") => {
            (true, "text, because all tokens allowed were used up (a reasoning model needs more)")
        }
        _ if is_refusal => (false, "text, because it refuses the content"),
        _ => (false, "text"),
    };
    Read { text: Err(unusable(what)), usage, is_dry, is_silent: true }
}
