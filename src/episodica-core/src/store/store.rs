//! A store as a whole: its lock, the version of its format, and its users.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::backend::{Backend, EntryKind, LockGuard, RealBackend, io_error, parent_of};
use super::layout::{DEFAULT_TENANT, Layout, LogKind};
use super::lock;
use super::log::{LogSum, Mode};
use super::user::{LoadedUser, LogSource, UserStore};
use super::{erase, legacy};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::Owner;
use crate::model::Problem;

/// The version of the format that this code writes. It reads this one and every older one.
pub const FORMAT_VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct Format {
    format_version: u32,
    #[serde(default)]
    created_by: String,
}

/// A store, open; clones share it. The last one dropped frees the lock.
#[derive(Debug, Clone)]
pub struct Store {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub backend: Arc<dyn Backend>,
    pub layout: Layout,
    pub mode: Mode,
    open: Mutex<HashSet<Owner>>,
    /// Files of another program that stand in for a canonical one; only while read-only.
    foreign: BTreeMap<(LogKind, String), Vec<PathBuf>>,
    /// Users whose deletion a dead writer began and the next one finishes; only while read-only.
    deleted: HashSet<Owner>,
    problems: Vec<Problem>,
    /// The end of a deletion may not be durable: after a power cut it would begin again, and take
    /// with it what was written since.
    pub intents_dirty: Mutex<bool>,
    /// Dropped last.
    lock: Mutex<Option<Box<dyn LockGuard>>>,
}

/// The right to have a user open; ends when dropped.
#[derive(Debug)]
pub(super) struct Registration {
    store: Arc<Inner>,
    owner: Owner,
}

impl Registration {
    pub(super) fn new(store: &Arc<Inner>, owner: &Owner) -> Result<Self> {
        match store.open.lock().insert(owner.clone()) {
            true => Ok(Self { store: Arc::clone(store), owner: owner.clone() }),
            false => Err(Error::internal(format!(
                "the logs of this user are open already: `{}`",
                owner.user
            ))),
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.store.open.lock().remove(&self.owner);
    }
}

impl Store {
    /// Opens the store at `root` on the operating system's files; made if it is not there (unless
    /// read-only).
    ///
    /// # Errors
    /// As [`Store::open_on`].
    pub fn open(root: &Path, mode: Mode, clock: &dyn Clock) -> Result<Self> {
        Self::open_on(Arc::new(RealBackend::new(root)), root, mode, clock)
    }

    /// Frees the writer's lock before the last clone is dropped. Nothing may be written afterwards.
    pub fn release_lock(&self) {
        drop(self.inner.lock.lock().take());
    }

    /// Opens the store at `root` on any files. Writing, it takes the lock, finishes deletions that
    /// a crash interrupted, and gives files that Nemori wrote under unencoded names the names that
    /// are ours.
    ///
    /// # Errors
    /// `UnsupportedFormat` for a store of a newer version; `StoreLocked` naming the holder; `Io`,
    /// also for a read-only store that isn't there.
    pub fn open_on(
        backend: Arc<dyn Backend>,
        root: &Path,
        mode: Mode,
        clock: &dyn Clock,
    ) -> Result<Self> {
        let layout = Layout::new(root);
        let there = backend
            .stat(root)
            .map_err(|error| io_error("cannot look at the store", root, error))?;
        let mut inner = Inner {
            backend,
            layout,
            mode,
            open: Mutex::default(),
            foreign: BTreeMap::new(),
            deleted: HashSet::new(),
            problems: Vec::new(),
            intents_dirty: Mutex::new(false),
            lock: Mutex::default(),
        };
        match mode {
            Mode::ReadOnly => {
                if there.is_none() {
                    let missing =
                        std::io::Error::new(std::io::ErrorKind::NotFound, "no such directory");
                    return Err(Error::io("cannot read the store", root, missing));
                }
                inner.check_format()?;
                let (intents, problems) = erase::pending(&*inner.backend, &inner.layout)?;
                let whole = intents.into_iter().filter(|(_, intent)| intent.erasure.is_none());
                inner.deleted = whole
                    .filter_map(|(_, intent)| Owner::new(&intent.tenant, &intent.user).ok())
                    .collect();
                inner.problems = problems;
                for (kind, user, path) in inner.layout.foreign_logs(&*inner.backend)? {
                    inner.foreign.entry((kind, user)).or_default().push(path);
                }
            }
            Mode::ReadWrite => {
                inner
                    .backend
                    .create_dir_all(root)
                    .map_err(|error| io_error("cannot make the store", root, error))?;
                // Whoever made the directory may have died before its name was durable. (A parent
                // that can't be read was not ours to make.)
                match inner.backend.sync_dir(parent_of(root)) {
                    Err(error) if error.kind() != std::io::ErrorKind::PermissionDenied => {
                        return Err(io_error("cannot sync the directory", parent_of(root), error));
                    }
                    _ => {}
                }
                // A store of a newer version is left as it is, lock file included.
                inner.check_format()?;
                inner.lock =
                    Mutex::new(Some(lock::acquire(&*inner.backend, &inner.layout, clock.now())?));
                if inner.check_format()?.is_none() {
                    inner.write_format()?;
                }
                // Names first: a deletion finds a user's logs under the one name they have.
                inner.adopt_foreign_names()?;
                let unreadable = erase::finish_pending(&inner)?;
                inner.problems.extend(unreadable);
            }
        }
        Ok(Self { inner: Arc::new(inner) })
    }

