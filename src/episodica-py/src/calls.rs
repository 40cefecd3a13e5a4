//! Counts the calls of a Python callable for `health()`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use episodica_core::model::ServiceHealth;

/// Call counts of one callable. Thread safe.
#[derive(Default)]
pub(crate) struct CallCounts {
    calls: AtomicU64,
    failures: AtomicU64,
    failing: AtomicBool,
}

impl CallCounts {
    /// Counts a call with its outcome.
    pub(crate) fn count_outcome<T, E>(&self, outcome: Result<T, E>) -> Result<T, E> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.failures.fetch_add(u64::from(outcome.is_err()), Ordering::Relaxed);
        self.failing.store(outcome.is_err(), Ordering::Relaxed);
        outcome
    }

    /// Each call is one request; a callable has no circuit breaker.
    pub(crate) fn service_health(&self, model: &str) -> ServiceHealth {
        let calls = self.calls.load(Ordering::Relaxed);
        ServiceHealth {
            model: model.to_owned(),
            kind: "callable",
            breaker: "closed",
            calls,
            requests: calls,
            failures: self.failures.load(Ordering::Relaxed),
            failing: self.failing.load(Ordering::Relaxed),
            ..ServiceHealth::default()
        }
    }
}
