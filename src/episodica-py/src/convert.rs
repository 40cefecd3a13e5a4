//! JSON values and records to plain Python objects.

use episodica_core::engine::AnyRecord;
use episodica_core::ids::Owner;
use episodica_core::model::{Episode, Message, SemanticMemory};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use serde_json::Value;

use crate::errors;

/// A JSON value as `dict`, `list`, `str`, `int`, `float`, `bool` or `None`.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(value) => value.into_bound_py_any(py),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(value), _, _) => value.into_bound_py_any(py),
            (_, Some(value), _) => value.into_bound_py_any(py),
            (_, _, value) => value.unwrap_or(f64::NAN).into_bound_py_any(py),
        },
        Value::String(text) => text.into_bound_py_any(py),
        Value::Array(values) => {
            let list = PyList::empty(py);
            for value in values {
                list.append(to_python(py, value)?)?;
            }
            Ok(list.into_any())
        }
        Value::Object(map) => {
            let dict = PyDict::new(py);
            for (key, value) in map {
                dict.set_item(key, to_python(py, value)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

/// Anything that serialises, as plain Python objects.
pub(crate) fn plain<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let value = serde_json::to_value(value).map_err(|error| errors::internal(py, &error))?;
    to_python(py, &value)
}

/// A message with its address; its metadata as JSON text under `metadata_json`, so that every
/// number comes back as it was given.
pub(crate) fn message(owner: &Owner, message: &Message) -> Value {
    let plain = Message { metadata: None, ..message.clone() };
    let mut value = with_uri(
        serde_json::to_value(plain).unwrap_or_default(),
        owner.uri("message", &message.message_id),
    );
    if let Some(raw) = &message.metadata {
        value["metadata_json"] = raw.get().into();
    }
    value
}

/// An episode with its address.
pub(crate) fn episode(owner: &Owner, episode: &Episode) -> Value {
    let plain = Episode { original_messages: Vec::new(), ..episode.clone() };
    let mut value = with_uri(
        serde_json::to_value(plain).unwrap_or_default(),
        owner.uri("episode", &episode.episode_id),
    );
    value["boundary"]["confidence"] = short(episode.boundary.confidence);
    value["original_messages"] =
        episode.original_messages.iter().map(|inner| message(owner, inner)).collect();
    value
}

/// A semantic memory with its address.
pub(crate) fn semantic(owner: &Owner, memory: &SemanticMemory) -> Value {
    let mut value = with_uri(
        serde_json::to_value(memory).unwrap_or_default(),
        owner.uri("semantic", &memory.memory_id),
    );
    value["confidence"] = short(memory.confidence);
    value["importance"] = short(memory.importance);
    value
}

/// A record of any kind, with its kind under `type` where `tagged`.
pub(crate) fn record(owner: &Owner, record: &AnyRecord, tagged: bool) -> Value {
    let (kind, mut value) = match record {
        AnyRecord::Message(inner) => ("message", message(owner, inner)),
        AnyRecord::Episode(inner) => ("episode", episode(owner, inner)),
        AnyRecord::Semantic(inner) => ("semantic", semantic(owner, inner)),
    };
    if tagged {
        value["type"] = kind.into();
    }
    value
}

/// A single-precision number with its own digits: 0.8, not 0.800000011920929.
fn short(value: f32) -> Value {
    value.to_string().parse::<f64>().unwrap_or_default().into()
}

fn with_uri(mut value: Value, uri: String) -> Value {
    value["uri"] = uri.into();
    value
}
