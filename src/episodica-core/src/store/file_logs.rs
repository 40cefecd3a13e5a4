//! Logs in files: one JSONL file per user and kind, written by any number of processes.
//!
//! A writer holds the user's lock file during an append, and compares the end of the log with the
//! end that it has seen. A file next to the lock counts generations (`UserLocks`); epochs are only
//! in memory, because a request to a file never arrives late. Each log also has a lock in memory,
//! so that a message does not wait for an episode being written.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::backend::parent_of;
use super::codec::{LogHeader, is_state};
use super::erase;
use super::file_user_logs::FileUserLogs;
use super::files::{self, io_error, remove_file, temporary_path};
use super::layout::LogKind;
use super::line::check_line;
use super::log::OpenMode;
use super::log_store::{LogEnds, LogHead, LogMedium, LogStore, UserLogs};
use super::request_log::{KnownRequest, RequestNote};
use super::shared::SharedStore;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::Owner;

#[derive(Debug)]
pub(super) struct FileLogs {
    shared: Arc<SharedStore>,
    /// Each opening gets its own epoch.
    epoch: AtomicU64,
}

impl FileLogs {
    pub fn new(shared: &Arc<SharedStore>) -> Self {
        Self { shared: Arc::clone(shared), epoch: AtomicU64::new(0) }
    }

    /// Prepares logs for reading, while no other process writes them: finishes deletions and notes
    /// the ends.
    fn prepare_reading(&self, logs: &mut FileUserLogs) -> Result<()> {
        let (shared, owner) = (&self.shared, &logs.owner);
        if shared.mode == OpenMode::ReadWrite && erase::finish_pending_of(shared, owner)? {
            logs.locks.raise_generation()?;
        }
        check_header(shared, owner, &logs.paths[LogKind::Messages as usize])?;
        if shared.mode == OpenMode::ReadWrite && logs.locks.read_generation()? == 0 {
            // Creates the generation's file now: later the disk may be full.
            let _ = logs.locks.raise_generation();
        }
        logs.generation.store(logs.locks.read_generation()?, Ordering::SeqCst);
        logs.opened_at = logs.file_stamps()?;
        for (end, stamp) in logs.ends.iter_mut().zip(&logs.opened_at) {
            *end = stamp.map_or(0, |stamp| stamp.bytes).into();
        }
        logs.until = logs.opened_at.map(|stamp| Some(stamp.map_or(0, |stamp| stamp.bytes)));
        if shared.mode == OpenMode::ReadWrite {
            for path in &logs.paths {
                remove_leftover(shared, path)?;
            }
            // A writer that died left an unfinished line. (Bad lines are found later.)
            let mut alone = shared.mending.lock().remove(owner);
            for kind in LogKind::ALL {
                alone = alone || !logs.ends_in_line_feed(kind)?;
            }
            logs.mends = alone;
        }
        Ok(())
    }
}

impl LogStore for FileLogs {
    fn open_logs(&self, owner: &Owner) -> Result<(Box<dyn UserLogs>, LogHead)> {
        let shared = &self.shared;
        let epoch = self.epoch.fetch_add(1, Ordering::SeqCst);
        let mut logs = FileUserLogs::new(shared, owner, epoch);
        let guard = match shared.mode {
            OpenMode::ReadWrite => Some(logs.locks.lock_logs()?),
            OpenMode::ReadOnly => None,
        };
        self.prepare_reading(&mut logs)?;
        if logs.mends {
            logs.keep_lock(guard);
        }
        let head = logs.seen_head();
        Ok((Box::new(logs), head))
    }

    fn list_users(&self, tenant: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let shared = &self.shared;
        let mut users = shared.layout.list_users(&*shared.backend, tenant)?;
        users.retain(|user| after.is_none_or(|after| user.as_str() > after));
        if shared.mode == OpenMode::ReadOnly {
            // A reader does not show what a deletion under way has not removed yet.
            let (intents, _) = erase::pending_deletions(&*shared.backend, &shared.layout)?;
            for (_, intent) in intents.iter().filter(|(_, intent)| intent.erasure.is_none()) {
                users.retain(|user| intent.tenant != tenant || intent.user != *user);
            }
        }
        users.truncate(limit);
        Ok(users)
    }

    fn erase_user(&self, owner: &Owner) -> Result<usize> {
        let shared = &self.shared;
        shared.check_writable()?;
        let locks = shared.user_locks(owner);
        let _append = locks.lock_logs()?;
        let _caches = locks.lock_caches()?;
        // Raised before the erasure, so that readers drop their view, and after it, for readers
        // that opened in between.
        let raise = || shared.with_reserve(|| locks.raise_generation());
        raise()?;
        let files = erase::erase_user(shared, owner)?;
        raise()?;
        Ok(files)
    }

