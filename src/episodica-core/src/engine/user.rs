//! A user who is open: their memory, and the state that each verb keeps beside it.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::sync::{Condvar, Mutex};

use crate::control::Control;
use crate::engine::asking::notes::Notes;
use crate::engine::background::snapshots::Taken;
use crate::engine::background::standing::Place;
use crate::engine::memory::user::UserMemory;
use crate::engine::reading::recall::Recalled;
use crate::engine::writing::group_commit::Arrivals;
use crate::engine::writing::progress::Progress;
use crate::error::Result;

/// Bytes of a user without any record: logs, tables, locks. Measured.
const BYTES_PER_USER: usize = 9_900;

/// How often a thread that waits for a user checks its `control`.
const PATIENCE: Duration = Duration::from_millis(50);

/// An open user.
pub(crate) struct User {
    memory: UserMemory,
    /// Batches of messages on their way to the log.
    pub arrivals: Arrivals,
    /// How far boundary detection has read.
    pub progress: Progress,
    /// Files with answers and traces of models.
    pub notes: Mutex<Notes>,
    /// Lines that were handed out as context.
    pub recalled: Mutex<Recalled>,
    /// Place in the queue of background work.
    pub place: Place,
    /// The last snapshot that was taken while the user was open.
    pub last_snapshot: Mutex<Option<Taken>>,
    /// For eviction: when the user was last asked for.
    pub last_used: AtomicU64,
    holders: Arc<Holders>,
    size: Size,
}

impl User {
    /// `total` counts the bytes of all open users.
    pub fn new(memory: UserMemory, total: &Arc<AtomicUsize>) -> Self {
        let user = Self {
            memory,
            arrivals: Arrivals::default(),
            progress: Progress::default(),
            notes: Mutex::default(),
            recalled: Mutex::default(),
            place: Place::default(),
            last_snapshot: Mutex::default(),
            last_used: AtomicU64::new(0),
            holders: Arc::default(),
            size: Size { own: AtomicUsize::new(0), total: Arc::clone(total) },
        };
        user.measure();
        user
    }

    /// Size in memory, in bytes, when last measured.
    pub fn heap_bytes(&self) -> usize {
        self.size.own.load(Ordering::Relaxed)
    }

    /// Measures the size.
    pub fn measure(&self) {
        self.size.set(self.view.read().heap_bytes() + BYTES_PER_USER);
    }

    /// True if no guard is held.
    pub fn is_free(&self) -> bool {
        *self.holders.count.lock() == 0
    }

    /// Waits until no guard is held.
    ///
    /// # Errors
    /// What `control` says when the caller gives up.
    pub fn wait_until_free(&self, control: &dyn Control) -> Result<()> {
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

impl Deref for User {
    type Target = UserMemory;

    fn deref(&self) -> &UserMemory {
        &self.memory
    }
}

/// The number of guards of one user.
#[derive(Debug, Default)]
struct Holders {
    count: Mutex<usize>,
    freed: Condvar,
}

/// Keeps a user open: while a guard exists the user is neither evicted nor deleted.
pub(crate) struct UserGuard {
    user: Arc<User>,
    // Dropped after `user`, so that who sees no guard also sees no reference.
    hold: Hold,
}

struct Hold(Arc<Holders>);

impl Hold {
    fn new(holders: &Arc<Holders>) -> Self {
        *holders.count.lock() += 1;
        Self(Arc::clone(holders))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut count = self.0.count.lock();
        *count -= 1;
        if *count == 0 {
            self.0.freed.notify_all();
        }
    }
}

impl UserGuard {
    pub fn new(user: &Arc<User>) -> Self {
        Self { hold: Hold::new(&user.holders), user: Arc::clone(user) }
    }

    /// A reference that does not keep the user open.
    pub fn downgrade(&self) -> std::sync::Weak<User> {
        Arc::downgrade(&self.user)
    }

    /// Stops what works on a user whose view is outdated: nothing of it may be written any more.
    pub fn give_up(&self) {
        self.place.leaving.store(true, Ordering::SeqCst);
        self.notes.lock().close_for_good();
    }

    /// Do both guard the same open user?
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.user, &other.user)
    }
}

impl Clone for UserGuard {
    fn clone(&self) -> Self {
        Self { user: Arc::clone(&self.user), hold: Hold::new(&self.hold.0) }
    }
}

impl Deref for UserGuard {
    type Target = User;

    fn deref(&self) -> &User {
        &self.user
    }
}

/// The size of a user, as part of the size of all.
struct Size {
    own: AtomicUsize,
    total: Arc<AtomicUsize>,
}

impl Size {
    fn set(&self, bytes: usize) {
        let before = self.own.swap(bytes, Ordering::Relaxed);
        self.total.fetch_add(bytes, Ordering::Relaxed);
        self.total.fetch_sub(before, Ordering::Relaxed);
    }
}

impl Drop for Size {
    fn drop(&mut self) {
        self.set(0);
    }
}
