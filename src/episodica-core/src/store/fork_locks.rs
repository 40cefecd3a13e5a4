//! The locked files of this process, for a child that is forked while it holds a lock.
//!
//! A child shares the open files of its parent, including their locks: if the parent is killed, its
//! lock stays until the child ends. So a child closes the files listed here
//! (`python/episodica/handle.py` does it right after a fork). Reading the list takes no lock,
//! because a thread that the child does not have could hold it.

use std::sync::atomic::{AtomicI32, Ordering};

/// Most locked files that are listed; further ones are not.
const PLACES: usize = 256;
/// Marks a free entry.
const FREE: i32 = -1;

static FILES: [AtomicI32; PLACES] = [const { AtomicI32::new(FREE) }; PLACES];

/// File descriptors of the locked files of this process.
#[must_use]
pub fn locked_files() -> Vec<i32> {
    FILES.iter().map(|place| place.load(Ordering::SeqCst)).filter(|file| *file != FREE).collect()
}

/// The entry of one file; freed when dropped.
#[derive(Debug)]
pub(super) struct RegisteredFile(Option<usize>);

impl RegisteredFile {
    #[cfg(unix)]
    pub fn new(file: &std::fs::File) -> Self {
        let number = std::os::fd::AsRawFd::as_raw_fd(file);
        let free = |place: &AtomicI32| {
            place.compare_exchange(FREE, number, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        };
        Self(FILES.iter().position(free))
    }

    #[cfg(not(unix))]
    pub fn new(_: &std::fs::File) -> Self {
        Self(None)
    }
}

impl Drop for RegisteredFile {
    fn drop(&mut self) {
        if let Some(place) = self.0 {
            FILES[place].store(FREE, Ordering::SeqCst);
        }
    }
}
