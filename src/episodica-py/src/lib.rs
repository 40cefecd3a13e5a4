//! The Python extension module `episodica._native`: the engine behind the public package, which
//! alone imports it.
//!
//! Thin on purpose: it converts values, releases the interpreter around every call, asks for
//! signals during long ones, and maps errors. Validation that a user would notice lives in
//! `python/episodica`, everything else in `episodica-core`.

mod cancel;
mod control;
mod convert;
mod embedder;
mod engine;
mod errors;
mod logging;
mod model;
mod options;
mod results;

/// The engine of episodica; private, use the package `episodica`.
#[pyo3::pymodule]
mod _native {
    use pyo3::exceptions::PyImportError;
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::cancel::Cancellation;
    #[pymodule_export]
    use crate::engine::Engine;
    #[pymodule_export]
    use crate::results::Results;

    /// Refuses to load where FAISS would die of an illegal instruction.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        episodica_faiss::cpu_supported().map_err(PyImportError::new_err)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// Tokens of a text in the o200k_base encoding.
    #[pyfunction]
    fn count_tokens(py: Python<'_>, text: &str) -> usize {
        py.detach(|| episodica_core::text::count_tokens(text))
    }

    /// The default configuration as JSON.
    #[pyfunction]
    fn config_defaults(py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(&episodica_core::config::Config::default())
            .map_err(|error| crate::errors::internal(py, &error))
    }

    /// The package's version.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// Versions and processor features, for `doctor`.
    #[pyfunction]
    fn system_info(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        use episodica_core::index::VectorIndexFactory;
        let info = serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "faiss": episodica_faiss::FaissFactory::default().version(),
            "architecture": std::env::consts::ARCH,
            "operating_system": std::env::consts::OS,
            "processor_features": crate::engine::processor_features(),
            "processors": std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            "embedding_model": episodica_core::embed::STATIC_MODEL,
            "store_format": episodica_core::store::FORMAT_VERSION,
        });
        crate::convert::to_python(py, &info)
    }
}
