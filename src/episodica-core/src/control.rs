//! How a caller stops long work, and how long work says how far it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::error::{Error, ErrorKind, Result};

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
