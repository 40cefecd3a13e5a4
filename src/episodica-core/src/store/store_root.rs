//! The directory of a store, with a check that it is still the one that was opened.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::backend::FileBackend;
use super::files::io_error;
use crate::error::{Error, ErrorKind, Result};

#[derive(Debug)]
pub(crate) struct StoreRoot {
    path: PathBuf,
    /// The file number of the locked directory.
    locked: OnceLock<u64>,
}

impl StoreRoot {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), locked: OnceLock::new() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records the directory's file number; from then on [`StoreRoot::check_directory`] accepts no
    /// other directory.
    ///
    /// # Errors
    /// `Io`.
    pub fn pin_directory(&self, backend: &dyn FileBackend) -> Result<()> {
        if let Some(number) = self.directory_number(backend)? {
            self.locked.get_or_init(|| number);
        }
        Ok(())
    }

    /// Refuses writes after the directory was moved or removed: its lock moved with it, and new
    /// files under the old name would belong to a store that no process has opened.
    ///
    /// # Errors
    /// `Io`.
    pub fn check_directory(&self, backend: &dyn FileBackend) -> Result<()> {
        let Some(locked) = self.locked.get() else { return Ok(()) };
        if self.directory_number(backend)? == Some(*locked) {
            return Ok(());
        }
        let message = "the directory of the store was moved or removed while it was open";
        Err(Error::new(ErrorKind::Io, message)
            .at_path(&self.path, None)
            .with_hint("close the store and open it at its new place; nothing was written"))
    }

    fn directory_number(&self, backend: &dyn FileBackend) -> Result<Option<u64>> {
        let stamp = backend.stat_path(&self.path);
        let stamp =
            stamp.map_err(|error| io_error("cannot look at the store", &self.path, error))?;
        Ok(stamp.map(|stamp| stamp.file_number))
    }
}
