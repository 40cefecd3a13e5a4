//! The engine: what it is made of, which users are open, and how it ends.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use crate::clock::Clock;
use crate::config::Config;
use crate::control::Control;
use crate::embed::Embedder;
use crate::engine::asking::ask::Gate;
use crate::engine::background::queue::Work;
use crate::engine::memory::user::User;
use crate::engine::memory::view::Indexing;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::Owner;
use crate::index::VectorIndexFactory;
use crate::llm::{LanguageModel, Ledger};
use crate::score::TokenTable;
use crate::store::{Backend, Mode, Store};

/// What an engine is built from.
pub struct Parts {
    /// The store's directory.
    pub path: PathBuf,
    /// Whose users these are; `default` where nobody cares.
    pub tenant: String,
    /// The knobs.
    pub config: Config,
    /// Read only: takes no lock, writes nothing, follows what another process writes.
    pub read_only: bool,
    /// The file operations.
    pub backend: Arc<dyn Backend>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Texts to vectors.
    pub embedder: Arc<dyn Embedder>,
    /// Makes vector indexes.
    pub vectors: Arc<dyn VectorIndexFactory>,
    /// Word-by-word comparison.
    pub tokens: &'static dyn TokenTable,
    /// The model behind boundaries, episodes and statements; `None` = the rules.
    pub llm: Option<Arc<dyn LanguageModel>>,
    /// The books: what models cost. Shared with an embedder that costs, too.
    pub ledger: Arc<Ledger>,
}

/// Counters of what was dropped, degraded or rejected, for `stats` and `health`.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub embedding_failures: AtomicU64,
    pub messages_embedded: AtomicU64,
    pub searches: AtomicU64,
    pub evictions: AtomicU64,
    /// Statements that were turned down, by reason.
    pub rejected: Mutex<BTreeMap<&'static str, u64>>,
    /// What was repaired, salvaged, replaced or given up, by what.
    pub mended: Mutex<BTreeMap<&'static str, u64>>,
    /// The latest failure that work went on after.
    pub last_failure: Mutex<Option<Arc<str>>>,
}

impl Counters {
    /// Counts something that was mended.
    pub fn count(&self, what: &'static str, times: u64) {
        if times > 0 {
            *self.mended.lock().entry(what).or_default() += times;
        }
    }
}

/// The memory system. Shared freely between threads; every method takes `&self`.
pub struct Engine {
    pub(crate) config: Config,
    pub(crate) tenant: String,
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) vectors: Arc<dyn VectorIndexFactory>,
    pub(crate) tokens: &'static dyn TokenTable,
    pub(crate) counters: Counters,
    pub(crate) read_only: bool,
    pub(crate) llm: Option<Arc<dyn LanguageModel>>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) gate: Gate,
    pub(crate) work: Arc<Work>,
    /// The engine itself, for the threads that work behind the caller.
    myself: Weak<Engine>,
    users: Mutex<HashMap<String, Arc<User>>>,
    /// One opening at a time, so that a user is never loaded twice.
    opening: crate::engine::memory::turn::Turns,
    ticks: AtomicU64,
    /// What the open users take together, in bytes.
    pub(crate) memory: Arc<AtomicUsize>,
    closed: AtomicBool,
}

impl Engine {
    /// Opens or creates the store. Never touches the network.
    ///
    /// # Errors
    /// `Config` for values out of bounds, `StoreLocked` when another process writes,
    /// `UnsupportedFormat` for a newer store, `Io`.
    pub fn open(parts: Parts) -> Result<Handle> {
        parts.config.validate()?;
        // The tenant is checked before anything is created in its name.
        Owner::new(&parts.tenant, "user")?;
        let mode = if parts.read_only { Mode::ReadOnly } else { Mode::ReadWrite };
        let store = Store::open_on(parts.backend, &parts.path, mode, &*parts.clock)?;
        Ok(Handle(Arc::new_cyclic(|myself| Self {
            gate: Gate::new(parts.config.llm_concurrency),
            work: Arc::default(),
            myself: Weak::clone(myself),
            llm: parts.llm,
            ledger: parts.ledger,
            config: parts.config,
            tenant: parts.tenant,
            store,
            clock: parts.clock,
            embedder: parts.embedder,
            vectors: parts.vectors,
            tokens: parts.tokens,
            counters: Counters::default(),
            read_only: parts.read_only,
            users: Mutex::default(),
            opening: crate::engine::memory::turn::Turns::default(),
            ticks: AtomicU64::new(0),
            memory: Arc::default(),
            closed: AtomicBool::new(false),
        })))
    }

    /// Is work done behind the caller? It is as soon as some of it may have to wait for others.
    pub(crate) fn works_behind(&self) -> bool {
        self.llm.is_some() || !self.embedder.is_local()
    }

