//! The open users: opening, eviction, removal.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::sync::Mutex;

use crate::control::CallControl;
use crate::engine::callback_guard::called_inside;
use crate::engine::memory::follow::LogFreshness;
use crate::engine::memory::turn::{FormingTurn, FormingTurns};
use crate::engine::memory::user::UserMemory;
use crate::engine::services::EngineServices;
use crate::engine::user::{OpenUser, UserGuard};
use crate::error::{Error, ErrorKind, Result};

/// Share of the memory budget for open users. The rest covers shared tables, compiled expressions,
/// Python, and fragmentation after users were opened and closed. Measured with users of 1 and of
/// 100 messages.
const SHARE_OF_USERS: (usize, usize) = (1, 2);

/// Whether to create a user without records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingUser {
    Create,
    Ignore,
}

pub(crate) enum FoundUser {
    /// Open already.
    Open(UserGuard),
    /// Opened by this call: an earlier process may have left work. The second guard belongs to the
    /// outdated open user that was replaced, if any.
    Opened(UserGuard, Option<UserGuard>),
    /// Open already; another process has added records.
    Followed(UserGuard),
    /// Without records.
    Nobody,
}

/// The open users.
///
/// Opening, erasing and evicting a user each hold the [`UserCell`] of that user, so that a user is
/// never loaded twice and no other user waits for it. A thread holds at most one cell, and takes it
/// before any lock of the user. The locks of the fields are held for a look-up only; under them,
/// only the count of guards is locked.
#[derive(Default)]
pub(crate) struct UserRegistry {
    users: Mutex<HashMap<String, Arc<OpenUser>>>,
    /// True once no user can be opened any more; set under the lock of `users`.
    closed: AtomicBool,
    /// The cells that are held or waited for.
    cells: Mutex<HashMap<String, Arc<FormingTurns>>>,
    ticks: AtomicU64,
    /// Bytes of all open users.
    memory: Arc<AtomicUsize>,
    /// Users whose snapshots must not be read.
    distrusted: Mutex<HashSet<String>>,
}

impl UserRegistry {
    /// Returns a user with the present records: opens it if necessary, and opens it again if
    /// records were removed.
    ///
    /// # Errors
    /// `Io`; `EmbeddingMismatch`; `Interrupted`.
    pub fn open_user(
        &self,
        services: &EngineServices,
        user_id: &str,
        missing: MissingUser,
        control: &dyn CallControl,
    ) -> Result<FoundUser> {
        let owner = services.owner_of(user_id)?;
        let stale = match self.get(user_id) {
            Some(user) => match user.refresh_view(&services.indexing_settings(), control)? {
                LogFreshness::Current => return Ok(FoundUser::Open(user)),
                LogFreshness::Followed => return Ok(FoundUser::Followed(user)),
                LogFreshness::Outdated => Some(user),
            },
            None => None,
        };
        let cell = self.user_cell(user_id);
        let turn = cell.take_turn(control)?;
        // Another thread may have opened the user meanwhile.
        let current = self.get(user_id);
        if let Some(user) =
            current.filter(|user| !stale.as_ref().is_some_and(|stale| stale.is_same(user)))
        {
            return Ok(FoundUser::Open(user));
        }
        if missing == MissingUser::Ignore && !services.store.has_files(&owner)? {
            stale.iter().for_each(UserGuard::give_up);
            self.forget_user(user_id);
            return Ok(FoundUser::Nobody);
        }
        let outdated = stale.as_ref().map(|stale| &***stale);
        outdated.iter().for_each(|stale| stale.store.let_go());
        let trusted = !self.distrusted.lock().contains(user_id);
        let indexing = services.indexing_settings();
        let memory =
            UserMemory::open(&services.store, owner, &indexing, outdated, trusted, control)?;
        let user = Arc::new(OpenUser::new(memory, &self.memory));
        stale.iter().for_each(|stale| user.uses.add_counts(stale.uses.take_counts()));
        let guard = UserGuard::new(&user);
        self.touch_user(&user);
        {
            let mut users = self.users.lock();
            if self.closed.load(Ordering::SeqCst) {
                return Err(Error::new(ErrorKind::Closed, "the memory system is closed"));
            }
            users.insert(user_id.to_owned(), user);
        }
        stale.iter().for_each(UserGuard::give_up);
        drop(turn);
        self.evict_users(services);
        Ok(FoundUser::Opened(guard, stale))
    }

    pub fn get(&self, user_id: &str) -> Option<UserGuard> {
        let users = self.users.lock();
        let user = users.get(user_id)?;
        self.touch_user(user);
        Some(UserGuard::new(user))
    }

    pub fn open_users(&self) -> Vec<UserGuard> {
        self.users.lock().values().map(UserGuard::new).collect()
    }

