//! The paths of a store, and the mapping from file names back to users.
//!
//! File names are encoded by [`encode_file_name`]. A file with another name is not a log.

use std::path::{Path, PathBuf};

use super::backend::{EntryKind, FileBackend};
use super::files::io_error;
use crate::error::Result;
use crate::ids::{Owner, decode_file_name, encode_file_name};

/// The tenant whose directories are directly below the root.
pub const DEFAULT_TENANT: &str = "default";

const SEGMENTS: &str = "segments";

/// The directory of the files that count how often each episode or fact was returned.
const USES: &str = "uses";

/// The three logs of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LogKind {
    /// Every message.
    Messages,
    /// Episodes and their revisions.
    Episodes,
    /// Facts and their revisions.
    Semantic,
}

impl LogKind {
    /// All kinds, in the order of reading.
    pub const ALL: [Self; 3] = [Self::Messages, Self::Episodes, Self::Semantic];

    /// The name of the directory, also used in the file name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Episodes => "episodes",
            Self::Semantic => "semantic",
        }
    }
}

/// Files of a user other than the logs and the files derived from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SideFile {
    /// Index work that failed permanently, for replay; no content.
    DeadLetters,
    /// Prompts and answers, for inspection; contains content.
    Trace,
    /// Model answers by the hash of their prompt; contains content.
    LlmCache,
}

impl SideFile {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::DeadLetters, Self::Trace, Self::LlmCache];

    fn folder_and_suffix(self) -> (&'static str, &'static str) {
        match self {
            Self::DeadLetters => ("failed_index", "_failed.jsonl"),
            Self::Trace => ("traces", "_trace.jsonl"),
            Self::LlmCache => ("llm_cache", "_answers.jsonl"),
        }
    }
}

/// Every suffix of a user's file; a longer suffix precedes the suffixes that it ends in.
const ENDINGS: [&str; 9] = [
    "_messages.jsonl",
    "_episodes.jsonl",
    "_semantic.jsonl",
    "_failed.jsonl",
    "_trace.jsonl",
    "_answers.jsonl",
    "_uses.jsonl",
    ".generation",
    ".segment",
];

/// Suffixes that, appended to a file name, give another file of the same user.
const AFTER: [&str; 2] = [".tmp", ".quarantine.jsonl"];

/// The paths below one root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreLayout {
    root: PathBuf,
}

impl StoreLayout {
    /// The layout of the store at `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file that states the format version.
    pub fn format_path(&self) -> PathBuf {
        self.root.join("episodica.json")
    }

    /// The file with the forms of requests that servers of models accept.
    pub fn dialects_path(&self) -> PathBuf {
        self.root.join("dialects.json")
    }

    /// The file with the lock that all writers share.
    pub fn lock_path(&self) -> PathBuf {
        self.root.join(".lock")
    }

