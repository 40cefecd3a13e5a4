//! Copies of a store that open as a store, made while other processes write.
//!
//! A log is copied up to its acknowledged end if this process writes it, else up to its last whole
//! line, as after a power cut. Caches are copied first, then facts, episodes and messages, so that
//! no record in the copy refers to a missing one. If a deletion rewrites a log meanwhile, the user
//! is copied again.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::backend::{EntryKind, FileBackend, parent_of};
use super::files::io_error;
use super::layout::{LogKind, StoreLayout};
use super::log::OpenMode;
use super::real::RealBackend;
use super::store::Store;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::Owner;
use crate::model::BackupReport;

/// Maximum attempts to copy a user whose logs are being rewritten.
const ATTEMPTS: usize = 20;
const PIECE: usize = 1 << 20;

/// A backup in progress, under a temporary name; the complete backup gets the final name.
#[derive(Debug)]
pub struct BackupRun {
    target: PathBuf,
    staging: PathBuf,
    backend: RealBackend,
    /// The part that has been copied.
    pub report: BackupReport,
}

impl BackupRun {
    /// Creates a store of files at `target`, filled by `fill`. The store gets its final name when
    /// it is complete.
    ///
    /// # Errors
    /// `InvalidInput` if the target is occupied; those of `fill`; `Io`.
    pub fn of_lines(
        target: &Path,
        clock: &dyn Clock,
        fill: impl FnOnce(&Store) -> Result<()>,
    ) -> Result<()> {
        let backup = Self::begin_at(None, target)?;
        let outcome = Store::open(&backup.staging, OpenMode::ReadWrite, clock).and_then(|copy| {
            fill(&copy)?;
            copy.release_lock();
            Ok(())
        });
        match outcome.and_then(|()| backup.move_into_place()) {
            Ok(()) => Ok(()),
            Err(error) => {
                backup.discard_partial();
                Err(error)
            }
        }
    }

    /// Number of files of the store at `target`, apart from its locks.
    ///
    /// # Errors
    /// `Io`.
    pub fn files_in(target: &Path) -> Result<usize> {
        let (backend, layout) = (RealBackend::new(target), StoreLayout::new(target));
        let mut files = 1;
        for tenant in layout.list_tenants(&backend)? {
            files += layout.tenant_entries(&backend, &tenant)?.len();
        }
        Ok(files)
    }

    /// Begins a backup at `target`, which must not exist (or be an empty directory).
    ///
    /// # Errors
    /// `InvalidInput` if the target is occupied or inside the store; `Io`.
    pub fn begin(store: &Store, target: &Path) -> Result<Self> {
        Self::begin_at(Some(store.layout().root()), target)
    }

    fn begin_at(root: Option<&Path>, target: &Path) -> Result<Self> {
        let taken = |text: &str| {
            Err(Error::invalid(text)
                .at_path(target, None)
                .with_hint("name a directory that does not exist yet"))
        };
        let parent = parent_of(target);
        let backend = RealBackend::new(target);
        let failed = |error| io_error("cannot write the backup", target, error);
        backend.create_dir_all(parent).map_err(failed)?;
        let whole = fs_err::canonicalize(parent).map_err(failed)?;
        let root = root.map(fs_err::canonicalize).transpose().map_err(failed)?;
        if root.is_some_and(|root| whole.starts_with(root)) {
            return taken("a backup can't lie inside of its store");
        }
        match backend.stat_path(target).map_err(failed)? {
            None => {}
            Some(stamp) if stamp.kind == EntryKind::Directory => {
                if !backend.list_dir(target).map_err(failed)?.is_empty() {
                    return taken("the directory for the backup is not empty");
                }
                backend.remove_dir(target).map_err(failed)?;
            }
            Some(_) => return taken("a file stands where the backup should be"),
        }
        let mut name = target.as_os_str().to_owned();
        name.push(format!(".partial-{}", std::process::id()));
        let staging = PathBuf::from(name);
        backend.create_dir(&staging).map_err(failed)?;
        let backend = RealBackend::new(&staging);
        Ok(Self { target: target.to_owned(), staging, backend, report: BackupReport::default() })
    }

