//! Decides whether and when to retry.

use jiff::fmt::rfc2822::DateTimeParser;

use super::{CallFailure, RetryTimer};

/// Maximum wait that a server may request; a longer one ends the call.
pub(super) const MAX_WAIT_SECONDS: f64 = 60.0;

/// Number of attempts and waits between them. Only [temporary](CallFailure::is_temporary) failures
/// are retried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    /// Maximum number of requests per call, at least 1.
    pub max_attempts: u32,
    /// Wait before the second attempt, doubled before each further one, and randomised by up to a
    /// quarter in both directions.
    pub wait_seconds: f64,
}

impl RetryPolicy {
    /// Seconds to wait after attempt number `attempt` (from 1) failed; `None` = give up.
    pub fn wait_seconds(
        &self,
        attempt: u32,
        failure: &CallFailure,
        timer: &dyn RetryTimer,
    ) -> Option<f64> {
        if attempt >= self.max_attempts || !failure.is_temporary() {
            return None;
        }
        let doubled = self.wait_seconds * f64::from(1_u32 << (attempt - 1).min(16));
        let wait = (doubled * (0.75 + 0.5 * timer.random_fraction())).min(MAX_WAIT_SECONDS);
        match failure.retry_after {
            Some(asked) if asked > MAX_WAIT_SECONDS => None,
            Some(asked) => Some(wait.max(asked)),
            None => Some(wait),
        }
    }
}

/// Parses a `Retry-After` header, seconds or an HTTP date, as seconds from now (0 for the past).
pub(super) fn retry_after(header: &str, timer: &dyn RetryTimer) -> Option<f64> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<f64>() {
        return (seconds.is_finite() && seconds >= 0.0).then_some(seconds);
    }
    let date = DateTimeParser::new().parse_timestamp(header).ok()?;
    Some(((date.as_microsecond() - timer.now().micros()) as f64 / 1e6).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::super::FailureCause;
    use super::*;
    use crate::remote::testing::VirtualTimer;

    const POLICY: RetryPolicy = RetryPolicy { max_attempts: 3, wait_seconds: 1.0 };

    #[test]
    fn waits_double_and_end() {
        let (timer, failure) =
            (VirtualTimer::default(), CallFailure::new(FailureCause::Network, "x"));
        let waits: Vec<_> =
            (1..=3).map(|attempt| POLICY.wait_seconds(attempt, &failure, &timer)).collect();
        assert_eq!(waits, [Some(1.0), Some(2.0), None]);
        assert_eq!(
            POLICY.wait_seconds(1, &CallFailure::new(FailureCause::Status(400), "x"), &timer),
            None
        );
    }

    #[test]
    fn the_server_may_ask_for_a_longer_wait_within_bounds() {
        let timer = VirtualTimer::default();
        for (asked, expected) in
            [(0.0, Some(1.0)), (7.0, Some(7.0)), (60.0, Some(60.0)), (61.0, None)]
        {
            let failure = CallFailure {
                retry_after: Some(asked),
                ..CallFailure::new(FailureCause::Status(429), "x")
            };
            assert_eq!(POLICY.wait_seconds(1, &failure, &timer), expected, "{asked}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let timer = VirtualTimer::default();
        timer.advance(10.0);
        assert_eq!(retry_after(" 12 ", &timer), Some(12.0));
        assert_eq!(retry_after("Thu, 01 Jan 1970 00:00:40 GMT", &timer), Some(30.0));
        assert_eq!(retry_after("Thu, 01 Jan 1970 00:00:01 GMT", &timer), Some(0.0));
        for odd in ["soon", "-1", "NaN", "inf", ""] {
            assert_eq!(retry_after(odd, &timer), None, "{odd}");
        }
    }
}
