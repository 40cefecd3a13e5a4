//! A whole store: opened once, shared by its users.

use std::path::Path;
use std::sync::Arc;

use super::backend::{EntryKind, FileBackend, parent_of};
use super::file_logs::FileLogs;
use super::files::{io_error, read_file, replace_file};
use super::layout::StoreLayout;
use super::lock::LockHolder;
use super::log::{LogSum, OpenMode};
use super::log_store::{LogHead, LogMedium, LogStore, UserLogs};
use super::real::RealBackend;
use super::record_folding::{LoadedUser, OpenedLogs};
use super::remote_cache::RemoteCache;
use super::request_log::{KnownRequest, RequestNote};
use super::retry_on_emfile::RetryOnEmfile;
use super::shared::SharedStore;
use super::user::UserStore;
use super::{erase, files, format, lock, remote_cache};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::Owner;
use crate::model::StoreProblem;

/// Attempts to open a user whose logs change all the time.
const OPENINGS: usize = 4;

/// An open store; clones share it. Dropping the last clone releases the lock.
#[derive(Debug, Clone)]
pub struct Store {
    pub(super) shared: Arc<SharedStore>,
    pub(super) logs: Arc<dyn LogStore>,
    /// Set if the logs are not in the directory.
    pub(super) apart: Option<Arc<RemoteCache>>,
}

impl Store {
    /// Opens the store at `root` on the operating system's files; creates it if it does not exist
    /// (unless read-only).
    ///
    /// # Errors
    /// As [`Store::open_on`].
    pub fn open(root: &Path, mode: OpenMode, clock: &dyn Clock) -> Result<Self> {
        Self::open_on(Arc::new(RealBackend::new(root)), root, mode, clock)
    }

    /// Opens the store at `root` with the file operations of `backend`. For writing, if no other
    /// process has the store open, it finishes deletions that a crash interrupted.
    ///
    /// # Errors
    /// `UnsupportedFormat` for a store of a newer version, and for a folder of Nemori;
    /// `StoreLocked`, naming the exclusive holder; `Io`, also for a missing read-only store, and
    /// for one on a network file system.
    pub fn open_on(
        backend: Arc<dyn FileBackend>,
        root: &Path,
        mode: OpenMode,
        clock: &dyn Clock,
    ) -> Result<Self> {
        let mut shared = SharedStore::new(backend, root, mode);
        shared.backend = Arc::new(RetryOnEmfile::new(shared.backend, &shared.handles));
        match mode {
            OpenMode::ReadOnly => open_for_reading(&mut shared)?,
            OpenMode::ReadWrite => open_for_writing(&mut shared, clock)?,
        }
        let shared = Arc::new(shared);
        let logs = Arc::new(FileLogs::new(&shared));
        Ok(Self { shared, logs, apart: None })
    }

    /// Opens a store whose logs are on another medium. The directory has derived files (snapshots,
    /// vectors, answers of models) and traces; it may be removed while no process has the store
    /// open. For writing, it removes files derived from logs that were erased since.
    ///
    /// # Errors
    /// `Io` if the directory can't be created or is on a network file system; those of the logs.
    pub fn open_apart(
        logs: Arc<dyn LogStore>,
        backend: Arc<dyn FileBackend>,
        directory: &Path,
        mode: OpenMode,
        clock: &dyn Clock,
    ) -> Result<Self> {
        let mut shared = SharedStore::new(backend, directory, mode);
        shared.backend = Arc::new(RetryOnEmfile::new(shared.backend, &shared.handles));
        if mode == OpenMode::ReadWrite {
            remote_cache::open_directory(&mut shared, clock)?;
        }
        let shared = Arc::new(shared);
        let apart = Arc::new(RemoteCache::default());
        if mode == OpenMode::ReadWrite {
            apart.remove_stale(&shared, &*logs)?;
        }
        Ok(Self { shared, logs, apart: Some(apart) })
    }

    /// True if the logs are not in the store's directory.
    pub fn is_apart(&self) -> bool {
        self.apart.is_some()
    }

    /// The medium of the logs.
    pub fn log_medium(&self) -> LogMedium {
        self.logs.log_medium()
    }

    /// Keeps at most `most` log files open between appends (initially one), and at most a quarter
    /// of the process's file handles.
    pub fn set_max_open_files(&self, most: usize) {
        self.shared.handles.set_limit(most);
    }

    /// Releases the writers' lock before the last clone is dropped. Nothing may be written
    /// afterwards.
    pub fn release_lock(&self) {
        self.logs.unregister_writer();
        drop(self.shared.lock.lock().take());
        self.shared.backend.close_cached();
    }

    /// Whether the store may be written.
    pub fn open_mode(&self) -> OpenMode {
        self.shared.mode
    }

    /// The paths of the store.
    pub fn layout(&self) -> &StoreLayout {
        &self.shared.layout
    }

