//! A Python callable as an embedder.

use std::sync::OnceLock;

use episodica_core::embed::Embedder;
use episodica_core::model::ServiceHealth;
use episodica_core::{Error, ErrorKind, Result};
use ndarray::Array2;
use numpy::{PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::calls::CallCounts;
use crate::errors;
use crate::leaving::call_function;

/// Calls `callable(list[str])`, which returns a 2-D array of floats, one row per text.
pub(crate) struct CallableEmbedder {
    callable: Py<PyAny>,
    model: String,
    dimension: OnceLock<usize>,
    calls: CallCounts,
}

impl CallableEmbedder {
    pub(crate) fn new(callable: Py<PyAny>, model: String) -> Self {
        Self { callable, model, dimension: OnceLock::new(), calls: CallCounts::default() }
    }

    fn call_batch(&self, texts: &[&str]) -> Result<Array2<f32>> {
        const KIND: ErrorKind = ErrorKind::Embedding;
        const NO_ARRAY: &str = "the embedding callable must return a 2-D array of numbers";
        Python::attach(|py| {
            let arguments = (texts.to_vec(),).into_pyobject(py);
            let answer = arguments.and_then(|texts| call_function(self.callable.bind(py), &texts));
            let answer = answer.map_err(|error| {
                errors::from_python(KIND, "the embedding callable failed", &error)
            })?;
            let name =
                answer.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
            let array = py
                .import("numpy")
                .and_then(|numpy| numpy.call_method1("asarray", (&answer, "float32")))
                .map_err(|error| {
                    errors::from_python(KIND, &format!("{NO_ARRAY}, not `{name}`"), &error)
                })?;
            let shape = array.getattr("shape").map_or_else(|_| name, |shape| shape.to_string());
            match array.cast_into::<PyArray2<f32>>() {
                Ok(array) => Ok(array.readonly().as_array().to_owned()),
                Err(_) => {
                    Err(Error::new(KIND, format!("{NO_ARRAY}, not one of the shape `{shape}`")))
                }
            }
        })
    }
}

impl Embedder for CallableEmbedder {
    fn model_name(&self) -> &str {
        &self.model
    }

    fn dimension(&self) -> Option<usize> {
        self.dimension.get().copied()
    }

    /// Most callables compute in this process, so they are called at once, and their vectors are
    /// ready when the call returns.
    fn is_local(&self) -> bool {
        true
    }

    fn embed_texts(&self, texts: &[&str]) -> Result<Array2<f32>> {
        self.calls.count_outcome(self.checked_rows(texts))
    }

    fn service_health(&self) -> Option<ServiceHealth> {
        Some(self.calls.service_health(&self.model))
    }
}

impl CallableEmbedder {
    /// The callable's rows, checked and scaled to length 1.
    fn checked_rows(&self, texts: &[&str]) -> Result<Array2<f32>> {
        let mut rows = self.call_batch(texts)?;
        let fail = |text: String| Err(Error::new(ErrorKind::Embedding, text));
        if rows.nrows() != texts.len() || rows.ncols() == 0 {
            return fail(format!(
                "the embedding callable must return one row a text ({}): `{:?}`",
                texts.len(),
                rows.shape()
            ));
        }
        let dimension = *self.dimension.get_or_init(|| rows.ncols());
        if rows.ncols() != dimension {
            return fail(format!(
                "the embedding callable changed its dimension from {dimension}: `{}`",
                rows.ncols()
            ));
        }
        if rows.iter().any(|value| !value.is_finite()) {
            return fail("the embedding callable returned a number that is not finite".to_owned());
        }
        for mut row in rows.rows_mut() {
            let length = row.dot(&row).sqrt();
            if length > 0.0 {
                row /= length;
            }
        }
        Ok(rows)
    }
}
