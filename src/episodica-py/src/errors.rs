//! Converts errors of the engine to the package's exceptions. Python declares the classes; this
//! module only creates instances.

use episodica_core::{Error, ErrorKind};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

/// Maximum number of characters of a callable's exception in logs and reports.
const LONGEST_CAUSE: usize = 1_000;

/// The exception for an engine error.
pub(crate) fn to_exception(py: Python<'_>, error: &Error) -> PyErr {
    let mut causes = Vec::new();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        causes.push(inner.to_string());
        cause = inner.source();
    }
    let path = error.path().map(|path| path.display().to_string());
    let arguments =
        (error.kind().name(), error.to_string(), error.hint(), path, error.line(), causes);
    let made = py
        .import("episodica.errors")
        .and_then(|module| module.call_method1("from_native", arguments));
    let numbered = made.and_then(|exception| {
        if let (ErrorKind::Io, Some(errno)) = (error.kind(), error.error_number()) {
            exception.setattr("errno", errno)?;
        }
        Ok(PyErr::from_value(exception))
    });
    numbered.unwrap_or_else(|failure| failure)
}

/// The exception for a bug.
pub(crate) fn internal_error(py: Python<'_>, error: &dyn std::fmt::Display) -> PyErr {
    to_exception(py, &Error::internal(error.to_string()))
}

/// Converts an exception from a callback to an engine error with its message.
pub(crate) fn from_python(kind: ErrorKind, context: &str, error: &PyErr) -> Error {
    Python::attach(|py| {
        let name = error
            .get_type(py)
            .name()
            .map_or_else(|_| "exception".to_owned(), |name| name.to_string());
        let said: String = error.value(py).to_string().chars().take(LONGEST_CAUSE).collect();
        let made = Error::new(kind, context).caused_by(format!("{name}: {said}"));
        pass_on_interrupt(py, error);
        made
    })
}

/// True if a Ctrl-C occurred during a callback. The callback did not fail, so the work must not
/// continue as after a failure. The signal is made pending again, and the next check stops the
/// work.
pub(crate) fn pass_on_interrupt(py: Python<'_>, error: &PyErr) -> bool {
    // `interrupt_again` fails only without a main thread, and then no signal can have arrived.
    error.is_instance_of::<PyKeyboardInterrupt>(py) && interrupt_again(py).is_ok()
}

fn interrupt_again(py: Python<'_>) -> PyResult<()> {
    let threading = py.import("threading")?;
    let interrupt = py.import("_thread")?.getattr("interrupt_main")?;
    if threading.call_method0("current_thread")?.is(&threading.call_method0("main_thread")?) {
        // Python raises the interrupt at its next instruction, so no other Python code may follow.
        interrupt.call0()?;
    }
    Ok(())
}

/// The exception for invalid input found during conversion.
pub(crate) fn invalid_input(py: Python<'_>, text: impl Into<String>) -> PyErr {
    to_exception(py, &Error::invalid(text))
}

/// A plain exception for programming errors inside the package.
pub(crate) fn misuse_error(text: &str) -> PyErr {
    PyRuntimeError::new_err(text.to_owned())
}
