//! Creates embedders and models from the specifications of the Python package.

use std::path::PathBuf;
use std::sync::Arc;

use episodica_core::Error;
use episodica_core::embed::{
    CompactEmbedder, Embedder, EmbeddingSettings, EndpointEmbedder, StaticEmbedder,
    TransformerEmbedder,
};
use episodica_core::llm::{LanguageModel, LlmSettings, OpenAiModel, UsageLedger};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::embedder::CallableEmbedder;
use crate::errors;
use crate::model::CallableModel;

/// A required entry of a specification from the Python package.
fn required_entry<'py>(spec: &Bound<'py, PyDict>, key: &str) -> PyResult<Bound<'py, PyAny>> {
    spec.get_item(key)?
        .ok_or_else(|| errors::misuse_error(&format!("the specification lacks {key}")))
}

/// Creates the embedder of a specification.
pub(crate) fn create_embedder(
    py: Python<'_>,
    embedding: Option<&Bound<'_, PyDict>>,
    ledger: &Arc<UsageLedger>,
) -> PyResult<Arc<dyn Embedder>> {
    let Some(embedding) = embedding else { return Ok(Arc::new(CompactEmbedder)) };
    let fail = |error: Error| errors::to_exception(py, &error);
    let kind: String = required_entry(embedding, "kind")?.extract()?;
    match kind.as_str() {
        "static" => Ok(Arc::new(StaticEmbedder)),
        "local_folder" => {
            let path: PathBuf = required_entry(embedding, "path")?.extract()?;
            Ok(Arc::new(py.detach(|| TransformerEmbedder::open(&path)).map_err(fail)?))
        }
        "callable" => {
            let callable = required_entry(embedding, "callable")?.unbind();
            Ok(Arc::new(CallableEmbedder::new(
                callable,
                required_entry(embedding, "model")?.extract()?,
            )))
        }
        "endpoint" => {
            let settings: String = required_entry(embedding, "settings")?.extract()?;
            let made = EmbeddingSettings::from_json(&settings)
                .and_then(|settings| EndpointEmbedder::new(settings, Arc::clone(ledger)));
            Ok(Arc::new(made.map_err(fail)?))
        }
        other => Err(errors::misuse_error(&format!("there is no embedder of kind {other}"))),
    }
}

/// Creates the language model of a specification.
pub(crate) fn language_model(
    py: Python<'_>,
    llm: &Bound<'_, PyDict>,
) -> PyResult<Arc<dyn LanguageModel>> {
    let kind: String = required_entry(llm, "kind")?.extract()?;
    match kind.as_str() {
        "callable" => Ok(Arc::new(CallableModel::new(
            required_entry(llm, "callable")?.unbind(),
            required_entry(llm, "model")?.extract()?,
        ))),
        "endpoint" => {
            let settings: String = required_entry(llm, "settings")?.extract()?;
            let made = LlmSettings::from_json(&settings).and_then(OpenAiModel::new);
            Ok(Arc::new(made.map_err(|error| errors::to_exception(py, &error))?))
        }
        other => Err(errors::misuse_error(&format!("there is no model of kind {other}"))),
    }
}
