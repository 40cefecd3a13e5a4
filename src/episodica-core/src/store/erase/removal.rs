//! Removes all files of a user, and finishes deletions that a crash or an error interrupted.

use super::apply::finish_erasure;
use super::derived::remove_derived;
use super::directories::settle_directories;
use super::intents::{
    DeletionIntent, intent_path, pending_deletions, place_intent, read_intent, remove_intent,
    settle_intent, sync_intent,
};
use crate::error::Result;
use crate::ids::Owner;
use crate::model::StoreProblem;
use crate::store::backend::FileBackend;
use crate::store::files::{io_error, is_disk_full, remove_file};
use crate::store::layout::{LogKind, StoreLayout};
use crate::store::log::RecordLog;
use crate::store::shared::SharedStore;
use std::path::Path;

/// Removes every file of a user; returns the number of removed files. After a crash in between,
/// opening the store finishes the removal. The caller locks out other writers.
///
/// # Errors
/// `ReadOnly`; `Io`: call again, or open the store again.
pub(in crate::store) fn erase_user(shared: &SharedStore, owner: &Owner) -> Result<usize> {
    shared.check_writable()?;
    let (backend, path) = (&*shared.backend, intent_path(&shared.layout, owner));
    let begun = backend
        .stat_path(&path)
        .map_err(|error| io_error("cannot look for a deletion under way", &path, error))?
        .is_some();
    if !begun && shared.layout.user_files(backend, owner)?.is_empty() {
        return Ok(0);
    }
    place_intent(shared, owner, None)?;
    sync_intent(shared)?;
    let files = remove_user_files(backend, &shared.layout, owner)?;
    remove_intent(shared, &path)?;
    Ok(files)
}

/// Finishes every deletion that a crash interrupted. Returns problems for intents that are
/// unreadable or, say on a full disk, can't be finished. Until they are finished, only their users
/// can't be opened. The caller holds the writers' lock, and no user is open.
pub(in crate::store) fn finish_pending(shared: &SharedStore) -> Result<Vec<StoreProblem>> {
    let (intents, mut problems) = pending_deletions(&*shared.backend, &shared.layout)?;
    for (path, intent) in intents {
        let (tenant, user) = (intent.tenant.clone(), intent.user.clone());
        if let Err(error) = finish_intent(shared, &path, intent) {
            problems.push(StoreProblem {
                path,
                line: None,
                message: format!(
                    "a deletion of user `{user}` of tenant `{tenant}` can't be finished: {}",
                    error.cause_chain()
                ),
                remedy: "free disk space or remove the cause: opening the user then finishes it"
                    .into(),
                mended: false,
            });
        }
    }
    Ok(problems)
}

/// Finishes an interrupted deletion before the user is opened again; `true` if there was one. The
/// caller locks out other writers.
pub(in crate::store) fn finish_pending_of(shared: &SharedStore, owner: &Owner) -> Result<bool> {
    let path = intent_path(&shared.layout, owner);
    match read_intent(&*shared.backend, &path)? {
        Some(intent) => finish_intent(shared, &path, intent).map(|()| true),
        None => settle_intent(shared, &path).map(|()| false),
    }
}

/// Finishes a deletion. If the disk is full, removes derived files first, because the rewritten
/// logs need room.
fn finish_intent(shared: &SharedStore, path: &Path, intent: DeletionIntent) -> Result<()> {
    match try_to_finish(shared, path, intent.clone()) {
        Err(error) if is_disk_full(&error) => {
            let owner = Owner::new(&intent.tenant, &intent.user)?;
            remove_derived(shared, &owner)?;
            shared.reserve.release_space(&*shared.backend);
            try_to_finish(shared, path, intent)
        }
        finished => finished,
    }
}

fn try_to_finish(shared: &SharedStore, path: &Path, intent: DeletionIntent) -> Result<()> {
    let owner = Owner::new(&intent.tenant, &intent.user)?;
    // Raises the generation, because earlier places in the logs become invalid. (If a full disk
    // prevents this, the checksums of the places reveal it.)
    let _ = shared.user_locks(&owner).raise_generation();
    match intent.erasure {
        None => {
            remove_user_files(&*shared.backend, &shared.layout, &owner)?;
        }
        Some(erasure) => {
            let open = |kind| {
                let place = shared.log_file(shared.layout.log_path(&owner, kind));
                RecordLog::open(place, &mut |_| Ok(())).map(|(log, _)| log)
            };
            let [messages, episodes, semantic] = LogKind::ALL;
            let (mut messages, mut episodes, mut semantic) =
                (open(messages)?, open(episodes)?, open(semantic)?);
            finish_erasure(
                shared,
                &owner,
                &erasure,
                [&mut messages, &mut episodes, &mut semantic],
            )?;
        }
    }
    remove_intent(shared, path)
}

/// Removes every file of a user; returns the number of removed files.
///
/// # Errors
/// `Io`.
pub(in crate::store) fn remove_user_files(
    backend: &dyn FileBackend,
    layout: &StoreLayout,
    owner: &Owner,
) -> Result<usize> {
    let files = layout.user_files(backend, owner)?;
    files.iter().try_for_each(|path| remove_file(backend, path).map(drop))?;
    settle_directories(backend, layout, owner)?;
    Ok(files.len())
}
