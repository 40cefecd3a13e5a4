//! The circuit breaker: pauses calls to a server that is down.
//!
//! Each failed attempt counts, not each failed call. So a dead server costs `limit` attempts in
//! total; after that, each call is rejected at once. After the pause, one call with a single
//! attempt is admitted as a test, while other calls are still rejected. An error that concerns the
//! request (400, 401, 404, ...) shows that the server is alive, so it counts as a success here.

use crate::sync::Mutex;

/// Counts consecutive failures and rejects calls after too many. Times are in seconds of one
/// [`RetryTimer`](super::RetryTimer).
#[derive(Debug)]
pub struct CircuitBreaker {
    limit: u32,
    pause_seconds: f64,
    inner: Mutex<BreakerInner>,
}

#[derive(Debug)]
struct BreakerInner {
    state: BreakerState,
    /// Incremented at each change of state, so that calls from before the change do not count after
    /// it.
    epoch: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum BreakerState {
    Closed { failures: u32 },
    Open { until: f64 },
    Testing,
}

impl CircuitBreaker {
    /// Creates a closed breaker that opens for `pause_seconds` after `limit` (at least 1)
    /// consecutive failures.
    pub fn new(limit: u32, pause_seconds: f64) -> Self {
        Self {
            limit: limit.max(1),
            pause_seconds,
            inner: Mutex::new(BreakerInner {
                state: BreakerState::Closed { failures: 0 },
                epoch: 0,
            }),
        }
    }

    /// Admits one attempt; its outcome must be reported to the permit.
    ///
    /// # Errors
    /// The number of seconds until a test is admitted (0 while another call is the test).
    pub fn admit_attempt(&self, now: f64) -> Result<AttemptPermit<'_>, f64> {
        let mut inner = self.inner.lock();
        let test = match inner.state {
            BreakerState::Closed { .. } => false,
            BreakerState::Open { until } if now < until => return Err(until - now),
            BreakerState::Open { .. } => true,
            BreakerState::Testing => return Err(0.0),
        };
        if test {
            inner.switch_state(BreakerState::Testing);
        }
        Ok(AttemptPermit { breaker: self, epoch: inner.epoch, settled: false })
    }

    /// True if [`admit_attempt`](Self::admit_attempt) would admit a call.
    pub fn is_available(&self, now: f64) -> bool {
        match self.inner.lock().state {
            BreakerState::Closed { .. } => true,
            BreakerState::Open { until } => now >= until,
            BreakerState::Testing => false,
        }
    }

    /// `closed`, `open` or `half_open` (a test may begin or is under way).
    pub fn state_name(&self, now: f64) -> &'static str {
        match self.inner.lock().state {
            BreakerState::Closed { .. } => "closed",
            BreakerState::Open { until } if now < until => "open",
            BreakerState::Open { .. } | BreakerState::Testing => "half_open",
        }
    }
}

impl BreakerInner {
    fn switch_state(&mut self, state: BreakerState) {
        self.state = state;
        self.epoch += 1;
    }
}

/// Permission for one attempt. If it is dropped without an outcome because the caller was
/// interrupted, the attempt does not count, and another test may be admitted.
#[derive(Debug)]
pub struct AttemptPermit<'b> {
    breaker: &'b CircuitBreaker,
    epoch: u64,
    settled: bool,
}

impl AttemptPermit<'_> {
    /// Reports an answer: closes the breaker and resets the count of failures.
    pub(crate) fn report_success(mut self) {
        self.settle_permit(|inner, _| match inner.state {
            BreakerState::Closed { .. } => inner.state = BreakerState::Closed { failures: 0 },
            BreakerState::Testing | BreakerState::Open { .. } => {
                inner.switch_state(BreakerState::Closed { failures: 0 })
            }
        });
    }

    /// Reports a failure at time `now`.
    pub fn report_failure(mut self, now: f64) {
        self.settle_permit(|inner, breaker| {
            let failures = match inner.state {
                BreakerState::Closed { failures } => failures + 1,
                BreakerState::Testing | BreakerState::Open { .. } => breaker.limit,
            };
            if failures >= breaker.limit {
                inner.switch_state(BreakerState::Open { until: now + breaker.pause_seconds })
            } else {
                inner.state = BreakerState::Closed { failures }
            }
        });
    }

    fn settle_permit(&mut self, change: impl FnOnce(&mut BreakerInner, &CircuitBreaker)) {
        self.settled = true;
        let mut inner = self.breaker.inner.lock();
        if inner.epoch == self.epoch {
            change(&mut inner, self.breaker);
        }
    }
}

impl Drop for AttemptPermit<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.settle_permit(|inner, _| {
                if inner.state == BreakerState::Testing {
                    inner.switch_state(BreakerState::Open { until: f64::NEG_INFINITY });
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(breaker: &CircuitBreaker, times: u32, now: f64) {
        for _ in 0..times {
            breaker.admit_attempt(now).unwrap().report_failure(now);
        }
    }

    #[test]
    fn opens_after_failures_in_a_row_only() {
        let breaker = CircuitBreaker::new(5, 60.0);
        failed(&breaker, 4, 0.0);
        breaker.admit_attempt(0.0).unwrap().report_success();
        failed(&breaker, 4, 0.0);
        assert_eq!(breaker.state_name(0.0), "closed");
        failed(&breaker, 1, 1.0);
        assert_eq!(breaker.state_name(1.0), "open");
        assert_eq!(breaker.admit_attempt(11.0).unwrap_err(), 50.0);
        assert!(!breaker.is_available(60.9));
        assert!(breaker.is_available(61.0));
    }

    #[test]
    fn one_test_decides() {
        let breaker = CircuitBreaker::new(2, 60.0);
        failed(&breaker, 2, 0.0);
        let test = breaker.admit_attempt(60.0).unwrap();
        assert_eq!(breaker.admit_attempt(60.0).unwrap_err(), 0.0, "only one");
        assert!(!breaker.is_available(60.0));
        assert_eq!(breaker.state_name(60.0), "half_open");
        test.report_failure(65.0);
        assert_eq!(
            breaker.admit_attempt(66.0).unwrap_err(),
            59.0,
            "one failure is enough after a test"
        );
        breaker.admit_attempt(125.0).unwrap().report_success();
        failed(&breaker, 1, 126.0);
        assert_eq!(breaker.state_name(126.0), "closed", "and counting starts anew");
    }

    #[test]
    fn a_test_without_outcome_may_be_taken_again() {
        let breaker = CircuitBreaker::new(1, 60.0);
        failed(&breaker, 1, 0.0);
        drop(breaker.admit_attempt(60.0).unwrap());
        breaker.admit_attempt(60.0).unwrap().report_success();
        assert_eq!(breaker.state_name(60.0), "closed");
    }

    #[test]
    fn calls_from_before_a_change_do_not_count_after_it() {
        let breaker = CircuitBreaker::new(1, 60.0);
        let (late_failure, late_success) =
            (breaker.admit_attempt(0.0).unwrap(), breaker.admit_attempt(0.0).unwrap());
        failed(&breaker, 1, 0.0);
        late_success.report_success();
        late_failure.report_failure(50.0);
        assert_eq!(breaker.admit_attempt(50.0).unwrap_err(), 10.0, "neither closed nor prolonged");
    }
}
