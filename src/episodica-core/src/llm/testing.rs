//! A model with scripted answers, for tests.
//!
//! Public only for the tests of the repository; not part of the engine's interface.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::sync::Mutex;

use super::chat::{ChatAnswer, ChatPrompt, LanguageModel, NoAnswer};
use crate::control::CallControl;
use crate::error::Result;
use crate::model::ServiceHealth;
use crate::text::count_tokens;

type Script = dyn Fn(&ChatPrompt) -> Result<String> + Send + Sync;

/// Answers with the result of a function, and records every prompt. Counts tokens as a server
/// would; every call takes one attempt and no time.
pub struct ScriptedModel {
    script: Box<Script>,
    prompts: Mutex<Vec<ChatPrompt>>,
    available: AtomicBool,
}

impl ScriptedModel {
    /// A model called `scripted`.
    pub fn new(script: impl Fn(&ChatPrompt) -> Result<String> + Send + Sync + 'static) -> Self {
        Self {
            script: Box::new(script),
            prompts: Mutex::default(),
            available: AtomicBool::new(true),
        }
    }

    /// All prompts so far, in order.
    pub fn prompts(&self) -> Vec<ChatPrompt> {
        self.prompts.lock().clone()
    }

    /// The number of prompts so far.
    pub fn calls(&self) -> usize {
        self.prompts.lock().len()
    }

    /// Sets the result of [`is_available`](LanguageModel::is_available); calls are answered in any
    /// case.
    pub fn set_available(&self, available: bool) {
        self.available.store(available, Ordering::SeqCst);
    }
}

impl LanguageModel for ScriptedModel {
    fn model_name(&self) -> &str {
        "scripted"
    }

    fn complete_prompt(
        &self,
        prompt: &ChatPrompt,
        control: &dyn CallControl,
    ) -> Result<ChatAnswer, Box<NoAnswer>> {
        control.check()?;
        self.prompts.lock().push(prompt.clone());
        let text = (self.script)(prompt)?;
        Ok(ChatAnswer {
            model: self.model_name().to_owned(),
            prompt_tokens: (count_tokens(&prompt.system) + count_tokens(&prompt.user)) as u64,
            completion_tokens: count_tokens(&text) as u64,
            cached_tokens: 0,
            reasoning_tokens: 0,
            counted_locally: false,
            attempts: 1,
            seconds: 0.0,
            text,
        })
    }

    fn is_available(&self) -> bool {
        self.available.load(Ordering::SeqCst)
    }

    fn service_health(&self) -> ServiceHealth {
        ServiceHealth {
            model: self.model_name().to_owned(),
            calls: self.calls() as u64,
            ..ServiceHealth::default()
        }
    }
}
