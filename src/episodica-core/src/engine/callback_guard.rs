//! Marks the engine's calls to embedders, models and progress callbacks, which may call the engine.
//!
//! A callback that waits for the call it serves would deadlock. So each thread records the engines
//! whose callbacks it is running, and operations that wait for all other calls refuse to run inside
//! a callback. (Operations that wait for a user's turn are refused in `memory/turn.rs`.)

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ndarray::Array2;

use crate::control::CallControl;
use crate::embed::Embedder;
use crate::error::{Error, Result};
use crate::llm::{ChatAnswer, ChatPrompt, LanguageModel, NoAnswer};
use crate::model::ServiceHealth;

static NEXT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The engines whose callbacks this thread is running, innermost last.
    static CALLING: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Marks the callbacks of one engine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallbackGuard(u64);

/// Marks the thread while a callback runs.
struct CallbackMark;

impl Drop for CallbackMark {
    fn drop(&mut self) {
        CALLING.with_borrow_mut(|calling| calling.pop());
    }
}

impl CallbackGuard {
    pub fn new() -> Self {
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    fn mark_thread(self) -> CallbackMark {
        CALLING.with_borrow_mut(|calling| calling.push(self.0));
        CallbackMark
    }

    pub fn report_progress(self, control: &dyn CallControl, step: &str, done: usize, total: usize) {
        let _mark = self.mark_thread();
        control.report_progress(step, done, total);
    }

    /// Refuses an operation that would wait for the callback it is called from.
    ///
    /// # Errors
    /// `InvalidInput` if this thread is running a callback of this engine.
    pub fn refuse_inside(self, operation: &str) -> Result<()> {
        if CALLING.with_borrow(|calling| calling.contains(&self.0)) {
            return Err(called_inside(operation));
        }
        Ok(())
    }

    /// Wraps an embedder so that its calls are marked.
    pub fn wrap_embedder(self, inner: Arc<dyn Embedder>) -> Arc<dyn Embedder> {
        Arc::new(MarkedThread { callouts: self, inner })
    }

    /// Wraps a model so that its calls are marked.
    pub fn wrap_model(self, inner: Arc<dyn LanguageModel>) -> Arc<dyn LanguageModel> {
        Arc::new(MarkedThread { callouts: self, inner })
    }
}

/// The engines whose callbacks this thread is running.
pub(crate) fn served_here() -> Vec<u64> {
    CALLING.with_borrow(Clone::clone)
}

/// Lets this thread work for one that runs callbacks of these engines.
pub(crate) fn serve_engines(engines: Vec<u64>) {
    CALLING.set(engines);
}

/// The error of a call from inside a callback that the engine waits for.
pub(crate) fn called_inside(operation: &str) -> Error {
    Error::invalid(format!(
        "{operation} was called from inside an embedding, model or progress callable that this \
         memory system is waiting for"
    ))
    .with_hint("return from the callable first")
}

struct MarkedThread<T: ?Sized> {
    callouts: CallbackGuard,
    inner: Arc<T>,
}

impl Embedder for MarkedThread<dyn Embedder> {
    fn model_name(&self) -> &str {
        self.inner.model_name()
    }

    fn dimension(&self) -> Option<usize> {
        self.inner.dimension()
    }

    fn is_local(&self) -> bool {
        self.inner.is_local()
    }

    fn is_own(&self) -> bool {
        self.inner.is_own()
    }

    fn embed_texts(&self, texts: &[&str]) -> Result<Array2<f32>> {
        let _mark = self.callouts.mark_thread();
        self.inner.embed_texts(texts)
    }

    fn embed_controlled(&self, texts: &[&str], control: &dyn CallControl) -> Result<Array2<f32>> {
        let _mark = self.callouts.mark_thread();
        self.inner.embed_controlled(texts, control)
    }

    fn embed_tokens(&self, tokens: &[&[u16]]) -> Option<Array2<f32>> {
        self.inner.embed_tokens(tokens)
    }

    fn service_health(&self) -> Option<ServiceHealth> {
        self.inner.service_health()
    }
}

impl LanguageModel for MarkedThread<dyn LanguageModel> {
    fn model_name(&self) -> &str {
        self.inner.model_name()
    }

    fn complete_prompt(
        &self,
        prompt: &ChatPrompt,
        control: &dyn CallControl,
    ) -> Result<ChatAnswer, Box<NoAnswer>> {
        let _mark = self.callouts.mark_thread();
        self.inner.complete_prompt(prompt, control)
    }

    fn context_window(&self) -> Option<u32> {
        self.inner.context_window()
    }

    fn is_available(&self) -> bool {
        self.inner.is_available()
    }

    fn take_learned(&self) -> Option<String> {
        self.inner.take_learned()
    }

    fn recall_learned(&self, kept: &str) {
        self.inner.recall_learned(kept);
    }

    fn service_health(&self) -> ServiceHealth {
        self.inner.service_health()
    }
}
