//! The cache of open log files, with a limit: a store can have more users than a process has file
//! handles.
//!
//! Opening a file for each append would cost as much as the append itself. So logs leave their file
//! open here. The least recently used file is closed if there are too many, or if the operating
//! system runs out of handles.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lru::LruCache;
use parking_lot::Mutex;

use super::backend::BackendFile;

/// Maximum number of open files if the operating system sets no limit, or a high one.
const MAX_KEPT_FILES: usize = 128;

/// Logs use at most one in this many of a process's handles; the rest is left to the application.
const SHARE: u64 = 4;

/// The open files of one store's logs.
#[derive(Debug)]
pub(crate) struct Handles {
    kept: Mutex<LruCache<u64, Box<dyn BackendFile>>>,
    next_key: AtomicU64,
}

/// One log's entry in the cache; dropping it closes the file.
#[derive(Debug)]
pub(crate) struct Handle {
    handles: Arc<Handles>,
    key: u64,
}

impl Handles {
    /// Keeps at most `limit` files open, and always allows one.
    pub fn new(limit: usize) -> Arc<Self> {
        let limit = NonZeroUsize::new(limit).unwrap_or(NonZeroUsize::MIN);
        Arc::new(Self { kept: Mutex::new(LruCache::new(limit)), next_key: AtomicU64::new(0) })
    }

    /// A quarter of the process's file handles, but at most [`MAX_KEPT_FILES`].
    pub fn default_limit() -> usize {
        let allowed = open_files_limit().map_or(u64::MAX, |limit| limit / SHARE);
        usize::try_from(allowed).map_or(MAX_KEPT_FILES, |allowed| allowed.min(MAX_KEPT_FILES))
    }

    /// Closes every cached file; `false` if there was none.
    pub fn release(&self) -> bool {
        let mut kept = self.kept.lock();
        let any = !kept.is_empty();
        kept.clear();
        any
    }

    /// Creates the cache entry of one log.
    pub fn handle(self: &Arc<Self>) -> Handle {
        Handle { handles: Arc::clone(self), key: self.next_key.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Handle {
    /// Takes the file out of the cache, if it is still open.
    pub fn take(&self) -> Option<Box<dyn BackendFile>> {
        self.handles.kept.lock().pop(&self.key)
    }

    /// Leaves the file open for the next append.
    pub fn put(&self, file: Box<dyn BackendFile>) {
        let evicted = self.handles.kept.lock().push(self.key, file);
        // Closed after the lock is released.
        drop(evicted);
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        drop(self.take());
    }
}

#[cfg(unix)]
fn open_files_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

#[cfg(not(unix))]
fn open_files_limit() -> Option<u64> {
    None
}