    /// The cell of a user, open or not.
    pub fn user_cell(&self, user_id: &str) -> UserCell<'_> {
        let mut cells = self.cells.lock();
        let turns = Arc::clone(cells.entry(user_id.to_owned()).or_default());
        UserCell { users: self, user_id: user_id.to_owned(), turns }
    }

    /// Takes a user out of memory; the next call opens it again.
    pub fn forget_user(&self, user_id: &str) -> Option<Arc<OpenUser>> {
        self.users.lock().remove(user_id)
    }

    /// Puts back a user that was taken out. The caller holds the cell.
    pub fn put_back(&self, user: Arc<OpenUser>) {
        self.users.lock().insert(user.owner.user.clone(), user);
    }

    /// Takes all users out of memory; none can be opened again.
    pub fn close_users(&self) -> Vec<Arc<OpenUser>> {
        let mut users = self.users.lock();
        self.closed.store(true, Ordering::SeqCst);
        users.drain().map(|(_, user)| user).collect()
    }

    /// Closes users with a damaged snapshot, so that the next call reads their logs. A user in use
    /// stays open; a later call that meets the damage closes it.
    pub fn leave_unsound(&self, services: &EngineServices) {
        let unsound = self.open_users().into_iter().filter(|user| user.is_unsound());
        for owner in unsound.map(|user| user.owner.clone()) {
            log::warn!("ignoring a snapshot that another program changed");
            self.distrusted.lock().insert(owner.user.clone());
            // A read-only engine can't remove it; that is harmless.
            let _ = services.store.remove_segment(&owner);
            self.close_idle(&owner.user, |_| ());
        }
    }

    pub fn len(&self) -> usize {
        self.users.lock().len()
    }

    pub fn memory_bytes(&self) -> usize {
        self.memory.load(Ordering::Relaxed)
    }

    /// True while half of the memory for users is free: a user with waiting work can't be closed.
    pub fn has_room(&self, services: &EngineServices) -> bool {
        self.memory_bytes() < budget_of(services) / 2
    }

    fn touch_user(&self, user: &OpenUser) {
        user.last_used.store(self.ticks.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Closes the least recently used users without a guard until a tenth of the budget is free, so
    /// that not every opening has to evict.
    fn evict_users(&self, services: &EngineServices) {
        let (budget, before) = (budget_of(services), self.memory_bytes());
        if before <= budget {
            return;
        }
        let mut oldest: Vec<(u64, String)> = {
            let users = self.users.lock();
            let used = |user: &Arc<OpenUser>| user.last_used.load(Ordering::Relaxed);
            users.iter().map(|(id, user)| (used(user), id.clone())).collect()
        };
        oldest.sort_unstable();
        for (_, id) in oldest {
            if self.memory_bytes() <= budget - budget / 10 {
                break;
            }
            self.close_idle(&id, |idle| {
                if idle
                    .save_for_next_opening(&services.store, &services.indexing_settings())
                    .is_err()
                {
                    // Without the cache the next opening computes the vectors again.
                    services.counters.embedding_failures.fetch_add(1, Ordering::Relaxed);
                }
                services.counters.evictions.fetch_add(1, Ordering::Relaxed);
                log::debug!(
                    "the least recently used user was closed to keep within the memory budget"
                );
            });
        }
        // A heap in which many small users came and went is mostly holes.
        if before.saturating_sub(self.memory_bytes()) >= budget / 20 {
            episodica_simd::release_freed();
        }
    }

    /// Closes a user without a guard, unless another thread opens, erases or evicts this user.
    fn close_idle(&self, user_id: &str, save: impl FnOnce(&OpenUser)) {
        let cell = self.user_cell(user_id);
        let Some(_turn) = cell.turns.try_take() else { return };
        let idle = {
            let mut users = self.users.lock();
            // Guards are created only under this lock.
            let is_free = users.get(user_id).is_some_and(|user| user.is_free());
            is_free.then(|| users.remove(user_id)).flatten()
        };
        if let Some(idle) = idle {
            save(&idle);
        }
    }
}

/// The part of the memory budget that users may take.
fn budget_of(services: &EngineServices) -> usize {
    services.config.memory_budget_bytes / SHARE_OF_USERS.1 * SHARE_OF_USERS.0
}

/// The right to open, erase or evict one user. The cell exists while a thread holds it or waits for
/// it.
pub(crate) struct UserCell<'a> {
    users: &'a UserRegistry,
    user_id: String,
    turns: Arc<FormingTurns>,
}

impl UserCell<'_> {
    /// Waits for the cell.
    ///
    /// # Errors
    /// `Interrupted`; `InvalidInput` from a callable that a holder of any cell waits for: two
    /// holders would otherwise wait for each other.
    pub fn take_turn(&self, control: &dyn CallControl) -> Result<FormingTurn<'_>> {
        if self.users.cells.lock().values().any(|turns| turns.is_held_here()) {
            return Err(called_inside("an operation that opens or erases a user"));
        }
        self.turns.take_turn(control)
    }
}

impl Drop for UserCell<'_> {
    fn drop(&mut self) {
        let mut cells = self.users.cells.lock();
        // This cell has one reference, the map the other.
        if Arc::strong_count(&self.turns) == 2 {
            cells.remove(&self.user_id);
        }
    }
}
