//! What the models cost: calls, tokens and time by phase, model and user.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;

use super::chat::{Answer, Phase};

/// The books of one store. Thread safe; kept in memory, from the process's start.
///
/// A call is a question that a model (or a cache) was asked once, whatever number of requests it
/// took.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Books>);

#[derive(Debug, Default, Clone, Serialize)]
struct Books {
    #[serde(flatten)]
    total: Entry,
    by_phase: BTreeMap<&'static str, Entry>,
    by_model: BTreeMap<String, Entry>,
    by_user: BTreeMap<String, Entry>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize)]
struct Entry {
    /// Calls that a model answered.
    calls: u64,
    prompt_tokens: u64,
    completion_tokens: u64,
    seconds: f64,
    /// Questions answered from a cache, not among `calls`.
    cached: u64,
    /// Calls without an answer, not among `calls`.
    failures: u64,
    /// Requests beyond the first of each answered call.
    retries: u64,
    /// Calls whose tokens we counted because the server didn't.
    counted_locally: u64,
}

impl Ledger {
    /// An answer came. `user` is `None` for work that belongs to no single one.
    pub fn record(&self, phase: Phase, user: Option<&str>, answer: &Answer) {
        self.add(phase, user, &answer.model, |entry| {
            entry.calls += 1;
            entry.prompt_tokens += answer.prompt_tokens;
            entry.completion_tokens += answer.completion_tokens;
            entry.seconds += answer.seconds;
            entry.retries += u64::from(answer.attempts.saturating_sub(1));
            entry.counted_locally += u64::from(answer.counted_locally);
        });
    }

    /// An answer was taken from a cache; it cost nothing.
    pub fn record_cached(&self, phase: Phase, user: Option<&str>, model: &str) {
        self.add(phase, user, model, |entry| entry.cached += 1);
    }

    /// No answer was to be had.
    pub fn record_failure(&self, phase: Phase, user: Option<&str>, model: &str) {
        self.add(phase, user, model, |entry| entry.failures += 1);
    }

    /// Forgets a user; the totals stay.
    pub fn forget(&self, user: &str) {
        self.0.lock().by_user.remove(user);
    }

    /// `{"calls", "prompt_tokens", "completion_tokens", "seconds", "cached", "failures", "retries",
    /// "counted_locally"}`, and the same again for each name in `"by_phase"`, `"by_model"` and
    /// `"by_user"`.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self.0.lock().clone()).expect("invariant: the books are JSON")
    }

    fn add(&self, phase: Phase, user: Option<&str>, model: &str, change: impl Fn(&mut Entry)) {
        let books = &mut *self.0.lock();
        change(&mut books.total);
        change(books.by_phase.entry(phase.name()).or_default());
        change(books.by_model.entry(model.to_owned()).or_default());
        if let Some(user) = user {
            change(books.by_user.entry(user.to_owned()).or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(model: &str, counted_locally: bool) -> Answer {
        Answer {
            text: String::new(),
            model: model.into(),
            prompt_tokens: 10,
            completion_tokens: 3,
            counted_locally,
            attempts: 2,
            seconds: 0.5,
        }
    }

    #[test]
    fn the_books_are_kept_by_phase_model_and_user() {
        let ledger = Ledger::default();
        ledger.record(Phase::Episode, Some("ann"), &answer("big", false));
        ledger.record(Phase::Extract, Some("bob"), &answer("small", true));
        ledger.record_cached(Phase::Extract, Some("ann"), "big");
        ledger.record_failure(Phase::Boundary, None, "big");
        let books = ledger.to_json();
        for (key, value) in [
            ("calls", json!(2)),
            ("prompt_tokens", json!(20)),
            ("completion_tokens", json!(6)),
            ("seconds", json!(1.0)),
        ] {
            assert_eq!(books[key], value, "{key}");
        }
        for (key, value) in [("cached", 1), ("failures", 1), ("retries", 2), ("counted_locally", 1)]
        {
            assert_eq!(books[key], value, "{key}");
        }
        assert_eq!(books["by_phase"]["boundary"]["failures"], 1);
        assert_eq!(
            (&books["by_model"]["big"]["calls"], &books["by_model"]["small"]["counted_locally"]),
            (&json!(1), &json!(1))
        );
        assert_eq!(
            books["by_user"].as_object().unwrap().keys().collect::<Vec<_>>(),
            ["ann", "bob"]
        );
        ledger.forget("ann");
        assert!(ledger.to_json()["by_user"].get("ann").is_none());
        assert_eq!(ledger.to_json()["calls"], 2);
    }

    #[test]
    fn empty_books_have_the_same_shape() {
        let books = Ledger::default().to_json();
        let keys: Vec<_> = books.as_object().unwrap().keys().map(String::as_str).collect();
        let expected = [
            "calls",
            "prompt_tokens",
            "completion_tokens",
            "seconds",
            "cached",
            "failures",
            "retries",
            "counted_locally",
        ];
        assert_eq!(keys, [&expected[..], &["by_phase", "by_model", "by_user"]].concat());
    }
}