    /// The directory of the lock files of users.
    pub fn locks_directory(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// The directory of pending deletions.
    pub fn intents_directory(&self) -> PathBuf {
        self.root.join("intents")
    }

    /// The root directory of a tenant.
    pub fn tenant_root(&self, tenant: &str) -> PathBuf {
        match tenant {
            DEFAULT_TENANT => self.root.clone(),
            _ => self.root.join("tenants").join(encode_file_name(tenant)),
        }
    }

    /// The log of one kind.
    pub fn log_path(&self, owner: &Owner, kind: LogKind) -> PathBuf {
        self.user_file(owner, kind.name(), &format!("_{}.jsonl", kind.name()))
    }

    /// A user's vectors, indexes and records in the form of the view.
    pub fn segment_path(&self, owner: &Owner) -> PathBuf {
        self.user_file(owner, SEGMENTS, ".segment")
    }

    /// The file that names the generation of the logs from which a user's derived files were made.
    /// It exists only if the logs are on another medium, such as a database.
    pub fn generation_path(&self, owner: &Owner) -> PathBuf {
        self.user_file(owner, SEGMENTS, ".generation")
    }

    /// The file that counts how often a user's records were returned.
    pub fn uses_path(&self, owner: &Owner) -> PathBuf {
        self.user_file(owner, USES, "_uses.jsonl")
    }

    /// One of the files other than the logs.
    pub fn side_path(&self, owner: &Owner, file: SideFile) -> PathBuf {
        let (directory, ending) = file.folder_and_suffix();
        self.user_file(owner, directory, ending)
    }

    fn user_file(&self, owner: &Owner, directory: &str, ending: &str) -> PathBuf {
        self.tenant_root(&owner.tenant).join(directory).join(encode_file_name(&owner.user) + ending)
    }

    /// Every directory of a tenant that contains user files.
    fn user_directories(&self, tenant: &str) -> Vec<PathBuf> {
        let top = self.tenant_root(tenant);
        let logs = LogKind::ALL.iter().map(|kind| top.join(kind.name()));
        logs.chain(SideFile::ALL.iter().map(|file| top.join(file.folder_and_suffix().0)))
            .chain([SEGMENTS, USES].map(|directory| top.join(directory)))
            .collect()
    }

    /// Every tenant that has a directory, and the default one; sorted.
    ///
    /// # Errors
    /// `Io` if a directory cannot be read.
    pub fn list_tenants(&self, backend: &dyn FileBackend) -> Result<Vec<String>> {
        let mut tenants = vec![DEFAULT_TENANT.to_owned()];
        let (top, mut open) = (self.root.join("tenants"), vec![String::new()]);
        while let Some(prefix) = open.pop() {
            for (name, kind) in list_directory(backend, &top.join(&prefix))? {
                if kind != EntryKind::Directory {
                    continue;
                }
                let whole = format!("{prefix}{name}");
                if name.ends_with('~') {
                    open.push(format!("{whole}/"));
                } else {
                    let id = decode_file_name(&whole);
                    tenants.extend(id.filter(|id| encode_file_name(id) == whole));
                }
            }
        }
        tenants.sort();
        tenants.dedup();
        Ok(tenants)
    }

    /// Every user of a tenant that has a log; sorted.
    ///
    /// # Errors
    /// `Io` if a directory cannot be read.
    pub fn list_users(&self, backend: &dyn FileBackend, tenant: &str) -> Result<Vec<String>> {
        let mut users = Vec::new();
        for kind in LogKind::ALL {
            let top = self.tenant_root(tenant).join(kind.name());
            let ending = format!("_{}.jsonl", kind.name());
            let mut open = vec![String::new()];
            while let Some(prefix) = open.pop() {
                for (name, entry) in list_directory(backend, &top.join(&prefix))? {
                    match entry {
                        EntryKind::Directory if name.ends_with('~') => {
                            open.push(format!("{prefix}{name}/"))
                        }
                        EntryKind::File => {
                            let stem = name.strip_suffix(&ending);
                            users.extend(
                                stem.filter(|stem| !stem.is_empty())
                                    .and_then(|stem| user_of_stem(&format!("{prefix}{stem}"))),
                            );
                        }
                        _ => {}
                    }
                }
            }
        }
        users.sort();
        users.dedup();
        Ok(users)
    }

    /// Every entry in the directories of a tenant, at any depth, with directories in the place of a
    /// file; sorted.
    ///
    /// # Errors
    /// `Io` if a directory cannot be read.
    pub fn tenant_entries(
        &self,
        backend: &dyn FileBackend,
        tenant: &str,
    ) -> Result<Vec<(PathBuf, EntryKind)>> {
        let mut entries = Vec::new();
        let mut open = self.user_directories(tenant);
        while let Some(directory) = open.pop() {
            // A directory that is itself a link is found in its parent's listing; the top
            // directories are checked here.
            match backend
                .stat_path(&directory)
                .map_err(|error| io_error("cannot look at the directory", &directory, error))
            {
                Ok(Some(stamp)) if stamp.kind == EntryKind::Directory => {}
                Ok(Some(stamp)) => {
                    entries.push((directory, stamp.kind));
                    continue;
                }
                Ok(None) => continue,
                // Below a link, which is already in the list.
                Err(error) if error.kind() == crate::ErrorKind::CorruptStore => continue,
                Err(error) => return Err(error),
            }
            for (name, kind) in list_directory(backend, &directory)? {
                match kind {
                    EntryKind::Directory if name.ends_with('~') => open.push(directory.join(name)),
                    EntryKind::Directory if stem_of(&name).is_none() => {}
                    _ => entries.push((directory.join(name), kind)),
                }
            }
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(entries)
    }

    /// Every directory that may contain files of the user.
    pub fn directories_of(&self, owner: &Owner) -> Vec<PathBuf> {
        let encoded = encode_file_name(&owner.user);
        let prefix = encoded.rfind('/').map_or("", |at| &encoded[..at]);
        let directories = self.user_directories(&owner.tenant).into_iter();
        directories
            .map(|directory| if prefix.is_empty() { directory } else { directory.join(prefix) })
            .collect()
    }

    /// Every file of a user, including those whose name spells the user unencoded, found by listing
    /// the directories.
    ///
    /// # Errors
    /// `Io` if a directory cannot be read.
    pub fn user_files(&self, backend: &dyn FileBackend, owner: &Owner) -> Result<Vec<PathBuf>> {
        let encoded = encode_file_name(&owner.user);
        let prefix = encoded.rfind('/').map_or("", |at| &encoded[..=at]);
        let mut files = Vec::new();
        for directory in self.directories_of(owner) {
            for (name, kind) in list_directory(backend, &directory)? {
                let is_own = |stem: &str| {
                    let whole = format!("{prefix}{stem}");
                    user_of_stem(&whole).as_ref().unwrap_or(&whole) == &owner.user
                };
                if kind != EntryKind::Directory && stem_of(&name).is_some_and(is_own) {
                    files.push(directory.join(&name));
                }
            }
        }
        files.sort();
        Ok(files)
    }
}

/// The user that a file name without its suffix refers to; `None` if the name is not encoded.
fn user_of_stem(stem: &str) -> Option<String> {
    decode_file_name(stem).filter(|id| encode_file_name(id) == stem)
}

/// A file name without its suffix; `None` if no user file can have this name.
fn stem_of(name: &str) -> Option<&str> {
    let mut bare = name;
    while let Some(shorter) = AFTER.iter().find_map(|after| bare.strip_suffix(after)) {
        bare = shorter;
    }
    ENDINGS.iter().find_map(|ending| bare.strip_suffix(ending)).filter(|stem| !stem.is_empty())
}

fn list_directory(backend: &dyn FileBackend, path: &Path) -> Result<Vec<(String, EntryKind)>> {
    backend.list_dir(path).map_err(|error| io_error("cannot list the directory", path, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::MemoryBackend;

    fn owner(tenant: &str, user: &str) -> Owner {
        Owner::new(tenant, user).unwrap()
    }

    #[test]
    fn paths_are_those_of_the_contract() {
        let layout = StoreLayout::new(Path::new("/m"));
        let alice = owner("default", "alice");
        assert_eq!(
            layout.log_path(&alice, LogKind::Messages),
            Path::new("/m/messages/alice_messages.jsonl")
        );
        assert_eq!(
            layout.segment_path(&owner("Acme", "a/b")),
            Path::new("/m/tenants/^acme/segments/a%2fb.segment")
        );
    }

    #[test]
    fn a_user_has_their_own_files_and_no_others() {
        let disk = MemoryBackend::new();
        let layout = StoreLayout::new(Path::new("/m"));
        let long = "x".repeat(400);
        let ids =
            ["a", "A", "a_b", "a_messages", "a_messages.jsonl", "a_episodes", "..", "a.tmp", &long];
        for tenant in ["default", "t", "default/t"] {
            for id in ids {
                for kind in LogKind::ALL {
                    let log = layout.log_path(&owner(tenant, id), kind);
                    disk.put(super::super::quarantine::path_for(&log), b"");
                    disk.put(log, b"");
                }
                disk.put(layout.segment_path(&owner(tenant, id)), b"");
                SideFile::ALL
                    .iter()
                    .for_each(|file| disk.put(layout.side_path(&owner(tenant, id), *file), b""));
            }
        }
        let mut all = Vec::new();
        for tenant in layout.list_tenants(&disk).unwrap() {
            let mut expected: Vec<&str> = ids.to_vec();
            expected.sort_unstable();
            assert_eq!(layout.list_users(&disk, &tenant).unwrap(), expected, "{tenant}");
            for id in ids {
                let files = layout.user_files(&disk, &owner(&tenant, id)).unwrap();
                assert_eq!(files.len(), 10, "{tenant} {id}");
                all.extend(files);
            }
        }
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!((all.len(), disk.files().len()), (count, count));
    }

    #[test]
    fn files_with_other_names_are_no_logs() {
        let disk = MemoryBackend::new();
        let layout = StoreLayout::new(Path::new("/m"));
        for name in ["Alice_episodes.jsonl", "bob.json", "carl_episodes.jsonl"] {
            disk.put(Path::new("/m/episodes").join(name), b"");
        }
        assert_eq!(layout.list_users(&disk, "default").unwrap(), ["carl"]);
        let alice = owner("default", "Alice");
        assert_eq!(layout.user_files(&disk, &alice).unwrap().len(), 1, "a deletion removes it");
    }
}
