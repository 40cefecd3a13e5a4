//! Background computation of values that are needed soon.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

use crate::control::{CallControl, outcome_of};
use crate::error::Result;
use crate::parallel;

/// Processes items in the background: on one thread while the caller does other work, and on all
/// cores once the caller waits. Dropping this does not stop the work, but loses the result.
pub(crate) struct Prefetch<R> {
    is_awaited: Arc<AtomicBool>,
    outcome: Receiver<std::thread::Result<Vec<R>>>,
}

impl<R: Send + 'static> Prefetch<R> {
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

    /// Returns the results in the order of the items.
    ///
    /// # Errors
    /// The error of `control` when the caller gives up.
    pub(crate) fn wait(self, control: &dyn CallControl) -> Result<Vec<R>> {
        self.is_awaited.store(true, Ordering::Relaxed);
        outcome_of(&self.outcome, control)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::control::{CancelFlag, Uninterrupted};
    use crate::error::ErrorKind;

    #[test]
    fn what_is_made_ahead_comes_in_order_whenever_it_is_asked_for() {
        for pause in [0, 5] {
            let slow = |item: u64| {
                std::thread::sleep(Duration::from_micros(item % 7 * 100));
                2 * item
            };
            let ahead = Prefetch::new((0..60).collect(), slow);
            std::thread::sleep(Duration::from_millis(pause));
            let made = ahead.wait(&Uninterrupted).unwrap();
            assert!(made.into_iter().eq((0..60).map(|item| 2 * item)));
        }
        let flag = CancelFlag::default();
        flag.cancel();
        let long = |_| std::thread::sleep(Duration::from_secs(10));
        let outcome = Prefetch::new(vec![0], long).wait(&flag);
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Interrupted);
    }
}
