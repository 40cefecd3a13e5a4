//! Usage counters of models: calls, tokens and time by phase, model and user.

use crate::sync::Mutex;

use super::chat::{ChatAnswer, NoAnswer, UsagePhase};
use crate::model::{CallCost, ModelUsage};

/// The usage counters of one store, in memory since the store was opened. Thread safe.
///
/// A call is one prompt to a model or to the cache, regardless of the number of requests.
#[derive(Debug, Default)]
pub struct UsageLedger(Mutex<ModelUsage>);

impl UsageLedger {
    /// Counts an answer. `user` is `None` for work that concerns no single user.
    pub fn record_answer(&self, phase: UsagePhase, user: Option<&str>, answer: &ChatAnswer) {
        self.add_cost(phase, user, &answer.model, |entry| {
            entry.calls += 1;
            entry.prompt_tokens += answer.prompt_tokens;
            entry.completion_tokens += answer.completion_tokens;
            entry.cached_prompt_tokens += answer.cached_tokens;
            entry.reasoning_tokens += answer.reasoning_tokens;
            entry.seconds += answer.seconds;
            entry.retries += u64::from(answer.attempts.saturating_sub(1));
            entry.counted_locally += u64::from(answer.counted_locally);
        });
    }

    /// Counts an answer from a cache, which costs nothing.
    pub fn record_cached(&self, phase: UsagePhase, user: Option<&str>, model: &str) {
        self.add_cost(phase, user, model, |entry| entry.cached += 1);
    }

    /// Counts a call without an answer, with its cost.
    pub fn record_failure(
        &self,
        phase: UsagePhase,
        user: Option<&str>,
        model: &str,
        cost: &NoAnswer,
    ) {
        self.add_cost(phase, user, model, |entry| {
            entry.failures += 1;
            entry.prompt_tokens += cost.prompt_tokens;
            entry.completion_tokens += cost.completion_tokens;
            entry.seconds += cost.seconds;
            entry.retries += u64::from(cost.attempts.saturating_sub(1));
        });
    }

    /// Removes a user's counters; the totals stay.
    pub fn forget_user(&self, user: &str) {
        self.0.lock().by_user.remove(user);
    }

    /// The usage so far.
    pub fn usage(&self) -> ModelUsage {
        self.0.lock().clone()
    }

    fn add_cost(
        &self,
        phase: UsagePhase,
        user: Option<&str>,
        model: &str,
        change: impl Fn(&mut CallCost),
    ) {
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
    use super::*;
    use crate::error::Error;

    fn answer(model: &str, counted_locally: bool) -> ChatAnswer {
        ChatAnswer {
            text: String::new(),
            model: model.into(),
            prompt_tokens: 10,
            completion_tokens: 3,
            cached_tokens: 6,
            reasoning_tokens: 2,
            counted_locally,
            attempts: 2,
            seconds: 0.5,
        }
    }

    #[test]
    fn the_books_are_kept_by_phase_model_and_user() {
        let ledger = UsageLedger::default();
        ledger.record_answer(UsagePhase::Episode, Some("ann"), &answer("big", false));
        ledger.record_answer(UsagePhase::Extract, Some("bob"), &answer("small", true));
        ledger.record_cached(UsagePhase::Extract, Some("ann"), "big");
        let mut failed = Box::<NoAnswer>::from(Error::internal("down"));
        (failed.attempts, failed.completion_tokens) = (3, 40);
        ledger.record_failure(UsagePhase::Boundary, None, "big", &failed);
        let usage = ledger.usage();
        let expected = CallCost {
            calls: 2,
            prompt_tokens: 20,
            completion_tokens: 46,
            cached_prompt_tokens: 12,
            reasoning_tokens: 4,
            seconds: 1.0,
            cached: 1,
            failures: 1,
            retries: 4,
            counted_locally: 1,
        };
        assert_eq!(usage.total, expected);
        let boundary =
            CallCost { failures: 1, retries: 2, completion_tokens: 40, ..CallCost::default() };
        assert_eq!(usage.by_phase["boundary"], boundary);
        assert_eq!((usage.by_model["big"].calls, usage.by_model["small"].counted_locally), (1, 1));
        assert_eq!(usage.by_user.keys().collect::<Vec<_>>(), ["ann", "bob"]);
        ledger.forget_user("ann");
        assert!(!ledger.usage().by_user.contains_key("ann"));
        assert_eq!(ledger.usage().total.calls, 2);
    }
}