    fn list_tenants(&self) -> Result<Vec<String>> {
        self.shared.layout.list_tenants(&*self.shared.backend)
    }

    fn has_user(&self, owner: &Owner) -> Result<bool> {
        let SharedStore { layout, backend, .. } = &*self.shared;
        for kind in LogKind::ALL {
            let path = layout.log_path(owner, kind);
            let stamp = backend.stat_path(&path);
            if stamp.map_err(|error| io_error("cannot look at a log", &path, error))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn log_ends(&self, owner: &Owner) -> Result<LogEnds> {
        let SharedStore { layout, backend, .. } = &*self.shared;
        let mut ends = LogEnds {
            generation: self.shared.user_locks(owner).read_generation()?,
            ..LogEnds::default()
        };
        // Facts first, messages last: each record was written after the records that it refers to.
        for (kind, end) in LogKind::ALL.into_iter().zip(&mut ends.files).rev() {
            let path = layout.log_path(owner, kind);
            let stamp = backend.stat_unchecked(&path);
            let stamp = stamp.map_err(|error| io_error("cannot look at the log", &path, error))?;
            *end = stamp.map(|stamp| (stamp.bytes, stamp.file_number));
        }
        Ok(ends)
    }

    fn read_slice(&self, owner: &Owner, kind: LogKind, from: u64, most: u64) -> Result<Vec<u8>> {
        let path = self.shared.layout.log_path(owner, kind);
        let mut bytes = Vec::new();
        match self.shared.backend.read_from(&path, from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            source => source
                .and_then(|source| source.take(most).read_to_end(&mut bytes))
                .map(drop)
                .map_err(|error| io_error("cannot read the log", &path, error))?,
        }
        Ok(bytes)
    }

    fn is_erasing(&self, owner: &Owner) -> Result<bool> {
        erase::is_under_way(&self.shared, owner)
    }

    fn read_uses(&self, owner: &Owner) -> Result<(Vec<u8>, u64)> {
        let path = self.shared.layout.uses_path(owner);
        let bytes =
            files::read_file(&*self.shared.backend, &path, "cannot read the counts of uses")?;
        Ok((bytes.unwrap_or_default(), 0))
    }

    fn put_uses(&self, owner: &Owner, bytes: &[u8], _: u64) -> Result<bool> {
        self.shared.check_writable()?;
        let (path, backend) = (self.shared.layout.uses_path(owner), &*self.shared.backend);
        if bytes.is_empty() {
            if remove_file(backend, &path)? {
                files::sync_dir(backend, parent_of(&path))?;
            }
            return Ok(true);
        }
        // The caller holds the lock of the caches, which excludes other writers.
        files::replace_file(backend, &path, bytes).map(|()| true)
    }

    fn note_request(&self, note: &RequestNote<'_>) -> Result<Option<KnownRequest>> {
        self.shared.check_writable()?;
        self.shared.requests.note_step(&*self.shared.backend, note)
    }

    fn log_medium(&self) -> LogMedium {
        let place = self.shared.layout.root().to_owned();
        LogMedium { name: "files", place, version: None, failure: None }
    }
}

/// Removes a temporary file of a dead writer. The caller holds the user's lock.
fn remove_leftover(shared: &SharedStore, path: &Path) -> Result<()> {
    let (backend, leftover) = (&*shared.backend, temporary_path(path));
    let stamp = backend.stat_path(&leftover);
    if stamp.map_err(|error| io_error("cannot look for leftovers", &leftover, error))?.is_some() {
        remove_file(backend, &leftover)?;
    }
    Ok(())
}

/// Maximum length of a header: two ids of 512 bytes, each byte escaped.
const MAX_HEADER_BYTES: u64 = 8 << 10;

/// Rejects a message log whose header names another user, before its lines are shown or repaired.
fn check_header(shared: &SharedStore, owner: &Owner, path: &Path) -> Result<()> {
    let fail = |error| io_error("cannot read the log", path, error);
    let file = match shared.backend.read_from(path, 0) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(fail)?,
    };
    let mut bytes = Vec::new();
    file.take(MAX_HEADER_BYTES).read_to_end(&mut bytes).map_err(fail)?;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    // A damaged header is handled like any bad line.
    let sound = is_state(line) && check_line(line) == Ok(true);
    match serde_json::from_slice::<LogHeader>(line) {
        Ok(header) if sound && header != LogHeader::new(owner) => {
            let message = format!(
                "the log belongs to user `{}` of tenant `{}`, not to `{}`",
                header.user_id, header.tenant, owner.user
            );
            Err(Error::new(ErrorKind::CorruptStore, message)
                .at_path(path, Some(1))
                .with_hint("rename the file to its user's name, or move it away"))
        }
        _ => Ok(()),
    }
}
