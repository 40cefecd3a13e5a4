//! Asking the model: from the cache if it was asked before, within the limit on calls in flight,
//! with the books kept.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::control::Control;
use crate::engine::memory::user::User;
use crate::engine::registry::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::content_hash;
use crate::llm::{LanguageModel, PROMPT_VERSION, Prompt};
use crate::model::Provenance;
use crate::store::{AnswerCache, CachedAnswer, Trace, TraceStep};

/// How often somebody who waits for a free place asks whether its caller still wants it to wait.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(50);

/// So many calls at once, and no more.
pub(crate) struct Gate {
    free: Mutex<usize>,
    left: Condvar,
}

impl Gate {
    pub fn new(places: usize) -> Self {
        Self { free: Mutex::new(places), left: Condvar::new() }
    }

    fn enter(&self, control: &dyn Control) -> Result<Place<'_>> {
        let mut free = self.free.lock();
        while *free == 0 {
            self.left.wait_for(&mut free, PATIENCE);
            if *free == 0 {
                parking_lot::MutexGuard::unlocked(&mut free, || control.check())?;
            }
        }
        *free -= 1;
        Ok(Place(self))
    }
}

struct Place<'a>(&'a Gate);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.left.notify_one();
    }
}

/// The files beside a user's logs that hold what models were asked; opened when first needed.
#[derive(Default)]
pub(crate) struct Notes {
    answers: Option<AnswerCache>,
    trace: Option<Trace>,
    /// The user was deleted: nothing may be written any more.
    gone: bool,
}

impl Notes {
    /// Closes the files, for good if the user is gone.
    pub fn close(&mut self, gone: bool) {
        *self = Self { gone: self.gone || gone, ..Self::default() };
    }
}

/// An answer, wherever it came from.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub text: String,
    pub model: String,
    pub tokens: u64,
    pub cached: bool,
    hash: String,
}

impl Reply {
    /// How a text made of this answer was made.
    pub fn provenance(&self, salvaged: bool) -> Provenance {
        Provenance {
            method: self.model.clone(),
            prompt_version: PROMPT_VERSION.to_owned(),
            tokens: self.tokens,
            cached: self.cached,
            salvaged,
            ..Provenance::default()
        }
    }
}

/// What was asked while one thing was made, for the trace.
#[derive(Debug, Default, Clone)]
pub(crate) struct Asked(Vec<TraceStep>);

impl Asked {
    /// Adds what another thing was made with.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Names the records that came of it.
    pub fn about(mut self, ids: &[String]) -> Self {
        self.0.iter_mut().for_each(|step| step.ids.extend(ids.iter().cloned()));
        self
    }
}

impl Engine {
    /// Asks the model. `None` if it doesn't answer (an outage, a refusal, a full disk of the cache
    /// is none): the rules take over.
    ///
    /// # Errors
    /// `Interrupted` only.
    pub(crate) fn ask(
        &self,
        model: &dyn LanguageModel,
        user: &User,
        prompt: &Prompt,
        asked: &mut Asked,
        control: &dyn Control,
    ) -> Result<Option<Reply>> {
        control.check()?;
        let outcome = self.answer(model, user, prompt, control);
        if self.config.trace {
            let (reply, failure) = match &outcome {
                Ok(reply) => (Some(reply), String::new()),
                Err(error) => (None, error.to_string()),
            };
            asked.0.push(TraceStep {
                ids: Vec::new(),
                phase: prompt.phase.name().to_owned(),
                model: reply.map_or(model.model(), |reply| &reply.model).to_owned(),
                prompt_version: PROMPT_VERSION.to_owned(),
                system: prompt.system.clone(),
                user: prompt.user.clone(),
                answer: reply.map_or_else(String::new, |reply| reply.text.clone()),
                failure,
                cached: reply.is_some_and(|reply| reply.cached),
                tokens: reply.map_or(0, |reply| reply.tokens),
                at: self.clock.now(),
            });
        }
        match outcome {
            Ok(reply) => Ok(Some(reply)),
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
            Err(error) => {
                self.note_failure(&error);
                Ok(None)
            }
        }
    }

    fn answer(
        &self,
        model: &dyn LanguageModel,
        user: &User,
        prompt: &Prompt,
        control: &dyn Control,
    ) -> Result<Reply> {
        let form = prompt.schema.schema.to_string();
        let hash = content_hash(
            &[model.model(), &prompt.system, &prompt.user, prompt.schema.name, &form].join("\u{0}"),
        );
        if let Some(known) = self.known_answer(user, &hash) {
            self.ledger.record_cached(prompt.phase, Some(&user.owner.user), &known.model);
            return Ok(Reply {
                text: known.text,
                model: known.model,
                tokens: 0,
                cached: true,
                hash,
            });
        }
        let _place = self.gate.enter(control)?;
        match model.complete(prompt, control) {
            Ok(answer) => {
                self.ledger.record(prompt.phase, Some(&user.owner.user), &answer);
                let tokens = answer.prompt_tokens + answer.completion_tokens;
                Ok(Reply { text: answer.text, model: answer.model, tokens, cached: false, hash })
            }
            Err(error) => {
                if error.kind() != ErrorKind::Interrupted {
                    self.ledger.record_failure(prompt.phase, Some(&user.owner.user), model.model());
                }
                Err(error)
            }
        }
    }

    fn known_answer(&self, user: &User, hash: &str) -> Option<CachedAnswer> {
        if !self.config.llm_cache {
            return None;
        }
        let mut notes = user.notes.lock();
        if notes.gone {
            return None;
        }
        if notes.answers.is_none() {
            notes.answers = self.store.answers(&user.owner).ok();
        }
        notes.answers.as_ref()?.get(hash).cloned()
    }

    /// Remembers an answer that was of use, so that the same question is never paid for twice.
    pub(crate) fn keep(&self, user: &User, reply: &Reply) {
        if !self.config.llm_cache || reply.cached {
            return;
        }
        let mut notes = user.notes.lock();
        if notes.gone {
            return;
        }
        let answer = CachedAnswer {
            hash: reply.hash.clone(),
            model: reply.model.clone(),
            text: reply.text.clone(),
            at: self.clock.now(),
        };
        if let Some(answers) = &mut notes.answers
            && let Err(error) = answers.put(answer)
        {
            // Without the cache the next time costs again: dearer, not wrong.
            self.note_failure(&error);
        }
    }

    /// Writes down what was asked, if that is wanted.
    pub(crate) fn write_trace(&self, user: &User, asked: Asked) {
        if asked.0.is_empty() {
            return;
        }
        let mut notes = user.notes.lock();
        if notes.gone {
            return;
        }
        let outcome = match notes.trace.take().map_or_else(|| self.store.trace(&user.owner), Ok) {
            Ok(mut trace) => {
                let outcome = trace.append(&asked.0);
                notes.trace = Some(trace);
                outcome
            }
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            self.note_failure(&error);
        }
    }

    /// Counts a failure that work goes on after, and keeps its words for `health`.
    pub(crate) fn note_failure(&self, error: &Error) {
        log::warn!("work goes on after a failure: {}", error.chain());
        self.counters.count("failures_survived", 1);
        *self.counters.last_failure.lock() = Some(Arc::from(error.chain()));
    }
}
