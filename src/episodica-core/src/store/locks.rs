//! The locks of a user that all processes respect: for appending, for writing caches and for
//! forming memories. Also the generation, which counts rewrites of the logs.
//!
//! All are files below `locks/`. A hash of the user id selects one of 1,024 sets of files, so no
//! file names a deleted user, and no lock file is ever removed. Users with the same set
//! occasionally wait for each other.
//!
//! The generation is the length of a file: one call reads it, and one byte raises it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::backend::{FileBackend, LockGuard, LockShare};
use super::files::io_error;
use super::layout::StoreLayout;
use super::lock::{LockHolder, locked_error};
use crate::error::Result;
use crate::ids::{Owner, digest, to_hex};

/// First and longest pause between two attempts to get a lock.
const PAUSES: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(2)];

#[derive(Debug)]
pub(super) struct UserLocks {
    backend: Arc<dyn FileBackend>,
    append: PathBuf,
    caches: PathBuf,
    forming: PathBuf,
    generation: PathBuf,
    /// The line that this process writes into a lock file it holds.
    holder: Arc<str>,
    patience: Duration,
}

impl UserLocks {
    pub fn new(
        backend: &Arc<dyn FileBackend>,
        layout: &StoreLayout,
        owner: &Owner,
        holder: &Arc<str>,
        patience: Duration,
    ) -> Self {
        let hash = digest(&[owner.tenant.as_bytes(), owner.user.as_bytes()]);
        // Ten bits: 1,024 sets.
        let number = to_hex(&[hash[0] & 3, hash[1]]);
        let file =
            |ending: &str| layout.locks_directory().join(format!("{}.{ending}", &number[1..]));
        Self {
            backend: Arc::clone(backend),
            append: file("append"),
            caches: file("caches"),
            forming: file("forming"),
            generation: file("generation"),
            holder: Arc::clone(holder),
            patience,
        }
    }

    /// The generation: how often lines were removed from logs.
    ///
    /// # Errors
    /// `Io`.
    pub fn read_generation(&self) -> Result<u64> {
        let stamp = self.backend.stat_unchecked(&self.generation);
        let stamp =
            stamp.map_err(|error| io_error("cannot look at the locks", &self.generation, error))?;
        Ok(stamp.map_or(0, |stamp| stamp.bytes))
    }

    /// Raises the generation, so that readers of the logs read them again. Not synced, because no
    /// reader survives a power cut.
    ///
    /// # Errors
    /// `Io`.
    pub fn raise_generation(&self) -> Result<u64> {
        let path = &self.generation;
        let fail = |error| io_error("cannot raise the generation", path, error);
        let mut file = if self.backend.stat_path(path).map_err(fail)?.is_some() {
            self.backend.open_append(path).map_err(fail)?
        } else {
            self.backend.create_new(path).map_err(fail)?
        };
        file.append_bytes(b"+").map_err(fail)?;
        self.read_generation()
    }

    /// Locks the user's logs for appending, and waits until they are free.
    ///
    /// # Errors
    /// `StoreLocked`, naming the holder, which may be a stopped process; `Io`.
    pub fn lock_logs(&self) -> Result<Box<dyn LockGuard>> {
        self.wait_for_lock(&self.append, "the memories of this user are")
    }

    /// Locks the user's caches for writing or removal, and waits until they are free. Take the lock
    /// of [`UserLocks::lock_logs`] before this one, never after it.
    ///
    /// # Errors
    /// As [`UserLocks::lock_logs`].
    pub fn lock_caches(&self) -> Result<Box<dyn LockGuard>> {
        self.wait_for_lock(&self.caches, "the caches of this user are")
    }

    /// [`UserLocks::lock_caches`] without waiting; `None` if another process holds the lock.
    ///
    /// # Errors
    /// `Io`.
    pub fn try_caches(&self) -> Result<Option<Box<dyn LockGuard>>> {
        self.try_lock(&self.caches)
    }

    /// Locks the forming of memories without waiting; `None` if another process holds the lock.
    ///
    /// # Errors
    /// `Io`.
    pub fn try_forming(&self) -> Result<Option<Box<dyn LockGuard>>> {
        self.try_lock(&self.forming)
    }

    /// The process that forms memories now, if known.
    pub fn forming_process(&self) -> Option<LockHolder> {
        LockHolder::last_holder(&*self.backend, &self.forming)
    }

    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn LockGuard>>> {
        // Opening has created the directory: if it is missing, the store was moved.
        let lock = self.backend.try_lock(path, LockShare::Alone, &self.holder);
        lock.map_err(|error| io_error("cannot lock the user", path, error))
    }

    fn wait_for_lock(&self, path: &Path, what: &str) -> Result<Box<dyn LockGuard>> {
        let (deadline, [mut pause, longest]) = (Instant::now() + self.patience, PAUSES);
        loop {
            if let Some(guard) = self.try_lock(path)? {
                return Ok(guard);
            }
            if Instant::now() >= deadline {
                let holder = LockHolder::last_holder(&*self.backend, path);
                return Err(locked_error(what, holder).at_path(path, None).with_hint(
                    "if that process was stopped, continue it (`kill -CONT`) or end it; nothing \
                     was written here",
                ));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(longest);
        }
    }
}
