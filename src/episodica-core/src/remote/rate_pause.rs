//! The pause that a server's limit of requests demands. It holds for all calls: each would only be
//! refused, too, and prolong the pause of the others.

use super::retry::MAX_WAIT_SECONDS;
use crate::sync::Mutex;

/// Number of pauses without an answer after which a call gives up.
const MOST_PAUSES: u32 = 8;

/// The time until which sending is suspended. Times are in seconds of one
/// [`RetryTimer`](super::RetryTimer).
#[derive(Debug, Default)]
pub(super) struct RatePause {
    inner: Mutex<PauseState>,
}

#[derive(Debug, Default)]
struct PauseState {
    until: f64,
    /// Number of pauses since the last answer.
    pauses: u32,
}

impl RatePause {
    /// Seconds until a request may be sent; 0 without a pause.
    pub fn seconds_left(&self, now: f64) -> f64 {
        (self.inner.lock().until - now).max(0.0)
    }

    /// Notes that a request sent at `sent` was refused at `now`: nobody sends for the `asked`
    /// seconds, or else for twice as long as in the pause before, from `least` seconds up to a
    /// minute. A request that was sent before a pause ended tells nothing about that pause: it
    /// does not prolong it, unless it is asked to wait for longer.
    pub fn note_refusal(&self, sent: f64, now: f64, asked: Option<f64>, least: f64) {
        let mut inner = self.inner.lock();
        let is_new = sent >= inner.until;
        if is_new {
            inner.pauses += 1;
        }
        let doubled = least * f64::from(1_u32 << (inner.pauses.max(1) - 1).min(16));
        match asked {
            Some(asked) => inner.until = inner.until.max(now + asked.max(least)),
            None if is_new => inner.until = now + doubled.min(MAX_WAIT_SECONDS),
            None => {}
        }
    }

    /// True if no pause helped for long, so that a call gives up.
    pub fn is_hopeless(&self) -> bool {
        self.inner.lock().pauses > MOST_PAUSES
    }

    /// Notes an answer: the next pause is short again.
    pub fn note_answer(&self) {
        self.inner.lock().pauses = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_holds_for_all_and_doubles_until_an_answer() {
        let pause = RatePause::default();
        let refuse = |now: f64, asked| pause.note_refusal(now, now, asked, 1.0);
        assert_eq!(pause.seconds_left(5.0), 0.0);
        refuse(10.0, None);
        refuse(10.5, None);
        assert_eq!(pause.seconds_left(10.5), 0.5, "one refusal of several sent at once counts");
        refuse(11.0, None);
        assert_eq!(pause.seconds_left(11.0), 2.0);
        refuse(13.0, Some(17.0));
        refuse(13.0, Some(4.0));
        assert_eq!(pause.seconds_left(13.0), 17.0);
        for round in 0..40 {
            refuse(100.0 * f64::from(round), None);
        }
        assert_eq!(pause.seconds_left(3_900.0), MAX_WAIT_SECONDS);
        assert!(pause.is_hopeless());
        pause.note_answer();
        assert!(!pause.is_hopeless());
        refuse(5_000.0, None);
        assert_eq!(pause.seconds_left(5_000.0), 1.0);
        for late in 1..20 {
            pause.note_refusal(5_000.0, 5_000.0 + f64::from(late), None, 1.0);
        }
        assert!(!pause.is_hopeless(), "late answers to one burst of requests are one refusal");
        assert_eq!(pause.seconds_left(5_001.0), 0.0);
    }
}
