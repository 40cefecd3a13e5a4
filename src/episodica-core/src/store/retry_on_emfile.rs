//! A backend that closes cached files when the operating system runs out of file handles.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::backend::{BackendFile, EntryKind, FileBackend, FileStamp, LockGuard, LockShare};
use super::handles::HandleCache;

/// Forwards every operation. If an operation fails for lack of a file handle, the store's cached
/// files are closed and the operation is tried once more.
#[derive(Debug)]
pub(crate) struct RetryOnEmfile {
    inner: Arc<dyn FileBackend>,
    handles: Arc<HandleCache>,
}

impl RetryOnEmfile {
    pub fn new(inner: Arc<dyn FileBackend>, handles: &Arc<HandleCache>) -> Self {
        Self { inner, handles: Arc::clone(handles) }
    }

    fn retry_operation<T>(
        &self,
        operation: impl Fn(&dyn FileBackend) -> io::Result<T>,
    ) -> io::Result<T> {
        let outcome = operation(&*self.inner);
        match &outcome {
            Err(error) if is_out_of_handles(error) && self.close_cached() => {
                operation(&*self.inner)
            }
            _ => outcome,
        }
    }
}

#[cfg(unix)]
fn is_out_of_handles(error: &io::Error) -> bool {
    use super::files::error_number;
    use rustix::io::Errno;
    let code = error_number(error);
    [Errno::MFILE, Errno::NFILE].iter().any(|errno| code == Some(errno.raw_os_error()))
}

#[cfg(windows)]
fn is_out_of_handles(error: &io::Error) -> bool {
    /// `ERROR_TOO_MANY_OPEN_FILES` of Windows.
    const TOO_MANY: i32 = 4;
    super::files::error_number(error) == Some(TOO_MANY)
}

