//! The operating system's files.
//!
//! [`RealBackend`] refuses symbolic links below the root of the store, and anything but regular
//! files: opening a FIFO in place of a log would block forever. The root itself may be a link,
//! because the caller chose it.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fs_err::{self as fs, OpenOptions};

use super::backend::{
    BackendFile, EntryKind, EntryRefusal, FileBackend, FileStamp, LockGuard, LockShare,
};
use super::fork_locks::RegisteredFile;
use crate::fork;
use crate::sync::Mutex;

/// Maximum bytes read from a lock file.
const MAX_HOLDER_BYTES: usize = 1_024;
/// Lock files kept open for the next lock: opening one costs more than a short append.
const MAX_KEPT_LOCKS: usize = 8;

/// The operating system's files.
#[derive(Debug, Clone)]
pub struct RealBackend {
    root: PathBuf,
    kept: KeptLocks,
}

impl RealBackend {
    /// Refuses symbolic links below `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), kept: KeptLocks::default() }
    }

    /// Refuses `path` if a component below the root, including the last, is a symbolic link.
    fn refuse_links(&self, path: &Path) -> io::Result<()> {
        let Ok(inside) = path.strip_prefix(&self.root) else { return Ok(()) };
        let mut place = self.root.clone();
        for part in inside.components() {
            place.push(part);
            match std::fs::symlink_metadata(&place) {
                Ok(metadata) if metadata.is_symlink() => {
                    return Err(EntryRefusal::SymbolicLink.into());
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
    fn append_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn truncate_to(&mut self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }
}

/// An open lock file. Each holder needs one of its own, even within one process.
#[derive(Debug)]
struct LockFile {
    path: PathBuf,
    /// Dropped first: once a file is closed, its descriptor may be reused.
    _registered: RegisteredFile,
    file: std::fs::File,
}

impl LockFile {
    fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        for_owner(&mut options);
        // A child forked in between would share the file without having it in its list.
        fork::make_locked(|| {
            let file = open_regular(&mut options, path)?.into_file();
            Ok(Self { path: path.to_owned(), _registered: RegisteredFile::new(&file), file })
        })
    }

    /// True unless the file was removed while it was open.
    fn has_its_name(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            self.file.metadata().is_ok_and(|metadata| metadata.nlink() > 0)
        }
        #[cfg(not(unix))]
        true
    }
}

/// Open lock files that are not locked, the last used last.
#[derive(Debug, Clone, Default)]
struct KeptLocks(Arc<Mutex<Vec<LockFile>>>);

impl KeptLocks {
    fn take_lock(&self, path: &Path) -> Option<LockFile> {
        let mut kept = self.0.lock();
        let at = kept.iter().rposition(|file| file.path == path)?;
        Some(kept.remove(at))
    }

    fn keep_lock(&self, file: LockFile) {
        let mut kept = self.0.lock();
        let first = if kept.len() == MAX_KEPT_LOCKS { Some(kept.remove(0)) } else { None };
        kept.push(file);
        drop(kept);
        drop(first);
    }
}

#[derive(Debug)]
struct RealLock {
    file: Option<LockFile>,
    kept: KeptLocks,
}

impl LockGuard for RealLock {}

impl Drop for RealLock {
    fn drop(&mut self) {
        // Closing the file would not release the lock if a forked child has it open too.
        if let Some(file) = self.file.take()
            && file.file.unlock().is_ok()
        {
            self.kept.keep_lock(file);
        }
    }
}

/// Identifies a file even if another one gets its name.
#[cfg(unix)]
fn file_number(_: &Path, metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

/// Identifies a file even if another one gets its name; 0 if the file can't be opened.
#[cfg(windows)]
fn file_number(path: &Path, _: &std::fs::Metadata) -> u64 {
    winapi_util::Handle::from_path_any(path)
        .and_then(winapi_util::file::information)
        .map_or(0, |file| file.file_index())
}

fn entry_kind(kind: std::fs::FileType) -> EntryKind {
    match (kind.is_file(), kind.is_dir()) {
        (true, _) => EntryKind::File,
        (_, true) => EntryKind::Directory,
        _ => EntryKind::Other,
    }
}

/// Makes a new file readable by its owner only, because it contains private conversations.
fn for_owner(options: &mut OpenOptions) {
    #[cfg(unix)]
    {
        use fs_err::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = options;
}

/// Opens a file without blocking, and only if it is a regular file: opening a FIFO for reading
/// blocks until another process writes.
fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<fs::File> {
    #[cfg(unix)]
    {
        use fs_err::os::unix::fs::OpenOptionsExt;
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits();
        options.custom_flags(nonblocking.cast_signed());
    }
    let file = match options.open(path) {
        Ok(file) => file,
        // Opening a FIFO without a reader, or a socket, for writing fails.
        Err(error) => {
            let irregular = std::fs::symlink_metadata(path)
                .is_ok_and(|metadata| !metadata.is_file() && !metadata.is_symlink());
            return Err(if irregular { EntryRefusal::NotRegular.into() } else { error });
        }
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(EntryRefusal::NotRegular.into()) }
}

/// Writes the holder into a lock file, unless it is there already: a process takes the same lock
/// often.
fn write_holder(file: &mut std::fs::File, holder: &str) -> io::Result<()> {
    let mut written = [0; MAX_HOLDER_BYTES];
    file.rewind()?;
    let bytes = file.read(&mut written)?;
    if &written[..bytes] == holder.as_bytes() {
        return Ok(());
    }
    // Overwrites without truncating first: if the process is stopped here, the file still names a
    // holder.
    file.rewind()?;
    file.write_all(holder.as_bytes())?;
    file.set_len(holder.len() as u64)
}

/// The name of a network file system, by the kernel's number for it.
#[cfg(target_os = "linux")]
fn network_name(number: u64) -> Option<&'static str> {
    // As in linux/magic.h; the numbers of CIFS have 32 bits with the highest set.
    match number & 0xffff_ffff {
        0x6969 => Some("NFS"),
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => Some("SMB"),
        0x00c3_6400 => Some("Ceph"),
        0x5346_414f | 0x6b41_4653 => Some("AFS"),
        0x0bd0_0bd0 => Some("Lustre"),
        _ => None,
    }
}

impl FileBackend for RealBackend {
    fn stat_path(&self, path: &Path) -> io::Result<Option<FileStamp>> {
        if let Some(parent) = path.parent() {
            self.refuse_links(parent)?;
        }
        self.stat_unchecked(path)
    }

    fn stat_unchecked(&self, path: &Path) -> io::Result<Option<FileStamp>> {
        match std::fs::symlink_metadata(path) {
            Ok(metadata) => {
                // The root may be a link; the store needs the directory that it points to.
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
                    file_number: file_number(path, &metadata),
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

    fn close_cached(&self) -> bool {
        let kept = std::mem::take(&mut *self.kept.0.lock());
        !kept.is_empty()
    }

    fn list_dir(&self, path: &Path) -> io::Result<Vec<(String, EntryKind)>> {
        self.refuse_links(path)?;
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
        self.refuse_links(path)?;
        let mut file = open_regular(OpenOptions::new().read(true), path)?;
        if offset > 0 {
            file.seek(SeekFrom::Start(offset))?;
        }
        Ok(Box::new(file))
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn BackendFile>> {
        self.refuse_links(path)?;
        let mut options = OpenOptions::new();
        for_owner(options.append(true).create_new(true));
        Ok(Box::new(RealFile(options.open(path)?)))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn BackendFile>> {
        self.refuse_links(path)?;
        Ok(Box::new(RealFile(open_regular(OpenOptions::new().append(true), path)?)))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.refuse_links(path)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt;
            std::fs::DirBuilder::new().mode(0o700).create(path)
        }
        #[cfg(not(unix))]
        fs::create_dir(path)
    }

    #[cfg(unix)]
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        use fs_err::os::unix::fs::OpenOptionsExt;
        let directory = rustix::fs::OFlags::DIRECTORY.bits();
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(directory.cast_signed());
        options.open(path)?.sync_all()
    }

    /// Directories cannot be opened for syncing on this platform; the file system's journal orders
    /// renames.
    #[cfg(not(unix))]
    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename_file(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.refuse_links(from)?;
        self.refuse_links(to)?;
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        if let Some(parent) = path.parent() {
            self.refuse_links(parent)?;
        }
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.refuse_links(path)?;
        // The caller uses the kind of the error (not empty); the error itself is never shown.
        std::fs::remove_dir(path)
    }

    fn try_lock(
        &self,
        path: &Path,
        share: LockShare,
        holder: &str,
    ) -> io::Result<Option<Box<dyn LockGuard>>> {
        let kept = self.kept.take_lock(path).filter(LockFile::has_its_name);
        let mut file = match kept {
            Some(file) => file,
            None => {
                self.refuse_links(path)?;
                LockFile::open(path)?
            }
        };
        let taken = match share {
            LockShare::Alone => file.file.try_lock(),
            LockShare::WithOthers => file.file.try_lock_shared(),
        };
        match taken {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                self.kept.keep_lock(file);
                return Ok(None);
            }
            Err(std::fs::TryLockError::Error(error)) => return Err(error),
        }
        if share == LockShare::Alone {
            // On a full disk the lock is valid too, but the file does not name the holder.
            let _ = write_holder(&mut file.file, holder);
        }
        Ok(Some(Box::new(RealLock { file: Some(file), kept: self.kept.clone() })))
    }

    #[cfg(target_os = "linux")]
    fn network_file_system(&self, path: &Path) -> Option<&'static str> {
        let place = path.ancestors().find(|place| place.exists()).unwrap_or(Path::new("."));
        network_name(rustix::fs::statfs(place).ok()?.f_type as u64)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::store::files::io_error;
    use crate::store::testing::TempDir;

    #[cfg(unix)]
    #[test]
    fn files_and_directories_are_their_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let place = TempDir::new();
        let backend = RealBackend::new(place.path());
        let (directory, file) = (place.path().join("logs"), place.path().join("logs/a"));
        backend.create_dir(&directory).unwrap();
        backend.create_new(&file).unwrap().append_bytes(b"x").unwrap();
        let lock = place.path().join(".lock");
        drop(backend.try_lock(&lock, LockShare::Alone, "me").unwrap());
        for (path, mode) in [(directory, 0o700), (file, 0o600), (lock, 0o600)] {
            let found = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode, "{}: {found:o}", path.display());
        }
    }

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
            let error = io_error("cannot read", &path, backend.read_file(&path).unwrap_err());
            assert_eq!(error.kind(), ErrorKind::CorruptStore);
            assert_eq!(
                error.to_string(),
                format!("a symbolic link inside the store is not followed in `{}`", path.display())
            );
            assert!(backend.open_append(&path).is_err());
        }
        assert!(backend.create_new(&root.join("messages/new")).is_err());
        assert!(backend.list_dir(&root.join("messages")).is_err());
        assert_eq!(backend.stat_path(&root.join("file")).unwrap().unwrap().kind, EntryKind::Other);
    }

    #[test]
    fn nothing_but_regular_files_is_opened_and_nobody_waits() {
        let place = TempDir::new();
        let (fifo, socket, directory) = (
            place.path().join("fifo"),
            place.path().join("socket"),
            place.path().join("directory"),
        );
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        fs::create_dir(&directory).unwrap();
        let backend = RealBackend::new(place.path());
        for path in [&fifo, &socket, &directory] {
            let outcomes = [
                backend.read_file(path).map(drop),
                backend.open_append(path).map(drop),
                backend.try_lock(path, LockShare::Alone, "me").map(drop),
            ];
            for outcome in outcomes {
                let error = io_error("cannot open", path, outcome.unwrap_err());
                let expected =
                    format!("a file of the store is not a regular file in `{}`", path.display());
                assert_eq!((error.kind(), error.to_string()), (ErrorKind::CorruptStore, expected));
            }
        }
    }

    #[test]
    fn the_root_itself_may_be_a_link() {
        let place = TempDir::new();
        fs::create_dir(place.path().join("real")).unwrap();
        let root = place.path().join("link");
        std::os::unix::fs::symlink(place.path().join("real"), &root).unwrap();
        let backend = RealBackend::new(&root);
        backend.create_dir_all(&root.join("a/b")).unwrap();
        backend.create_new(&root.join("a/b/c")).unwrap().append_bytes(b"x").unwrap();
        assert_eq!(backend.read_file(&root.join("a/b/c")).unwrap(), b"x");
    }

    #[test]
    fn a_lock_is_held_once_until_it_is_dropped() {
        let place = TempDir::new();
        let backend = RealBackend::new(place.path());
        let path = place.path().join(".lock");
        let lock = |share, holder| backend.try_lock(&path, share, holder).unwrap();
        let guard = lock(LockShare::Alone, "one").unwrap();
        assert!(
            lock(LockShare::Alone, "two").is_none() && lock(LockShare::WithOthers, "two").is_none()
        );
        assert_eq!(backend.read_file(&path).unwrap(), b"one");
        drop(guard);
        let shared = [lock(LockShare::WithOthers, "two"), lock(LockShare::WithOthers, "three")];
        assert!(shared.iter().all(Option::is_some) && lock(LockShare::Alone, "four").is_none());
        assert_eq!(backend.read_file(&path).unwrap(), b"one");
        drop(shared);
        assert!(lock(LockShare::Alone, "four").is_some());
        assert_eq!(backend.read_file(&path).unwrap(), b"four");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn file_systems_of_networks_are_known() {
        assert_eq!(network_name(0x6969), Some("NFS"));
        assert_eq!(network_name(0xffff_ffff_ff53_4d42), Some("SMB"));
        assert_eq!(network_name(0xef53), None);
        let place = TempDir::new();
        assert_eq!(RealBackend::new(place.path()).network_file_system(place.path()), None);
    }
}
