//! The cache of open log files, with a limit: a store can have more users than a process has file
//! handles.
//!
//! Opening a file for each append would cost as much as the append itself. So logs leave their file
//! open here. The least recently used file is closed if there are too many, or if the operating
//! system runs out of handles.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sync::Mutex;
use lru::LruCache;

use super::backend::BackendFile;

/// Logs use at most one in this many of a process's handles; the rest is left to the application.
const SHARE: u64 = 4;

/// The open files of one store's logs.
#[derive(Debug)]
pub(crate) struct HandleCache {
    kept: Mutex<LruCache<u64, Box<dyn BackendFile>>>,
    next_key: AtomicU64,
}

/// One log's entry in the cache; dropping it closes the file.
#[derive(Debug)]
pub(crate) struct CachedHandle {
    handles: Arc<HandleCache>,
    key: u64,
}

impl HandleCache {
    /// Creates a cache that keeps one file open.
    pub fn new() -> Arc<Self> {
        let kept = Mutex::new(LruCache::new(NonZeroUsize::MIN));
        Arc::new(Self { kept, next_key: AtomicU64::new(0) })
    }

    /// Keeps at most `most` files open, and at most a quarter of the process's file handles, but
    /// always allows one.
    pub fn set_limit(&self, most: usize) {
        let share = open_files_limit().map_or(u64::MAX, |limit| limit / SHARE);
        let limit = usize::try_from(share).map_or(most, |share| share.min(most));
        self.kept.lock().resize(NonZeroUsize::new(limit).unwrap_or(NonZeroUsize::MIN));
    }

    /// Closes every cached file; `false` if there was none.
    pub fn close_cached(&self) -> bool {
        let mut kept = self.kept.lock();
        let any = !kept.is_empty();
        kept.clear();
        any
    }

    pub fn cached_handle(self: &Arc<Self>) -> CachedHandle {
        CachedHandle {
            handles: Arc::clone(self),
            key: self.next_key.fetch_add(1, Ordering::Relaxed),
        }
    }
}

impl CachedHandle {
    /// Takes the file out of the cache, if it is still open.
    pub fn take_file(&self) -> Option<Box<dyn BackendFile>> {
        self.handles.kept.lock().pop(&self.key)
    }

    /// Leaves the file open for the next append.
    pub fn put_file(&self, file: Box<dyn BackendFile>) {
        let evicted = self.handles.kept.lock().push(self.key, file);
        // Closed after the lock is released.
        drop(evicted);
    }
}

impl Drop for CachedHandle {
    fn drop(&mut self) {
        drop(self.take_file());
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
