//! The engine: its parts, opening and closing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::config::MemoryConfig;
use crate::control::{CallControl, Uninterrupted};
use crate::embed::Embedder;
use crate::engine::asking::gate::CallGate;
use crate::engine::background::pending::resume_work;
use crate::engine::background::queue::WorkQueue;
use crate::engine::background::snapshots::SnapshotSchedule;
use crate::engine::callback_guard::CallbackGuard;
use crate::engine::counters::EngineCounters;
use crate::engine::feed::page::events_of;
use crate::engine::feed::{EventPage, FeedPositions};
use crate::engine::panics::caught_and;
use crate::engine::registry::{FoundUser, MissingUser, UserRegistry};
use crate::engine::services::EngineServices;
use crate::engine::user::{OpenUser, UserGuard};
use crate::error::{Error, ErrorKind, Result};
use crate::ids::Owner;
use crate::index::VectorIndexFactory;
use crate::llm::{LanguageModel, UsageLedger};
use crate::score::TokenTable;
use crate::store::{FileBackend, LogStore, OpenMode, Store};

/// How long a dropped engine waits for its threads.
const DROP_TIMEOUT: Duration = Duration::from_secs(2);
/// Longer timeouts count as unlimited.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(86_400);
/// How long the events of a user wait for a write that is under way.
const LONGEST_WRITE: Duration = Duration::from_secs(1);

/// The parts of an engine.
pub struct EngineParts {
    /// The store's directory; with `logs`, the directory of its caches.
    pub path: PathBuf,
    /// The logs, if they are not files in the directory.
    pub logs: Option<Arc<dyn LogStore>>,
    /// The tenant of the users; `default` if the application has no tenants.
    pub tenant: String,
    /// The settings.
    pub config: MemoryConfig,
    /// True if the engine only reads: it takes no lock, writes nothing, and follows the writes of
    /// other processes.
    pub read_only: bool,
    /// The file operations.
    pub backend: Arc<dyn FileBackend>,
    /// The source of the present time.
    pub clock: Arc<dyn Clock>,
    /// Turns texts into vectors.
    pub embedder: Arc<dyn Embedder>,
    /// Creates vector indexes.
    pub vectors: Arc<dyn VectorIndexFactory>,
    /// Compares texts word by word.
    pub tokens: &'static dyn TokenTable,
    /// The model that finds boundaries and writes episodes and facts; `None` = the rules do.
    pub llm: Option<Arc<dyn LanguageModel>>,
    /// Records the cost of models; shared with a remote embedder.
    pub ledger: Arc<UsageLedger>,
}

/// The memory system. Threads share it; every method takes `&self`.
pub struct Engine {
    pub(crate) services: Arc<EngineServices>,
    pub(crate) users: UserRegistry,
    pub(crate) queue: Arc<WorkQueue>,
    pub(crate) snapshots: Arc<SnapshotSchedule>,
    closed: AtomicBool,
}

impl Engine {
    /// Runs an operation for a caller who must not see panics. If a record of a snapshot could not
    /// be read, the next call opens the user from the logs.
    ///
    /// # Errors
    /// Those of `work`; `Internal` for a panic.
    pub fn run_guarded<T>(&self, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        caught_and(|| self.users.leave_unsound(&self.services), || work(self))
    }

    /// Opens or creates the store. Never touches the network.
    ///
    /// # Errors
    /// `MemoryConfig` for values out of bounds, `StoreLocked` when another process writes,
    /// `UnsupportedFormat` for a newer store, `Io`.
    pub fn open(parts: EngineParts) -> Result<EngineHandle> {
        parts.config.validate()?;
        // The tenant is checked before anything is created in its name.
        Owner::new(&parts.tenant, "user")?;
        let mode = if parts.read_only { OpenMode::ReadOnly } else { OpenMode::ReadWrite };
        let store = match parts.logs {
            Some(logs) => Store::open_apart(logs, parts.backend, &parts.path, mode, &*parts.clock)?,
            None => Store::open_on(parts.backend, &parts.path, mode, &*parts.clock)?,
        };
        store.set_max_open_files(parts.config.max_open_files);
        if let (Some(model), Some(kept)) = (&parts.llm, store.known_dialects()) {
            model.recall_learned(&kept);
        }
        let callouts = CallbackGuard::new();
        let services = EngineServices {
            feed: FeedPositions::default(),
            gate: CallGate::new(parts.config.llm_concurrency),
            zone: parts.config.zone()?,
            config: parts.config,
            tenant: parts.tenant,
            store,
            read_only: parts.read_only,
            clock: parts.clock,
            embedder: callouts.wrap_embedder(parts.embedder),
            vectors: parts.vectors,
            tokens: parts.tokens,
            llm: parts.llm.map(|model| callouts.wrap_model(model)),
            ledger: parts.ledger,
            counters: EngineCounters::default(),
            callouts,
        };
        Ok(EngineHandle(Self {
            services: Arc::new(services),
            users: UserRegistry::default(),
            queue: Arc::default(),
            snapshots: Arc::default(),
            closed: AtomicBool::new(false),
        }))
    }

