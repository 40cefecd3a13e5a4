//! Counts of dropped, degraded and rejected work, for `stats` and `health`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use crate::sync::Mutex;

use crate::error::Error;

#[derive(Debug, Default)]
pub(crate) struct EngineCounters {
    pub embedding_failures: AtomicU64,
    pub messages_embedded: AtomicU64,
    pub searches: AtomicU64,
    pub evictions: AtomicU64,
    /// True if the latest call of the language model failed.
    pub llm_failing: AtomicBool,
    /// Consecutive unusable answers of the language model.
    pub llm_unusable: AtomicU64,
    /// Rejected candidates for facts, by reason.
    pub rejected: Mutex<BTreeMap<&'static str, u64>>,
    /// Repairs, fallbacks and retries, by name.
    pub mended: Mutex<BTreeMap<&'static str, u64>>,
    /// The latest failure that did not stop the work, with the user it concerned.
    last_failure: Mutex<Option<LastFailure>>,
}

#[derive(Debug)]
struct LastFailure {
    user_id: Option<String>,
    text: Arc<str>,
}

impl EngineCounters {
    /// Increases the count of a repair, fallback or retry.
    pub fn count_event(&self, name: &'static str, times: u64) {
        if times > 0 {
            *self.mended.lock().entry(name).or_default() += times;
        }
    }

    /// The count of a repair, fallback or retry.
    pub fn event_count(&self, name: &str) -> u64 {
        self.mended.lock().get(name).copied().unwrap_or_default()
    }

    /// Counts a failure that does not stop the work, and keeps its text for `health`.
    pub fn note_failure(&self, user_id: Option<&str>, error: &Error) {
        log::warn!("continuing after a failure: {}", error.cause_chain());
        self.count_event("failures_survived", 1);
        self.note_unusable(user_id, error);
    }

    /// Keeps the text of a failure for `health`, without counting it.
    pub fn note_unusable(&self, user_id: Option<&str>, error: &Error) {
        *self.last_failure.lock() = Some(LastFailure {
            user_id: user_id.map(str::to_owned),
            text: error.cause_chain().into(),
        });
    }

    /// The text of the latest failure that did not stop the work.
    pub fn last_failure(&self) -> Option<Arc<str>> {
        self.last_failure.lock().as_ref().map(|failure| Arc::clone(&failure.text))
    }

    /// Drops the text of a failure that may quote this user's records.
    pub fn forget_user(&self, user_id: &str) {
        let mut last = self.last_failure.lock();
        if last
            .as_ref()
            .is_some_and(|failure| failure.user_id.as_deref().is_none_or(|own| own == user_id))
        {
            *last = None;
        }
    }
}
