//! The shared parts of an open store: file operations, layout, locks.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::sync::Mutex;

use super::backend::{FileBackend, LockGuard};
use super::files::is_disk_full;
use super::handles::HandleCache;
use super::layout::StoreLayout;
use super::locks::UserLocks;
use super::log::{LogFile, OpenMode};
use super::request_log::RequestLog;
use super::reserve::DiskReserve;
use super::store_root::StoreRoot;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::Owner;
use crate::model::StoreProblem;

/// Default time to wait for a lock. Locks are held only for disk operations, so a longer wait means
/// that the holder is stopped.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// An open store, as its users share it.
#[derive(Debug)]
pub(super) struct SharedStore {
    pub backend: Arc<dyn FileBackend>,
    pub layout: StoreLayout,
    pub root: Arc<StoreRoot>,
    pub mode: OpenMode,
    pub handles: Arc<HandleCache>,
    pub reserve: DiskReserve,
    pub requests: RequestLog,
    /// Users whose logs need repair: the next opening locks out other writers.
    pub mending: Mutex<HashSet<Owner>>,
    /// The line that this process writes into a lock file it holds.
    pub holder: Arc<str>,
    pub patience: Duration,
    /// Problems of the whole store, found at opening.
    pub problems: Vec<StoreProblem>,
    /// Intents that were removed, but perhaps not durably. After a power cut such an intent could
    /// reappear; its deletion would then run again and also remove lines written since.
    pub intents_removed: Mutex<Vec<PathBuf>>,
    /// The lock shared by all writers; dropped last.
    pub lock: Mutex<Option<Box<dyn LockGuard>>>,
}

impl SharedStore {
    pub fn new(backend: Arc<dyn FileBackend>, root: &Path, mode: OpenMode) -> Self {
        Self {
            backend,
            layout: StoreLayout::new(root),
            root: Arc::new(StoreRoot::new(root)),
            mode,
            reserve: DiskReserve::new(root),
            requests: RequestLog::new(root),
            handles: HandleCache::new(),
            mending: Mutex::default(),
            holder: Arc::from(""),
            patience: LOCK_PATIENCE,
            problems: Vec::new(),
            intents_removed: Mutex::default(),
            lock: Mutex::default(),
        }
    }

    /// Does a step of a deletion; on a full disk, again with the room of the reserve.
    pub fn with_reserve<T>(&self, mut step: impl FnMut() -> Result<T>) -> Result<T> {
        match step() {
            Err(error) if is_disk_full(&error) => {
                self.reserve.release_space(&*self.backend);
                step()
            }
            done => done,
        }
    }

    /// Refuses writes if the store is read-only or its directory was replaced.
    ///
    /// # Errors
    /// `ReadOnly`; `Io` if the directory is not the one that was opened.
    pub fn check_writable(&self) -> Result<()> {
        match self.mode {
            OpenMode::ReadWrite => self.root.check_directory(&*self.backend),
            OpenMode::ReadOnly => {
                Err(Error::new(ErrorKind::ReadOnly, "the store was opened for reading only")
                    .at_path(self.layout.root(), None))
            }
        }
    }

    /// The log at `path`, with the permissions of this store.
    pub fn log_file(&self, path: PathBuf) -> LogFile {
        LogFile {
            backend: Arc::clone(&self.backend),
            root: Arc::clone(&self.root),
            path,
            mode: self.mode,
            handles: Arc::clone(&self.handles),
            until: None,
            mends: self.mode == OpenMode::ReadWrite,
        }
    }

    pub fn user_locks(&self, owner: &Owner) -> UserLocks {
        UserLocks::new(&self.backend, &self.layout, owner, &self.holder, self.patience)
    }
}
