//! Removes derived files, which contain texts of many records or numbers computed from texts.

use std::path::PathBuf;

use crate::error::Result;
use crate::ids::Owner;
use crate::store::files::remove_file;
use crate::store::layout::SideFile;
use crate::store::shared::SharedStore;

/// Removes a user's traces, cached answers and counts of uses, and the files of
/// [`remove_positioned`]; returns the number of removed files.
///
/// # Errors
/// `Io`.
pub(in crate::store) fn remove_derived(shared: &SharedStore, owner: &Owner) -> Result<usize> {
    let layout = &shared.layout;
    let mut files = remove_positioned(shared, owner)?;
    let sides = [SideFile::Trace, SideFile::LlmCache].map(|side| layout.side_path(owner, side));
    for path in sides.into_iter().chain([layout.uses_path(owner)]) {
        files += usize::from(remove_file(&*shared.backend, &path)?);
    }
    Ok(files)
}

/// Removes the files that refer to positions in a user's logs: the segment, and temporary files of
/// interrupted replacements. Returns the number of removed files.
///
/// # Errors
/// `Io`.
pub(in crate::store) fn remove_positioned(shared: &SharedStore, owner: &Owner) -> Result<usize> {
    let layout = &shared.layout;
    let mut derived: Vec<PathBuf> = vec![layout.segment_path(owner)];
    let leftovers = layout.user_files(&*shared.backend, owner)?.into_iter();
    derived.extend(
        leftovers.filter(|path| path.extension().is_some_and(|extension| extension == "tmp")),
    );
    let mut files = 0;
    for path in derived {
        files += usize::from(remove_file(&*shared.backend, &path)?);
    }
    Ok(files)
}
