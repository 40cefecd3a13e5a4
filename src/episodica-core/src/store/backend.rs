//! The file operations that the store uses, and nothing more: the seam at which tests cut the
//! power.
//!
//! Everything the store writes goes through a [`Backend`]; [`RealBackend`] is the operating system.
//! It refuses to follow symbolic links below the root of the store, so that nobody's link can lead
//! a write out of it or make two users share a file. (The root itself may be a link: that is the
//! caller's own choice of a place.)

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fs_err::{self as fs, OpenOptions};

use crate::error::{Error, ErrorKind};

/// What stands under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A plain file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, a socket, …: nothing the store made.
    Other,
}

/// Tells two states of a file apart without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// What it is.
    pub kind: EntryKind,
    /// Length in bytes.
    pub bytes: u64,
    /// Time of the last change, in nanoseconds of an arbitrary origin.
    pub modified: u128,
    /// Number of the file within its file system, where there is such a thing; another number =
    /// another file under the same name.
    pub file_number: u64,
}

/// A file open for appending.
pub trait BackendFile: fmt::Debug + Send {
    /// Writes all bytes at the end. After an error any part of them may be there.
    ///
    /// # Errors
    /// Whatever the operating system says.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Returns when everything appended, and the length, survive a power cut.
    ///
    /// # Errors
    /// Whatever the operating system says; nothing about what was written since the last success is
    /// known then.
    fn sync_data(&mut self) -> io::Result<()>;

    /// Cuts the file to `bytes`.
    ///
    /// # Errors
    /// Whatever the operating system says.
    fn truncate(&mut self, bytes: u64) -> io::Result<()>;
}

/// Keeps a lock until it is dropped.
pub trait LockGuard: fmt::Debug + Send + Sync {}

/// A file system, as far as the store uses one.
pub trait Backend: fmt::Debug + Send + Sync {
    /// What stands at `path`; `None` if nothing. Does not follow a link in the last place.
    ///
    /// # Errors
    /// Whatever the operating system says, and a symbolic link among the directories.
    fn stat(&self, path: &Path) -> io::Result<Option<FileStamp>>;

    /// Name and kind of every entry whose name is Unicode, in no order; nothing for a directory
    /// that isn't there.
    ///
    /// # Errors
    /// Whatever the operating system says.
    fn list_dir(&self, path: &Path) -> io::Result<Vec<(String, EntryKind)>>;