impl FileBackend for RetryOnEmfile {
    fn stat_path(&self, path: &Path) -> io::Result<Option<FileStamp>> {
        self.inner.stat_path(path)
    }
    fn stat_unchecked(&self, path: &Path) -> io::Result<Option<FileStamp>> {
        self.inner.stat_unchecked(path)
    }
    fn close_cached(&self) -> bool {
        let released = [self.handles.close_cached(), self.inner.close_cached()];
        released.contains(&true)
    }
    fn list_dir(&self, path: &Path) -> io::Result<Vec<(String, EntryKind)>> {
        self.retry_operation(|inner| inner.list_dir(path))
    }
    fn read_from(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        self.retry_operation(|inner| inner.read_from(path, offset))
    }
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn BackendFile>> {
        self.retry_operation(|inner| inner.create_new(path))
    }
    fn open_append(&self, path: &Path) -> io::Result<Box<dyn BackendFile>> {
        self.retry_operation(|inner| inner.open_append(path))
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.inner.create_dir(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.retry_operation(|inner| inner.sync_dir(path))
    }
    fn rename_file(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename_file(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_file(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_dir(path)
    }
    fn try_lock(
        &self,
        path: &Path,
        share: LockShare,
        holder: &str,
    ) -> io::Result<Option<Box<dyn LockGuard>>> {
        self.retry_operation(|inner| inner.try_lock(path, share, holder))
    }
    fn network_file_system(&self, path: &Path) -> Option<&'static str> {
        self.inner.network_file_system(path)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::clock::{FixedClock, Moment};
    use crate::ids::Owner;
    use crate::model::Message;
    use crate::store::testing::MemoryBackend;
    use crate::store::{OpenMode, Store};

    /// A process with a limit on open files.
    #[derive(Debug)]
    struct ScarceHandles {
        disk: MemoryBackend,
        open: Arc<AtomicUsize>,
        limit: usize,
    }

    #[derive(Debug)]
    struct HandleCount {
        file: Box<dyn BackendFile>,
        open: Arc<AtomicUsize>,
    }

    impl Drop for HandleCount {
        fn drop(&mut self) {
            self.open.fetch_sub(1, Ordering::SeqCst);
        }
    }

    impl BackendFile for HandleCount {
        fn append_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.file.append_bytes(bytes)
        }
        fn sync_data(&mut self) -> io::Result<()> {
            self.file.sync_data()
        }
        fn truncate_to(&mut self, bytes: u64) -> io::Result<()> {
            self.file.truncate_to(bytes)
        }
    }

    impl ScarceHandles {
        fn check_limit(&self) -> io::Result<()> {
            let emfile = rustix::io::Errno::MFILE.raw_os_error();
            let left = self.limit - self.open.load(Ordering::SeqCst);
            if left == 0 { Err(io::Error::from_raw_os_error(emfile)) } else { Ok(()) }
        }

        fn open_counted(
            &self,
            open: impl FnOnce() -> io::Result<Box<dyn BackendFile>>,
        ) -> io::Result<Box<dyn BackendFile>> {
            self.check_limit()?;
            let file = open()?;
            self.open.fetch_add(1, Ordering::SeqCst);
            Ok(Box::new(HandleCount { file, open: Arc::clone(&self.open) }))
        }
    }

    impl FileBackend for ScarceHandles {
        fn stat_path(&self, path: &Path) -> io::Result<Option<FileStamp>> {
            self.disk.stat_path(path)
        }
        fn list_dir(&self, path: &Path) -> io::Result<Vec<(String, EntryKind)>> {
            self.check_limit()?;
            self.disk.list_dir(path)
        }
        fn read_from(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>> {
            self.check_limit()?;
            self.disk.read_from(path, offset)
        }
        fn create_new(&self, path: &Path) -> io::Result<Box<dyn BackendFile>> {
            self.open_counted(|| self.disk.create_new(path))
        }
        fn open_append(&self, path: &Path) -> io::Result<Box<dyn BackendFile>> {
            self.open_counted(|| self.disk.open_append(path))
        }
        fn create_dir(&self, path: &Path) -> io::Result<()> {
            self.disk.create_dir(path)
        }
        fn sync_dir(&self, path: &Path) -> io::Result<()> {
            self.check_limit()?;
            self.disk.sync_dir(path)
        }
        fn rename_file(&self, from: &Path, to: &Path) -> io::Result<()> {
            self.disk.rename_file(from, to)
        }
        fn remove_file(&self, path: &Path) -> io::Result<()> {
            self.disk.remove_file(path)
        }
        fn remove_dir(&self, path: &Path) -> io::Result<()> {
            self.disk.remove_dir(path)
        }
        fn try_lock(
            &self,
            path: &Path,
            share: LockShare,
            holder: &str,
        ) -> io::Result<Option<Box<dyn LockGuard>>> {
            self.disk.try_lock(path, share, holder)
        }
    }

    #[test]
    fn more_users_than_file_handles_can_be_written() {
        let open = Arc::new(AtomicUsize::new(0));
        let (disk, limit) = (MemoryBackend::new(), 6);
        let scarce = ScarceHandles { disk, open: Arc::clone(&open), limit };
        let clock = FixedClock::new(Moment::new(0, 0).unwrap());
        let store =
            Store::open_on(Arc::new(scarce), Path::new("/m"), OpenMode::ReadWrite, &clock).unwrap();
        store.set_max_open_files(128);
        let message = serde_json::json!({"message_id": "m", "seq": 0, "role": "user",
            "content": "hello", "timestamp": "2026-11-01T08:00:00Z"});
        let message: Arc<Message> = Arc::new(serde_json::from_value(message).unwrap());
        let mut users = Vec::new();
        for n in 0..40 {
            let owner = Owner::new("default", &format!("user{n}")).unwrap();
            let (user, _) = store.open_user(&owner).unwrap();
            user.append_messages(&[Arc::clone(&message)], &[]).unwrap();
            users.push(user);
        }
        assert!(open.load(Ordering::SeqCst) <= limit);
        for user in &users {
            user.append_messages(&[Arc::clone(&message)], &[]).unwrap();
        }
        store.set_max_open_files(2);
        assert_eq!(open.load(Ordering::SeqCst), 2, "a lower limit closes files");
        for user in &users {
            user.append_messages(&[Arc::clone(&message)], &[]).unwrap();
            assert!(open.load(Ordering::SeqCst) <= 2);
        }
        drop(users);
        assert_eq!(open.load(Ordering::SeqCst), 0, "a closed user keeps no file open");
    }
}
