//! Converts panics into errors at the API boundary.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};
use crate::model::UnreadableRow;

/// Runs `work`; a panic becomes an `Internal` error. The engine can continue: a panic does not
/// poison its locks, and logs are written before the view changes.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    caught_and(|| {}, work)
}

/// As [`catch_panic`]; calls `unreadable` if a record of a snapshot could not be read.
pub(crate) fn caught_and<T>(
    unreadable: impl FnOnce(),
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        if panic.is::<UnreadableRow>() {
            unreadable();
        }
        Err(panic_error(&*panic))
    })
}

/// The message of the panic is left out: it may quote a text.
fn panic_error(panic: &(dyn Any + Send)) -> Error {
    if panic.is::<UnreadableRow>() {
        return Error::internal("a record of the snapshot can't be read: the file was changed")
            .with_hint("call again: the logs are read instead of the snapshot");
    }
    Error::internal("an invariant of the engine is broken")
        .with_hint("please report this bug; standard error says where it happened")
}
