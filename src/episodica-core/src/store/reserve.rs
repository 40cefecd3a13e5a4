//! A little disk space kept for deletions.
//!
//! Deleting writes an intent first, and on a full disk there is no room for it. So a store open for
//! writing keeps `.reserve`, which is removed when a deletion finds the disk full and made again
//! afterwards. Having none is harmless while the disk has room.

use std::io;
use std::path::{Path, PathBuf};

use super::backend::Backend;

/// More than an intent and the directory entries around it take.
const RESERVED_BYTES: usize = 64 << 10;

/// The reserve of one store.
#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
}

impl Reserve {
    pub fn new(root: &Path) -> Self {
        Self { path: root.join(".reserve") }
    }

    /// Makes the reserve, if there is none and the disk has room.
    pub fn refill(&self, backend: &dyn Backend) {
        let fill = || -> io::Result<()> {
            if backend.stat(&self.path)?.is_none() {
                let mut file = backend.create_new(&self.path)?;
                file.append(&vec![0; RESERVED_BYTES])?;
                file.sync_data()?;
            }
            Ok(())
        };
        if fill().is_err() {
            self.release(backend);
        }
    }

    /// Gives the space back to the disk.
    pub fn release(&self, backend: &dyn Backend) {
        let _ = backend.remove_file(&self.path);
    }
}
