//! The package's frozen Python classes, which this crate instantiates. Python declares them, with
//! their documentation, equality, pickling and display; this module fills their fields.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// A class of the Python package, imported on first use.
pub(crate) struct PythonClass {
    module: &'static str,
    name: &'static str,
    found: PyOnceLock<Py<PyType>>,
}

impl PythonClass {
    const fn new(module: &'static str, name: &'static str) -> Self {
        Self { module, name, found: PyOnceLock::new() }
    }

    /// The Python class.
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyType>> {
        self.found.import(py, self.module, self.name)
    }
}

macro_rules! classes {
    ($($module:literal: $($constant:ident = $name:literal),+;)+) => {
        $($(pub(crate) static $constant: PythonClass = PythonClass::new($module, $name);)+)+
    };
}

classes! {
    "episodica.records": MESSAGE = "Message", EPISODE = "Episode", FACT = "SemanticMemory";
    "episodica.forgetting":
        FORGETTING_CANDIDATE = "ForgettingCandidate", FORGETTING_REPORT = "ForgettingReport";
    "episodica.results": EXPLANATION = "Explanation", HIT = "Hit";
    "episodica.reports":
        ADD_RESULT = "AddResult",
        BACKUP_REPORT = "BackupReport",
        DELETE_REPORT = "DeleteReport",
        EVENT = "Event",
        EVENTS = "Events",
        IMPORT_REPORT = "ImportReport",
        PROBLEM = "Problem",
        COMPACT_REPORT = "CompactReport",
        REBUILD_REPORT = "RebuildReport",
        VERIFY_REPORT = "VerifyReport";
    "episodica.status":
        COST = "Cost",
        EMBEDDING_HEALTH = "EmbeddingHealth",
        HEALTH = "Health",
        LLM_HEALTH = "LLMHealth",
        SERVICE_HEALTH = "ServiceHealth",
        STORE_HEALTH = "StoreHealth",
        STORE_STATS = "StoreStats",
        TRACE_STEP = "TraceStep",
        USAGE = "Usage",
        USER_STATS = "UserStats",
        VECTOR_COUNTS = "VectorCounts";
}

/// Creates an instance, field by field: `build!(py, &CLASS, value => Type { a, b: made_of_b, ..
/// })`.
///
/// The pattern must name every field of the struct, so that a new field cannot be forgotten. `skip`
/// lists fields that Python does not use, and `more` lists fields that only Python has.
macro_rules! build {
    (
        $py:expr, $class:expr, $value:expr => $type:ident {
            $($field:ident $(: $made:expr)?),+ $(,)?
        } $(skip { $($skipped:ident),+ $(,)? })? $(more { $($added:ident: $extra:expr),+ $(,)? })?
    ) => {{
        let $type { $($field,)+ $($($skipped: _,)+)? } = $value;
        let fields = pyo3::types::PyDict::new($py);
        $(
            fields.set_item(
                pyo3::intern!($py, stringify!($field)),
                $crate::classes::build!(@either $field $(, $made)?),
            )?;
        )+
        $($(fields.set_item(pyo3::intern!($py, stringify!($added)), $extra)?;)+)?
        $class.get($py)?.call((), Some(&fields))
    }};
    (@either $field:ident) => { $field };
    (@either $field:ident, $made:expr) => {{ let _ = $field; $made }};
}
pub(crate) use build;
