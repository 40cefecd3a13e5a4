//! How a caller stops long work, and how long work says how far it is.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};

/// Passed into every operation that may last: asked often (at least every 100 ms of work), and told
/// of progress.
///
/// The Python boundary implements it with a check for signals; an async task with a flag.
pub trait CallControl: Send + Sync {
    /// `Err` of kind [`ErrorKind::Interrupted`] when the caller wants the work to stop. Whatever
    /// was committed before stays.
    ///
    /// # Errors
    /// Only to ask for a stop.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// When calls to servers give up, if that is earlier than their own patience.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// `done` of `total` units of the named step are finished (`total` 0 = unknown).
    fn progress(&self, _step: &str, _done: usize, _total: usize) {}
}

/// Never stops, says nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct Uninterrupted;

impl CallControl for Uninterrupted {}

/// Another control with a deadline for calls to servers.
pub struct DeadlineControl<'a> {
    inner: &'a dyn CallControl,
    deadline: Instant,
}

impl<'a> DeadlineControl<'a> {
    /// Everything as `inner` says, but for the deadline.
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

    fn progress(&self, step: &str, done: usize, total: usize) {
        self.inner.progress(step, done, total);
    }
}

/// Texts of fewer bytes are read within some fifty milliseconds.
pub(crate) const LONG_BYTES: usize = 256 << 10;
/// How often somebody who waits for long texts asks whether to go on.
const PATIENCE: Duration = Duration::from_millis(20);

/// Runs work over texts of so many `bytes` in which nothing asks for an interruption. Long work
/// runs on a thread of its own: a caller who gives up leaves it behind, and what comes of it is
/// dropped.
///
/// # Errors
/// What `control` says when the caller gives up.
pub(crate) fn patiently<T: Send + 'static>(
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
            || Err(Error::internal("a thread that was not started took its work")),
            |work| Ok(work()),
        );
    }
    outcome_of(&outcome, control)
}

/// Waits for work on another thread.
pub(crate) fn outcome_of<T>(
    outcome: &Receiver<std::thread::Result<T>>,
    control: &dyn CallControl,
) -> Result<T> {
    loop {
        match outcome.recv_timeout(PATIENCE) {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Timeout) => control.check()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::internal("a thread ended without its outcome"));
            }
        }
    }
}

/// A flag that stops the work it is passed to; clones share the flag.
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
            patiently(LONG_BYTES, &flag, || std::thread::sleep(Duration::from_secs(10)))
        });
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Interrupted);
        assert!(started.elapsed() < Duration::from_secs(2));
        assert_eq!(patiently(LONG_BYTES, &Uninterrupted, || 7).unwrap(), 7);
        let panicked = catch_unwind(|| patiently(LONG_BYTES, &Uninterrupted, || panic!("no")));
        assert!(panicked.is_err());
    }
}
