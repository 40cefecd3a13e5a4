//! Derived files, which contain texts of many records or numbers computed from them.

use std::path::PathBuf;

use crate::error::Result;
use crate::ids::Owner;
use crate::store::files::remove;
use crate::store::layout::{LogKind, SideFile};
use crate::store::shared::Shared;

/// Removes a user's traces, cached answers, vector caches, snapshot, counts of uses, and the
/// temporary files of interrupted replacements; returns the number of removed files.
///
/// # Errors
/// `Io`.
pub(in crate::store) fn remove_derived(shared: &Shared, owner: &Owner) -> Result<usize> {
    let layout = &shared.layout;
    let mut derived: Vec<PathBuf> =
        [SideFile::Trace, SideFile::LlmCache].map(|side| layout.side_path(owner, side)).into();
    derived.extend([layout.snapshot_path(owner), layout.uses_path(owner)]);
    for kind in LogKind::ALL {
        let caches = layout.cache_paths(owner, kind);
        derived.extend([caches.manifest, caches.embeddings, caches.index]);
    }
    let leftovers = layout.user_files(&*shared.backend, owner)?.into_iter();
    derived.extend(
        leftovers.filter(|path| path.extension().is_some_and(|extension| extension == "tmp")),
    );
    let mut files = 0;
    for path in derived {
        files += usize::from(remove(&*shared.backend, &path)?);
    }
    Ok(files)
}