    /// Sees to it that what is to be done for a user is done, behind the caller.
    pub(crate) fn enqueue(&self, user: &Arc<User>) {
        self.work.enqueue(&self.myself, self.config.llm_concurrency, user);
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The store's directory.
    pub fn path(&self) -> &std::path::Path {
        self.store.layout().root()
    }

    /// Ids of all users with records, sorted.
    ///
    /// # Errors
    /// `Io`; `Closed`.
    pub fn users(&self) -> Result<Vec<String>> {
        self.check_open()?;
        let mut users = self.store.users(&self.tenant)?;
        users.sort();
        Ok(users)
    }

    /// Refuses further calls, waits up to `timeout` for work under way, and writes the caches.
    /// Doing it twice is fine.
    ///
    /// # Errors
    /// `Io` when a cache can't be written; the logs are safe all the same.
    pub fn close(&self, timeout: Duration, control: &dyn Control) -> Result<()> {
        if self.closed.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let now = std::time::Instant::now();
        let deadline = now.checked_add(timeout).unwrap_or(now + Duration::from_secs(86_400));
        while self.work.is_busy(None)
            && std::time::Instant::now() < deadline
            && control.check().is_ok()
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.work.stop();
        let users: Vec<Arc<User>> = self.users.lock().drain().map(|(_, user)| user).collect();
        let mut outcome = Ok(());
        for user in users {
            let mut turn = user.turns.try_take();
            while turn.is_none() && std::time::Instant::now() < deadline {
                control.check()?;
                std::thread::sleep(Duration::from_millis(5));
                turn = user.turns.try_take();
            }
            let saved = match turn {
                Some(_) => self.save_for_next_opening(&user),
                None => self.save_caches(&user),
            };
            if let Err(error) = saved {
                outcome = Err(error);
            }
        }
        outcome
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        match self.closed.load(Ordering::SeqCst) {
            true => Err(Error::new(ErrorKind::Closed, "the memory system is closed")),
            false => Ok(()),
        }
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        match self.read_only {
            true => Err(Error::new(ErrorKind::ReadOnly, "the store was opened for reading only")),
            false => Ok(()),
        }
    }

    pub(crate) fn owner(&self, user_id: &str) -> Result<Owner> {
        Owner::new(&self.tenant, user_id)
    }

    pub(crate) fn indexing(&self) -> Indexing<'_> {
        Indexing { factory: &*self.vectors, config: &self.config, tokens: self.tokens }
    }

    /// The user, opened if need be; `None` if there are no records of that name and `create` is
    /// false.
    pub(crate) fn user(
        &self,
        user_id: &str,
        create: bool,
        control: &dyn Control,
    ) -> Result<Option<Arc<User>>> {
        self.check_open()?;
        let owner = self.owner(user_id)?;
        let stale = match self.open_user(user_id) {
            Some(user) if !self.read_only || user.store.is_fresh()? => return Ok(Some(user)),
            stale => stale,
        };
        let _turn = self.opening.take(control)?;
        // Whoever had the turn before may have opened or refreshed the user.
        if let Some(user) = self
            .open_user(user_id)
            .filter(|user| !stale.as_ref().is_some_and(|stale| Arc::ptr_eq(stale, user)))
        {
            return Ok(Some(user));
        }
        if !create && !self.has_user(&owner)? {
            self.forget(user_id);
            return Ok(None);
        }
        let user = Arc::new(self.load(owner, stale.as_deref(), control)?);
        self.users.lock().insert(user_id.to_owned(), Arc::clone(&user));
        self.touch(&user);
        self.evict(&user);
        if !self.read_only {
            self.resume(&user, control)?;
        }
        Ok(Some(user))
    }

    /// Has the user any records?
    pub(crate) fn has_user(&self, owner: &Owner) -> Result<bool> {
        self.store.has_files(owner)
    }

    /// Keeps everybody from opening users while it is held.
    pub(crate) fn hold_openings(
        &self,
        control: &dyn Control,
    ) -> Result<crate::engine::memory::turn::Turn<'_>> {
        self.opening.take(control)
    }

    pub(crate) fn open_user(&self, user_id: &str) -> Option<Arc<User>> {
        let user = self.users.lock().get(user_id).cloned()?;
        self.touch(&user);
        Some(user)
    }

    fn touch(&self, user: &User) {
        user.last_used.store(self.ticks.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// The users that are open now.
    pub(crate) fn open_users(&self) -> Vec<Arc<User>> {
        self.users.lock().values().cloned().collect()
    }

    /// Takes a user out of memory; the next call opens it anew.
    pub(crate) fn forget(&self, user_id: &str) {
        self.users.lock().remove(user_id);
    }

    /// Closes the longest unused users when all together exceed the budget, until a tenth of it is
    /// free, so that not every opening has to look for one. Users somebody holds or works on stay.
    fn evict(&self, keep: &Arc<User>) {
        let budget = self.config.memory_budget_bytes;
        if self.memory.load(Ordering::Relaxed) <= budget {
            return;
        }
        let mut oldest: Vec<(u64, String)> = {
            let users = self.users.lock();
            let others = users.iter().filter(|(_, user)| !Arc::ptr_eq(user, keep));
            others.map(|(id, user)| (user.last_used.load(Ordering::Relaxed), id.clone())).collect()
        };
        oldest.sort_unstable();
        for (_, id) in oldest {
            if self.memory.load(Ordering::Relaxed) <= budget - budget / 10 {
                return;
            }
            let idle = {
                let mut users = self.users.lock();
                // Nobody but the map holds it, and nobody gets it any more: the caller has the turn
                // to open users, until this one is closed.
                let idle = users.get(&id).is_some_and(|user| Arc::strong_count(user) == 1);
                idle.then(|| users.remove(&id)).flatten()
            };
            let Some(idle) = idle else { continue };
            if !self.read_only && self.save_for_next_opening(&idle).is_err() {
                // Without the cache the next opening embeds again: slower, not wrong.
                self.counters.embedding_failures.fetch_add(1, Ordering::Relaxed);
            }
            self.counters.evictions.fetch_add(1, Ordering::Relaxed);
            log::debug!("the longest unused user was closed to keep within memory_budget_bytes");
        }
    }
}

/// An open engine. Dropping it stops the work behind it, in the middle of a call if need be,
/// without the goodbyes of [`Engine::close`]: what was pending goes on at the next opening.
pub struct Handle(Arc<Engine>);

impl std::ops::Deref for Handle {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.0
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.work.stop();
    }
}