    /// May it be written?
    pub fn mode(&self) -> Mode {
        self.inner.mode
    }

    /// Where everything is.
    pub fn layout(&self) -> &Layout {
        &self.inner.layout
    }

    /// What the store's files are on.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.inner.backend
    }

    /// What was wrong with the store as a whole when it was opened.
    pub fn problems(&self) -> &[Problem] {
        &self.inner.problems
    }

    /// Every tenant that has data, sorted; `default` always.
    ///
    /// # Errors
    /// `Io`.
    pub fn tenants(&self) -> Result<Vec<String>> {
        self.inner.layout.tenants(&*self.inner.backend)
    }

    /// Every user of a tenant that has a log, sorted.
    ///
    /// # Errors
    /// `Io`.
    pub fn users(&self, tenant: &str) -> Result<Vec<String>> {
        let mut users = self.inner.layout.users(&*self.inner.backend, tenant)?;
        users.retain(|user| {
            !self.inner.deleted.iter().any(|owner| owner.tenant == tenant && owner.user == *user)
        });
        Ok(users)
    }

    /// Has the user a log, or a file of another program that will become one?
    ///
    /// # Errors
    /// `Io`.
    pub fn has_files(&self, owner: &Owner) -> Result<bool> {
        let inner = &self.inner;
        for kind in LogKind::ALL {
            let mut places = vec![inner.layout.log_path(owner, kind)];
            if owner.tenant == DEFAULT_TENANT && kind != LogKind::Messages {
                places.extend(legacy::candidates(&inner.layout, owner, kind));
            }
            for path in places {
                if inner
                    .backend
                    .stat(&path)
                    .map_err(|error| io_error("cannot look at a log", &path, error))?
                    .is_some()
                {
                    return Ok(true);
                }
            }
        }
        // Unencoded names were taken over when the store was opened for writing; a reader has to
        // look for them.
        Ok(inner.mode == Mode::ReadOnly && self.users(&owner.tenant)?.contains(&owner.user))
    }

    /// What is in the directories of a tenant that shouldn't be, or that somebody should look at:
    /// links, quarantines, unfinished deletions.
    ///
    /// # Errors
    /// `Io`.
    pub fn check_files(&self, tenant: &str) -> Result<Vec<Problem>> {
        let (inner, mut problems) = (&self.inner, erase::stopped(&self.inner)?);
        for (path, kind) in inner.layout.entries(&*inner.backend, tenant)? {
            let problem = |message: &str, remedy: &str, mended| Problem {
                path: path.clone(),
                line: None,
                message: message.into(),
                remedy: remedy.into(),
                mended,
            };
            if kind == EntryKind::Other {
                let remedy = "replace it by the file or directory that it points to; the store does not follow it";
                problems.push(problem("neither a plain file nor a directory", remedy, false));
            } else if path.to_string_lossy().ends_with(".quarantine.jsonl") {
                let remedy = "add what matters of them again, then remove the file";
                problems.push(problem(
                    "lines that were no records were set aside here",
                    remedy,
                    true,
                ));
            }
        }
        Ok(problems)
    }

