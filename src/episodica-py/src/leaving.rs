//! Threads that are inside a caller's Python function when the interpreter ends.
//!
//! Before Python 3.14, such a thread is ended by an unwinding of its stack as soon as the function
//! wants the interpreter again. Destructors on the way would use an interpreter that the thread
//! does not hold, which aborts the process. So the thread stops at the first of them, and the
//! process ends without it, as from Python 3.14 on.

use std::mem;
use std::thread;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Calls a function of the caller. Nothing below this frame owns a Python object, so that `Stay` is
/// the first destructor on the way.
pub(crate) fn call_function<'py>(
    function: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let stay = Stay;
    let answer = function.call1(arguments);
    mem::forget(stay);
    answer
}

/// Is dropped only if the stack is unwound.
struct Stay;

impl Drop for Stay {
    fn drop(&mut self) {
        // A panic is Rust's own, and is caught further up.
        while !thread::panicking() {
            thread::park();
        }
    }
}
