//! The state of a user in the queue of background work.

use std::sync::atomic::AtomicBool;

use crate::sync::Mutex;

/// A user's entry in the queue.
#[derive(Debug, Default)]
pub(crate) struct QueueSlot {
    pub standing: Mutex<WorkStatus>,
    /// True while the user is being deleted: work under way stops.
    pub leaving: AtomicBool,
}

/// The state of a user's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum WorkStatus {
    /// Nothing to do.
    #[default]
    Idle,
    /// In the queue.
    Queued,
    /// A thread is at work.
    Running,
    /// A thread is at work, and new work has arrived.
    Again,
}
