//! Adopts logs of other programs by renaming them to canonical names.

use std::path::PathBuf;

use super::backend::{FileBackend, parent_of};
use super::files::{in_directory, io_error, sync_dir};
use super::layout::{DEFAULT_TENANT, LogKind, StoreLayout};
use super::legacy;
use super::log::OpenMode;
use super::shared::SharedStore;
use crate::error::Result;
use crate::ids::Owner;
use crate::model::StoreProblem;

/// The sources of one log's lines.
#[derive(Debug, Default)]
pub(super) struct LogSource {
    pub path: PathBuf,
    /// Records of a file in Nemori's oldest format, if the store is read-only and cannot convert
    /// it.
    pub legacy: Vec<Vec<u8>>,
    /// Problems found in that file.
    pub problems: Vec<StoreProblem>,
}

/// Renames logs from unencoded to encoded names, so that every user has exactly one name; returns
/// those that cannot be renamed.
///
/// # Errors
/// `Io`.
pub(super) fn rename_foreign(
    backend: &dyn FileBackend,
    layout: &StoreLayout,
) -> Result<Vec<StoreProblem>> {
    let mut problems = Vec::new();
    for (kind, user, path) in layout.foreign_logs(backend)? {
        if path.extension().is_some_and(|extension| extension == "json") {
            continue;
        }
        let Ok(owner) = Owner::new(DEFAULT_TENANT, &user) else { continue };
        let canonical = layout.log_path(&owner, kind);
        let fail = |error| io_error("cannot rename a log", &path, error);
        if backend.stat(&canonical).map_err(fail)?.is_some() {
            problems.push(StoreProblem {
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
        in_directory(backend, &canonical, || backend.rename(&path, &canonical)).map_err(fail)?;
        for directory in [parent_of(&path), parent_of(&canonical)] {
            sync_dir(backend, directory)?;
        }
    }
    Ok(problems)
}

/// The location of a user's log. In a writable store, files in Nemori's oldest format are converted
/// first.
///
/// # Errors
/// `Io`.
pub(super) fn source(shared: &SharedStore, owner: &Owner, kind: LogKind) -> Result<LogSource> {
    let (backend, layout) = (&*shared.backend, &shared.layout);
    let mut source = LogSource { path: layout.log_path(owner, kind), ..LogSource::default() };
    if owner.tenant != DEFAULT_TENANT || kind == LogKind::Messages {
        return Ok(source);
    }
    if shared.mode == OpenMode::ReadWrite {
        legacy::convert(backend, layout, owner, kind, &source.path, &mut source.problems)?;
        return Ok(source);
    }
    for path in shared.foreign.get(&(kind, owner.user.clone())).into_iter().flatten() {
        if path.extension().is_some_and(|extension| extension == "json") {
            source.legacy.extend(legacy::read(backend, path, &mut source.problems)?);
        } else if backend.stat(&source.path).ok().flatten().is_none() {
            source.path.clone_from(path);
        }
    }
    Ok(source)
}
