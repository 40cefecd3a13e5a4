//! The model and its fallback.

use std::sync::Arc;

use crate::sync::Mutex;
use serde_json::Value;

use super::dialect::ServerDialect;
use super::reading::{AnswerContents, joined, read};
use crate::control::CallControl;
use crate::error::{Error, ErrorKind, Result};
use crate::llm::chat::{ChatAnswer, ChatPrompt, LanguageModel, NoAnswer};
use crate::llm::json;
use crate::llm::settings::LlmSettings;
use crate::model::ServiceHealth;
use crate::remote::{CallFailure, FailureCause, RemoteService, RetryTimer, SystemTimer};
use crate::text::count_tokens;

/// A model at an endpoint, with its fallback. Thread safe. Share one among all users, since it owns
/// the circuit breaker.
pub struct OpenAiModel {
    settings: LlmSettings,
    remote: RemoteService,
    dialect: Mutex<ServerDialect>,
    fallback: Option<Box<OpenAiModel>>,
}

impl OpenAiModel {
    /// Creates the model without sending a request.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for invalid values.
    pub fn new(settings: LlmSettings) -> Result<Self> {
        Self::with_timer(settings, Arc::new(SystemTimer::default()))
    }

    /// [`new`](Self::new) with another timer for waits, circuit breaker and measured seconds.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_timer(mut settings: LlmSettings, timer: Arc<dyn RetryTimer>) -> Result<Self> {
        if settings.model.trim().is_empty() {
            return Err(Error::new(ErrorKind::Config, "name of the model is empty"));
        }
        if settings.max_tokens == Some(0) {
            return Err(Error::new(
                ErrorKind::Config,
                "max_tokens of the model must be above 0: `0`",
            ));
        }
        if settings.context_window.is_some_and(|window| window < MIN_WINDOW) {
            let text = format!("context_window of the model must be at least {MIN_WINDOW}");
            return Err(Error::new(ErrorKind::Config, text));
        }
        let remote = RemoteService::with_timer(&settings.endpoint, Arc::clone(&timer))?;
        let fallback = match settings.fallback.take() {
            Some(fallback) => Some(Box::new(Self::with_timer(*fallback, timer)?)),
            None => None,
        };
        Ok(Self { settings, remote, dialect: Mutex::default(), fallback })
    }

    /// Calls this endpoint, without the fallback.
    fn ask(
        &self,
        prompt: &ChatPrompt,
        control: &dyn CallControl,
    ) -> Result<ChatAnswer, UnansweredRequest> {
        let started = self.remote.seconds();
        let mut dialect = *self.dialect.lock();
        let (mut attempts, mut steps) = (0, 0);
        let mut was_empty = false;
        // Tokens used by answers without text.
        let mut spent = (0, 0);
        let required = prompt.schema.schema["required"].as_array().cloned().unwrap_or_default();
        let keys: Vec<&str> = required.iter().filter_map(Value::as_str).collect();
        let is_answer = |text: &str| {
            json::object_with(text, &keys)
                .is_some_and(|found| keys.iter().any(|key| found.value.contains_key(*key)))
        };
        loop {
            let max_tokens = self.max_tokens(prompt, dialect);
            let body = dialect.body(&self.settings.model, prompt, max_tokens, &self.settings.extra);
            let outcome = self.remote.post("chat/completions", &body, control);
            attempts += outcome.as_ref().map_or_else(CallFailure::attempts, |reply| reply.attempts);
            let parsed: Result<Value, CallFailure> = outcome.and_then(|reply| {
                reply.parse("a chat completion").or_else(|fault| joined(&reply.body).ok_or(fault))
            });
            let mut read = match &parsed {
                Ok(value) => read(value, self.remote.origin(), is_answer),
                Err(_) => AnswerContents::default(),
            };
            if let (Ok(_), Some((counted, _))) = (&read.text, read.usage)
                && is_cut(counted, prompt)
            {
                let what = format!(
                    "server read only {counted} tokens of a longer prompt: raise its context \
                     (`num_ctx`, `OLLAMA_CONTEXT_LENGTH`) or set `context_window`"
                );
                dialect.window = dialect.window.max(MIN_WINDOW.max(counted as u32).into());
                self.dialect.lock().window = dialect.window;
                read.text = Err(CallFailure::new(FailureCause::Unusable, what));
            }
            let seconds = self.remote.seconds() - started;
            let failure = match (parsed, read.text) {
                (Ok(_), Ok(text)) => {
                    *self.dialect.lock() = dialect;
                    let counted = || {
                        let prompt = count_tokens(&prompt.system) + count_tokens(&prompt.user);
                        (prompt as u64, count_tokens(&text) as u64)
                    };
                    let (prompt_tokens, completion_tokens) = read.usage.unwrap_or_else(counted);
                    return Ok(ChatAnswer {
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
            if read.is_empty && !was_empty {
                was_empty = true;
                continue;
            }
            let next = if read.is_dry && self.settings.max_tokens.is_none() {
                dialect.with_more_room()
            } else {
                dialect.after(&failure, max_tokens)
            };
            match next.filter(|_| steps < ServerDialect::MAX_STEPS) {
                Some(next) => dialect = next,
                None => {
                    let refused = read.is_refusal || failure.is_about_content();
                    let failure = failure.over(attempts, seconds);
                    return Err(UnansweredRequest {
                        failure,
                        refused,
                        silent: read.is_empty,
                        spent,
                    });
                }
            }
            steps += 1;
        }
    }

    /// Token limit of an answer: the configured one, or else that of the prompt, reduced to fit the
    /// window.
    fn max_tokens(&self, prompt: &ChatPrompt, dialect: ServerDialect) -> u32 {
        let usual = prompt.max_tokens.saturating_add(dialect.more_tokens());
        let wanted = self.settings.max_tokens.unwrap_or(usual);
        let wanted = dialect.most_tokens.map_or(wanted, |most| wanted.min(most));
        let windows = self.settings.context_window.into_iter().chain(dialect.window);
        let Some(window) = windows.min() else { return wanted };
        let asked = (count_tokens(&prompt.system) + count_tokens(&prompt.user)) as u32;
        wanted.min(window.saturating_sub(asked + asked / 8 + FRAME_TOKENS)).max(MIN_ANSWER_TOKENS)
    }
}

/// The smallest window that fits the instructions and a few messages.
const MIN_WINDOW: u32 = 2_048;
/// Number of tokens reserved for the server's own conversation format.
const FRAME_TOKENS: u32 = 32;
/// The smallest answer limit that is sent, even if the window is full.
const MIN_ANSWER_TOKENS: u32 = 64;

/// A smaller count of prompt tokens is not taken for the size of a window.
const LEAST_CUT: u64 = 1_024;

/// True if the server counted far fewer tokens than the prompt has: Ollama silently cuts a prompt
/// that exceeds its window, and the count is then the size of the window.
fn is_cut(counted: u64, prompt: &ChatPrompt) -> bool {
    let sent = (count_tokens(&prompt.system) + count_tokens(&prompt.user)) as u64;
    counted >= LEAST_CUT
        && (counted.is_multiple_of(256) && 5 * sent > 6 * counted || sent > 2 * counted)
}

/// A request that failed.
struct UnansweredRequest {
    failure: CallFailure,
    refused: bool,
    silent: bool,
    /// Tokens of prompts and answers that the server counted.
    spent: (u64, u64),
}

impl From<UnansweredRequest> for Box<NoAnswer> {
    fn from(unanswered: UnansweredRequest) -> Self {
        let UnansweredRequest { failure, refused, silent, spent } = unanswered;
        let (attempts, seconds) = (failure.attempts(), failure.seconds());
        Self::new(NoAnswer {
            refused,
            silent,
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

    fn complete(
        &self,
        prompt: &ChatPrompt,
        control: &dyn CallControl,
    ) -> Result<ChatAnswer, Box<NoAnswer>> {
        let first = match self.ask(prompt, control) {
            Ok(answer) => return Ok(answer),
            Err(unanswered) => unanswered,
        };
        let Some(fallback) =
            self.fallback.as_ref().filter(|_| first.failure.cause() != FailureCause::Stopped)
        else {
            return Err(first.into());
        };
        let mut first = Box::<NoAnswer>::from(first);
        match fallback.complete(prompt, control) {
            Ok(answer) => Ok(ChatAnswer {
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
                first.silent &= second.silent;
                first.error = first.error.caused_by(second.error);
                Err(first)
            }
        }
    }

    fn context_window(&self) -> Option<u32> {
        let fallback = self.fallback.as_ref().and_then(|fallback| fallback.context_window());
        let learned = self.dialect.lock().window;
        self.settings.context_window.into_iter().chain(fallback).chain(learned).min()
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
