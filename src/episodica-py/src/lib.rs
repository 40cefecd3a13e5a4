//! The Python extension module `episodica._native`: the engine behind the public package, which alone imports it.

/// The engine of episodica; private, use the package `episodica`.
#[pyo3::pymodule]
mod _native {
    use pyo3::exceptions::PyImportError;
    use pyo3::prelude::*;

    /// Refuses to load where FAISS would die of an illegal instruction.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        episodica_faiss::cpu_supported().map_err(PyImportError::new_err)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
