//! One user's memory: logs, view, and the locks of its writers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::sync::{Mutex, RwLock};

use crate::engine::memory::follow::ArrivedRecords;
use crate::engine::memory::segment::WrittenSegment;
use crate::engine::memory::turn::FormingTurns;
use crate::engine::memory::uses::UnsavedUses;
use crate::engine::memory::view::UserView;
use crate::ids::Owner;
use crate::model::StoreProblem;
use crate::store::UserStore;

/// The records of one user, in memory and on disk.
///
/// Locks are taken in this order: [`turns`](Self::turns), [`writer`](Self::writer), the lock file
/// that all processes share, [`following`](Self::following), [`view`](Self::view).
pub(crate) struct UserMemory {
    pub owner: Owner,
    pub store: UserStore,
    /// Taken to form, update or delete records. May be held across an embedding or a model call.
    pub turns: FormingTurns,
    /// Held from appending a record to the log until it is in the view. Never held across an
    /// embedding.
    pub writer: Mutex<WriterState>,
    pub view: RwLock<UserView>,
    /// Held while records of other processes enter the view.
    pub(super) following: Mutex<()>,
    /// The number of the next message according to the lines of other processes.
    pub(super) followed_seq: AtomicU64,
    /// How often records were changed in a step, while others may have waited for a model.
    pub(super) steps: AtomicU64,
    /// How many episodes came from other processes or were changed in steps; and how many facts and
    /// notes of learning.
    pub(super) foreign_episodes: AtomicU64,
    pub(super) foreign_facts: AtomicU64,
    /// Records of other processes that may lack a vector.
    pub(super) arrived: Mutex<ArrivedRecords>,
    pub(super) has_arrived: AtomicBool,
    /// True if the logs no longer continue the view: the user must be opened again.
    pub(super) outdated: AtomicBool,
    /// Counts of record uses that have not been written to the file yet.
    pub uses: UnsavedUses,
    /// Damage found in the files at opening.
    pub problems: Vec<StoreProblem>,
    /// True if vectors were added or removed since the segment was written.
    pub(super) vectors_changed: AtomicBool,
    /// The segment on disk; `None` if this view neither came from it nor wrote it.
    pub(super) segment: Mutex<Option<WrittenSegment>>,
}

pub(crate) struct WriterState {
    /// Number of the next message.
    pub next_seq: u64,
    /// Set when the user is deleted or the engine closed: nothing may be written any more.
    pub gone: bool,
}

/// A user's view, with the results of opening.
pub(super) struct OpenedView {
    pub view: UserView,
    pub next_seq: u64,
    pub problems: Vec<StoreProblem>,
    pub vectors_changed: bool,
    pub segment: Option<WrittenSegment>,
}

impl UserMemory {
    pub(super) fn new(owner: Owner, store: UserStore, opened: OpenedView) -> Self {
        Self {
            owner,
            store,
            turns: FormingTurns::default(),
            writer: Mutex::new(WriterState { next_seq: opened.next_seq, gone: false }),
            view: RwLock::new(opened.view),
            following: Mutex::default(),
            followed_seq: AtomicU64::new(opened.next_seq),
            steps: AtomicU64::default(),
            foreign_episodes: AtomicU64::default(),
            foreign_facts: AtomicU64::default(),
            arrived: Mutex::default(),
            has_arrived: AtomicBool::new(false),
            outdated: AtomicBool::new(false),
            uses: UnsavedUses::default(),
            problems: opened.problems,
            vectors_changed: AtomicBool::new(opened.vectors_changed),
            segment: Mutex::new(opened.segment),
        }
    }

    /// Notes that records are changed in a step: decisions that began before are made again. The
    /// caller has locked out other writers.
    pub fn note_step(&self, episodes: bool, facts: bool) {
        self.steps.fetch_add(1, Ordering::SeqCst);
        self.foreign_episodes.fetch_add(episodes.into(), Ordering::SeqCst);
        self.foreign_facts.fetch_add(facts.into(), Ordering::SeqCst);
    }

    /// How often records were changed in a step.
    pub fn step_count(&self) -> u64 {
        self.steps.load(Ordering::SeqCst)
    }

    /// Marks the segment as outdated.
    pub fn note_change(&self) {
        self.vectors_changed.store(true, Ordering::SeqCst);
    }
}
