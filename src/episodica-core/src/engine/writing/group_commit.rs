//! Group commit: while one caller waits for the disk, the batches of other callers queue up, and
//! the next writer writes all of these batches with one sync.
//!
//! This adds no waiting: a batch is written as soon as no other batch is being written, together
//! with the batches that have arrived by then.

use std::sync::Arc;

use crate::sync::{Condvar, Mutex};

use crate::error::Result;
use crate::index::MessageReading;
use crate::model::NewMessage;

/// The outcome of a batch; `None` if the user was deleted and the batch is untouched.
pub(crate) type Outcome = Result<Option<StoredBatch>>;

#[derive(Debug, Default)]
pub(crate) struct StoredBatch {
    /// The id of every message, in order, known ones included.
    pub ids: Vec<String>,
    /// Number of new messages.
    pub added: usize,
    /// Number of newer versions of known messages.
    pub edited: usize,
    /// Number of messages left out because the user has deleted them.
    pub deleted: usize,
}

/// One caller's messages for the log.
#[derive(Default)]
pub(crate) struct CallerBatch {
    /// In order; the caller who writes the messages takes them.
    pub messages: Vec<NewMessage>,
    /// One per message.
    pub readings: Vec<MessageReading>,
    /// The session of messages that name none.
    pub session_id: Option<String>,
    pub outcome: Option<Outcome>,
}

/// A batch shared by its caller and the caller who writes it.
pub(crate) type SharedBatch = Arc<Mutex<CallerBatch>>;

#[derive(Default)]
pub(crate) struct ArrivalQueue {
    line: Mutex<BatchQueue>,
    moved: Condvar,
}

#[derive(Default)]
struct BatchQueue {
    waiting: Vec<SharedBatch>,
    writing: bool,
}

/// Permission to write; ends when dropped, even by a panic.
struct WriterLead<'a>(&'a ArrivalQueue);

impl Drop for WriterLead<'_> {
    fn drop(&mut self) {
        self.0.line.lock().writing = false;
        self.0.moved.notify_all();
    }
}

impl ArrivalQueue {
    /// Submits a batch and waits until it is written, by this `write` or by another caller's.
    /// `write` sets the outcome of every batch that it gets.
    pub(crate) fn submit_and_wait(
        &self,
        batch: CallerBatch,
        write: impl FnOnce(&[SharedBatch]),
    ) -> SharedBatch {
        let batch = Arc::new(Mutex::new(batch));
        let mut line = self.line.lock();
        line.waiting.push(Arc::clone(&batch));
        while line.writing {
            self.moved.wait(&mut line);
            if batch.lock().outcome.is_some() {
                return batch;
            }
        }
        line.writing = true;
        let due = std::mem::take(&mut line.waiting);
        drop(line);
        let lead = WriterLead(self);
        write(&due);
        drop(lead);
        batch
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn batches_that_wait_are_written_together() {
        let arrivals = ArrivalQueue::default();
        let (writes, written) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let write = |due: &[SharedBatch]| {
            writes.fetch_add(1, Ordering::SeqCst);
            // The first write lasts until all other callers wait.
            while written.load(Ordering::SeqCst) == 0 && arrivals.line.lock().waiting.len() < 7 {
                std::thread::yield_now();
            }
            due.iter()
                .for_each(|batch| batch.lock().outcome = Some(Ok(Some(StoredBatch::default()))));
            written.fetch_add(due.len(), Ordering::SeqCst);
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    assert!(
                        arrivals
                            .submit_and_wait(CallerBatch::default(), write)
                            .lock()
                            .outcome
                            .is_some()
                    )
                });
            }
        });
        assert_eq!((writes.into_inner(), written.into_inner()), (2, 8));
    }
}
