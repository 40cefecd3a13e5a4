//! Whole files: atomic replacement, checksums, removal; and the store's errors about files.
//!
//! A file is replaced by writing and syncing `<file>.tmp`, renaming it over the file and syncing
//! the directory: after a crash, either the old or the new file exists. A missing directory is
//! created.

use std::io;
use std::path::{Path, PathBuf};

use super::backend::{BackendFile, EntryKind, EntryRefusal, FileBackend, parent_of};
use crate::error::{Error, ErrorKind, Result};

pub(crate) fn temporary_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    name.into()
}

/// Replaces a file atomically and durably.
///
/// # Errors
/// `Io`; the old file is then in place, or the new one under a name that is not durable yet.
pub(crate) fn replace_file(backend: &dyn FileBackend, path: &Path, bytes: &[u8]) -> Result<()> {
    replace_with(backend, path, |file| file.append_bytes(bytes))
}

/// Replaces a file, as [`replace_file`] does, with the bytes that `fill` appends.
///
/// # Errors
/// As [`replace_file`].
pub(crate) fn replace_with(
    backend: &dyn FileBackend,
    path: &Path,
    fill: impl FnOnce(&mut dyn BackendFile) -> io::Result<()>,
) -> Result<()> {
    put_with(backend, path, fill)?;
    sync_dir(backend, parent_of(path))
}

/// Replaces a file atomically. The new file is durable once the directory is synced.
///
/// # Errors
/// `Io`; the old file is then in place.
pub(crate) fn put_file(backend: &dyn FileBackend, path: &Path, bytes: &[u8]) -> Result<()> {
    put_with(backend, path, |file| file.append_bytes(bytes))
}

/// Runs `make`, which creates a file at `path`. Creates a missing directory first; repeats this if
/// a deletion of another user removes the empty directory meanwhile.
pub(crate) fn in_directory<T>(
    backend: &dyn FileBackend,
    path: &Path,
    mut make: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    /// Each attempt fails only if a deletion removes the directory at that moment.
    const ATTEMPTS: usize = 100;
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    for _ in 0..ATTEMPTS {
        match make() {
            Err(error) if is_gone(&error) => {}
            made => return made,
        }
        match backend.create_dir_all(parent_of(path)) {
            Err(error) if !is_gone(&error) => return Err(error),
            _ => {}
        }
    }
    make()
}

fn put_with(
    backend: &dyn FileBackend,
    path: &Path,
    fill: impl FnOnce(&mut dyn BackendFile) -> io::Result<()>,
) -> Result<()> {
    let temporary = temporary_path(path);
    let write = || {
        if backend.stat_path(&temporary)?.is_some() {
            remove_entry(backend, &temporary)?;
        }
        let mut file = in_directory(backend, path, || backend.create_new(&temporary))?;
        fill(&mut *file)?;
        file.sync_data()?;
        match backend.rename_file(&temporary, path) {
            Err(_) if is_directory(backend, path) => {
                backend.remove_dir(path)?;
                backend.rename_file(&temporary, path)
            }
            renamed => renamed,
        }
    };
    write().map_err(|error| {
        let _ = backend.remove_file(&temporary);
        io_error("cannot write the file", path, error)
    })
}

/// Removes a file, or what else has its name; `false` if there was none. A folder with entries is
/// a file without an owner: it stays.
///
/// # Errors
/// `Io`.
pub(crate) fn remove_file(backend: &dyn FileBackend, path: &Path) -> Result<bool> {
    match remove_entry(backend, path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(_) if is_directory(backend, path) => {
            log::warn!("a folder stands in the place of a file and stays: `{}`", path.display());
            Ok(false)
        }
        Err(error) => Err(io_error("cannot remove the file", path, error)),
    }
}

/// Removes a file, link, FIFO or empty directory. Follows no link.
pub(crate) fn remove_entry(backend: &dyn FileBackend, path: &Path) -> io::Result<()> {
    match backend.remove_file(path) {
        Err(_) if is_directory(backend, path) => backend.remove_dir(path),
        removed => removed,
    }
}

fn is_directory(backend: &dyn FileBackend, path: &Path) -> bool {
    matches!(backend.stat_path(path), Ok(Some(stamp)) if stamp.kind == EntryKind::Directory)
}

/// True if something other than a regular file has the name of a file.
pub(crate) fn is_irregular(backend: &dyn FileBackend, path: &Path) -> bool {
    matches!(backend.stat_path(path), Ok(Some(stamp)) if stamp.kind != EntryKind::File)
}

