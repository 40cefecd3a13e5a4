//! The files whose locks this process holds, for a child that is forked while one is held.
//!
//! A child shares the open files of its parent, locks included: were the parent killed, its lock
//! would stay until the child ends. So a child gives up the files that stand here
//! (`python/episodica/handle.py` does it right after a fork). Asking takes no lock, which a thread
//! that the child does not have could hold.

use std::sync::atomic::{AtomicI32, Ordering};

/// At most so many locks are held at once; more are not listed.
const PLACES: usize = 256;
/// The number of no file.
const FREE: i32 = -1;

static FILES: [AtomicI32; PLACES] = [const { AtomicI32::new(FREE) }; PLACES];

/// The numbers of the files whose locks this process holds.
#[must_use]
pub fn locked_files() -> Vec<i32> {
    FILES.iter().map(|place| place.load(Ordering::SeqCst)).filter(|file| *file != FREE).collect()
}

/// The place of one file among those; free again when dropped.
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
