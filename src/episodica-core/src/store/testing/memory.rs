//! A file system in memory that tracks which data would survive a power cut.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sync::Mutex;

use crate::store::backend::{BackendFile, EntryKind, FileBackend, FileStamp, LockGuard, LockShare};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    Directory,
    File(usize),
}

#[derive(Debug, Clone, Default)]
struct Inode {
    live: Vec<u8>,
    durable: Vec<u8>,
    changes: u64,
}

#[derive(Debug, Default)]
struct State {
    live: BTreeMap<PathBuf, Node>,
    durable: BTreeMap<PathBuf, Node>,
    inodes: Vec<Inode>,
    /// Number of holders of each shared lock; 0 for an exclusive one.
    locks: HashMap<PathBuf, usize>,
    /// Maximum total size of all files, in bytes.
    capacity: Option<usize>,
    /// The name of the network file system that this one pretends to be.
    network: Option<&'static str>,
}

/// Files in memory with two images: the one that readers see, and the one after a power cut.
///
/// It is strict: bytes are durable once their file was synced, names (created, renamed, removed)
/// once their directory was synced.
#[derive(Debug, Clone, Default)]
pub struct MemoryBackend {
    state: Arc<Mutex<State>>,
}

impl MemoryBackend {
    /// Empty, with a root directory.
    pub fn new() -> Self {
        let mut state = State::default();
        for root in ["/", "."] {
            state.live.insert(root.into(), Node::Directory);
            state.durable.insert(root.into(), Node::Directory);
        }
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// The file system after a power cut at this moment: only synced data.
    #[must_use]
    pub fn after_power_cut(&self) -> Self {
        self.crashed(&mut None)
    }

    /// As [`Self::after_power_cut`], but a random part of the unsynced data survives: any prefix of
    /// appended bytes, any of the names.
    #[must_use]
    pub fn after_lucky_power_cut(&self, random: &mut Random) -> Self {
        self.crashed(&mut Some(random))
    }

    /// The file system as the next process finds it after this process is killed: all written data,
    /// durable or not, and no locks.
    #[must_use]
    pub fn after_process_death(&self) -> Self {
        let state = self.state.lock();
        let state = State {
            live: state.live.clone(),
            durable: state.durable.clone(),
            inodes: state.inodes.clone(),
            ..State::default()
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    fn crashed(&self, random: &mut Option<&mut Random>) -> Self {
        let state = self.state.lock();
        let mut names = state.durable.clone();
        if let Some(random) = random {
            let changed: Vec<&PathBuf> = state.live.keys().chain(state.durable.keys()).collect();
            for path in changed {
                if state.live.get(path) != state.durable.get(path) && random.below(2) == 0 {
                    match state.live.get(path) {
                        Some(node) => names.insert(path.clone(), *node),
                        None => names.remove(path),
                    };
                }
            }
        }
        // A name survives only if its directory survives.
        let paths: Vec<PathBuf> = names.keys().cloned().collect();
        for path in paths {
            if path.parent().is_some_and(|parent| {
                !parent.as_os_str().is_empty() && names.get(parent) != Some(&Node::Directory)
            }) {
                names.remove(&path);
            }
        }
        let inodes = state
            .inodes
            .iter()
            .map(|inode| {
                let kept = match random {
                    None => inode.durable.clone(),
                    Some(random) if inode.live.starts_with(&inode.durable) => {
                        let extra = (inode.live.len() - inode.durable.len()) as u64;
                        inode.live[..inode.durable.len() + random.below(extra + 1) as usize]
                            .to_vec()
                    }
                    Some(random) => [&inode.live, &inode.durable][random.below(2) as usize].clone(),
                };
                Inode { live: kept.clone(), durable: kept, changes: inode.changes }
            })
            .collect();
        let state = State { live: names.clone(), durable: names, inodes, ..State::default() };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Paths and contents of all files, as a reader sees them.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let state = self.state.lock();
        state
            .live
            .iter()
            .filter_map(|(path, node)| match node {
                Node::File(inode) => Some((path.clone(), state.inodes[*inode].live.clone())),
                Node::Directory => None,
            })
            .collect()
    }

    /// Limits the total size of all files to `bytes`; an append beyond the limit finds the disk
    /// full.
    pub fn limit(&self, bytes: Option<usize>) {
        self.state.lock().capacity = bytes;
    }

    /// From now on pretends to be a network file system with this name.
    pub fn mount(&self, network: &'static str) {
        self.state.lock().network = Some(network);
    }

    /// Creates a durable file and its parent directories, as if an earlier process had written
    /// them.
    pub fn put(&self, path: impl AsRef<Path>, bytes: &[u8]) {
        let path = path.as_ref();
        let mut state = self.state.lock();
        for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            state.live.insert(above.to_owned(), Node::Directory);
            state.durable.insert(above.to_owned(), Node::Directory);
        }
        let inode = state.inodes.len();
        state.inodes.push(Inode { live: bytes.to_vec(), durable: bytes.to_vec(), changes: 0 });
        state.live.insert(path.to_owned(), Node::File(inode));
        state.durable.insert(path.to_owned(), Node::File(inode));
    }
}

fn not_found() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "no such file or directory")
}

