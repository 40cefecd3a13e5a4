//! Converts panics into errors at the API boundary.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::engine::lifecycle::Engine;
use crate::error::{Error, Result};
use crate::model::UnreadableRow;

/// Runs `work`; a panic becomes an `Internal` error. The engine can continue: a panic does not
/// poison its locks, and logs are written before the view changes.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(described(&*panic)))
}

/// The message of the panic is left out: it may quote a text.
fn described(panic: &(dyn Any + Send)) -> Error {
    if panic.is::<UnreadableRow>() {
        return Error::internal("a record of the snapshot can't be read: the file was changed")
            .with_hint("call again: the logs are read instead of the snapshot");
    }
    Error::internal("an invariant of the engine is broken")
        .with_hint("please report this bug; standard error says where it happened")
}

impl Engine {
    /// Runs an operation for a caller who must not see panics. If a record of a snapshot could not
    /// be read, the next call opens the user from the logs.
    ///
    /// # Errors
    /// Those of `work`; `Internal` for a panic.
    pub fn guarded<T>(&self, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let outcome = catch_unwind(AssertUnwindSafe(|| work(self)));
        outcome.unwrap_or_else(|panic| {
            if panic.is::<UnreadableRow>() {
                self.users.leave_unsound(&self.services);
            }
            Err(described(&*panic))
        })
    }
}
