//! Cancellation and progress of long operations.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};

/// Passed into every long operation, which calls [`CallControl::check`] at least every 100 ms and
/// reports its progress.
///
/// The Python binding implements it with a check for signals and, for async tasks, a flag.
pub trait CallControl: Send + Sync {
    /// Returns `Err` of kind [`ErrorKind::Interrupted`] to stop the work. Committed changes stay.
    ///
    /// # Errors
    /// Only to ask for a stop.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// When calls to servers give up; `None` = at their own timeout. The earlier of the two counts.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// `done` of `total` units of the named step are finished (`total` 0 = unknown).
    fn report_progress(&self, _step: &str, _done: usize, _total: usize) {}
}

/// Never stops the work; ignores progress.
#[derive(Debug, Default, Clone, Copy)]
pub struct Uninterrupted;

impl CallControl for Uninterrupted {}

/// Adds a deadline for calls to servers to another control.
pub struct DeadlineControl<'a> {
    inner: &'a dyn CallControl,
    deadline: Instant,
}

impl<'a> DeadlineControl<'a> {
    /// Wraps `inner`; only the deadline differs.
    pub fn new(inner: &'a dyn CallControl, deadline: Instant) -> Self {
        Self { inner, deadline }
    }
}

impl CallControl for DeadlineControl<'_> {
    fn check(&self) -> Result<()> {
        self.inner.check()
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.deadline)
    }

    fn report_progress(&self, step: &str, done: usize, total: usize) {
        self.inner.report_progress(step, done, total);
    }
}

/// Work over fewer bytes of text takes about 50 ms at most, so it runs without cancellation checks.
pub(crate) const LONG_BYTES: usize = 256 << 10;
/// Interval between cancellation checks.
const PATIENCE: Duration = Duration::from_millis(20);

/// Runs `work`, which reads `bytes` bytes of text without checking for cancellation. Long work runs
/// on a thread of its own: if the caller gives up, the thread finishes and its result is dropped.
///
/// # Errors
/// The error of `control` when the caller gives up.
pub(crate) fn run_cancellable<T: Send + 'static>(
    bytes: usize,
    control: &dyn CallControl,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    control.check()?;
    if bytes < LONG_BYTES {
        return Ok(work());
    }
    let (done, outcome) = sync_channel(1);
    let work = Arc::new(Mutex::new(Some(work)));
    let take = |work: &Mutex<Option<_>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let theirs = Arc::clone(&work);
    let run = move || {
        if let Some(work) = take(&theirs) {
            let _ = done.send(catch_unwind(AssertUnwindSafe(work)));
        }
    };
    let thread = std::thread::Builder::new().name("episodica-texts".to_owned());
    if thread.spawn(run).is_err() {
        return take(&work).map_or_else(
            || Err(Error::internal("the work of a thread that did not start is missing")),
            |work| Ok(work()),
        );
    }
    loop {
        match outcome.recv_timeout(PATIENCE) {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Timeout) => control.check()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::internal("a thread ended without a result"));
            }
        }
    }
}

/// A flag that stops the work that it is passed to. Clones share the flag.
#[derive(Debug, Default, Clone)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Asks for a stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl CallControl for CancelFlag {
    fn check(&self) -> Result<()> {
        if self.0.load(Ordering::SeqCst) {
            Err(Error::new(ErrorKind::Interrupted, "the operation was cancelled"))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_gives_up_does_not_wait_for_long_texts() {
        let flag = CancelFlag::default();
        let started = Instant::now();
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                flag.cancel();
            });
            run_cancellable(LONG_BYTES, &flag, || std::thread::sleep(Duration::from_secs(10)))
        });
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Interrupted);
        assert!(started.elapsed() < Duration::from_secs(2));
        assert_eq!(run_cancellable(LONG_BYTES, &Uninterrupted, || 7).unwrap(), 7);
        let panicked =
            catch_unwind(|| run_cancellable(LONG_BYTES, &Uninterrupted, || panic!("no")));
        assert!(panicked.is_err());
    }
}
