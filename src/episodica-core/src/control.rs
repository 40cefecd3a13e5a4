//! How a caller stops long work, and how long work says how far it is.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::parallel;

/// Passed into every operation that may last: asked often (at least every 100 ms of work), and told
/// of progress.
///
/// The Python boundary implements it with a check for signals; an async task with a flag.
pub trait Control: Send + Sync {
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

impl Control for Uninterrupted {}

/// Another control with a deadline for calls to servers.
pub struct Until<'a> {
    inner: &'a dyn Control,
    deadline: Instant,
}

impl<'a> Until<'a> {
    /// Everything as `inner` says, but for the deadline.
    pub fn new(inner: &'a dyn Control, deadline: Instant) -> Self {
        Self { inner, deadline }
    }
}

impl Control for Until<'_> {
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
    control: &dyn Control,
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
fn outcome_of<T>(outcome: &Receiver<std::thread::Result<T>>, control: &dyn Control) -> Result<T> {
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

/// What is made of items that are needed later: one after the other on one thread, and on all once
/// somebody waits for them. So it takes a core that whoever is at work meanwhile does not need.
/// Whoever does not wait leaves it behind.
pub(crate) struct Ahead<R> {
    is_awaited: Arc<AtomicBool>,
    outcome: Receiver<std::thread::Result<Vec<R>>>,
}

impl<R: Send + 'static> Ahead<R> {
    pub(crate) fn new<T: Send + 'static>(
        items: Vec<T>,
        make: impl Fn(T) -> R + Sync + Send + 'static,
    ) -> Self {
        let (done, outcome) = sync_channel(1);
        let is_awaited = Arc::new(AtomicBool::new(false));
        let awaited = Arc::clone(&is_awaited);
        let work = move || {
            let (mut items, mut made) = (items.into_iter(), Vec::new());
            while !awaited.load(Ordering::Relaxed)
                && let Some(item) = items.next()
            {
                made.push(make(item));
            }
            made.extend(parallel::map(items.collect(), 1, make));
            made
        };
        parallel::spawn(move || {
            let _ = done.send(catch_unwind(AssertUnwindSafe(work)));
        });
        Self { is_awaited, outcome }
    }

    /// Waits for all of them, in the order of their items.
    ///
    /// # Errors
    /// What `control` says when the caller gives up.
    pub(crate) fn wait(self, control: &dyn Control) -> Result<Vec<R>> {
        self.is_awaited.store(true, Ordering::Relaxed);
        outcome_of(&self.outcome, control)
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

impl Control for CancelFlag {
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

    #[test]
    fn what_is_made_ahead_comes_in_order_whenever_it_is_asked_for() {
        for pause in [0, 5] {
            let slow = |item: u64| {
                std::thread::sleep(Duration::from_micros(item % 7 * 100));
                2 * item
            };
            let ahead = Ahead::new((0..60).collect(), slow);
            std::thread::sleep(Duration::from_millis(pause));
            let made = ahead.wait(&Uninterrupted).unwrap();
            assert!(made.into_iter().eq((0..60).map(|item| 2 * item)));
        }
        let flag = CancelFlag::default();
        flag.cancel();
        let long = |_| std::thread::sleep(Duration::from_secs(10));
        let outcome = Ahead::new(vec![0], long).wait(&flag);
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Interrupted);
    }
}