    /// The configuration.
    pub fn config(&self) -> &MemoryConfig {
        &self.services.config
    }

    /// The store's directory.
    pub fn path(&self) -> &Path {
        self.services.store.layout().root()
    }

    /// Ids of all users with records, sorted.
    ///
    /// # Errors
    /// `Io`; `Closed`.
    pub fn users(&self) -> Result<Vec<String>> {
        self.check_open()?;
        let mut users = self.services.store.list_users(&self.services.tenant)?;
        users.sort();
        Ok(users)
    }

    /// Up to `limit` changes of records after a cursor, of one user or of all, read from the logs.
    /// The changes of each user are in log order, whichever process made them. `None` starts at the
    /// beginning of the logs, `latest` at their end. Opens no user.
    ///
    /// # Errors
    /// `InvalidInput` for a malformed cursor; `Io`; `Closed`.
    pub fn events(
        &self,
        cursor: Option<&str>,
        user_id: Option<&str>,
        limit: usize,
    ) -> Result<EventPage> {
        self.check_open()?;
        self.catch_up_all(user_id, &Uninterrupted)?;
        let page = events_of(&self.services, cursor, user_id, limit)?;
        // A record is in its log a moment before it is in memory, where a callback looks for it. A
        // callback that is called by the writer itself must not wait for it.
        let told: BTreeSet<&str> = page.events.iter().map(|event| &*event.user_id).collect();
        for user in told.into_iter().filter_map(|user| self.users.get(user)) {
            user.writer.wait_until_free(LONGEST_WRITE);
        }
        Ok(page)
    }

    /// Refuses further calls, waits up to `timeout` for work under way, writes the caches and
    /// releases the store's lock. Idempotent. Work that has not ended by then can no longer write;
    /// the next opening repeats it.
    ///
    /// # Errors
    /// `Io` if a cache can't be written; the logs are safe. `Interrupted`: the rest is closed
    /// without waiting and without caches. `InvalidInput` from inside a callback that this engine
    /// waits for.
    pub fn close(&self, timeout: Duration, control: &dyn CallControl) -> Result<()> {
        self.services.callouts.refuse_inside("close")?;
        if self.closed.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let deadline = Instant::now() + timeout.min(LONGEST_TIMEOUT);
        let mut outcome = self.queue.wait_until_idle(deadline, control);
        // Calls of other threads use the time that is left, then fail.
        for user in self.users.open_users() {
            if outcome.is_ok() {
                outcome = user.turns.take_until(Some(deadline), control).map(drop);
            }
        }
        // An interrupted call waits no longer.
        let deadline = if outcome.is_ok() { deadline } else { Instant::now() };
        self.queue.stop_threads(deadline);
        self.snapshots.stop_snapshots(deadline);
        for user in self.users.close_users() {
            if outcome.is_ok() {
                outcome = self.save_caches(&user, deadline, control);
            }
            // A call still under way must not write after the lock is released.
            user.writer.lock().gone = true;
            user.notes.lock().close_for_good();
        }
        self.services.store.release_lock();
        outcome
    }

