//! One log of an open user, locked within this process.

use std::ops::{Deref, DerefMut};

use super::log::Log;
use crate::sync::MutexGuard;

const OPEN: &str = "invariant: the log was opened";

/// The lock of one log, which is open.
pub(super) struct OpenLog<'a>(pub MutexGuard<'a, Option<Log>>);

impl Deref for OpenLog<'_> {
    type Target = Log;

    fn deref(&self) -> &Log {
        self.0.as_ref().expect(OPEN)
    }
}

impl DerefMut for OpenLog<'_> {
    fn deref_mut(&mut self) -> &mut Log {
        self.0.as_mut().expect(OPEN)
    }
}
