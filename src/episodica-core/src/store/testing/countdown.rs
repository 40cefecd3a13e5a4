//! A backend that fails after a given number of operations.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use crate::sync::{Mutex, MutexGuard};

use crate::store::backend::{BackendFile, EntryKind, FileBackend, FileStamp, LockGuard, LockShare};

/// Duration of the failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// One operation fails; later ones succeed.
    Once,
    /// This operation and all later ones fail.
    FromThenOn,
}

#[derive(Debug)]
struct Countdown {
    left: Option<u64>,
    failure: Failure,
    kind: io::ErrorKind,
    failed: u64,
    /// Only operations with these names count and fail; all, if there are none.
    only: &'static [&'static str],
    operations: Vec<String>,
    /// Operations whose name or path contains this text wait for the mutex.
    gate: Option<(&'static str, Arc<Mutex<()>>)>,
}

/// Forwards every operation to another backend until the n-th, which fails; also records the
/// operations.
///
/// A failing append writes the first half of its bytes, as on a disk that fills up.
#[derive(Debug, Clone)]
pub struct CountdownBackend<B> {
    inner: B,
    countdown: Arc<Mutex<Countdown>>,
}

impl<B: FileBackend> CountdownBackend<B> {
    /// Does not fail until [`Self::fail_after`] is called.
    pub fn new(inner: B) -> Self {
        let countdown = Countdown {
            left: None,
            failure: Failure::Once,
            kind: io::ErrorKind::Other,
            failed: 0,
            only: &[],
            operations: Vec::new(),
            gate: None,
        };
        Self { inner, countdown: Arc::new(Mutex::new(countdown)) }
    }

    /// Lets `operations` more operations succeed, then fails with an error of `kind`.
    pub fn fail_after(&self, operations: u64, failure: Failure, kind: io::ErrorKind) {
        let mut countdown = self.countdown.lock();
        (countdown.left, countdown.failure, countdown.kind, countdown.failed) =
            (Some(operations), failure, kind, 0);
        countdown.only = &[];
    }

    /// Lets `operations` more operations that need space succeed; then they fail with a full disk,
    /// while files can be read, renamed and removed.
    pub fn fill_after(&self, operations: u64) {
        self.fail_after(operations, Failure::FromThenOn, io::ErrorKind::StorageFull);
        self.countdown.lock().only = &ROOM;
    }

    /// Lets `operations` more operations that change the disk succeed, syncs included; then the
    /// next one, or all later ones, fail with a full disk.
    pub fn fill_at(&self, operations: u64, failure: Failure) {
        self.fail_after(operations, failure, io::ErrorKind::StorageFull);
        self.countdown.lock().only = &CHANGES;
    }

    /// Ends the failure: all operations succeed again.
    pub fn heal(&self) {
        self.countdown.lock().left = None;
    }

    /// Number of failed operations since [`Self::fail_after`].
    pub fn failures(&self) -> u64 {
        self.countdown.lock().failed
    }

    /// Operations whose name or path contains `named` wait while the returned mutex is locked.
    pub fn gate(&self, named: &'static str) -> Arc<Mutex<()>> {
        let gate = Arc::default();
        self.countdown.lock().gate = Some((named, Arc::clone(&gate)));
        gate
    }

    /// True if an operation since the last [`Self::take_operations`] contains `named`.
    pub fn has_done(&self, named: &str) -> bool {
        self.countdown.lock().operations.iter().any(|operation| operation.contains(named))
    }

    /// Returns the name and path of every operation so far (`sync_data`, `rename /s/a`), and clears
    /// the record.
    pub fn take_operations(&self) -> Vec<String> {
        std::mem::take(&mut self.countdown.lock().operations)
    }

    /// The wrapped backend.
    pub fn inner(&self) -> &B {
        &self.inner
    }

    fn step(&self, name: &str, path: &Path) -> io::Result<()> {
        step(&self.countdown, format!("{name} {}", path.display()))
    }
}

/// Operations that need space, and operations that change the disk.
const ROOM: [&str; 3] = ["append", "create_new", "create_dir"];
const CHANGES: [&str; 5] = ["append", "create_new", "create_dir", "rename", "sync"];

fn step(countdown: &Mutex<Countdown>, operation: String) -> io::Result<()> {
    let mut countdown = countdown.lock();
    let counts = countdown.only.iter().any(|name| operation.starts_with(name));
    let gate = countdown.gate.as_ref().filter(|(named, _)| operation.contains(named));
    let gate = gate.map(|(_, gate)| Arc::clone(gate));
    countdown.operations.push(operation);
    if let Some(gate) = gate {
        MutexGuard::unlocked(&mut countdown, || drop(gate.lock()));
    }
    if !countdown.only.is_empty() && !counts {
        return Ok(());
    }
    match countdown.left {
        None => Ok(()),
        Some(0) => {
            if countdown.failure == Failure::Once {
                countdown.left = None;
            }
            countdown.failed += 1;
            Err(io::Error::new(countdown.kind, "injected failure"))
        }
        Some(left) => {
            countdown.left = Some(left - 1);
            Ok(())
        }
    }
}

#[derive(Debug)]
struct CountdownFile {
    inner: Box<dyn BackendFile>,
    countdown: Arc<Mutex<Countdown>>,
}

impl BackendFile for CountdownFile {
    fn append_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = step(&self.countdown, format!("append {}", bytes.len())) {
            self.inner.append_bytes(&bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        self.inner.append_bytes(bytes)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        step(&self.countdown, "sync_data".into())?;
        self.inner.sync_data()
    }

    fn truncate_to(&mut self, bytes: u64) -> io::Result<()> {
        step(&self.countdown, format!("truncate {bytes}"))?;
        self.inner.truncate_to(bytes)
    }
}

impl<B: FileBackend> FileBackend for CountdownBackend<B> {
    fn stat_path(&self, path: &Path) -> io::Result<Option<FileStamp>> {
        self.step("stat", path)?;
        self.inner.stat_path(path)
    }

    fn list_dir(&self, path: &Path) -> io::Result<Vec<(String, EntryKind)>> {
        self.step("list_dir", path)?;
        self.inner.list_dir(path)
    }

    fn read_from(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        self.step("read_from", path)?;
        self.inner.read_from(path, offset)
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn BackendFile>> {
        self.step("create_new", path)?;
        let inner = self.inner.create_new(path)?;
        Ok(Box::new(CountdownFile { inner, countdown: Arc::clone(&self.countdown) }))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn BackendFile>> {
        self.step("open_append", path)?;
        let inner = self.inner.open_append(path)?;
        Ok(Box::new(CountdownFile { inner, countdown: Arc::clone(&self.countdown) }))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.step("create_dir", path)?;
        self.inner.create_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.step("sync_dir", path)?;
        self.inner.sync_dir(path)
    }

    fn rename_file(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step("rename", from)?;
        self.inner.rename_file(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.step("remove_file", path)?;
        self.inner.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.step("remove_dir", path)?;
        self.inner.remove_dir(path)
    }

    fn try_lock(
        &self,
        path: &Path,
        share: LockShare,
        holder: &str,
    ) -> io::Result<Option<Box<dyn LockGuard>>> {
        self.step("try_lock", path)?;
        self.inner.try_lock(path, share, holder)
    }
}