impl State {
    /// Bytes of all files that have a name.
    fn used(&self) -> usize {
        let size = |node: &Node| match node {
            Node::File(inode) => self.inodes[*inode].live.len(),
            Node::Directory => 0,
        };
        self.live.values().map(size).sum()
    }

    fn file(&self, path: &Path) -> io::Result<usize> {
        match self.live.get(path) {
            Some(Node::File(inode)) => Ok(*inode),
            Some(Node::Directory) => {
                Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"))
            }
            None => Err(not_found()),
        }
    }

    fn check_parent(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(parent)
                if parent.as_os_str().is_empty()
                    || self.live.get(parent) == Some(&Node::Directory) =>
            {
                Ok(())
            }
            _ => Err(not_found()),
        }
    }

    fn children<'a>(
        map: &'a BTreeMap<PathBuf, Node>,
        path: &'a Path,
    ) -> impl Iterator<Item = (&'a PathBuf, &'a Node)> {
        map.iter().filter(move |(name, _)| name.parent() == Some(path))
    }
}

#[derive(Debug)]
struct MemoryFile {
    state: Arc<Mutex<State>>,
    inode: usize,
}

impl BackendFile for MemoryFile {
    fn append_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.capacity.is_some_and(|capacity| state.used() + bytes.len() > capacity) {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left on device"));
        }
        let inode = &mut state.inodes[self.inode];
        inode.live.extend_from_slice(bytes);
        inode.changes += 1;
        Ok(())
    }

    fn sync_data(&mut self) -> io::Result<()> {
        let inode = &mut self.state.lock().inodes[self.inode];
        inode.durable = inode.live.clone();
        Ok(())
    }

    fn truncate_to(&mut self, bytes: u64) -> io::Result<()> {
        let inode = &mut self.state.lock().inodes[self.inode];
        inode.live.resize(bytes as usize, 0);
        inode.changes += 1;
        Ok(())
    }
}

#[derive(Debug)]
struct MemoryLock {
    state: Arc<Mutex<State>>,
    path: PathBuf,
}

impl LockGuard for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        match state.locks.get_mut(&self.path) {
            Some(sharing) if *sharing > 1 => *sharing -= 1,
            _ => drop(state.locks.remove(&self.path)),
        }
    }
}