    /// Opens the logs of a user, who need not have any, and reads them. A user can be open once at
    /// a time for writing.
    ///
    /// # Errors
    /// `Internal` if the user is open; `Io`.
    pub fn open_user(&self, owner: &Owner) -> Result<(UserStore, LoadedUser)> {
        let (user, loaded) = self.open_known_user(owner, None)?;
        loaded
            .map(|loaded| (user, loaded))
            .ok_or_else(|| Error::internal("logs were known to nobody and not read"))
    }

    /// [`Store::open_user`] for somebody to whom the logs may be `known`: they are not read where
    /// they are the same byte for byte and there is no more to be done than opening them.
    ///
    /// # Errors
    /// As [`Store::open_user`].
    pub fn open_known_user(
        &self,
        owner: &Owner,
        known: Option<&[LogSum; 3]>,
    ) -> Result<(UserStore, Option<LoadedUser>)> {
        let inner = &self.inner;
        let registration = match inner.mode {
            Mode::ReadWrite => {
                let registration = Registration::new(inner, owner)?;
                erase::finish_pending_of(inner, owner)?;
                Some(registration)
            }
            Mode::ReadOnly => None,
        };
        let mut problems = Vec::new();
        let sources = [
            inner.source(owner, LogKind::Messages, &mut problems)?,
            inner.source(owner, LogKind::Episodes, &mut problems)?,
            inner.source(owner, LogKind::Semantic, &mut problems)?,
        ];
        let deleted = inner.deleted.contains(owner);
        if let Some(known) = known.filter(|_| problems.is_empty() && !deleted)
            && let Some((logs, read_at)) = UserStore::known_logs(inner, &sources, known)?
        {
            return Ok((UserStore::over(inner, owner, logs, read_at, registration), None));
        }
        let (user, mut loaded) = UserStore::open(inner, owner, sources, registration)?;
        if deleted {
            loaded = LoadedUser::default();
        }
        loaded.problems.splice(0..0, problems);
        Ok((user, Some(loaded)))
    }
}

impl Inner {
    pub(super) fn check_writable(&self) -> Result<()> {
        match self.mode {
            Mode::ReadWrite => Ok(()),
            Mode::ReadOnly => {
                Err(Error::new(ErrorKind::ReadOnly, "the store was opened for reading only")
                    .at(self.layout.root(), None))
            }
        }
    }

