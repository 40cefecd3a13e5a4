//! The local cache directory of a store whose logs are on another medium.
//!
//! Each user's files come with a note: the generation of the logs from which the files were made.
//! Files of another generation may contain records that another machine has erased since. Such
//! files are removed when the store is opened, and when the user is opened.

use std::collections::HashMap;
use std::sync::Arc;

use super::backend::EntryKind;
use super::erase::{remove_derived, remove_user_files};
use super::files::{create_dir_all, read_file, remove_file, replace_file};
use super::layout::{SideFile, StoreLayout};
use super::lock::LockHolder;
use super::log::OpenMode;
use super::log_store::LogStore;
use super::shared::SharedStore;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::Owner;
use crate::sync::Mutex;

/// Users whose generations are requested together.
const ASKED_TOGETHER: usize = 1_000;

/// The generations of the users that this process has opened.
#[derive(Debug, Default)]
pub(super) struct RemoteCache {
    generations: Mutex<HashMap<Owner, u64>>,
}

/// Creates the directory with access for its owner only.
pub(super) fn open_directory(shared: &mut SharedStore, clock: &dyn Clock) -> Result<()> {
    let (backend, root) = (Arc::clone(&shared.backend), shared.layout.root().to_owned());
    create_dir_all(&*backend, &root)?;
    if let Some(name) = backend.network_file_system(&root) {
        let message = format!("caches can't be kept over a network: the directory is on {name}");
        return Err(Error::new(ErrorKind::Io, message)
            .at_path(&root, None)
            .with_hint("name a directory of a local disk in `EPISODICA_CACHE`"));
    }
    shared.holder = LockHolder::this_process(clock.now()).lock_line()?.into();
    shared.root.pin_directory(&*backend)?;
    create_dir_all(&*backend, &shared.layout.locks_directory())
}

fn noted_generation(shared: &SharedStore, owner: &Owner) -> Result<Option<u64>> {
    let path = shared.layout.generation_path(owner);
    let bytes = read_file(&*shared.backend, &path, "cannot read the generation of a cache")?;
    // An unreadable note counts as a generation that the logs never have.
    Ok(bytes.map(|bytes| {
        let text = std::str::from_utf8(&bytes).ok();
        text.and_then(|text| text.trim().parse().ok()).unwrap_or(u64::MAX)
    }))
}

/// Removes the files derived from a user's logs.
fn remove_made(shared: &SharedStore, owner: &Owner) -> Result<usize> {
    let _caches = shared.user_locks(owner).lock_caches()?;
    let mut files = remove_derived(shared, owner)?;
    let letters = shared.layout.side_path(owner, SideFile::DeadLetters);
    files += usize::from(remove_file(&*shared.backend, &letters)?);
    remove_file(&*shared.backend, &shared.layout.generation_path(owner))?;
    Ok(files)
}

impl RemoteCache {
    /// Called when the logs of a user were opened: removes files derived from another generation.
    pub fn remove_outdated(
        &self,
        shared: &SharedStore,
        owner: &Owner,
        generation: u64,
    ) -> Result<()> {
        if shared.mode == OpenMode::ReadOnly {
            return Ok(());
        }
        self.generations.lock().insert(owner.clone(), generation);
        if noted_generation(shared, owner)?.is_some_and(|noted| noted != generation) {
            remove_made(shared, owner)?;
        }
        Ok(())
    }

    /// Called when this process has removed lines from a user's logs: removes the files derived
    /// from these logs, and returns their number.
    pub fn remove_rewritten(
        &self,
        shared: &SharedStore,
        owner: &Owner,
        generation: u64,
    ) -> Result<usize> {
        self.generations.lock().insert(owner.clone(), generation);
        remove_made(shared, owner)
    }

    /// Called when all data of a user was erased: removes the user's files, and returns their
    /// number.
    pub fn remove_user(&self, shared: &SharedStore, owner: &Owner) -> Result<usize> {
        self.generations.lock().remove(owner);
        let _caches = shared.user_locks(owner).lock_caches()?;
        remove_user_files(&*shared.backend, &shared.layout, owner)
    }

    /// Notes the generation of files that are about to be written; other processes read the note.
    pub fn note_generation(
        &self,
        shared: &SharedStore,
        logs: &dyn LogStore,
        owner: &Owner,
    ) -> Result<()> {
        let generation = self.generations.lock().get(owner).copied();
        let generation = match generation.filter(|_| shared.mode != OpenMode::ReadOnly) {
            None => return Ok(()),
            // The user had no logs at opening.
            Some(0) => logs.log_ends(owner)?.generation,
            Some(generation) => generation,
        };
        if noted_generation(shared, owner)? == Some(generation) {
            return Ok(());
        }
        let path = shared.layout.generation_path(owner);
        replace_file(&*shared.backend, &path, format!("{generation}\n").as_bytes())
    }

    /// Removes the files derived from logs that were erased or rewritten since; returns the number
    /// of users.
    pub fn remove_stale(&self, shared: &SharedStore, logs: &dyn LogStore) -> Result<usize> {
        let (layout, backend) = (&shared.layout, &*shared.backend);
        let mut swept = 0;
        for tenant in layout.list_tenants(backend)? {
            let entries = layout.tenant_entries(backend, &tenant)?.into_iter();
            let files = entries.filter(|(_, kind)| *kind == EntryKind::File);
            let users: Vec<String> =
                files.filter_map(|(path, _)| noted_user(layout, &tenant, &path)).collect();
            for users in users.chunks(ASKED_TOGETHER) {
                for (user, there) in users.iter().zip(logs.log_generations(&tenant, users)?) {
                    let Ok(owner) = Owner::new(&tenant, user) else { continue };
                    if there.is_none() {
                        remove_user_files(backend, layout, &owner)?;
                    } else if noted_generation(shared, &owner)? != there {
                        remove_made(shared, &owner)?;
                    } else {
                        continue;
                    }
                    swept += 1;
                }
            }
        }
        Ok(swept)
    }
}

/// The user whose note has this path.
fn noted_user(layout: &StoreLayout, tenant: &str, path: &std::path::Path) -> Option<String> {
    let top = layout.tenant_root(tenant).join("segments");
    let name = path.strip_prefix(top).ok()?.to_str()?.strip_suffix(".generation")?;
    crate::ids::decode_file_name(name)
}
