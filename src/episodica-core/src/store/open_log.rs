//! One log of an open user, locked within this process.

use std::ops::{Deref, DerefMut};

use super::log::RecordLog;
use crate::sync::MutexGuard;

const OPEN: &str = "invariant: the log was opened";

/// The lock of one open log.
pub(super) struct OpenLog<'a>(pub MutexGuard<'a, Option<RecordLog>>);

impl Deref for OpenLog<'_> {
    type Target = RecordLog;

    fn deref(&self) -> &RecordLog {
        self.0.as_ref().expect(OPEN)
    }
}

impl DerefMut for OpenLog<'_> {
    fn deref_mut(&mut self) -> &mut RecordLog {
        self.0.as_mut().expect(OPEN)
    }
}
