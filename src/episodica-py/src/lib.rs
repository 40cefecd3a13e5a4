//! The Python extension module `episodica._native`, which only the public package imports.
//!
//! Intentionally thin: it converts values, releases the interpreter around every call, checks for
//! signals during long calls, and converts errors. `python/episodica` validates user input;
//! everything else is in `episodica-core`.

mod calls;
mod cancel;
mod classes;
mod control;
mod embedder;
#[cfg(unix)]
mod ending;
mod engine;
mod errors;
mod leaving;
mod logging;
mod made;
mod model;
mod options;
mod place;
mod records;
mod reports;
mod results;
mod settings;

/// The engine of episodica; private, use the package `episodica`.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    use episodica_core::config::MemoryConfig;
    use episodica_core::control::CallControl;
    use episodica_core::engine::estimate_cost;
    use episodica_core::model::NewMessage;
    use episodica_core::text::count_tokens_while;

    use crate::control::PythonControl;
    use crate::errors;

    #[pymodule_export]
    use crate::cancel::{CancellableCall, PassedScope};
    #[pymodule_export]
    use crate::engine::PyEngine;
    #[pymodule_export]
    use crate::place::{
        copy_store, database_grant, database_migrate, database_nodes, database_purge,
        database_state,
    };
    #[pymodule_export]
    use crate::results::HitResults;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// Number of tokens of a text in the o200k_base encoding.
    #[pyfunction]
    fn count_tokens(py: Python<'_>, text: &str) -> PyResult<usize> {
        let control = PythonControl::new(None);
        let counted = py.detach(|| count_tokens_while(text, || control.check()));
        match (control.take_raised(), counted) {
            (Some(raised), _) => Err(raised),
            (None, counted) => counted.map_err(|error| errors::to_exception(py, &error)),
        }
    }

    /// The language of a text as ISO 639-1; empty for those without rules.
    #[pyfunction]
    fn language(py: Python<'_>, text: &str) -> &'static str {
        use episodica_core::text::Language;
        match py.detach(|| episodica_core::text::language(text)) {
            Language::English => "en",
            Language::Chinese => "zh",
            Language::German => "de",
            Language::Spanish => "es",
            Language::French => "fr",
            Language::Other => "",
        }
    }

    /// Whether brackets of a JSON text are nested deeper than `most`.
    #[pyfunction]
    fn nests_deeper(py: Python<'_>, json: &[u8], most: usize) -> bool {
        py.detach(|| episodica_core::text::nests_deeper(json, most))
    }

    /// From now on, the process ends at most `seconds` after SIGTERM or SIGINT, even if no thread
    /// ever lets another run Python. `None` calls this off, unless a signal has arrived.
    #[pyfunction]
    #[cfg_attr(not(unix), allow(unused_variables))]
    fn end_after_signal(seconds: Option<f64>) -> PyResult<()> {
        #[cfg(unix)]
        crate::ending::end_after_signal(seconds)?;
        Ok(())
    }

    /// Calls, prompt tokens and answer tokens that a model will cost for messages.
    #[pyfunction]
    fn estimate(
        py: Python<'_>,
        config: &str,
        messages: Vec<Bound<'_, PyDict>>,
        session_id: Option<String>,
    ) -> PyResult<(u64, u64, u64)> {
        let config: MemoryConfig =
            serde_json::from_str(config).map_err(|error| errors::internal_error(py, &error))?;
        let messages = messages.iter().map(|message| {
            let message = crate::options::new_message(message)?;
            let session_id = message.session_id.or_else(|| session_id.clone());
            Ok(NewMessage { session_id, ..message })
        });
        let messages = messages.collect::<PyResult<Vec<_>>>()?;
        let found = py.detach(|| estimate_cost(&config, messages));
        let found = found.map_err(|error| errors::to_exception(py, &error))?;
        Ok((found.calls, found.prompt_tokens, found.completion_tokens))
    }

    /// A text with its secrets masked, and the kind of each.
    #[pyfunction]
    fn mask_secrets(py: Python<'_>, text: &str) -> (String, Vec<&'static str>) {
        py.detach(|| episodica_core::text::mask_secrets(text))
    }

    /// How surely a text is a greeting, a thanks or a reaction that asks nothing; above 0 for yes.
    #[pyfunction]
    fn small_talk(text: &str) -> f32 {
        episodica_core::text::small_talk(text)
    }

    /// How much a text looks like the name of a person or account; above 0 for yes.
    #[pyfunction]
    fn likely_name(text: &str) -> f32 {
        episodica_core::engine::likely_name(text)
    }

    /// The tables of settings of the memory and of endpoints: names, types, defaults, bounds and
    /// documentation.
    #[pyfunction]
    fn settings(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let tables = PyDict::new(py);
        let memory = episodica_core::config::MemoryConfig::schema();
        tables.set_item("memory", crate::settings::setting_table(py, memory)?)?;
        let endpoint = episodica_core::remote::RemoteEndpoint::schema();
        tables.set_item("endpoint", crate::settings::setting_table(py, endpoint)?)?;
        Ok(tables)
    }

    /// Prepares for a fork: waits until no lazy value is being initialised.
    #[pyfunction]
    fn before_fork(py: Python<'_>) {
        py.detach(episodica_core::fork::before_fork);
    }

    /// Resumes after a fork, in the parent.
    #[pyfunction]
    fn after_fork_in_parent() {
        episodica_core::fork::after_fork_in_parent();
    }

    /// Notes a fork, in the child: threads and locks of the parent are created anew.
    #[pyfunction]
    fn after_fork_in_child() {
        episodica_core::fork::after_fork_in_child();
    }

    /// Descriptors of the files whose locks this process holds.
    #[pyfunction]
    fn locked_files() -> Vec<i32> {
        episodica_core::store::locked_files()
    }

    /// Version of the package.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// Versions and processor features, for `doctor`.
    #[pyfunction]
    fn system_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        use episodica_core::index::VectorIndexFactory;
        let info = PyDict::new(py);
        info.set_item("version", env!("CARGO_PKG_VERSION"))?;
        info.set_item("faiss", episodica_faiss::FaissFactory.library_version())?;
        info.set_item("architecture", std::env::consts::ARCH)?;
        info.set_item("operating_system", std::env::consts::OS)?;
        info.set_item("instructions", episodica_simd::SimdLevel::of_this_processor().name())?;
        let processors = std::thread::available_parallelism();
        info.set_item("processors", processors.map_or(1, std::num::NonZero::get))?;
        info.set_item("embedding_model", episodica_core::embed::COMPACT_MODEL)?;
        info.set_item("store_format", episodica_core::store::FORMAT_VERSION)?;
        Ok(info)
    }
}