    /// The file operations of the store.
    pub fn backend(&self) -> &Arc<dyn FileBackend> {
        &self.shared.backend
    }

    /// Problems of the whole store, found at opening.
    pub fn problems(&self) -> &[StoreProblem] {
        &self.shared.problems
    }

    /// Every tenant with data, and always `default`; sorted.
    ///
    /// # Errors
    /// `Io`.
    pub fn list_tenants(&self) -> Result<Vec<String>> {
        self.logs.list_tenants()
    }

    /// The users of all tenants, by tenant and user.
    ///
    /// # Errors
    /// `Io`.
    pub fn list_owners(&self) -> Result<Vec<Owner>> {
        let mut owners = Vec::new();
        for tenant in self.list_tenants()? {
            let users = self.list_users(&tenant)?.into_iter();
            owners.extend(users.map(|user| Owner { tenant: tenant.clone(), user }));
        }
        Ok(owners)
    }

    /// Every user of a tenant with a log, sorted.
    ///
    /// # Errors
    /// `Io`.
    pub fn list_users(&self, tenant: &str) -> Result<Vec<String>> {
        self.logs.list_users(tenant, None, usize::MAX)
    }

    /// True if the user has a log.
    ///
    /// # Errors
    /// `Io`.
    pub fn has_files(&self, owner: &Owner) -> Result<bool> {
        self.logs.has_user(owner)
    }

    /// Notes a step of a request that may be sent again; see [`LogStore::note_request`].
    ///
    /// # Errors
    /// `ReadOnly`; `Io`.
    pub fn note_request(&self, note: &RequestNote<'_>) -> Result<Option<KnownRequest>> {
        self.logs.note_request(note)
    }

    /// Files of a tenant that need a person's attention: links, quarantines, unfinished deletions,
    /// and what stands in the way of the record of requests.
    ///
    /// # Errors
    /// `Io`.
    pub fn check_files(&self, tenant: &str) -> Result<Vec<StoreProblem>> {
        let mut problems = erase::interrupted_deletions(&self.shared)?;
        if !self.is_apart() {
            problems.extend(self.shared.requests.find_problems(&*self.shared.backend)?);
        }
        let mut entries = self.layout().tenant_entries(&**self.backend(), tenant)?;
        let locks = self.layout().locks_directory();
        let listed = self.backend().list_dir(&locks);
        let listed =
            listed.map_err(|error| io_error("cannot list the directory", &locks, error))?;
        entries.extend(listed.into_iter().map(|(name, kind)| (locks.join(name), kind)));
        for (path, kind) in entries {
            let problem = |message: &str, remedy: &str, mended| StoreProblem {
                path: path.clone(),
                line: None,
                message: message.into(),
                remedy: remedy.into(),
                mended,
            };
            if kind == EntryKind::Directory {
                let remedy = "move it away; the store makes the file anew";
                problems.push(problem("a folder in the place of a file", remedy, false));
            } else if kind == EntryKind::Other {
                let remedy = "replace it by a file or directory; the store neither follows links \
                              nor opens FIFOs, sockets and devices";
                problems.push(problem("neither a regular file nor a directory", remedy, false));
            } else if path.to_string_lossy().ends_with(".quarantine.jsonl") {
                let remedy = "add the messages that matter again, then remove the file";
                let message = "lines that are not records were moved here";
                problems.push(problem(message, remedy, true));
            }
        }
        Ok(problems)
    }

    /// Opens the logs of a user, who need not have any, and reads them.
    ///
    /// # Errors
    /// `StoreLocked`; `Io`.
    pub fn open_user(&self, owner: &Owner) -> Result<(UserStore, LoadedUser)> {
        self.retry_opening(|| {
            let (logs, head) = self.open_logs(owner)?;
            let (user, loaded) = UserStore::open(owner, logs, head)?;
            Ok((self.with_directory(user), loaded))
        })
    }

    /// Opens again if the logs needed repair, or were rewritten during the read. Several rounds may
    /// be needed, because each writer may erase something.
    fn retry_opening<T>(&self, open: impl Fn() -> Result<T>) -> Result<T> {
        for _ in 1..OPENINGS {
            match open() {
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                opened => return opened,
            }
        }
        open()
    }

    /// [`Store::open_user`] for a caller that knows a prefix of the logs: only the lines after the
    /// prefix are read, if the logs begin with it, byte for byte, and need no repair.
    ///
    /// # Errors
    /// As [`Store::open_user`].
    pub fn open_user_behind(
        &self,
        owner: &Owner,
        known: &[LogSum; 3],
    ) -> Result<(UserStore, OpenedLogs)> {
        self.retry_opening(|| {
            let (logs, head) = self.open_logs(owner)?;
            let (user, opened) = UserStore::open_behind(owner, logs, head, known)?;
            Ok((self.with_directory(user), opened))
        })
    }

