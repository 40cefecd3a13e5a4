//! The file operations of the store. Tests replace them to simulate power cuts.
//!
//! The store writes only through a [`FileBackend`]. [`RealBackend`](super::RealBackend) uses the
//! operating system; the backends of [`testing`](super::testing) fail on purpose.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// The kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, FIFO, socket or device: the store creates none of these.
    Other,
}

/// Distinguishes two states of a file without reading the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// Its kind.
    pub kind: EntryKind,
    /// Length in bytes.
    pub bytes: u64,
    /// Time of the last change, in nanoseconds since an arbitrary origin.
    pub modified: u128,
    /// Inode number, if the file system has one: a different number means a different file under
    /// the same name.
    pub file_number: u64,
}

/// A file open for appending.
pub trait BackendFile: fmt::Debug + Send {
    /// Writes all bytes at the end. After an error, any part of the bytes may have been written.
    ///
    /// # Errors
    /// Any error of the operating system.
    fn append_bytes(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Returns once all appended bytes, and the length, survive a power cut.
    ///
    /// # Errors
    /// Any error of the operating system; the state of bytes written since the last success is then
    /// unknown.
    fn sync_data(&mut self) -> io::Result<()>;

    /// Cuts the file to `bytes`.
    ///
    /// # Errors
    /// Any error of the operating system.
    fn truncate_to(&mut self, bytes: u64) -> io::Result<()>;
}

/// Whether a lock is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockShare {
    /// Exclusive: no other holder.
    Alone,
    /// Shared with other holders of a shared lock.
    WithOthers,
}

/// Holds a lock until it is dropped.
pub trait LockGuard: fmt::Debug + Send + Sync {}

/// The file system operations that the store uses.
pub trait FileBackend: fmt::Debug + Send + Sync {
    /// The state of `path`; `None` if no entry has that name. Does not follow a symbolic link in
    /// the last component.
    ///
    /// # Errors
    /// Any error of the operating system; also if a directory of the path is a symbolic link.
    fn stat_path(&self, path: &Path) -> io::Result<Option<FileStamp>>;

    /// [`FileBackend::stat_path`] for a comparison of states: cheaper, because it does not check
    /// the directories of the path for links.
    ///
    /// # Errors
    /// Any error of the operating system.
    fn stat_unchecked(&self, path: &Path) -> io::Result<Option<FileStamp>> {
        self.stat_path(path)
    }

    /// Closes cached files; `false` if none was open.
    fn close_cached(&self) -> bool {
        false
    }

    /// Name and kind of every entry with a Unicode name, unordered; empty if the directory does not
    /// exist.
    ///
    /// # Errors
    /// Any error of the operating system.
    fn list_dir(&self, path: &Path) -> io::Result<Vec<(String, EntryKind)>>;

    /// Reads from byte `offset` to the end that the file has when the reader reaches it.
    ///
    /// # Errors
    /// `NotFound`; anything but a regular file; any error of the operating system.
    fn read_from(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>>;

    /// Creates a file.
    ///
    /// # Errors
    /// `AlreadyExists`; any error of the operating system.
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn BackendFile>>;

    /// Opens an existing file for appending.
    ///
    /// # Errors
    /// `NotFound`; anything but a regular file; any error of the operating system.
    fn open_append(&self, path: &Path) -> io::Result<Box<dyn BackendFile>>;

    /// Creates one directory in an existing parent.
    ///
    /// # Errors
    /// `AlreadyExists`; any error of the operating system.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Returns once the names in a directory (created, renamed, removed) survive a power cut.
    ///
    /// # Errors
    /// Any error of the operating system.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Renames a file, replacing the target; readers see either the old or the new file.
    ///
    /// # Errors
    /// Any error of the operating system.
    fn rename_file(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound`; any error of the operating system.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty directory.
    ///
    /// # Errors
    /// `DirectoryNotEmpty`, `NotFound`; any error of the operating system.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Takes the lock of the file at `path`, and creates the file if it is missing; `None` if
    /// another holder excludes it. An exclusive holder writes `holder` into the file.
    ///
    /// # Errors
    /// `NotFound` without the directory; any error of the operating system.
    fn try_lock(
        &self,
        path: &Path,
        share: LockShare,
        holder: &str,
    ) -> io::Result<Option<Box<dyn LockGuard>>>;

    /// The kind of the network file system of `path`, whose locks and lengths are unreliable;
    /// `None` for a local one.
    fn network_file_system(&self, path: &Path) -> Option<&'static str> {
        let _ = path;
        None
    }

    /// The whole file.
    ///
    /// # Errors
    /// As [`FileBackend::read_from`].
    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        // Initial capacity for most files: otherwise reading starts with 32 bytes and doubles.
        let mut bytes = Vec::with_capacity(16 << 10);
        self.read_from(path, 0)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Creates a directory and its missing parents, each durable when this returns. An existing
    /// directory may not be durable yet, because the process that created it may have died before
    /// syncing.
    ///
    /// # Errors
    /// Any error of the operating system.
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        match self.stat_path(path)? {
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

impl<B: FileBackend + ?Sized> FileBackend for Arc<B> {
    fn stat_path(&self, path: &Path) -> io::Result<Option<FileStamp>> {
        (**self).stat_path(path)
    }
    fn stat_unchecked(&self, path: &Path) -> io::Result<Option<FileStamp>> {
        (**self).stat_unchecked(path)
    }
    fn close_cached(&self) -> bool {
        (**self).close_cached()
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
    fn rename_file(&self, from: &Path, to: &Path) -> io::Result<()> {
        (**self).rename_file(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        (**self).remove_file(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        (**self).remove_dir(path)
    }
    fn try_lock(
        &self,
        path: &Path,
        share: LockShare,
        holder: &str,
    ) -> io::Result<Option<Box<dyn LockGuard>>> {
        (**self).try_lock(path, share, holder)
    }
    fn network_file_system(&self, path: &Path) -> Option<&'static str> {
        (**self).network_file_system(path)
    }
}

/// The parent directory of `path`, in a form that can be opened.
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

/// Why the store does not open an entry that has the name of one of its files; found among the
/// causes of an [`io::Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryRefusal {
    /// A symbolic link could direct a write outside the store, or make two users share a file.
    SymbolicLink,
    /// A directory, FIFO, socket or device: opening one may block for ever.
    NotRegular,
}

impl fmt::Display for EntryRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SymbolicLink => "symbolic links inside a store are not followed",
            Self::NotRegular => "not a regular file",
        })
    }
}

impl std::error::Error for EntryRefusal {}

impl From<EntryRefusal> for io::Error {
    fn from(refusal: EntryRefusal) -> Self {
        io::Error::other(refusal)
    }
}