/// Reads a file; `None` if it does not exist.
///
/// # Errors
/// `Io`, stating that the store could not `purpose`; `CorruptStore` for anything but a regular
/// file.
pub(crate) fn read_file(
    backend: &dyn FileBackend,
    path: &Path,
    purpose: &str,
) -> Result<Option<Vec<u8>>> {
    match backend.read_file(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error(purpose, path, error)),
    }
}

/// Creates a directory and its missing parents durably.
///
/// # Errors
/// `Io`.
pub(crate) fn create_dir_all(backend: &dyn FileBackend, directory: &Path) -> Result<()> {
    backend
        .create_dir_all(directory)
        .map_err(|error| io_error("cannot create the directory", directory, error))
}

/// Returns once the names in a directory survive a power cut.
///
/// # Errors
/// `Io`.
pub(crate) fn sync_dir(backend: &dyn FileBackend, directory: &Path) -> Result<()> {
    backend
        .sync_dir(directory)
        .map_err(|error| io_error("cannot sync the directory", directory, error))
}

/// Returns once every name from `root` down to `directory`, and the names in it, survive a power
/// cut.
///
/// # Errors
/// `Io`.
pub(crate) fn sync_up(backend: &dyn FileBackend, root: &Path, directory: &Path) -> Result<()> {
    for place in directory.ancestors().take_while(|place| place.starts_with(root)) {
        backend
            .sync_dir(place)
            .map_err(|error| io_error("cannot sync the directory", directory, error))?;
    }
    Ok(())
}

/// The operating system's error number, however deeply the error is wrapped.
pub(crate) fn error_number(error: &io::Error) -> Option<i32> {
    let mut cause = error.get_ref().map(|inner| inner as &(dyn std::error::Error + 'static));
    let mut number = error.raw_os_error();
    while let (None, Some(inner)) = (number, cause) {
        number = inner.downcast_ref::<io::Error>().and_then(error_number);
        cause = inner.source();
    }
    number
}

/// True if an operation failed because the disk, or the caller's quota, is full.
pub(crate) fn is_disk_full(error: &Error) -> bool {
    let cause = std::error::Error::source(error);
    let kind = cause.and_then(|cause| cause.downcast_ref()).map(io::Error::kind);
    matches!(kind, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
}

/// The store's error for a failed operation on `path`.
pub(crate) fn io_error(context: &str, path: &Path, source: io::Error) -> Error {
    let refusal = source.get_ref().and_then(|inner| inner.downcast_ref::<EntryRefusal>());
    let (message, hint) = match refusal {
        None => return Error::io(context, path, source),
        Some(EntryRefusal::SymbolicLink) => (
            "a symbolic link inside the store is not followed",
            "replace the link by the file or directory that it points to",
        ),
        Some(EntryRefusal::NotRegular) => (
            "a file of the store is not a regular file",
            "move away the directory, FIFO, socket or device that has the name",
        ),
    };
    Error::new(ErrorKind::CorruptStore, message).at_path(path, None).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::MemoryBackend;

    #[test]
    fn a_replaced_file_is_durable_and_leaves_no_temporary() {
        let disk = MemoryBackend::new();
        let path = Path::new("/m/file");
        disk.put(path, b"old");
        disk.put(temporary_path(path), b"what a crash left");
        replace_with(&disk, path, |file| {
            file.append_bytes(b"ne")?;
            file.append_bytes(b"w")
        })
        .unwrap();
        let after = disk.after_power_cut();
        assert_eq!(after.files().into_iter().collect::<Vec<_>>(), [(path.into(), b"new".to_vec())]);
    }

    #[test]
    fn a_directory_that_others_remove_while_it_is_empty_is_made_again() {
        let disk = MemoryBackend::new();
        let (directory, path) = (Path::new("/m/long~"), Path::new("/m/long~/file"));
        let mut removals = 3;
        let made = in_directory(&disk, path, || {
            if removals > 0 && disk.remove_dir(directory).is_ok() {
                removals -= 1;
            }
            disk.create_new(path)
        });
        made.unwrap().append_bytes(b"x").unwrap();
        assert_eq!((removals, disk.read_file(path).unwrap()), (0, b"x".to_vec()));
        // A process that removes the directory at every attempt is no deletion: give up.
        let path = Path::new("/m/other~/file");
        let made = in_directory(&disk, path, || {
            let _ = disk.remove_dir(parent_of(path));
            disk.create_new(path)
        });
        assert_eq!(made.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