    fn open_logs(&self, owner: &Owner) -> Result<(Box<dyn UserLogs>, LogHead)> {
        let (logs, head) = self.logs.open_logs(owner)?;
        if let Some(apart) = &self.apart {
            apart.remove_outdated(&self.shared, owner, head.generation)?;
        }
        Ok((logs, head))
    }

    fn with_directory(&self, user: UserStore) -> UserStore {
        match &self.apart {
            Some(apart) => user.with_cache(Arc::clone(apart), Arc::clone(&self.shared)),
            None => user,
        }
    }

    /// What servers of models taught earlier processes; `None` if nothing can be read.
    pub fn known_dialects(&self) -> Option<String> {
        let path = self.shared.layout.dialects_path();
        let bytes =
            read_file(&*self.shared.backend, &path, "cannot read what servers taught").ok()??;
        String::from_utf8(bytes).ok()
    }

    /// Keeps what servers of models taught this process.
    ///
    /// # Errors
    /// `Io`.
    pub fn keep_dialects(&self, text: &str) -> Result<()> {
        replace_file(&*self.shared.backend, &self.shared.layout.dialects_path(), text.as_bytes())
    }

    /// Removes every file of a user: logs, caches, quarantines, traces, model answers. Returns the
    /// number of removed files. When this returns no byte of the user is left, and processes that
    /// have the user open notice it at their next read. After a crash in between, opening the store
    /// finishes the removal.
    ///
    /// # Errors
    /// `ReadOnly`; `StoreLocked`; `Io`: call again, or open the store again.
    pub fn erase_user(&self, owner: &Owner) -> Result<usize> {
        let there = self.logs.erase_user(owner)?;
        let here =
            self.apart.as_ref().map_or(Ok(0), |apart| apart.remove_user(&self.shared, owner))?;
        Ok(there + here)
    }
}

fn store_exists(shared: &SharedStore) -> Result<bool> {
    let root = shared.layout.root();
    let stamp = shared.backend.stat_path(root);
    Ok(stamp.map_err(|error| io_error("cannot look at the store", root, error))?.is_some())
}

fn open_for_reading(shared: &mut SharedStore) -> Result<()> {
    if !store_exists(shared)? {
        let missing = std::io::Error::new(std::io::ErrorKind::NotFound, "no such directory");
        return Err(Error::io("cannot read the store", shared.layout.root(), missing));
    }
    format::check_version(&*shared.backend, &shared.layout)?;
    shared.problems = erase::pending_deletions(&*shared.backend, &shared.layout)?.1;
    Ok(())
}

fn open_for_writing(shared: &mut SharedStore, clock: &dyn Clock) -> Result<()> {
    let (backend, root) = (Arc::clone(&shared.backend), shared.layout.root().to_owned());
    let existed = store_exists(shared)?;
    backend
        .create_dir_all(&root)
        .map_err(|error| io_error("cannot create the store", &root, error))?;
    // The process that created the directory may have died before the name was durable. (If the
    // parent cannot be read, this process did not create the directory.)
    match backend.sync_dir(parent_of(&root)) {
        // A full disk does not prevent opening an existing store.
        Err(error) if existed && error.kind() == std::io::ErrorKind::StorageFull => {}
        Err(error) if error.kind() != std::io::ErrorKind::PermissionDenied => {
            return Err(io_error("cannot sync the directory", parent_of(&root), error));
        }
        _ => {}
    }
    if let Some(name) = backend.network_file_system(&root) {
        let message =
            format!("a store can't be written over a network: the directory is on {name}");
        return Err(Error::new(ErrorKind::Io, message).at_path(&root, None).with_hint(
            "locks and lengths of files can't be relied on there: put the store on a local disk, \
             or into PostgreSQL",
        ));
    }
    // A store of a newer version stays unchanged, including its lock file.
    format::check_version(&*backend, &shared.layout)?;
    shared.holder = LockHolder::this_process(clock.now()).lock_line()?.into();
    let (holder, patience) = (Arc::clone(&shared.holder), shared.patience);
    let acquired = lock::acquire_lock(&*backend, &shared.layout, &holder, patience)?;
    shared.root.pin_directory(&*backend)?;
    // Users keep lines of the first version until they are opened, and rewritten.
    if format::check_version(&*backend, &shared.layout)? != Some(format::FORMAT_VERSION) {
        format::write_version(&*backend, &shared.layout)?;
    }
    files::create_dir_all(&*backend, &shared.layout.locks_directory())?;
    if acquired.is_alone {
        shared.problems = erase::finish_pending(shared)?;
        shared.reserve.refill_space(&*backend);
    }
    let guard = lock::share_lock(acquired, &*backend, &shared.layout, &holder, patience)?;
    *shared.lock.lock() = Some(guard);
    Ok(())
}

#[cfg(test)]
mod tests;