    /// The version stated; `None` where no version is.
    fn check_format(&self) -> Result<Option<u32>> {
        let path = self.layout.format_path();
        let bytes = match self.backend.read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other
                .map_err(|error| io_error("cannot read the version of the store", &path, error))?,
        };
        let format: Format = serde_json::from_slice(&bytes).map_err(|error| {
            Error::new(ErrorKind::CorruptStore, "the version of the store can't be read")
                .at(&path, Some(1))
                .caused_by(error)
                .with_hint(format!("if no newer version wrote the store, write {{\"format_version\":{FORMAT_VERSION}}} into the file"))
        })?;
        match format.format_version <= FORMAT_VERSION {
            true => Ok(Some(format.format_version)),
            false => Err(Error::new(
                ErrorKind::UnsupportedFormat,
                format!(
                    "the store has format {}, written by `{}`; this version reads up to `{FORMAT_VERSION}`",
                    format.format_version, format.created_by
                ),
            )
            .at(&path, None)
            .with_hint("update episodica")),
        }
    }

    fn write_format(&self) -> Result<()> {
        let format = Format {
            format_version: FORMAT_VERSION,
            created_by: format!("episodica {}", env!("CARGO_PKG_VERSION")),
        };
        let mut bytes = serde_json::to_vec(&format)
            .map_err(|error| Error::internal("format has no JSON form").caused_by(error))?;
        bytes.push(b'\n');
        replace_file(&*self.backend, &self.layout.format_path(), &bytes)
    }

    /// Gives logs under unencoded names their encoded ones, so that from here on every user has
    /// exactly one name.
    fn adopt_foreign_names(&mut self) -> Result<()> {
        for (kind, user, path) in self.layout.foreign_logs(&*self.backend)? {
            if path.extension().is_some_and(|extension| extension == "json") {
                continue;
            }
            let Ok(owner) = Owner::new(DEFAULT_TENANT, &user) else { continue };
            let canonical = self.layout.log_path(&owner, kind);
            let fail = |error| io_error("cannot rename a log", &path, error);
            if self.backend.stat(&canonical).map_err(fail)?.is_some() {
                self.problems.push(Problem {
                    path: path.clone(),
                    line: None,
                    message: format!(
                        "the user has a log of this kind under two names; the other is `{}`",
                        canonical.display()
                    ),
                    remedy: "append the lines of this file to the other and remove it".into(),
                    mended: false,
                });
                continue;
            }
            self.backend.create_dir_all(parent_of(&canonical)).map_err(fail)?;
            self.backend.rename(&path, &canonical).map_err(fail)?;
            for directory in [parent_of(&path), parent_of(&canonical)] {
                self.backend
                    .sync_dir(directory)
                    .map_err(|error| io_error("cannot sync the directory", directory, error))?;
            }
        }
        Ok(())
    }

    fn source(
        &self,
        owner: &Owner,
        kind: LogKind,
        problems: &mut Vec<Problem>,
    ) -> Result<LogSource> {
        let path = self.layout.log_path(owner, kind);
        let mut source = LogSource { path, legacy: Vec::new() };
        if owner.tenant != DEFAULT_TENANT || kind == LogKind::Messages {
            return Ok(source);
        }
        if self.mode == Mode::ReadWrite {
            legacy::convert(&*self.backend, &self.layout, owner, kind, &source.path, problems)?;
            return Ok(source);
        }
        for path in self.foreign.get(&(kind, owner.user.clone())).into_iter().flatten() {
            match path.extension().is_some_and(|extension| extension == "json") {
                true => source.legacy.extend(legacy::read(&*self.backend, path, problems)?),
                false if self.backend.stat(&source.path).ok().flatten().is_none() => {
                    source.path.clone_from(path)
                }
                false => {}
            }
        }
        Ok(source)
    }
}

/// Puts a small file in place atomically and durably.
///
/// # Errors
/// `Io`; then the old file is in place, or the new one whose name is not yet durable.
pub(super) fn replace_file(backend: &dyn Backend, path: &Path, bytes: &[u8]) -> Result<()> {
    replace_with_pieces(backend, path, &[bytes])
}

/// Replaces a file by the `pieces` one after the other, as [`replace_file`] does.
///
/// # Errors
/// Those of [`replace_file`].
pub(super) fn replace_with_pieces(
    backend: &dyn Backend,
    path: &Path,
    pieces: &[&[u8]],
) -> Result<()> {
    put_pieces(backend, path, pieces)?;
    backend
        .sync_dir(parent_of(path))
        .map_err(|error| io_error("cannot sync the directory", parent_of(path), error))
}

/// Puts a small file in place atomically; its name is durable when the directory is synced.
///
/// # Errors
/// `Io`; then the old file is in place.
pub(super) fn put_file(backend: &dyn Backend, path: &Path, bytes: &[u8]) -> Result<()> {
    put_pieces(backend, path, &[bytes])
}

fn put_pieces(backend: &dyn Backend, path: &Path, pieces: &[&[u8]]) -> Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let temporary = PathBuf::from(temporary);
    let write = || {
        if backend.stat(&temporary)?.is_some() {
            backend.remove_file(&temporary)?;
        }
        let mut file = backend.create_new(&temporary)?;
        pieces.iter().try_for_each(|piece| file.append(piece))?;
        file.sync_data()?;
        backend.rename(&temporary, path)
    };
    write().map_err(|error| {
        let _ = backend.remove_file(&temporary);
        io_error("cannot write the file", path, error)
    })
}

#[cfg(test)]
mod tests;
