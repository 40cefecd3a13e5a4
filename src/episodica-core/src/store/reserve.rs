//! A small disk reserve for deletions.
//!
//! A deletion first writes an intent, which a full disk has no room for. So a store open for
//! writing keeps `.reserve`, a file that is removed if a deletion finds the disk full, and created
//! again afterwards. A missing reserve is harmless while the disk has room.

use std::io;
use std::path::{Path, PathBuf};

use super::backend::FileBackend;

/// More than an intent and its directory entries need.
const RESERVED_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct DiskReserve {
    path: PathBuf,
}

impl DiskReserve {
    pub fn new(root: &Path) -> Self {
        Self { path: root.join(".reserve") }
    }

    /// Creates the reserve if it is missing and the disk has room.
    pub fn refill_space(&self, backend: &dyn FileBackend) {
        let fill = || -> io::Result<()> {
            if backend.stat_path(&self.path)?.is_none() {
                let mut file = backend.create_new(&self.path)?;
                file.append_bytes(&vec![0; RESERVED_BYTES])?;
                file.sync_data()?;
            }
            Ok(())
        };
        if fill().is_err() {
            self.release_space(backend);
        }
    }

    /// Frees the reserve's disk space.
    pub fn release_space(&self, backend: &dyn FileBackend) {
        let _ = backend.remove_file(&self.path);
    }
}
