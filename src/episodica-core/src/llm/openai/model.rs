//! The model and its fallback.

use std::sync::Arc;

use crate::sync::Mutex;
use serde_json::{Map, Value};

use super::dialect::ServerDialect;
use super::reading::{AnswerContents, TokenCounts, join_stream, read_reply};
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
    /// The dialect that later processes know.
    kept: Mutex<ServerDialect>,
    /// The dialects of other models that earlier processes have kept.
    others: Mutex<Map<String, Value>>,
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
        Ok(Self {
            settings,
            remote,
            dialect: Mutex::default(),
            kept: Mutex::default(),
            others: Mutex::default(),
            fallback,
        })
    }

    /// Calls this endpoint, without the fallback.
    fn ask_endpoint(
        &self,
        prompt: &ChatPrompt,
        control: &dyn CallControl,
    ) -> Result<ChatAnswer, Box<UnansweredRequest>> {
        let started = self.remote.timer_seconds();
        let mut dialect = *self.dialect.lock();
        let (mut attempts, mut steps) = (0, 0);
        let mut was_empty = false;
        // Tokens used by answers without text.
        let mut spent = TokenCounts::default();
        let required = prompt.schema.schema["required"].as_array().cloned().unwrap_or_default();
        let keys: Vec<&str> = required.iter().filter_map(Value::as_str).collect();
        let is_answer = |text: &str| {
            json::object_with(text, &keys)
                .is_some_and(|found| keys.iter().any(|key| found.value.contains_key(*key)))
        };
        loop {
            let max_tokens = self.max_tokens(prompt, dialect);
            let body = dialect.request_body(
                &self.settings.model,
                prompt,
                max_tokens,
                &self.settings.extra,
            );
            let outcome = self.remote.post_json("chat/completions", &body, control);
            attempts += outcome.as_ref().map_or_else(CallFailure::attempts, |reply| reply.attempts);
            let parsed: Result<Value, CallFailure> = outcome.and_then(|reply| {
                reply
                    .parse_body("a chat completion")
                    .or_else(|fault| join_stream(&reply.body).ok_or(fault))
            });
            let mut read = match &parsed {
                Ok(value) => read_reply(value, self.remote.origin(), is_answer),
                Err(_) => AnswerContents::default(),
            };
            if let (Ok(_), Some(TokenCounts { prompt: counted, .. })) = (&read.text, read.usage)
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
            let seconds = self.remote.timer_seconds() - started;
            let failure = match (parsed, read.text) {
                (Ok(_), Ok(text)) => {
                    *self.dialect.lock() = dialect;
                    spent += read.usage.unwrap_or_else(|| TokenCounts {
                        prompt: (count_tokens(&prompt.system) + count_tokens(&prompt.user)) as u64,
                        answer: count_tokens(&text) as u64,
                        ..TokenCounts::default()
                    });
                    return Ok(ChatAnswer {
                        text,
                        model: self.settings.model.clone(),
                        prompt_tokens: spent.prompt,
                        completion_tokens: spent.answer,
                        cached_tokens: spent.cached,
                        reasoning_tokens: spent.reasoning,
                        counted_locally: read.usage.is_none(),
                        attempts,
                        seconds,
                    });
                }
                (Ok(_), Err(failure)) | (Err(failure), _) => failure,
            };
            spent += read.usage.unwrap_or_default();
            if read.is_empty && !was_empty {
                was_empty = true;
                continue;
            }
            let next = if read.is_dry && self.settings.max_tokens.is_none() {
                dialect.with_more_room()
            } else {
                dialect.after_failure(&failure, max_tokens)
            };
            match next.filter(|_| steps < ServerDialect::MAX_STEPS) {
                Some(next) => dialect = next,
                None => {
                    let refused = read.is_refusal || failure.is_about_content();
                    let failure = failure.over_attempts(attempts, seconds);
                    let silent = read.is_empty;
                    return Err(Box::new(UnansweredRequest { failure, refused, silent, spent }));
                }
            }
            steps += 1;
        }
    }

    /// The name under which the dialect is kept.
    fn dialect_key(&self) -> String {
        format!("{} {}", self.remote.origin(), self.settings.model)
    }

    /// Adds the dialects of this model and its fallbacks; returns true if one of them is new.
    fn add_learned(&self, all: &mut Map<String, Value>) -> bool {
        let learned = self.dialect.lock().without_limits();
        let is_new = std::mem::replace(&mut *self.kept.lock(), learned) != learned;
        all.insert(self.dialect_key(), serde_json::to_value(learned).unwrap_or_default());
        let fallback = self.fallback.as_ref().is_some_and(|fallback| fallback.add_learned(all));
        is_new || fallback
    }

    fn recall_dialect(&self, all: &Map<String, Value>) {
        let known = all.get(&self.dialect_key()).cloned();
        if let Some(Ok(known)) = known.map(serde_json::from_value) {
            (*self.dialect.lock(), *self.kept.lock()) = (known, known);
        }
        if let Some(fallback) = &self.fallback {
            fallback.recall_dialect(all);
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
    spent: TokenCounts,
}

impl From<Box<UnansweredRequest>> for Box<NoAnswer> {
    fn from(unanswered: Box<UnansweredRequest>) -> Self {
        let UnansweredRequest { failure, refused, silent, spent } = *unanswered;
        let (attempts, seconds) = (failure.attempts(), failure.elapsed_seconds());
        Self::new(NoAnswer {
            refused,
            silent,
            attempts,
            prompt_tokens: spent.prompt,
            completion_tokens: spent.answer,
            seconds,
            error: failure.into_error(ErrorKind::Llm),
        })
    }
}

impl LanguageModel for OpenAiModel {
    fn model_name(&self) -> &str {
        &self.settings.model
    }

    fn complete_prompt(
        &self,
        prompt: &ChatPrompt,
        control: &dyn CallControl,
    ) -> Result<ChatAnswer, Box<NoAnswer>> {
        let first = match self.ask_endpoint(prompt, control) {
            Ok(answer) => return Ok(answer),
            Err(unanswered) => unanswered,
        };
        let Some(fallback) =
            self.fallback.as_ref().filter(|_| first.failure.cause() != FailureCause::Stopped)
        else {
            return Err(first.into());
        };
        let mut first = Box::<NoAnswer>::from(first);
        match fallback.complete_prompt(prompt, control) {
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

    fn take_learned(&self) -> Option<String> {
        let mut all = self.others.lock().clone();
        self.add_learned(&mut all).then(|| Value::Object(all).to_string())
    }

    fn recall_learned(&self, kept: &str) {
        if let Ok(all) = serde_json::from_str::<Map<String, Value>>(kept) {
            self.recall_dialect(&all);
            *self.others.lock() = all;
        }
    }

    fn service_health(&self) -> ServiceHealth {
        ServiceHealth {
            model: self.settings.model.clone(),
            format: self.dialect.lock().format.name(),
            fallback: self.fallback.as_ref().map(|fallback| Box::new(fallback.service_health())),
            ..self.remote.service_health()
        }
    }
}
