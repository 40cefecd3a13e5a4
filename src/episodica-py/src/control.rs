//! Signals and progress while the engine works without holding the interpreter.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use episodica_core::control::CallControl;
use episodica_core::sync::Mutex;
use episodica_core::{Error, ErrorKind, Result};
use pyo3::prelude::*;

use crate::cancel;
use crate::leaving::call_function;

/// Interval between checks for signals: a Ctrl-C takes effect well within 200 ms.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Checks Python for pending signals and reports progress.
pub(crate) struct PythonControl {
    progress: Option<Py<PyAny>>,
    /// Set when a task is cancelled; see `cancel`.
    cancelled: Option<Arc<AtomicBool>>,
    asked: Mutex<Instant>,
    /// The exception of a signal handler or of the progress callback.
    raised: Mutex<Option<PyErr>>,
}

impl PythonControl {
    pub(crate) fn new(progress: Option<Py<PyAny>>) -> Self {
        Self {
            progress,
            cancelled: cancel::current_flag(),
            asked: Mutex::new(Instant::now()),
            raised: Mutex::new(None),
        }
    }

    /// The exception that stopped the work, if any.
    pub(crate) fn take_raised(&self) -> Option<PyErr> {
        self.raised.lock().take()
    }

    fn stop_with(&self, error: PyErr) -> Error {
        *self.raised.lock() = Some(error);
        Error::new(ErrorKind::Interrupted, "the operation was interrupted")
    }
}

impl CallControl for PythonControl {
    fn check(&self) -> Result<()> {
        if self.cancelled.as_ref().is_some_and(|flag| flag.load(Ordering::SeqCst)) {
            return Err(Error::new(ErrorKind::Interrupted, "the call was cancelled"));
        }
        if self.raised.lock().is_some() {
            return Err(Error::new(ErrorKind::Interrupted, "the operation was interrupted"));
        }
        {
            let mut asked = self.asked.lock();
            if asked.elapsed() < SIGNAL_INTERVAL {
                return Ok(());
            }
            *asked = Instant::now();
        }
        Python::attach(|py| {
            crate::logging::hand_on(py);
            py.check_signals()
        })
        .map_err(|error| self.stop_with(error))
    }

    fn report_progress(&self, step: &str, done: usize, total: usize) {
        let Some(callback) = &self.progress else { return };
        let told = Python::attach(|py| {
            call_function(callback.bind(py), &(step, done, total).into_pyobject(py)?).map(drop)
        });
        if let Err(error) = told {
            *self.raised.lock() = Some(error);
        }
    }
}