    /// Copies all files of a user. `ends` are the acknowledged ends of the logs that this process
    /// writes.
    ///
    /// # Errors
    /// `Io`.
    pub fn copy_user(
        &mut self,
        store: &Store,
        owner: &Owner,
        ends: impl Fn() -> Option<[u64; 3]>,
    ) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let before = self.file_numbers(store, owner)?;
            let copied = self.copy_files(store, owner, ends())?;
            if self.file_numbers(store, owner)? == before {
                self.report.users += usize::from(!copied.is_empty());
                self.report.files += copied.len();
                self.report.bytes += copied.iter().map(|(_, bytes)| bytes).sum::<u64>();
                return Ok(());
            }
            for (path, _) in copied {
                self.backend
                    .remove_file(&path)
                    .map_err(|error| io_error("cannot write the backup", &path, error))?;
            }
        }
        let message = format!("the files of a user changed again and again: `{}`", owner.user);
        Err(Error::new(ErrorKind::Io, message).with_hint("call again"))
    }

    /// The file numbers of the logs: rewriting a log creates a new file with the same name.
    fn file_numbers(&self, store: &Store, owner: &Owner) -> Result<[Option<u64>; 3]> {
        let mut stamps = [None; 3];
        for kind in LogKind::ALL {
            let path = store.layout().log_path(owner, kind);
            let stamp = store
                .backend()
                .stat_path(&path)
                .map_err(|error| io_error("cannot look at the file", &path, error))?;
            stamps[kind as usize] = stamp.map(|stamp| stamp.file_number);
        }
        Ok(stamps)
    }

    fn copy_files(
        &self,
        store: &Store,
        owner: &Owner,
        ends: Option<[u64; 3]>,
    ) -> Result<Vec<(PathBuf, u64)>> {
        let (layout, backend) = (store.layout(), store.backend());
        let logs = LogKind::ALL.map(|kind| layout.log_path(owner, kind));
        let mut files: Vec<(PathBuf, Option<u64>)> = layout
            .user_files(&**backend, owner)?
            .into_iter()
            .filter(|path| !logs.contains(path) && !is_temporary(path))
            .map(|path| (path, None))
            .collect();
        for kind in LogKind::ALL.into_iter().rev() {
            files.push((logs[kind as usize].clone(), ends.map(|ends| ends[kind as usize])));
        }
        let mut copied = Vec::new();
        for (path, end) in files {
            copied.extend(self.copy_file(store.layout(), &**backend, &path, end)?);
        }
        Ok(copied)
    }

    /// Copies a file up to `end`. Without `end`, a log is copied up to its last whole line, and any
    /// other file whole. `None` if the file no longer exists.
    fn copy_file(
        &self,
        layout: &StoreLayout,
        from: &dyn FileBackend,
        path: &Path,
        end: Option<u64>,
    ) -> Result<Option<(PathBuf, u64)>> {
        let inside = path.strip_prefix(layout.root()).map_err(|_| {
            Error::internal("a file of the store lies outside of it").at_path(path, None)
        })?;
        let to = self.staging.join(inside);
        let source = match from.read_from(path, 0) {
            Ok(source) => source,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error("cannot read the file", path, error)),
        };
        let is_lines = path.extension().is_some_and(|extension| extension == "jsonl");
        let written = || -> std::io::Result<u64> {
            self.backend.create_dir_all(parent_of(&to))?;
            let mut file = self.backend.create_new(&to)?;
            let mut source = source.take(end.unwrap_or(u64::MAX));
            let (mut piece, mut bytes, mut whole) = (vec![0; PIECE], 0_u64, 0_u64);
            loop {
                let read = source.read(&mut piece)?;
                if read == 0 {
                    break;
                }
                if let Some(feed) = piece[..read].iter().rposition(|byte| *byte == b'\n') {
                    whole = bytes + feed as u64 + 1;
                }
                file.append_bytes(&piece[..read])?;
                bytes += read as u64;
            }
            if is_lines && end.is_none() && whole < bytes {
                file.truncate_to(whole)?;
                bytes = whole;
            }
            file.sync_data()?;
            self.backend.sync_dir(parent_of(&to))?;
            Ok(bytes)
        };
        match written() {
            Ok(bytes) => Ok(Some((to, bytes))),
            Err(error) => Err(io_error("cannot write the backup", &to, error)),
        }
    }

    /// Copies the files that belong to no user, and gives the backup its final name.
    ///
    /// # Errors
    /// `Io`.
    pub fn finish(mut self, store: &Store) -> Result<BackupReport> {
        let outcome = self.copy_rest(store).and_then(|()| self.move_into_place());
        match outcome {
            Ok(()) => Ok(self.report),
            Err(error) => {
                self.discard_partial();
                Err(error)
            }
        }
    }

    fn move_into_place(&self) -> Result<()> {
        self.backend
            .rename_file(&self.staging, &self.target)
            .and_then(|()| self.backend.sync_dir(parent_of(&self.target)))
            .map_err(|error| io_error("cannot write the backup", &self.target, error))
    }

    /// Copies pending deletions too: opening the copy finishes them, as opening the store does.
    fn copy_rest(&mut self, store: &Store) -> Result<()> {
        let (layout, backend) = (store.layout(), &**store.backend());
        let mut files = vec![layout.format_path()];
        let intents = layout.intents_directory();
        let entries = backend
            .list_dir(&intents)
            .map_err(|error| io_error("cannot read the directory", &intents, error))?;
        files.extend(
            entries
                .into_iter()
                .filter(|(_, kind)| *kind == EntryKind::File)
                .map(|(name, _)| intents.join(name))
                .filter(|path| !is_temporary(path)),
        );
        for path in files {
            if let Some((_, bytes)) = self.copy_file(layout, backend, &path, None)? {
                self.report.files += 1;
                self.report.bytes += bytes;
            }
        }
        Ok(())
    }

    /// Removes the partial backup.
    pub fn discard_partial(&self) {
        // The temporary name identifies any files that remain.
        let _ = fs_err::remove_dir_all(&self.staging);
    }
}

fn is_temporary(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "tmp")
}
