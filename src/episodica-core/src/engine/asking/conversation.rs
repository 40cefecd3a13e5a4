//! Asks the model questions about one user: answers repeated questions from the cache, limits
//! concurrent calls, and records cost and trace.

use std::sync::atomic::Ordering;

use crate::control::CallControl;
use crate::engine::asking::question_trace::QuestionTrace;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::content_hash;
use crate::llm::{ChatPrompt, LanguageModel, NoAnswer, PROMPT_VERSION, WindowBudget};
use crate::model::TextProvenance;
use crate::store::{CachedAnswer, TraceStep};

/// An answer of the model or the cache.
#[derive(Debug, Clone)]
pub(crate) struct ModelReply {
    pub text: String,
    pub model: String,
    pub tokens: u64,
    pub cached: bool,
    /// The hash of the question.
    pub hash: String,
}

impl ModelReply {
    /// The provenance of a text made from this answer.
    pub fn provenance(&self, salvaged: bool) -> TextProvenance {
        TextProvenance {
            method: self.model.clone(),
            prompt_version: PROMPT_VERSION.to_owned(),
            tokens: self.tokens,
            cached: self.cached,
            salvaged,
            ..TextProvenance::default()
        }
    }
}

pub(crate) enum QuestionOutcome {
    /// An answer, which may still be unusable.
    Answered(ModelReply),
    /// The model failed; the same question may succeed later.
    Outage,
    /// The model refuses this question for good.
    Refused,
}

impl QuestionOutcome {
    pub fn into_reply(self) -> Option<ModelReply> {
        match self {
            Self::Answered(reply) => Some(reply),
            Self::Outage | Self::Refused => None,
        }
    }
}

/// Questions to the model about one user.
pub(crate) struct ModelSession<'a> {
    pub services: &'a EngineServices,
    pub user: &'a OpenUser,
    pub control: &'a dyn CallControl,
    model: &'a dyn LanguageModel,
    asked: QuestionTrace,
    /// How often records had been erased when the questions were written.
    erasures: u64,
}

/// The most times in a row that work with a model is overtaken by changes of the records.
const MOST_OVERTAKEN: usize = 3;

/// Asks a model while others may change records. The caller has the turn.
///
/// # Errors
/// `Conflict` if a caller did: the answers may be about deleted records.
pub(crate) fn ask_meanwhile<T>(user: &OpenUser, ask: impl FnOnce() -> Result<T>) -> Result<T> {
    let overtaken = &user.progress.overtaken;
    // Frequent changes of records must not keep a model from learning at all.
    let is_lent = user.turns.is_held_here();
    if !is_lent || overtaken.load(Ordering::SeqCst) >= MOST_OVERTAKEN {
        overtaken.store(0, Ordering::SeqCst);
        return ask();
    }
    let steps = user.step_count();
    let answer = user.turns.lend_turn(ask);
    if user.step_count() != steps {
        overtaken.fetch_add(1, Ordering::SeqCst);
        return Err(Error::new(ErrorKind::Conflict, "records were changed meanwhile"));
    }
    overtaken.store(0, Ordering::SeqCst);
    answer
}

/// Starts a session with the configured model; `None` without one.
pub fn model_session<'a>(
    services: &'a EngineServices,
    user: &'a OpenUser,
    control: &'a dyn CallControl,
) -> Option<ModelSession<'a>> {
    let model = &**services.llm.as_ref()?;
    let (asked, erasures) = (QuestionTrace::default(), user.notes.lock().close_count());
    Some(ModelSession { services, user, control, model, asked, erasures })
}

/// Writes the trace of questions, if the configuration enables it.
pub fn write_trace(services: &EngineServices, user: &OpenUser, asked: QuestionTrace) {
    if asked.0.is_empty() {
        return;
    }
    // Under the hold, no other process can erase the records that the trace quotes.
    let Some(_hold) = user.hold_to_note() else { return };
    let mut notes = user.notes.lock();
    if notes.is_gone() {
        return;
    }
    let outcome =
        match notes.trace.take().map_or_else(|| services.store.open_trace(&user.owner), Ok) {
            Ok(mut trace) => {
                let outcome = trace.append_steps(&asked.0);
                notes.trace = Some(trace);
                outcome
            }
            Err(error) => Err(error),
        };
    if let Err(error) = outcome {
        services.counters.note_failure(Some(&user.owner.user), &error);
    }
}

