//! Import, export and backup.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::clock::Moment;
use crate::control::CallControl;
use crate::engine::lifecycle::Engine;
use crate::engine::user::UserGuard;
use crate::engine::writing::close::close_fact;
use crate::engine::writing::deleted::{DeletedMarks, is_deleted};
use crate::engine::writing::erase::unknown_record;
use crate::engine::writing::import::{ImportedRecords, ParsedImport, import_all};
use crate::engine::writing::keep::keep_side;
use crate::engine::writing::remember::{RememberedFact, StatedFact, remember_fact, told_id};
use crate::error::{Error, Result};
use crate::model::{BackupReport, ImportReport, KeptSide, SemanticMemory};
use crate::store::{BackupRun, LogKind, copy_user};

impl Engine {
    /// Adds a fact that the application states, durably; tells what became of it. Only the same
    /// words are a repeat. A fact with an attribute and a value ends the subject's facts with
    /// another value of the attribute.
    ///
    /// # Errors
    /// `InvalidInput` for an empty statement; `Io`; `ReadOnly`; `Interrupted`.
    pub fn remember(
        &self,
        user_id: &str,
        statement: StatedFact,
        control: &dyn CallControl,
    ) -> Result<RememberedFact> {
        self.check_writable()?;
        let (what, text) = match &statement.procedure {
            Some(procedure) => ("goal", &procedure.goal),
            None => ("statement", &statement.content),
        };
        if text.trim().is_empty() {
            return Err(Error::invalid(format!("{what} is empty")));
        }
        let limit = self.services.config.max_message_bytes;
        let bytes = statement.bytes();
        if bytes > limit {
            return Err(Error::invalid(format!(
                "statement is longer than max_message_bytes ({limit}): `{bytes}`"
            )));
        }
        self.with_user_or_new(user_id, control, |user| {
            let fact = remember_fact(&self.services, user, statement.clone(), control)?;
            user.measure_size();
            Ok(fact)
        })
    }

    /// True if the user has deleted what a file states under this name; see
    /// [`StatedFact::source`].
    ///
    /// # Errors
    /// `Io`; `Interrupted`.
    pub fn is_statement_deleted(
        &self,
        user_id: &str,
        source: &str,
        control: &dyn CallControl,
    ) -> Result<bool> {
        let asked = self.with_user(user_id, control, |user| {
            let _writer = user.lock_writer(&self.services.indexing_settings())?;
            let marks = DeletedMarks::read_marks(&self.services, user)?;
            Ok(is_deleted(&marks, user, &told_id(&user.owner, source)))
        });
        asked.map(Option::unwrap_or_default)
    }

    /// Those of these ids of messages that the user has deleted.
    ///
    /// # Errors
    /// `Io`; `Interrupted`.
    pub fn deleted_among(
        &self,
        user_id: &str,
        mut ids: Vec<String>,
        control: &dyn CallControl,
    ) -> Result<Vec<String>> {
        let asked = self.with_user(user_id, control, |user| {
            let _writer = user.lock_writer(&self.services.indexing_settings())?;
            let marks = DeletedMarks::read_marks(&self.services, user)?;
            ids.retain(|id| is_deleted(&marks, user, id));
            Ok(std::mem::take(&mut ids))
        });
        asked.map(Option::unwrap_or_default)
    }

    /// Ends a fact at `at` (`None` = now), because the user or the application says so. It then has
    /// an end, and stays in its history.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown id or a record that is no fact; `Io`; `ReadOnly`;
    /// `Interrupted`.
    pub fn close_fact(
        &self,
        user_id: &str,
        id: &str,
        at: Option<Moment>,
        control: &dyn CallControl,
    ) -> Result<Arc<SemanticMemory>> {
        self.check_writable()?;
        let close = |user: &UserGuard| close_fact(&self.services, user, id, at, control);
        self.with_user(user_id, control, close)?.ok_or_else(|| unknown_record(id))
    }

