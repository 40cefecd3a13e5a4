//! One user's memory: logs, view, and the locks of those who change them.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::engine::memory::snapshot::Positions;
use crate::engine::memory::turn::Turns;
use crate::engine::memory::view::View;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::Owner;
use crate::model::Problem;
use crate::store::UserStore;

/// The records of one user, in memory and on disk.
///
/// Locks are taken in this order: [`turns`](Self::turns), [`writer`](Self::writer),
/// [`view`](Self::view).
pub(crate) struct UserMemory {
    pub owner: Owner,
    pub store: UserStore,
    /// Who forms, updates or deletes records now. May be held across an embedding or a model call.
    pub turns: Turns,
    /// Held from a record's place in the log to its place in the view. Never held across an
    /// embedding.
    pub writer: Mutex<WriterState>,
    pub view: RwLock<View>,
    /// Damage found in the files at opening.
    pub problems: Vec<Problem>,
    /// True if vectors were added or removed since the caches were written.
    pub(super) vectors_changed: AtomicBool,
    /// How far the logs reached when the snapshot on disk was made; `None` without a valid one.
    pub(super) snapshot: Mutex<Option<Positions>>,
}

/// State behind the writer's lock.
pub(crate) struct WriterState {
    /// Number of the next message.
    pub next_seq: u64,
    /// Set when the user is deleted or the engine closed: nothing may be written any more.
    pub gone: bool,
}

/// A user's view and what opening learned about it.
pub(super) struct Opened {
    pub view: View,
    pub next_seq: u64,
    pub problems: Vec<Problem>,
    pub vectors_changed: bool,
    pub snapshot: Option<Positions>,
}

impl UserMemory {
    pub(super) fn new(owner: Owner, store: UserStore, opened: Opened) -> Self {
        Self {
            owner,
            store,
            turns: Turns::default(),
            writer: Mutex::new(WriterState { next_seq: opened.next_seq, gone: false }),
            view: RwLock::new(opened.view),
            problems: opened.problems,
            vectors_changed: AtomicBool::new(opened.vectors_changed),
            snapshot: Mutex::new(opened.snapshot),
        }
    }

    /// The writer's lock.
    ///
    /// # Errors
    /// `Closed` if the user was deleted or the engine closed in the meantime.
    pub fn lock_writer(&self) -> Result<MutexGuard<'_, WriterState>> {
        let writer = self.writer.lock();
        if writer.gone {
            return Err(Error::new(ErrorKind::Closed, "the memory system was closed meanwhile"));
        }
        Ok(writer)
    }

    /// Marks the vector caches as out of date.
    pub fn note_change(&self) {
        self.vectors_changed.store(true, Ordering::SeqCst);
    }
}
