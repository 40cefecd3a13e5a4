//! The writers' lock: a shared operating-system lock on `.lock`. Only changes of the store as a
//! whole, such as a new format, need it exclusively.
//!
//! The lock belongs to the open file, so the system releases it when the process dies for any
//! reason; the file's content is then stale and harmless.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::backend::{FileBackend, LockGuard, LockShare};
use super::files::io_error;
use super::layout::StoreLayout;
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Result};

/// Pause between two attempts to get the lock.
const PAUSE: Duration = Duration::from_millis(5);

/// The content of a lock file: identifies the holder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LockHolder {
    /// Its process id.
    pub pid: u32,
    /// Its host name.
    pub host: String,
    /// When it opened the store.
    pub started: Moment,
}

impl LockHolder {
    /// This process.
    pub fn this_process(now: Moment) -> Self {
        let host = fs_err::read_to_string("/proc/sys/kernel/hostname")
            .ok()
            .map(|name| name.trim().to_owned());
        let host = host.or_else(|| {
            ["HOSTNAME", "COMPUTERNAME"].iter().find_map(|name| std::env::var(name).ok())
        });
        Self {
            pid: std::process::id(),
            host: host.filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".into()),
            started: now,
        }
    }

    /// The line for a lock file.
    pub(super) fn lock_line(&self) -> Result<String> {
        serde_json::to_string(self)
            .map_err(|error| Error::internal("holder has no JSON form").caused_by(error))
    }

    /// Reads the last holder of a lock file. The holder's process may have ended.
    pub(super) fn last_holder(backend: &dyn FileBackend, path: &Path) -> Option<Self> {
        serde_json::from_slice(&backend.read_file(path).ok()?).ok()
    }
}

/// The error after waiting in vain for a lock. `what` names the locked thing, with its verb.
pub(super) fn locked_error(what: &str, holder: Option<LockHolder>) -> Error {
    let who = match holder {
        Some(holder) if holder.pid == std::process::id() => {
            format!("this process, `{}`, since {}", holder.pid, holder.started)
        }
        Some(holder) => {
            format!("process `{}` on host `{}` since {}", holder.pid, holder.host, holder.started)
        }
        None => "another process".into(),
    };
    Error::new(ErrorKind::StoreLocked, format!("{what} being written by {who}"))
}

/// A writer's lock, and whether it is exclusive.
pub(super) struct AcquiredLock {
    pub guard: Box<dyn LockGuard>,
    pub is_alone: bool,
}

/// Takes the writers' lock: exclusively if it is free, else shared.
///
/// # Errors
/// `StoreLocked`, naming the holder, if another process holds it exclusively for longer than
/// `patience`: an earlier version of this package, or a stopped process; `Io`.
pub(super) fn acquire_lock(
    backend: &dyn FileBackend,
    layout: &StoreLayout,
    holder: &str,
    patience: Duration,
) -> Result<AcquiredLock> {
    let path = layout.lock_path();
    let deadline = Instant::now() + patience;
    loop {
        for share in [LockShare::Alone, LockShare::WithOthers] {
            let guard = backend
                .try_lock(&path, share, holder)
                .map_err(|error| io_error("cannot lock the store", &path, error))?;
            if let Some(guard) = guard {
                return Ok(AcquiredLock { guard, is_alone: share == LockShare::Alone });
            }
        }
        if Instant::now() >= deadline {
            let holder = LockHolder::last_holder(backend, &path);
            return Err(locked_error("the store is", holder).at_path(layout.root(), None).with_hint(
                "close it there first, or open this one read-only with `LightweightSearchSystem`",
            ));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Turns an exclusive lock into a shared one.
///
/// # Errors
/// As [`acquire_lock`].
pub(super) fn share_lock(
    acquired: AcquiredLock,
    backend: &dyn FileBackend,
    layout: &StoreLayout,
    holder: &str,
    patience: Duration,
) -> Result<Box<dyn LockGuard>> {
    let mut acquired = acquired;
    while acquired.is_alone {
        drop(acquired.guard);
        let path = layout.lock_path();
        let guard = backend
            .try_lock(&path, LockShare::WithOthers, holder)
            .map_err(|error| io_error("cannot lock the store", &path, error))?;
        acquired = match guard {
            Some(guard) => AcquiredLock { guard, is_alone: false },
            // Another process has just taken the lock exclusively; it too will soon turn it into a
            // shared lock.
            None => acquire_lock(backend, layout, holder, patience)?,
        };
    }
    Ok(acquired.guard)
}
