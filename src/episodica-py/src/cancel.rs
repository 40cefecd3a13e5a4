//! Cancels the work of a thread when its caller no longer waits for it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use episodica_core::engine::CallbackScope;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::leaving::call_function;

thread_local! {
    /// The flag that cancels the current call of this thread.
    static CURRENT: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Runs a function in another thread for a callback that waits in this one.
#[pyclass(frozen, name = "CallbackScope", module = "episodica._native")]
pub(crate) struct PassedScope(CallbackScope);

#[pymethods]
impl PassedScope {
    #[new]
    fn new() -> Self {
        Self(CallbackScope::of_thread())
    }

    /// Calls `function()`. The engine refuses in it what would wait for the callback.
    fn call(&self, function: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.0
            .run_callback(|| call_function(function, &PyTuple::empty(function.py())))
            .map(Bound::unbind)
    }
}

/// Runs a function so that another thread can cancel the engine's work in it.
#[pyclass(frozen, name = "Cancellation", module = "episodica._native")]
pub(crate) struct CancellableCall {
    flag: Arc<AtomicBool>,
}

#[pymethods]
impl CancellableCall {
    #[new]
    fn new() -> Self {
        Self { flag: Arc::default() }
    }

    /// Calls `function()`, unless the call was cancelled before.
    fn call(&self, py: Python<'_>, function: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        if self.flag.load(Ordering::SeqCst) {
            return Ok(py.None());
        }
        let before = CURRENT.replace(Some(Arc::clone(&self.flag)));
        let outcome = call_function(function, &PyTuple::empty(py));
        CURRENT.set(before);
        Ok(outcome?.unbind())
    }

    /// Cancels the engine's current work within a tenth of a second; committed changes stay.
    fn cancel(&self) {
        self.flag.store(true, Ordering::SeqCst);
    }
}

/// The flag that cancels the current call of this thread, if the call can be cancelled.
pub(crate) fn current_flag() -> Option<Arc<AtomicBool>> {
    CURRENT.with_borrow(Clone::clone)
}
