//! The open users: opening, eviction, forgetting.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::sync::Mutex;

use crate::control::CallControl;
use crate::engine::memory::follow::LogFreshness;
use crate::engine::memory::turn::{FormingTurn, FormingTurns};
use crate::engine::memory::user::UserMemory;
use crate::engine::services::EngineServices;
use crate::engine::user::{OpenUser, UserGuard};
use crate::error::{Error, ErrorKind, Result};

/// Share of the budget that users may take: the rest is for what all of them use (tables, compiled
/// expressions, Python), and for what lies idle between the blocks of users who were opened and
/// closed. Measured with users of 1 and of 100 messages.
const SHARE_OF_USERS: (usize, usize) = (1, 2);

/// What to do about a user without records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingUser {
    Create,
    Ignore,
}

/// A user that was asked for.
pub(crate) enum FoundUser {
    /// Open already.
    Open(UserGuard),
    /// Opened by this call: work may be left from before. The second is who was given up for it.
    Opened(UserGuard, Option<UserGuard>),
    /// Open already; another process has added records.
    Followed(UserGuard),
    /// Without records.
    Nobody,
}

/// The users that are open.
#[derive(Default)]
pub(crate) struct UserRegistry {
    users: Mutex<HashMap<String, Arc<OpenUser>>>,
    /// Set under the lock of `users`: no user is opened any more.
    closed: AtomicBool,
    /// One opening at a time, so that a user is never loaded twice.
    opening: FormingTurns,
    ticks: AtomicU64,
    /// Bytes of all open users.
    memory: Arc<AtomicUsize>,
    /// Users whose snapshots are not read.
    distrusted: Mutex<HashSet<String>>,
}

impl UserRegistry {
    /// A user as the logs are now: opened if need be, and anew when records were taken out.
    ///
    /// # Errors
    /// `Io`; `EmbeddingMismatch`; `Interrupted`.
    pub fn open(
        &self,
        services: &EngineServices,
        user_id: &str,
        missing: MissingUser,
        control: &dyn CallControl,
    ) -> Result<FoundUser> {
        let owner = services.owner(user_id)?;
        let stale = match self.get(user_id) {
            Some(user) => match user.refresh(&services.indexing(), control)? {
                LogFreshness::Current => return Ok(FoundUser::Open(user)),
                LogFreshness::Followed => return Ok(FoundUser::Followed(user)),
                LogFreshness::Outdated => Some(user),
            },
            None => None,
        };
        let _turn = self.opening.take(control)?;
        // Another thread may have opened or refreshed the user in between.
        let current = self.get(user_id);
        if let Some(user) =
            current.filter(|user| !stale.as_ref().is_some_and(|stale| stale.is_same(user)))
        {
            return Ok(FoundUser::Open(user));
        }
        if missing == MissingUser::Ignore && !services.store.has_files(&owner)? {
            stale.iter().for_each(UserGuard::give_up);
            self.forget(user_id);
            return Ok(FoundUser::Nobody);
        }
        let outdated = stale.as_ref().map(|stale| &***stale);
        outdated.iter().for_each(|stale| stale.store.let_go());
        let trusted = !self.distrusted.lock().contains(user_id);
        let indexing = services.indexing();
        let memory =
            UserMemory::open(&services.store, owner, &indexing, outdated, trusted, control)?;
        let user = Arc::new(OpenUser::new(memory, &self.memory));
        stale.iter().for_each(|stale| user.uses.add(stale.uses.take()));
        let guard = UserGuard::new(&user);
        self.touch(&user);
        {
            let mut users = self.users.lock();
            if self.closed.load(Ordering::SeqCst) {
                return Err(Error::new(ErrorKind::Closed, "the memory system is closed"));
            }
            users.insert(user_id.to_owned(), user);
        }
        stale.iter().for_each(UserGuard::give_up);
        self.evict(services);
        Ok(FoundUser::Opened(guard, stale))
    }

    /// A user, if open.
    pub fn get(&self, user_id: &str) -> Option<UserGuard> {
        let users = self.users.lock();
        let user = users.get(user_id)?;
        self.touch(user);
        Some(UserGuard::new(user))
    }

    /// All open users.
    pub fn all(&self) -> Vec<UserGuard> {
        self.users.lock().values().map(UserGuard::new).collect()
    }

    /// Keeps everybody from opening users while it is held.
    ///
    /// # Errors
    /// `Interrupted`.
    pub fn hold_openings(&self, control: &dyn CallControl) -> Result<FormingTurn<'_>> {
        self.opening.take(control)
    }

    /// Takes a user out of memory; the next call opens them again.
    pub fn forget(&self, user_id: &str) -> Option<Arc<OpenUser>> {
        self.users.lock().remove(user_id)
    }

    /// Takes back a user who was forgotten. The caller holds the openings.
    pub fn put_back(&self, user: Arc<OpenUser>) {
        self.users.lock().insert(user.owner.user.clone(), user);
    }

    /// Takes all users out of memory, for good.
    pub fn close(&self) -> Vec<Arc<OpenUser>> {
        let mut users = self.users.lock();
        self.closed.store(true, Ordering::SeqCst);
        users.drain().map(|(_, user)| user).collect()
    }

    /// Closes users whose snapshots are damaged, so that the next call reads their logs.
    /// Users in use stay until the next call.
    pub fn leave_unsound(&self, services: &EngineServices) {
        let mut users = self.users.lock();
        users.retain(|user_id, user| {
            if !user.is_unsound() {
                return true;
            }
            log::warn!("the snapshot of a user was changed by another program and is left aside");
            self.distrusted.lock().insert(user_id.clone());
            // A reader's attempt fails; it does not need to succeed.
            let _ = services.store.remove_snapshot(&user.owner);
            !user.is_free()
        });
    }

    /// How many users are open.
    pub fn len(&self) -> usize {
        self.users.lock().len()
    }

    /// Bytes of all open users.
    pub fn memory_bytes(&self) -> usize {
        self.memory.load(Ordering::Relaxed)
    }

    fn touch(&self, user: &OpenUser) {
        user.last_used.store(self.ticks.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Closes the least recently used users without a guard until a tenth of the budget is free,
    /// so that not every opening has to evict.
    fn evict(&self, services: &EngineServices) {
        let budget = services.config.memory_budget_bytes / SHARE_OF_USERS.1 * SHARE_OF_USERS.0;
        if self.memory_bytes() <= budget {
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
                return;
            }
            let idle = {
                let mut users = self.users.lock();
                // Guards are only made under this lock.
                let is_free = users.get(&id).is_some_and(|user| user.is_free());
                is_free.then(|| users.remove(&id)).flatten()
            };
            let Some(idle) = idle else { continue };
            if idle.save_for_next_opening(&services.store, &services.indexing()).is_err() {
                // Without the cache the next opening embeds again: slower, not wrong.
                services.counters.embedding_failures.fetch_add(1, Ordering::Relaxed);
            }
            services.counters.evictions.fetch_add(1, Ordering::Relaxed);
            log::debug!("the least recently used user was closed to keep within the memory budget");
        }
    }
}