    /// Reads from byte `offset` to the end, which is where the file ended when it was reached.
    ///
    /// # Errors
    /// `NotFound`, and whatever the operating system says.
    fn read_from(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>>;

    /// Makes a file that is not there yet.
    ///
    /// # Errors
    /// `AlreadyExists`, and whatever the operating system says.
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn BackendFile>>;

    /// Opens a file that is there.
    ///
    /// # Errors
    /// `NotFound`, and whatever the operating system says.
    fn open_append(&self, path: &Path) -> io::Result<Box<dyn BackendFile>>;

    /// Makes one directory; its parent must be there.
    ///
    /// # Errors
    /// `AlreadyExists`, and whatever the operating system says.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Returns when the names in a directory (files made, renamed and removed) survive a power cut.
    ///
    /// # Errors
    /// Whatever the operating system says.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Gives a file another name, replacing what had it; readers see the one or the other.
    ///
    /// # Errors
    /// Whatever the operating system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound`, and whatever the operating system says.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty directory.
    ///
    /// # Errors
    /// `DirectoryNotEmpty`, `NotFound`, and whatever the operating system says.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Takes the exclusive lock of the file at `path` and writes `holder` into it; `None` if
    /// somebody has it.
    ///
    /// # Errors
    /// Whatever the operating system says.
    fn try_lock(&self, path: &Path, holder: &str) -> io::Result<Option<Box<dyn LockGuard>>>;

    /// The whole file.
    ///
    /// # Errors
    /// `NotFound`, and whatever the operating system says.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read_from(path, 0)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Makes a directory and those above it that are missing, each durable when this returns. One
    /// that is there may not be durable yet (whoever made it died before syncing): see [`sync_up`].
    ///
    /// # Errors
    /// Whatever the operating system says.
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        match self.stat(path)? {
            Some(FileStamp { kind: EntryKind::Directory, .. }) => return Ok(()),
            Some(_) => return Err(io::Error::new(io::ErrorKind::NotADirectory, "not a directory")),
            None => {}
        }
        let parent = parent_of(path);
        if parent != path {
            self.create_dir_all(parent)?;
        }
        match self.create_dir(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        self.sync_dir(parent)
    }
}

impl<B: Backend + ?Sized> Backend for Arc<B> {
    fn stat(&self, path: &Path) -> io::Result<Option<FileStamp>> {
        (**self).stat(path)
    }
    fn list_dir(&self, path: &Path) -> io::Result<Vec<(String, EntryKind)>> {
        (**self).list_dir(path)
    }
    fn read_from(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        (**self).read_from(path, offset)
    }
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn BackendFile>> {
        (**self).create_new(path)
    }
    fn open_append(&self, path: &Path) -> io::Result<Box<dyn BackendFile>> {
        (**self).open_append(path)
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        (**self).create_dir(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        (**self).sync_dir(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        (**self).rename(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        (**self).remove_file(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        (**self).remove_dir(path)
    }
    fn try_lock(&self, path: &Path, holder: &str) -> io::Result<Option<Box<dyn LockGuard>>> {
        (**self).try_lock(path, holder)
    }
}

/// Returns when every name from `root` down to `directory`, and the names in it, survive a power
/// cut.
///
/// # Errors
/// Whatever the operating system says.
pub(crate) fn sync_up(backend: &dyn Backend, root: &Path, directory: &Path) -> io::Result<()> {
    for place in directory.ancestors().take_while(|place| place.starts_with(root)) {
        backend.sync_dir(place)?;
    }
    Ok(())
}

/// The directory that holds `path`, in a form that can be opened.
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

/// Marks the refusal of a symbolic link among the causes of an [`io::Error`].
#[derive(Debug)]
pub(crate) struct SymbolicLink;

impl fmt::Display for SymbolicLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("symbolic links inside a store are not followed")
    }
}

impl std::error::Error for SymbolicLink {}

/// The store's error for a failed operation on `path`.
pub(crate) fn io_error(context: &str, path: &Path, source: io::Error) -> Error {
    if source.get_ref().is_some_and(|inner| inner.is::<SymbolicLink>()) {
        return Error::new(
            ErrorKind::CorruptStore,
            "a symbolic link inside the store is not followed",
        )
        .at(path, None)
        .with_hint("replace the link by the file or directory that it points to");
    }
    Error::io(context, path, source)
}

/// The operating system's files.
#[derive(Debug, Clone)]
pub struct RealBackend {
    root: PathBuf,
}

impl RealBackend {
    /// Below `root`, symbolic links are refused.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Refuses `path` if a name below the root, the last one included, is a symbolic link.
    fn guard(&self, path: &Path) -> io::Result<()> {
        let Ok(inside) = path.strip_prefix(&self.root) else { return Ok(()) };
        let mut place = self.root.clone();
        for part in inside.components() {
            place.push(part);
            match std::fs::symlink_metadata(&place) {
                Ok(metadata) if metadata.is_symlink() => {
                    return Err(io::Error::other(SymbolicLink));
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
struct RealFile(fs::File);

impl BackendFile for RealFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }
}

#[derive(Debug)]
struct RealLock(
    #[expect(dead_code, reason = "held for its effect: closing the file frees the lock")]
    std::fs::File,
);

impl LockGuard for RealLock {}

#[cfg(unix)]
fn file_number(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn file_number(_: &std::fs::Metadata) -> u64 {
    0
}

fn entry_kind(kind: std::fs::FileType) -> EntryKind {
    match (kind.is_file(), kind.is_dir()) {
        (true, _) => EntryKind::File,
        (_, true) => EntryKind::Directory,
        _ => EntryKind::Other,
    }
}

impl Backend for RealBackend {
    fn stat(&self, path: &Path) -> io::Result<Option<FileStamp>> {
        if let Some(parent) = path.parent() {
            self.guard(parent)?;
        }
        match std::fs::symlink_metadata(path) {
            Ok(metadata) => {
                // The root may be a link; what the store asks of it is the directory behind.
                let metadata = if path == self.root && metadata.is_symlink() {
                    fs::metadata(path)?
                } else {
                    metadata
                };
                let modified = metadata
                    .modified()
                    .ok()
                    .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
                Ok(Some(FileStamp {
                    kind: entry_kind(metadata.file_type()),
                    bytes: metadata.len(),
                    modified: modified.map_or(0, |since| since.as_nanos()),
                    file_number: file_number(&metadata),
                }))
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn list_dir(&self, path: &Path) -> io::Result<Vec<(String, EntryKind)>> {
        self.guard(path)?;
        let entries = match fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut list = Vec::new();
        for entry in entries {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string() {
                list.push((name, entry_kind(entry.file_type()?)));
            }
        }
        Ok(list)
    }

    fn read_from(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        self.guard(path)?;
        let mut file = fs::File::open(path)?;
        if offset > 0 {
            file.seek(SeekFrom::Start(offset))?;
        }
        Ok(Box::new(file))
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn BackendFile>> {
        self.guard(path)?;
        Ok(Box::new(RealFile(OpenOptions::new().append(true).create_new(true).open(path)?)))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn BackendFile>> {
        self.guard(path)?;
        Ok(Box::new(RealFile(OpenOptions::new().append(true).open(path)?)))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.guard(path)?;
        fs::create_dir(path)
    }

    #[cfg(unix)]
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        fs::File::open(path)?.sync_all()
    }

    /// Directories can't be opened for syncing here; renaming is ordered by the file system's
    /// journal.
    #[cfg(not(unix))]
    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.guard(from)?;
        self.guard(to)?;
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        if let Some(parent) = path.parent() {
            self.guard(parent)?;
        }
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.guard(path)?;
        // The kind of the error (not empty) matters to the caller, and it is never shown.
        std::fs::remove_dir(path)
    }

    fn try_lock(&self, path: &Path, holder: &str) -> io::Result<Option<Box<dyn LockGuard>>> {
        self.guard(path)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?
            .into_file();
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Ok(None),
            Err(std::fs::TryLockError::Error(error)) => return Err(error),
        }
        file.set_len(0)?;
        file.write_all(holder.as_bytes())?;
        Ok(Some(Box::new(RealLock(file))))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::store::testing::TempDir;

    #[test]
    fn symbolic_links_below_the_root_are_refused() {
        let place = TempDir::new();
        let (root, outside) = (place.path().join("store"), place.path().join("outside"));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(&outside, root.join("messages")).unwrap();
        std::os::unix::fs::symlink(outside.join("secret"), root.join("file")).unwrap();
        let backend = RealBackend::new(&root);
        for path in [root.join("messages/secret"), root.join("file")] {
            let error = io_error("cannot read", &path, backend.read(&path).unwrap_err());
            assert_eq!(error.kind(), ErrorKind::CorruptStore);
            assert_eq!(
                error.to_string(),
                format!("a symbolic link inside the store is not followed in `{}`", path.display())
            );
            assert!(backend.open_append(&path).is_err());
        }
        assert!(backend.create_new(&root.join("messages/new")).is_err());
        assert!(backend.list_dir(&root.join("messages")).is_err());
        assert_eq!(backend.stat(&root.join("file")).unwrap().unwrap().kind, EntryKind::Other);
    }

    #[test]
    fn the_root_itself_may_be_a_link() {
        let place = TempDir::new();
        fs::create_dir(place.path().join("real")).unwrap();
        let root = place.path().join("link");
        std::os::unix::fs::symlink(place.path().join("real"), &root).unwrap();
        let backend = RealBackend::new(&root);
        backend.create_dir_all(&root.join("a/b")).unwrap();
        backend.create_new(&root.join("a/b/c")).unwrap().append(b"x").unwrap();
        assert_eq!(backend.read(&root.join("a/b/c")).unwrap(), b"x");
    }

    #[test]
    fn a_lock_is_held_once_until_it_is_dropped() {
        let place = TempDir::new();
        let backend = RealBackend::new(place.path());
        let path = place.path().join(".lock");
        let guard = backend.try_lock(&path, "one").unwrap().unwrap();
        assert!(backend.try_lock(&path, "two").unwrap().is_none());
        assert_eq!(backend.read(&path).unwrap(), b"one");
        drop(guard);
        assert!(backend.try_lock(&path, "two").unwrap().is_some());
    }
}
