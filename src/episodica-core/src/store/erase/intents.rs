//! Pending deletions: one file each in `intents/`, written before the first removal and removed
//! after the last.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::derived::remove_derived;
use super::erasure::UserErasure;
use crate::error::Result;
use crate::ids::{Owner, digest, to_hex};
use crate::model::StoreProblem;
use crate::store::backend::{EntryKind, FileBackend};
use crate::store::files::{self, io_error, is_disk_full, put_file, remove_file, sync_up};
use crate::store::layout::StoreLayout;
use crate::store::line::{check_line, encode_line};
use crate::store::shared::SharedStore;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::store) struct DeletionIntent {
    pub tenant: String,
    pub user: String,
    /// `None`: all data of the user.
    pub erasure: Option<UserErasure>,
}

pub(super) fn intent_path(layout: &StoreLayout, owner: &Owner) -> PathBuf {
    let hash = digest(&[owner.tenant.as_bytes(), owner.user.as_bytes()]);
    layout.intents_directory().join(format!("{}.json", to_hex(&hash[..16])))
}

/// True while a deletion of the user is in progress or unfinished.
pub(in crate::store) fn is_under_way(shared: &SharedStore, owner: &Owner) -> Result<bool> {
    let path = intent_path(&shared.layout, owner);
    let stamp = shared.backend.stat_unchecked(&path);
    let stamp = stamp.map_err(|error| io_error("cannot look for a deletion", &path, error))?;
    Ok(stamp.is_some())
}

/// True while all data of the user is being deleted.
pub(in crate::store) fn removes_user(shared: &SharedStore, owner: &Owner) -> Result<bool> {
    let intent = read_intent(&*shared.backend, &intent_path(&shared.layout, owner))?;
    Ok(intent.is_some_and(|intent| intent.erasure.is_none()))
}

/// Reads an intent; `None` if the file is missing or unreadable.
pub(super) fn read_intent(
    backend: &dyn FileBackend,
    path: &Path,
) -> Result<Option<DeletionIntent>> {
    let Some(bytes) = files::read_file(backend, path, "cannot read a deletion under way")? else {
        return Ok(None);
    };
    let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    Ok((check_line(line) == Ok(true)).then(|| serde_json::from_slice(line).ok()).flatten())
}

/// Writes an intent. The deletion has begun when this returns; it is certain to finish once
/// [`sync_intent`] returns.
pub(super) fn place_intent(
    shared: &SharedStore,
    owner: &Owner,
    erasure: Option<UserErasure>,
) -> Result<()> {
    let backend = &*shared.backend;
    let intent = DeletionIntent { tenant: owner.tenant.clone(), user: owner.user.clone(), erasure };
    let mut line = Vec::new();
    encode_line(&mut line, &intent)?;
    let path = intent_path(&shared.layout, owner);
    match put_file(backend, &path, &line) {
        Err(error) if is_disk_full(&error) => {
            // A deletion must not need disk space that only a deletion can free.
            remove_derived(shared, owner)?;
            shared.reserve.release_space(backend);
            put_file(backend, &path, &line)
        }
        placed => placed,
    }
}

/// Makes a begun deletion certain to finish.
pub(super) fn sync_intent(shared: &SharedStore) -> Result<()> {
    let (backend, directory) = (&*shared.backend, shared.layout.intents_directory());
    sync_up(backend, shared.layout.root(), &directory)
}

/// Ends a deletion, durably.
pub(super) fn remove_intent(shared: &SharedStore, path: &Path) -> Result<()> {
    let mut removed = shared.intents_removed.lock();
    removed.push(path.to_owned());
    remove_file(&*shared.backend, path)?;
    sync_removals(shared, &mut removed)?;
    drop(removed);
    shared.reserve.refill_space(&*shared.backend);
    Ok(())
}

/// Makes the end of this user's deletion durable, if it is not yet.
pub(super) fn settle_intent(shared: &SharedStore, path: &Path) -> Result<()> {
    let mut removed = shared.intents_removed.lock();
    let is_pending = removed.iter().any(|one| one == path);
    if is_pending { sync_removals(shared, &mut removed) } else { Ok(()) }
}

fn sync_removals(shared: &SharedStore, removed: &mut Vec<PathBuf>) -> Result<()> {
    files::sync_dir(&*shared.backend, &shared.layout.intents_directory())?;
    removed.clear();
    Ok(())
}

/// Pending deletions, each with the path of its intent.
type Pending = Vec<(PathBuf, DeletionIntent)>;

/// Pending deletions, and the problems of unreadable ones.
pub(in crate::store) fn pending_deletions(
    backend: &dyn FileBackend,
    layout: &StoreLayout,
) -> Result<(Pending, Vec<StoreProblem>)> {
    let directory = layout.intents_directory();
    let entries = backend
        .list_dir(&directory)
        .map_err(|error| io_error("cannot list the directory", &directory, error))?;
    let (mut intents, mut problems) = (Vec::new(), Vec::new());
    for (name, kind) in entries {
        let path = directory.join(&name);
        if kind != EntryKind::File || !name.ends_with(".json") {
            continue;
        }
        match read_intent(backend, &path)? {
            Some(intent) => intents.push((path, intent)),
            None => {
                let whose = match owner_of(backend, layout, &name)? {
                    Some(owner) => {
                        format!(" of user `{}` of tenant `{}`", owner.user, owner.tenant)
                    }
                    None => String::new(),
                };
                problems.push(StoreProblem {
                    path,
                    line: None,
                    message: format!("a deletion{whose} was interrupted and can't be read"),
                    remedy: if whose.is_empty() {
                        "no user with files has this intent: remove it".into()
                    } else {
                        "repeat the deletion: that removes this file".into()
                    },
                    mended: false,
                });
            }
        }
    }
    Ok((intents, problems))
}

/// Deletions that an error interrupted in this process. (Opening for writing finishes all of them;
/// a read-only store shows none of their users.)
pub(in crate::store) fn interrupted_deletions(shared: &SharedStore) -> Result<Vec<StoreProblem>> {
    let (intents, mut problems) = pending_deletions(&*shared.backend, &shared.layout)?;
    problems.extend(intents.into_iter().map(|(path, intent)| StoreProblem {
        path,
        line: None,
        message: format!(
            "a deletion of user `{}` of tenant `{}` was not finished",
            intent.user, intent.tenant
        ),
        remedy: "delete again, or open the store for writing: that finishes it".into(),
        mended: false,
    }));
    Ok(problems)
}

/// The user that an intent's file name refers to.
fn owner_of(backend: &dyn FileBackend, layout: &StoreLayout, name: &str) -> Result<Option<Owner>> {
    for tenant in layout.list_tenants(backend)? {
        let owners = layout
            .list_users(backend, &tenant)?
            .into_iter()
            .filter_map(|user| Owner::new(&tenant, &user).ok());
        for owner in owners {
            if intent_path(layout, &owner).file_name().is_some_and(|file| file == name) {
                return Ok(Some(owner));
            }
        }
    }
    Ok(None)
}
