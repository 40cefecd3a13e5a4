//! Time and waiting, for retries and circuit breakers.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

use crate::clock::{Clock, Moment, SystemClock};
use crate::control::CallControl;
use crate::error::Result;

/// Interval at which a wait checks for a stop.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The clock of retries and circuit breakers; replaceable, so that tests need not wait.
pub trait RetryTimer: Send + Sync {
    /// Seconds since a fixed moment; never decreases.
    fn elapsed_seconds(&self) -> f64;

    /// Calendar time, for servers that send a date.
    fn now(&self) -> Moment;

    /// Waits `seconds`, or until `control` requests a stop.
    ///
    /// # Errors
    /// The error of `control`.
    fn sleep(&self, seconds: f64, control: &dyn CallControl) -> Result<()>;

    /// A random number from 0 to 1, to spread the retries of many callers.
    fn random_fraction(&self) -> f64;
}

/// The operating system's clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemTimer {
    start: Instant,
}

impl Default for SystemTimer {
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl RetryTimer for SystemTimer {
    fn elapsed_seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn now(&self) -> Moment {
        SystemClock.now()
    }

    fn sleep(&self, seconds: f64, control: &dyn CallControl) -> Result<()> {
        let end = Instant::now() + Duration::try_from_secs_f64(seconds).unwrap_or_default();
        loop {
            control.check()?;
            match end.saturating_duration_since(Instant::now()) {
                Duration::ZERO => return Ok(()),
                left => std::thread::sleep(left.min(CHECK_INTERVAL)),
            }
        }
    }

    fn random_fraction(&self) -> f64 {
        // Each `RandomState` has random keys, which is random enough for jitter.
        RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{CancelFlag, Uninterrupted};

    #[test]
    fn a_real_wait_ends_when_it_is_cancelled() {
        let flag = CancelFlag::default();
        let other = flag.clone();
        let timer = SystemTimer::default();
        let thread = std::thread::spawn(move || timer.sleep(30.0, &other));
        flag.cancel();
        assert!(thread.join().unwrap().is_err());
        assert!(timer.elapsed_seconds() < 10.0);
        timer.sleep(0.001, &Uninterrupted).unwrap();
        assert!(timer.elapsed_seconds() >= 0.001);
        assert!((0.0..=1.0).contains(&timer.random_fraction()));
    }
}
