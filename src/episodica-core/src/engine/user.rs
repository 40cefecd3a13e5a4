//! An open user: memory plus per-operation state.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex};

use crate::control::CallControl;
use crate::engine::asking::note_files::NoteFiles;
use crate::engine::background::work_status::QueueSlot;
use crate::engine::memory::recalled::RecalledLines;
use crate::engine::memory::user::UserMemory;
use crate::engine::writing::deleted::DeletedMarks;
use crate::engine::writing::group_commit::ArrivalQueue;
use crate::engine::writing::write_progress::WriteProgress;
use crate::error::Result;

/// Memory of a user without records: logs, tables, locks. Measured.
const BYTES_PER_USER: usize = 9_900;

/// How often a thread that waits for a user checks its `control`.
const PATIENCE: Duration = Duration::from_millis(50);

pub(crate) struct OpenUser {
    memory: UserMemory,
    /// Batches of messages on their way to the log.
    pub arrivals: ArrivalQueue,
    /// Progress of forming and learning.
    pub progress: WriteProgress,
    /// Files with answers and traces of models.
    pub notes: Mutex<NoteFiles>,
    /// Lines of contexts that were packed for this user.
    pub recalled: Mutex<RecalledLines>,
    /// Marks of the user's deleted records, for imports.
    pub deleted: DeletedMarks,
    /// The user's place in the queue of background work.
    pub place: QueueSlot,
    /// The last snapshot since the user was opened.
    pub last_snapshot: Mutex<Option<TakenSnapshot>>,
    /// Number of the last access, for eviction.
    pub last_used: AtomicU64,
    holders: Arc<HolderCount>,
    size: UserSize,
}

impl OpenUser {
    /// `total` sums the memory of all open users.
    pub fn new(memory: UserMemory, total: &Arc<AtomicUsize>) -> Self {
        let user = Self {
            memory,
            arrivals: ArrivalQueue::default(),
            progress: WriteProgress::default(),
            notes: Mutex::default(),
            recalled: Mutex::default(),
            deleted: DeletedMarks::default(),
            place: QueueSlot::default(),
            last_snapshot: Mutex::default(),
            last_used: AtomicU64::new(0),
            holders: Arc::default(),
            size: UserSize { own: AtomicUsize::new(0), total: Arc::clone(total) },
        };
        user.measure_size();
        user
    }

    /// Memory in bytes when last measured.
    pub fn heap_bytes(&self) -> usize {
        self.size.own.load(Ordering::Relaxed)
    }

    pub fn measure_size(&self) {
        self.size.set_bytes(self.view.read().heap_bytes() + BYTES_PER_USER);
    }

    /// True if no guard is held.
    pub fn is_free(&self) -> bool {
        *self.holders.count.lock() == 0
    }

    /// Waits until no guard is held.
    ///
    /// # Errors
    /// The error of `control` when the caller gives up.
    pub fn wait_until_free(&self, control: &dyn CallControl) -> Result<()> {
        let mut count = self.holders.count.lock();
        while *count > 0 {
            self.holders.freed.wait_for(&mut count, PATIENCE);
            if *count > 0 {
                crate::sync::MutexGuard::unlocked(&mut count, || control.check())?;
            }
        }
        Ok(())
    }
}

impl Deref for OpenUser {
    type Target = UserMemory;

    fn deref(&self) -> &UserMemory {
        &self.memory
    }
}

/// When a snapshot was taken, and its duration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TakenSnapshot {
    pub ended: Instant,
    pub took: Duration,
}

impl TakenSnapshot {
    pub fn has_rested(self, times: u32, now: Instant) -> bool {
        now >= self.ended + self.took * times
    }
}

#[derive(Debug, Default)]
struct HolderCount {
    count: Mutex<usize>,
    freed: Condvar,
}

/// Keeps a user open: while a guard exists, the user is neither evicted nor deleted.
pub(crate) struct UserGuard {
    user: Arc<OpenUser>,
    // Dropped after `user`: when the count is zero, no reference is left either.
    hold: UserHold,
}

struct UserHold(Arc<HolderCount>);

impl UserHold {
    fn new(holders: &Arc<HolderCount>) -> Self {
        *holders.count.lock() += 1;
        Self(Arc::clone(holders))
    }
}

impl Drop for UserHold {
    fn drop(&mut self) {
        let mut count = self.0.count.lock();
        *count -= 1;
        if *count == 0 {
            self.0.freed.notify_all();
        }
    }
}

impl UserGuard {
    pub fn new(user: &Arc<OpenUser>) -> Self {
        Self { hold: UserHold::new(&user.holders), user: Arc::clone(user) }
    }

    /// A reference that does not keep the user open.
    pub fn downgrade(&self) -> std::sync::Weak<OpenUser> {
        Arc::downgrade(&self.user)
    }

    /// Stops the work on a user whose view is outdated: none of it may be written any more.
    pub fn give_up(&self) {
        self.place.leaving.store(true, Ordering::SeqCst);
        self.notes.lock().close_for_good();
    }

    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.user, &other.user)
    }
}

impl Clone for UserGuard {
    fn clone(&self) -> Self {
        Self { user: Arc::clone(&self.user), hold: UserHold::new(&self.hold.0) }
    }
}

impl Deref for UserGuard {
    type Target = OpenUser;

    fn deref(&self) -> &OpenUser {
        &self.user
    }
}

/// Memory of a user, as a part of the total.
struct UserSize {
    own: AtomicUsize,
    total: Arc<AtomicUsize>,
}

impl UserSize {
    fn set_bytes(&self, bytes: usize) {
        let before = self.own.swap(bytes, Ordering::Relaxed);
        self.total.fetch_add(bytes, Ordering::Relaxed);
        self.total.fetch_sub(before, Ordering::Relaxed);
    }
}

impl Drop for UserSize {
    fn drop(&mut self) {
        self.set_bytes(0);
    }
}