impl ModelSession<'_> {
    /// Asks the model. If it does not answer, the caller falls back to the rules.
    ///
    /// # Errors
    /// `Interrupted` only.
    pub fn ask_model(&mut self, prompt: &ChatPrompt) -> Result<QuestionOutcome> {
        self.control.check()?;
        let outcome = self.request_answer(prompt);
        if self.services.config.trace {
            let step = self.trace_step(prompt, &outcome);
            self.asked.0.push(step);
        }
        match outcome {
            Ok(reply) => Ok(QuestionOutcome::Answered(reply)),
            Err(failure) if failure.error.kind() == ErrorKind::Interrupted => Err(failure.error),
            Err(failure) => {
                self.services.counters.note_failure(Some(&self.user.owner.user), &failure.error);
                self.count_event("answers_refused", u64::from(failure.refused));
                if failure.silent {
                    // An empty answer is neither an outage, which would delay other questions, nor
                    // a refusal.
                    let model = self.model.model_name().to_owned();
                    let (text, hash) = (String::new(), String::new());
                    return Ok(QuestionOutcome::Answered(ModelReply {
                        text,
                        model,
                        tokens: 0,
                        cached: false,
                        hash,
                    }));
                }
                Ok(if failure.refused { QuestionOutcome::Refused } else { QuestionOutcome::Outage })
            }
        }
    }

    /// Begins questions about the records as they were after this number of erasures.
    pub fn begin_questions(&mut self, erasures: u64) {
        self.erasures = erasures;
    }

    /// The limits of the model's context window.
    pub fn window_budget(&self) -> WindowBudget {
        WindowBudget::for_window(self.model.context_window())
    }

    /// The trace of the questions since the last call of this method.
    pub fn take_asked(&mut self) -> QuestionTrace {
        std::mem::take(&mut self.asked)
    }

    /// Adds to a counter of repairs and fallbacks.
    pub fn count_event(&self, name: &'static str, times: u64) {
        self.services.counters.count_event(name, times);
    }

    /// Notes an unusable answer: `health` is degraded after several in a row.
    pub fn note_unusable(&self, reason: &'static str) {
        self.services.counters.llm_unusable.fetch_add(1, Ordering::Relaxed);
        self.note_doubtful(reason);
    }

    /// Notes an answer that is used, but poor.
    pub fn note_doubtful(&self, reason: &'static str) {
        self.count_event(reason, 1);
        let times = self.services.counters.event_count(reason);
        let text = format!("the model's answer is unusable: {reason}, {times} so far");
        let error = Error::new(ErrorKind::Llm, text);
        self.services.counters.note_unusable(Some(&self.user.owner.user), &error);
    }

    /// Notes a usable answer.
    pub fn note_usable(&self) {
        self.services.counters.llm_unusable.store(0, Ordering::Relaxed);
    }

    /// Caches a usable answer, so that the same question is never paid for twice.
    pub fn cache_reply(&self, reply: &ModelReply) {
        if !self.services.config.llm_cache || reply.cached {
            return;
        }
        let Some(_hold) = self.user.hold_to_note() else { return };
        let mut notes = self.user.notes.lock();
        // An answer may repeat words that were erased since its question was written.
        if notes.is_gone() || notes.close_count() != self.erasures {
            return;
        }
        let answer = CachedAnswer {
            hash: reply.hash.clone(),
            model: reply.model.clone(),
            text: reply.text.clone(),
            at: self.services.clock.now(),
        };
        if let Some(answers) = &mut notes.answers
            && let Err(error) = answers.store_answer(answer)
        {
            // Without the cached answer, the model is only paid again.
            self.services.counters.note_failure(Some(&self.user.owner.user), &error);
        }
    }

    fn trace_step(
        &self,
        prompt: &ChatPrompt,
        outcome: &Result<ModelReply, Box<NoAnswer>>,
    ) -> TraceStep {
        let (reply, failure) = match outcome {
            Ok(reply) => (Some(reply), String::new()),
            Err(failure) => (None, failure.error.to_string()),
        };
        TraceStep {
            ids: Vec::new(),
            phase: prompt.phase.name().to_owned(),
            model: reply.map_or(self.model.model_name(), |reply| &reply.model).to_owned(),
            prompt_version: PROMPT_VERSION.to_owned(),
            system: prompt.system.clone(),
            user: prompt.user.clone(),
            answer: reply.map_or_else(String::new, |reply| reply.text.clone()),
            failure,
            cached: reply.is_some_and(|reply| reply.cached),
            tokens: reply.map_or(0, |reply| reply.tokens),
            at: self.services.clock.now(),
        }
    }

    fn request_answer(&self, prompt: &ChatPrompt) -> Result<ModelReply, Box<NoAnswer>> {
        let (model, ledger) = (self.model, &self.services.ledger);
        let failing = &self.services.counters.llm_failing;
        let user_id = Some(self.user.owner.user.as_str());
        let form = prompt.schema.schema.to_string();
        let hash = content_hash(
            &[model.model_name(), &prompt.system, &prompt.user, prompt.schema.name, &form]
                .join("\u{0}"),
        );
        if let Some(known) = self.cached_answer(&hash) {
            ledger.record_cached(prompt.phase, user_id, &known.model);
            let (text, model) = (known.text, known.model);
            return Ok(ModelReply { text, model, tokens: 0, cached: true, hash });
        }
        let _pass = self.services.gate.acquire_permit(self.control)?;
        match model.complete_prompt(prompt, self.control) {
            Ok(answer) => {
                failing.store(false, Ordering::Relaxed);
                ledger.record_answer(prompt.phase, user_id, &answer);
                if let Some(learned) = model.take_learned()
                    && let Err(error) = self.services.store.keep_dialects(&learned)
                {
                    self.services.counters.note_failure(None, &error);
                }
                let tokens = answer.prompt_tokens + answer.completion_tokens;
                Ok(ModelReply {
                    text: answer.text,
                    model: answer.model,
                    tokens,
                    cached: false,
                    hash,
                })
            }
            Err(failure) => {
                if failure.error.kind() != ErrorKind::Interrupted {
                    // A model that refuses one text still works.
                    failing.store(!failure.refused, Ordering::Relaxed);
                    ledger.record_failure(prompt.phase, user_id, model.model_name(), &failure);
                }
                Err(failure)
            }
        }
    }

    fn cached_answer(&self, hash: &str) -> Option<CachedAnswer> {
        if !self.services.config.llm_cache {
            return None;
        }
        // Opening repairs the file, so no other process may be writing it.
        let _hold = self.user.hold_to_note()?;
        let mut notes = self.user.notes.lock();
        if notes.is_gone() {
            return None;
        }
        if notes.answers.is_none() {
            notes.answers = self.services.store.open_answers(&self.user.owner).ok();
        }
        notes.answers.as_ref()?.get(hash).cloned()
    }
}
