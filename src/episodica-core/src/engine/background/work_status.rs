//! The state of a user in the queue of background work.

use std::sync::atomic::AtomicBool;

use crate::sync::Mutex;

#[derive(Debug, Default)]
pub(crate) struct QueueSlot {
    pub standing: Mutex<WorkStatus>,
    /// True while the user is being deleted: work under way stops.
    pub leaving: AtomicBool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum WorkStatus {
    #[default]
    Idle,
    Queued,
    Running,
    /// A thread is at work, and new work has arrived.
    Again,
}

/// How far a user's backlog was processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkOutcome {
    Done,
    /// Other users wait: the rest of the work is queued after their work.
    More,
    /// A few messages wait for more, so that one request embeds them all.
    Lingers,
    /// The rest needs a model that fails at present.
    NeedsModel,
    /// Something failed that may succeed later.
    Failed,
}
