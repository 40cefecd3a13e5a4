//! Limits the concurrent calls of a model.

use std::time::Duration;

use crate::sync::{Condvar, Mutex, MutexGuard};

use crate::control::CallControl;
use crate::error::Result;

/// How often a waiting thread checks its `control`.
const PATIENCE: Duration = Duration::from_millis(50);

/// Admits a fixed number of calls at a time.
pub(crate) struct CallGate {
    free: Mutex<usize>,
    left: Condvar,
}

/// Permission for one call; returned when dropped.
pub(crate) struct CallPermit<'a>(&'a CallGate);

impl CallGate {
    pub fn new(calls: usize) -> Self {
        Self { free: Mutex::new(calls), left: Condvar::new() }
    }

    /// Waits for permission to make a call.
    ///
    /// # Errors
    /// The error of `control` when the caller gives up.
    pub fn acquire_permit(&self, control: &dyn CallControl) -> Result<CallPermit<'_>> {
        let mut free = self.free.lock();
        while *free == 0 {
            self.left.wait_for(&mut free, PATIENCE);
            if *free == 0 {
                MutexGuard::unlocked(&mut free, || control.check())?;
            }
        }
        *free -= 1;
        Ok(CallPermit(self))
    }
}

impl Drop for CallPermit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.left.notify_one();
    }
}
