//! A model whose answers are written by a test.
//!
//! Public only so that the tests of the repository can use it; no part of the engine's interface.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::chat::{Answer, LanguageModel, NoAnswer, Prompt};
use crate::control::Control;
use crate::error::Result;
use crate::model::ServiceHealth;
use crate::text::count_tokens;

type Script = dyn Fn(&Prompt) -> Result<String> + Send + Sync;

/// Answers with a function, remembers every prompt. Counts tokens as a server would, one attempt
/// and no time a call.
pub struct ScriptedModel {
    script: Box<Script>,
    prompts: Mutex<Vec<Prompt>>,
    available: AtomicBool,
}

impl ScriptedModel {
    /// A model called `scripted`.
    pub fn new(script: impl Fn(&Prompt) -> Result<String> + Send + Sync + 'static) -> Self {
        Self {
            script: Box::new(script),
            prompts: Mutex::default(),
            available: AtomicBool::new(true),
        }
    }

    /// All prompts so far, in the order in which they came.
    pub fn prompts(&self) -> Vec<Prompt> {
        self.prompts.lock().clone()
    }

    /// How many there were.
    pub fn calls(&self) -> usize {
        self.prompts.lock().len()
    }

    /// What [`is_available`](LanguageModel::is_available) says from now on; calls are answered all
    /// the same.
    pub fn set_available(&self, available: bool) {
        self.available.store(available, Ordering::SeqCst);
    }
}

impl LanguageModel for ScriptedModel {
    fn model(&self) -> &str {
        "scripted"
    }

    fn complete(&self, prompt: &Prompt, control: &dyn Control) -> Result<Answer, Box<NoAnswer>> {
        control.check()?;
        self.prompts.lock().push(prompt.clone());
        let text = (self.script)(prompt)?;
        Ok(Answer {
            model: self.model().to_owned(),
            prompt_tokens: (count_tokens(&prompt.system) + count_tokens(&prompt.user)) as u64,
            completion_tokens: count_tokens(&text) as u64,
            counted_locally: false,
            attempts: 1,
            seconds: 0.0,
            text,
        })
    }

    fn is_available(&self) -> bool {
        self.available.load(Ordering::SeqCst)
    }

    fn health(&self) -> ServiceHealth {
        ServiceHealth {
            model: self.model().to_owned(),
            calls: self.calls() as u64,
            ..ServiceHealth::default()
        }
    }
}
