//! Makes the removal of files durable.

use std::io;

use crate::error::Result;
use crate::ids::Owner;
use crate::store::backend::{FileBackend, parent_of};
use crate::store::files::io_error;
use crate::store::layout::StoreLayout;

/// Makes removals durable, including those of an earlier run that failed before syncing. So every
/// directory is synced, even one that still has entries.
pub(super) fn settle_directories(
    backend: &dyn FileBackend,
    layout: &StoreLayout,
    owner: &Owner,
) -> Result<()> {
    for directory in layout.directories_of(owner) {
        let mut place = directory.as_path();
        loop {
            let fail = |error| io_error("cannot sync the directory", place, error);
            // A long id is split over directories named after its parts. These directories are
            // removed too, unless another long id shares them.
            let continues =
                place.file_name().is_some_and(|name| name.to_string_lossy().ends_with('~'));
            if !(continues && backend.remove_dir(place).is_ok()) {
                match backend.sync_dir(place) {
                    // The directory does not exist: it was never created, or another process
                    // removed it. For a name that ends in `~`, the loop goes on with the parent.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    synced => synced.map_err(fail)?,
                }
            }
            if !continues {
                break;
            }
            place = parent_of(place);
        }
    }
    Ok(())
}