impl FileBackend for MemoryBackend {
    fn network_file_system(&self, _: &Path) -> Option<&'static str> {
        self.state.lock().network
    }

    fn stat_path(&self, path: &Path) -> io::Result<Option<FileStamp>> {
        let state = self.state.lock();
        Ok(state.live.get(path).map(|node| match node {
            Node::Directory => {
                FileStamp { kind: EntryKind::Directory, bytes: 0, modified: 0, file_number: 0 }
            }
            Node::File(inode) => {
                let file = &state.inodes[*inode];
                let (bytes, modified) = (file.live.len() as u64, u128::from(file.changes));
                FileStamp { kind: EntryKind::File, bytes, modified, file_number: *inode as u64 }
            }
        }))
    }

    fn list_dir(&self, path: &Path) -> io::Result<Vec<(String, EntryKind)>> {
        let state = self.state.lock();
        Ok(State::children(&state.live, path)
            .filter_map(|(name, node)| {
                let name = name.file_name()?.to_str()?.to_owned();
                Some((
                    name,
                    if *node == Node::Directory { EntryKind::Directory } else { EntryKind::File },
                ))
            })
            .collect())
    }

    fn read_from(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        let state = self.state.lock();
        let mut cursor = Cursor::new(state.inodes[state.file(path)?].live.clone());
        cursor.set_position(offset);
        Ok(Box::new(cursor))
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn BackendFile>> {
        let mut state = self.state.lock();
        state.check_parent(path)?;
        if state.live.contains_key(path) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "file exists"));
        }
        let inode = state.inodes.len();
        state.inodes.push(Inode::default());
        state.live.insert(path.to_owned(), Node::File(inode));
        Ok(Box::new(MemoryFile { state: Arc::clone(&self.state), inode }))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn BackendFile>> {
        let inode = self.state.lock().file(path)?;
        Ok(Box::new(MemoryFile { state: Arc::clone(&self.state), inode }))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.check_parent(path)?;
        match state.live.insert(path.to_owned(), Node::Directory) {
            None => Ok(()),
            Some(node) => {
                state.live.insert(path.to_owned(), node);
                Err(io::Error::new(io::ErrorKind::AlreadyExists, "file exists"))
            }
        }
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        let gone: Vec<PathBuf> = State::children(&state.durable, path)
            .map(|(name, _)| name.clone())
            .filter(|name| !state.live.contains_key(name))
            .collect();
        let there: Vec<(PathBuf, Node)> =
            State::children(&state.live, path).map(|(name, node)| (name.clone(), *node)).collect();
        for name in gone {
            state.durable.remove(&name);
        }
        state.durable.extend(there);
        Ok(())
    }

    fn rename_file(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.check_parent(to)?;
        let inode = state.file(from)?;
        state.live.remove(from);
        state.live.insert(to.to_owned(), Node::File(inode));
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.file(path)?;
        state.live.remove(path);
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.live.get(path) != Some(&Node::Directory) {
            return Err(not_found());
        }
        if State::children(&state.live, path).next().is_some() {
            return Err(io::Error::new(io::ErrorKind::DirectoryNotEmpty, "directory not empty"));
        }
        state.live.remove(path);
        Ok(())
    }

    fn try_lock(
        &self,
        path: &Path,
        share: LockShare,
        holder: &str,
    ) -> io::Result<Option<Box<dyn LockGuard>>> {
        self.state.lock().check_parent(path)?;
        {
            let locks = &mut self.state.lock().locks;
            match (share, locks.get_mut(path)) {
                (LockShare::Alone, None) => drop(locks.insert(path.to_owned(), 0)),
                (LockShare::WithOthers, None) => drop(locks.insert(path.to_owned(), 1)),
                (LockShare::WithOthers, Some(sharing)) if *sharing > 0 => *sharing += 1,
                _ => return Ok(None),
            }
        }
        if self.stat_path(path)?.is_none() {
            self.create_new(path)?;
        }
        if share == LockShare::Alone && self.read_file(path)? != holder.as_bytes() {
            let mut file = self.open_append(path)?;
            file.truncate_to(0)?;
            // On a full disk the lock is valid too, but the file does not name the holder.
            let _ = file.append_bytes(holder.as_bytes());
        }
        Ok(Some(Box::new(MemoryLock { state: Arc::clone(&self.state), path: path.to_owned() })))
    }
}

/// A small, reproducible random number generator (xorshift64*).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number from 0 to `limit` - 1; `limit` at least 1.
    pub fn below(&mut self, limit: u64) -> u64 {
        (self.next_u64() >> 11) % limit
    }
}

/// A temporary directory for one test, removed at its end.
#[derive(Debug)]
pub struct TempDir(PathBuf);

impl TempDir {
    /// Creates a new, empty directory.
    ///
    /// # Panics
    /// If the system cannot create a temporary directory.
    #[expect(clippy::new_without_default, reason = "it makes a directory")]
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!(
            "episodica-test-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        let _ = fs_err::remove_dir_all(&path);
        fs_err::create_dir_all(&path).expect("invariant: tests have a place for files");
        Self(path)
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs_err::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_synced_bytes_and_names_survive() {
        let disk = MemoryBackend::new();
        disk.create_dir_all(Path::new("/s")).unwrap();
        let (kept, lost) = (Path::new("/s/kept"), Path::new("/s/lost"));
        let mut file = disk.create_new(kept).unwrap();
        file.append_bytes(b"one").unwrap();
        file.sync_data().unwrap();
        disk.sync_dir(Path::new("/s")).unwrap();
        file.append_bytes(b"two").unwrap();
        disk.create_new(lost).unwrap().sync_data().unwrap();
        let after = disk.after_power_cut();
        assert_eq!(after.files(), BTreeMap::from([(kept.to_owned(), b"one".to_vec())]));
        assert_eq!(disk.read_file(kept).unwrap(), b"onetwo");
    }

    #[test]
    fn an_unsynced_rename_is_undone() {
        let disk = MemoryBackend::new();
        disk.put("/s/a", b"old");
        let mut file = disk.create_new(Path::new("/s/a.tmp")).unwrap();
        file.append_bytes(b"new").unwrap();
        file.sync_data().unwrap();
        disk.rename_file(Path::new("/s/a.tmp"), Path::new("/s/a")).unwrap();
        assert_eq!(disk.after_power_cut().read_file(Path::new("/s/a")).unwrap(), b"old");
        disk.sync_dir(Path::new("/s")).unwrap();
        assert_eq!(disk.after_power_cut().read_file(Path::new("/s/a")).unwrap(), b"new");
    }
}
