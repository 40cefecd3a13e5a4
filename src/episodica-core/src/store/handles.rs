//! Files kept open between two appends, and how many: a store has more users than a process has
//! file handles.
//!
//! Opening a file for each append would cost as much as the append. So logs leave their file here,
//! and the one that was used longest ago is closed when there are too many, or when the operating
//! system has no more handles to give.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lru::LruCache;
use parking_lot::Mutex;

use super::backend::BackendFile;

/// Most files kept open where the operating system sets no limit, or a generous one.
const MAX_KEPT_FILES: usize = 128;

/// A process keeps at most one handle in so many for logs: the rest belongs to the application.
const SHARE: u64 = 4;

/// The files kept open by the logs of one store.
#[derive(Debug)]
pub(crate) struct Handles {
    kept: Mutex<LruCache<u64, Box<dyn BackendFile>>>,
    next_key: AtomicU64,
}

/// The place of one log among the files kept open; its file is closed when this is dropped.
#[derive(Debug)]
pub(crate) struct Handle {
    handles: Arc<Handles>,
    key: u64,
}

impl Handles {
    /// Keeps at most `limit` files open, at least one.
    pub fn new(limit: usize) -> Arc<Self> {
        let limit = NonZeroUsize::new(limit).unwrap_or(NonZeroUsize::MIN);
        Arc::new(Self { kept: Mutex::new(LruCache::new(limit)), next_key: AtomicU64::new(0) })
    }

    /// A quarter of the handles that the process may have, but at most [`MAX_KEPT_FILES`].
    pub fn default_limit() -> usize {
        let allowed = open_files_limit().map_or(u64::MAX, |limit| limit / SHARE);
        usize::try_from(allowed).map_or(MAX_KEPT_FILES, |allowed| allowed.min(MAX_KEPT_FILES))
    }

    /// Closes every kept file; `false` if there was none.
    pub fn release(&self) -> bool {
        let mut kept = self.kept.lock();
        let any = !kept.is_empty();
        kept.clear();
        any
    }

    /// A place for the file of one log.
    pub fn handle(self: &Arc<Self>) -> Handle {
        Handle { handles: Arc::clone(self), key: self.next_key.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Handle {
    /// Takes the file, if it is still open.
    pub fn take(&self) -> Option<Box<dyn BackendFile>> {
        self.handles.kept.lock().pop(&self.key)
    }

    /// Leaves the file open for the next append.
    pub fn put(&self, file: Box<dyn BackendFile>) {
        let evicted = self.handles.kept.lock().push(self.key, file);
        // Closed after the lock is free again.
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