    /// Stores which side of a link the user keeps. `New` ends the earlier fact when the later words
    /// were said; `Old` ends the later fact when it began; `Both` ends neither.
    ///
    /// # Errors
    /// `InvalidInput` if these facts are not linked; `Io`; `ReadOnly`; `Interrupted`.
    pub fn keep_side(
        &self,
        user_id: &str,
        [old, new]: [&str; 2],
        side: KeptSide,
        control: &dyn CallControl,
    ) -> Result<()> {
        self.check_writable()?;
        self.with_user(user_id, control, |user| {
            keep_side(&self.services, user, [old, new], side, control)
        })?
        .ok_or_else(|| unknown_record(new))
    }

    /// Adds the records of an export that the user lacks, with their ids and versions. What the
    /// user has deleted is left out and counted. Errors name `path` as the file.
    ///
    /// # Errors
    /// `InvalidInput` with file and line (nothing was added); `Io`; `ReadOnly`; `Interrupted`.
    pub fn import_records(
        &self,
        user_id: &str,
        imported: &ImportedRecords,
        path: &Path,
        control: &dyn CallControl,
    ) -> Result<ImportReport> {
        self.check_writable()?;
        let mut parsed =
            ParsedImport::parse_records(imported, &self.services.owner_of(user_id)?, path)?;
        if imported.is_empty() {
            return Ok(ImportReport::default());
        }
        self.with_user_or_new(user_id, control, |user| {
            let report = import_all(&self.services, user, &mut parsed, imported, path, control)?;
            if self.services.has_background_work() {
                self.enqueue_user(user);
            }
            Ok(report)
        })
    }

    /// Copies the whole store, all tenants, to a directory that opens as a store. Other processes
    /// may write meanwhile: the copy has everything that was acknowledged before the call.
    ///
    /// # Errors
    /// `InvalidInput` if `target` exists; `Io`; `Interrupted`: `target` is removed.
    pub fn backup(&self, target: &Path, control: &dyn CallControl) -> Result<BackupReport> {
        self.check_open()?;
        self.catch_up_all(None, control)?;
        let started = Instant::now();
        let store = &self.services.store;
        if store.is_apart() {
            return self.backup_by_copy(target, control, started);
        }
        let mut backup = BackupRun::begin(store, target)?;
        let copied = self.copy_users(&mut backup, control);
        if let Err(error) = copied {
            backup.discard_partial();
            return Err(error);
        }
        let mut report = backup.finish(store)?;
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Backs up logs that are not files: writes a store of files with the same lines.
    fn backup_by_copy(
        &self,
        target: &Path,
        control: &dyn CallControl,
        started: Instant,
    ) -> Result<BackupReport> {
        let mut report = BackupReport::default();
        let services = &self.services;
        BackupRun::of_lines(target, &*services.clock, |copy| {
            let store = &services.store;
            let owners = store.list_owners()?;
            let total = owners.len();
            for (done, owner) in owners.into_iter().enumerate() {
                control.check()?;
                report.bytes += copy_user(store, copy, &owner)?.bytes;
                report.users += 1;
                services.callouts.report_progress(control, "users", done + 1, total);
            }
            Ok(())
        })?;
        report.files = BackupRun::files_in(target)?;
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    fn copy_users(&self, backup: &mut BackupRun, control: &dyn CallControl) -> Result<()> {
        let store = &self.services.store;
        let owners = store.list_owners()?;
        let total = owners.len();
        for (done, owner) in owners.into_iter().enumerate() {
            control.check()?;
            // Without the writer's lock another thread or process could be in the middle of a line.
            let ends = || {
                let open = (owner.tenant == self.services.tenant && !self.services.read_only)
                    .then(|| self.users.get(&owner.user))??;
                let _writer = open.lock_writer(&self.services.indexing_settings()).ok()?;
                Some(LogKind::ALL.map(|kind| open.store.log_position(kind).bytes))
            };
            backup.copy_user(store, &owner, ends)?;
            self.services.callouts.report_progress(control, "users", done + 1, total);
        }
        Ok(())
    }
}