    /// Writes the caches that make the next opening of a user fast.
    fn save_caches(
        &self,
        user: &OpenUser,
        deadline: Instant,
        control: &dyn CallControl,
    ) -> Result<()> {
        let (store, to) = (&self.services.store, self.services.indexing_settings());
        match user.turns.take_until(Some(deadline), control)? {
            Some(_turn) => user.save_for_next_opening(store, &to),
            // A thread is still changing records: a snapshot would be inconsistent.
            None => user.save_vectors(store, &to),
        }
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Closed, "the memory system is closed"));
        }
        Ok(())
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        if self.services.read_only {
            return Err(Error::new(ErrorKind::ReadOnly, "the store was opened for reading only"));
        }
        Ok(())
    }

    /// Returns the user with this id, opened if necessary; `None` if the user has no records.
    pub(crate) fn known_user(
        &self,
        user_id: &str,
        control: &dyn CallControl,
    ) -> Result<Option<UserGuard>> {
        self.check_open()?;
        let user =
            match self.users.open_user(&self.services, user_id, MissingUser::Ignore, control)? {
                FoundUser::Open(user) => user,
                FoundUser::Followed(user) => self.queue_followed(user),
                FoundUser::Opened(user, earlier) => self.resume_user(user, earlier, control)?,
                FoundUser::Nobody => return Ok(None),
            };
        let now = self.services.clock.now();
        let is_due = user.view.read().expires_by(now);
        if is_due {
            user.view.write().expire_facts(now);
        }
        self.catch_up(&user, control)?;
        Ok(Some(user))
    }

    /// Returns the user with this id, opened or created if necessary.
    pub(crate) fn user_or_new(
        &self,
        user_id: &str,
        control: &dyn CallControl,
    ) -> Result<UserGuard> {
        self.check_open()?;
        match self.users.open_user(&self.services, user_id, MissingUser::Create, control)? {
            FoundUser::Open(user) => Ok(user),
            FoundUser::Followed(user) => Ok(self.queue_followed(user)),
            FoundUser::Opened(user, earlier) => self.resume_user(user, earlier, control),
            FoundUser::Nobody => Err(Error::internal("a user was not created")),
        }
    }

    /// Runs `work` on a user. Repeats it if another process has changed the records that it used,
    /// or if the user was opened again meanwhile. `None` for a user without records.
    ///
    /// # Errors
    /// Those of `work`, except `Conflict`.
    pub(crate) fn with_user<T>(
        &self,
        user_id: &str,
        control: &dyn CallControl,
        mut work: impl FnMut(&UserGuard) -> Result<T>,
    ) -> Result<Option<T>> {
        loop {
            let Some(user) = self.known_user(user_id, control)? else { return Ok(None) };
            match work(&user) {
                Err(error) if self.is_to_be_repeated(&user, &error) => control.check()?,
                outcome => return outcome.map(Some),
            }
        }
    }

    /// [`Engine::with_user`] for a user who is created if necessary.
    ///
    /// # Errors
    /// As [`Engine::with_user`].
    pub(crate) fn with_user_or_new<T>(
        &self,
        user_id: &str,
        control: &dyn CallControl,
        mut work: impl FnMut(&UserGuard) -> Result<T>,
    ) -> Result<T> {
        loop {
            let user = self.user_or_new(user_id, control)?;
            self.catch_up(&user, control)?;
            match work(&user) {
                Err(error) if self.is_to_be_repeated(&user, &error) => control.check()?,
                outcome => return outcome,
            }
        }
    }

    /// True if the error only means that another process wrote first.
    pub(crate) fn is_to_be_repeated(&self, user: &UserGuard, error: &Error) -> bool {
        match error.kind() {
            ErrorKind::Conflict => true,
            ErrorKind::Closed | ErrorKind::Interrupted => {
                user.is_outdated() && self.check_open().is_ok()
            }
            _ => false,
        }
    }

    /// Queues a user whose records another process has extended: a remote embedder computes their
    /// vectors in the background.
    fn queue_followed(&self, user: UserGuard) -> UserGuard {
        if !self.services.embedder.is_local() && !self.services.read_only {
            self.enqueue_user(&user);
        }
        user
    }

    /// Continues the work of a user that a crash interrupted.
    fn resume_user(
        &self,
        user: UserGuard,
        earlier: Option<UserGuard>,
        control: &dyn CallControl,
    ) -> Result<UserGuard> {
        if let Some(earlier) = earlier {
            self.queue.forget_user(&earlier);
            self.services.counters.forget_user(&earlier.owner.user);
        }
        let is_done = {
            let view = user.view.read();
            view.backlog.is_empty()
                && !(self.services.has_background_work() && view.lacks_vectors())
        };
        if self.services.read_only || is_done {
            return Ok(user);
        }
        if self.services.has_background_work() {
            self.enqueue_user(&user);
        } else {
            match resume_work(&self.services, &user, control) {
                // Another process is doing this work.
                Err(error) if self.is_to_be_repeated(&user, &error) => {}
                outcome => outcome?,
            }
        }
        Ok(user)
    }

    pub(crate) fn enqueue_user(&self, user: &UserGuard) {
        self.queue.enqueue_user(&self.services, user);
    }

    /// The users of a call: one, or all.
    pub(crate) fn selected_users(&self, user_id: Option<&str>) -> Result<Vec<String>> {
        match user_id {
            Some(user_id) => {
                self.services.owner_of(user_id)?;
                Ok(vec![user_id.to_owned()])
            }
            None => self.users(),
        }
    }
}

/// Control of a call that may wait for a model: closing the engine ends the call.
pub(crate) struct WhileOpen<'a> {
    pub queue: &'a WorkQueue,
    pub inner: &'a dyn CallControl,
}

impl CallControl for WhileOpen<'_> {
    fn check(&self) -> Result<()> {
        if self.queue.is_stopping() {
            return Err(Error::new(ErrorKind::Closed, "the memory system was closed meanwhile"));
        }
        self.inner.check()
    }

    fn deadline(&self) -> Option<Instant> {
        self.inner.deadline()
    }

    fn report_progress(&self, step: &str, done: usize, total: usize) {
        self.inner.report_progress(step, done, total);
    }
}

/// An open engine. Dropping it stops background work, even during a model's call, and writes none
/// of the caches that [`Engine::close`] writes. Pending work continues at the next opening.
pub struct EngineHandle(Engine);

impl std::ops::Deref for EngineHandle {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.0
    }
}

impl Drop for EngineHandle {
    fn drop(&mut self) {
        let deadline = Instant::now() + DROP_TIMEOUT;
        self.0.queue.stop_threads(deadline);
        self.0.snapshots.stop_snapshots(deadline);
    }
}
