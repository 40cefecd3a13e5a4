//! A backend that gives back kept files when the operating system has no more handles.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::backend::{Backend, BackendFile, EntryKind, FileStamp, LockGuard};
use super::files::errno;
use super::handles::Handles;

/// Passes every operation on; one that fails for want of a file handle is tried once more after
/// the store has closed the files it had kept open.
#[derive(Debug)]
pub(crate) struct Frugal {
    inner: Arc<dyn Backend>,
    handles: Arc<Handles>,
}

impl Frugal {
    pub fn new(inner: Arc<dyn Backend>, handles: &Arc<Handles>) -> Self {
        Self { inner, handles: Arc::clone(handles) }
    }

    fn retry<T>(&self, operation: impl Fn(&dyn Backend) -> io::Result<T>) -> io::Result<T> {
        let outcome = operation(&*self.inner);
        match &outcome {
            Err(error) if is_out_of_handles(error) && self.handles.release() => {
                operation(&*self.inner)
            }
            _ => outcome,
        }
    }
}

#[cfg(unix)]
fn is_out_of_handles(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let code = errno(error);
    [Errno::MFILE, Errno::NFILE].iter().any(|errno| code == Some(errno.raw_os_error()))
}

#[cfg(not(unix))]
fn is_out_of_handles(_: &io::Error) -> bool {
    false
}

impl Backend for Frugal {
    fn stat(&self, path: &Path) -> io::Result<Option<FileStamp>> {
        self.inner.stat(path)
    }
    fn list_dir(&self, path: &Path) -> io::Result<Vec<(String, EntryKind)>> {
        self.retry(|inner| inner.list_dir(path))
    }
    fn read_from(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        self.retry(|inner| inner.read_from(path, offset))
    }
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn BackendFile>> {
        self.retry(|inner| inner.create_new(path))
    }
    fn open_append(&self, path: &Path) -> io::Result<Box<dyn BackendFile>> {
        self.retry(|inner| inner.open_append(path))
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.inner.create_dir(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.retry(|inner| inner.sync_dir(path))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_file(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_dir(path)
    }
    fn try_lock(&self, path: &Path, holder: &str) -> io::Result<Option<Box<dyn LockGuard>>> {
        self.retry(|inner| inner.try_lock(path, holder))
    }
}
