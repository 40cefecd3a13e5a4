//! Converts messages, episodes and facts to Python values.

use std::sync::Arc;

use episodica_core::clock::{DisplayZone, Moment};
use episodica_core::engine::{AnyRecord, RecordOutline, SaidLater, UserSession};
use episodica_core::ids::Owner;
use episodica_core::model::{
    BoundaryJudgement, Episode, KeptSide, Message, SemanticMemory, TextProvenance,
};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDateTime, PyDelta, PyDict, PyString, PyTuple, PyTzInfo};
use serde_json::Value;

use crate::classes::{EPISODE, FACT, MESSAGE, build};
use crate::errors;

/// The owner of the records, and the time zone for their dates.
#[derive(Clone)]
pub(crate) struct RecordFrame {
    pub owner: Owner,
    pub zone: DisplayZone,
}

/// A record of any kind.
pub(crate) fn convert_record<'py>(
    py: Python<'py>,
    shown: &RecordFrame,
    record: &AnyRecord,
) -> PyResult<Bound<'py, PyAny>> {
    match record {
        AnyRecord::Message(inner) => convert_message(py, shown, inner),
        AnyRecord::Episode(inner) => convert_episode(py, shown, inner),
        AnyRecord::Semantic(inner) => convert_fact(py, shown, inner),
    }
}

/// A message with its address.
pub(crate) fn convert_message<'py>(
    py: Python<'py>,
    shown: &RecordFrame,
    message: &Message,
) -> PyResult<Bound<'py, PyAny>> {
    build!(py, MESSAGE, message => Message {
        message_id,
        seq,
        // There are few distinct roles, so each is interned as one object.
        role: PyString::intern(py, role),
        name: name.as_deref(),
        content,
        timestamp: convert_moment(py, &shown.zone, *timestamp)?,
        session_id: session_id.as_deref(),
        agent_id: agent_id.as_deref(),
        metadata: metadata.as_ref().map(|raw| parse_json(py, raw.get())).transpose()?,
        edited_at: edited_at.map(|at| convert_moment(py, &shown.zone, at)).transpose()?,
    } more { uri: shown.owner.uri("message", &message.message_id) })
}

/// Several messages.
pub(crate) fn convert_messages<'py>(
    py: Python<'py>,
    shown: &RecordFrame,
    all: &[Arc<Message>],
) -> PyResult<Bound<'py, PyTuple>> {
    let made: Vec<_> =
        all.iter().map(|one| convert_message(py, shown, one)).collect::<PyResult<_>>()?;
    PyTuple::new(py, made)
}

/// An episode with its address.
pub(crate) fn convert_episode<'py>(
    py: Python<'py>,
    frame: &RecordFrame,
    episode: &Episode,
) -> PyResult<Bound<'py, PyAny>> {
    build!(py, EPISODE, episode => Episode {
        episode_id,
        user_id,
        title,
        content,
        original_messages: convert_messages(py, frame, original_messages)?,
        message_count,
        boundary_reason,
        timestamp: convert_moment(py, &frame.zone, *timestamp)?,
        created_at: convert_moment(py, &frame.zone, *created_at)?,
        metadata: json_object(py, metadata)?,
        tags: PyTuple::new(py, tags)?,
        summary,
        ended_at: convert_moment(py, &frame.zone, *ended_at)?,
        session_id: session_id.as_deref(),
        topics: PyTuple::new(py, topics)?,
        entities: PyTuple::new(py, entities)?,
        boundary: described_boundary(py, boundary)?,
        provenance: described_provenance(py, provenance)?,
        archived_at: optional_datetime(py, frame, *archived_at)?,
        revision,
    } skip { shown } more { uri: frame.owner.uri("episode", &episode.episode_id) })
}

/// A fact with its address.
pub(crate) fn convert_fact<'py>(
    py: Python<'py>,
    frame: &RecordFrame,
    fact: &SemanticMemory,
) -> PyResult<Bound<'py, PyAny>> {
    let quoted = fact.quote.as_deref();
    build!(py, FACT, fact => SemanticMemory {
        memory_id,
        user_id,
        content,
        quote: quote.as_ref().map(|quote| quote.text.as_str()),
        kind: PyString::intern(py, kind.name()),
        source_episodes: PyTuple::new(py, source_episodes)?,
        created_at: convert_moment(py, &frame.zone, *created_at)?,
        confidence: own_digits(*confidence),
        importance: own_digits(*importance),
        metadata: json_object(py, metadata)?,
        source_messages: PyTuple::new(py, source_messages)?,
        subject,
        attribute,
        value,
        when,
        valid_from: convert_moment(py, &frame.zone, *valid_from)?,
        valid_to: optional_datetime(py, frame, *valid_to)?,
        superseded_by: superseded_by.as_deref(),
        ends: PyTuple::new(py, ends.iter().map(|ending| ending.memory_id.as_str()))?,
        closed_at: optional_datetime(py, frame, *closed_at)?,
        expires_at: optional_datetime(py, frame, *expires_at)?,
        archived_at: optional_datetime(py, frame, *archived_at)?,
        updated_at: convert_moment(py, &frame.zone, *updated_at)?,
        revision_count,
        provenance: described_provenance(py, provenance)?,
    } skip { ended_by, links, shown } more {
        uri: frame.owner.uri("semantic", &fact.memory_id),
        speaker: quoted.map(|quote| quote.speaker.as_str()),
        said_at: optional_datetime(py, frame, quoted.map(|quote| quote.said_at))?,
        said_by: quoted.map(|quote| quote.said_by.name()),
        asked: quoted.and_then(|quote| quote.asked.as_deref()),
    })
}

/// Both facts of a link, the words of both sides, kind, score and decision.
pub(crate) fn said_later<'py>(
    py: Python<'py>,
    frame: &RecordFrame,
    change: &SaidLater,
) -> PyResult<Bound<'py, PyAny>> {
    let (old, new) = (convert_fact(py, frame, &change.old)?, convert_fact(py, frame, &change.new)?);
    let words = (&*change.old_words, &*change.new_words);
    let link = &change.link;
    let kept = link.kept.map(KeptSide::name);
    let told = (old, new, words, link.kind.name(), own_digits(link.score), kept);
    Ok(told.into_pyobject(py)?.into_any())
}

fn optional_datetime<'py>(
    py: Python<'py>,
    shown: &RecordFrame,
    moment: Option<Moment>,
) -> PyResult<Option<Bound<'py, PyDateTime>>> {
    moment.map(|moment| convert_moment(py, &shown.zone, moment)).transpose()
}

/// Id, date, text and group of a record.
pub(crate) fn convert_outline<'py>(
    py: Python<'py>,
    zone: &DisplayZone,
    one: RecordOutline,
) -> PyResult<Bound<'py, PyTuple>> {
    (one.id, convert_moment(py, zone, one.at)?, one.text, one.group).into_pyobject(py)
}

/// A session: id, state, date of the state, number of messages, and dates of the first and last
/// message.
pub(crate) fn convert_session<'py>(
    py: Python<'py>,
    zone: &DisplayZone,
    one: UserSession,
) -> PyResult<Bound<'py, PyTuple>> {
    let date = |moment| convert_moment(py, zone, moment);
    let changed_at = one.changed_at.map(date).transpose()?;
    let (started_at, ended_at) = (date(one.started_at)?, date(one.ended_at)?);
    (one.session_id, one.state.name(), changed_at, one.messages, started_at, ended_at)
        .into_pyobject(py)
}

/// A moment as an aware `datetime` in the time zone.
pub(crate) fn convert_moment<'py>(
    py: Python<'py>,
    zone: &DisplayZone,
    moment: Moment,
) -> PyResult<Bound<'py, PyDateTime>> {
    let moment = zone.local_moment(moment);
    let mut shown = moment.local();
    let mut offset = moment.offset_seconds();
    // Near the limits of Python's calendar, a moment with an offset may be outside of it.
    if !(2..=9998).contains(&shown.year()) {
        (shown, offset) = (moment.utc(), 0);
    }
    let zone = if offset == 0 {
        PyTzInfo::utc(py)?.to_owned()
    } else {
        PyTzInfo::fixed_offset(py, PyDelta::new(py, 0, offset, 0, true)?)?
    };
    PyDateTime::new(
        py,
        i32::from(shown.year()),
        shown.month().unsigned_abs(),
        shown.day().unsigned_abs(),
        shown.hour().unsigned_abs(),
        shown.minute().unsigned_abs(),
        shown.second().unsigned_abs(),
        shown.subsec_nanosecond().unsigned_abs() / 1_000,
        Some(&zone),
    )
}

/// A single-precision number with its shortest digits: 0.8 instead of 0.800000011920929.
fn own_digits(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_default()
}

fn described_boundary<'py>(
    py: Python<'py>,
    boundary: &BoundaryJudgement,
) -> PyResult<Bound<'py, PyDict>> {
    let BoundaryJudgement { should_end, reason, confidence, topic_summary, detection_method } =
        boundary;
    let dict = PyDict::new(py);
    dict.set_item(pyo3::intern!(py, "should_end"), should_end)?;
    dict.set_item(pyo3::intern!(py, "reason"), reason.name())?;
    dict.set_item(pyo3::intern!(py, "confidence"), own_digits(*confidence))?;
    dict.set_item(pyo3::intern!(py, "topic_summary"), topic_summary)?;
    dict.set_item(pyo3::intern!(py, "detection_method"), detection_method.name())?;
    Ok(dict)
}

/// The provenance as stored in files, without empty and zero fields.
fn described_provenance<'py>(
    py: Python<'py>,
    provenance: &TextProvenance,
) -> PyResult<Bound<'py, PyDict>> {
    let TextProvenance { method, prompt_version, tokens, cached, salvaged, fallback, pending_llm } =
        provenance;
    let dict = PyDict::new(py);
    dict.set_item(pyo3::intern!(py, "method"), PyString::intern(py, method))?;
    for (key, text) in [("prompt_version", prompt_version), ("fallback", fallback)] {
        if !text.is_empty() {
            dict.set_item(key, PyString::intern(py, text))?;
        }
    }
    if *tokens > 0 {
        dict.set_item("tokens", tokens)?;
    }
    for (key, flag) in [("cached", *cached), ("salvaged", *salvaged), ("pending_llm", *pending_llm)]
    {
        if flag {
            dict.set_item(key, true)?;
        }
    }
    Ok(dict)
}

/// A user's JSON text parsed by Python, so that every number is preserved, or the text itself if
/// Python cannot parse it (numbers with thousands of digits).
fn parse_json<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    match LOADS.import(py, "json", "loads")?.call1((text,)) {
        Ok(value) => Ok(value),
        Err(_) => text.into_bound_py_any(py),
    }
}

fn json_object<'py>(
    py: Python<'py>,
    map: &serde_json::Map<String, Value>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in map {
        dict.set_item(key, json_value(py, value)?)?;
    }
    Ok(dict)
}

/// A JSON value as `dict`, `list`, `str`, `int`, `float`, `bool` or `None`.
pub(crate) fn json_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(value) => value.into_bound_py_any(py),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(value), _, _) => value.into_bound_py_any(py),
            (_, Some(value), _) => value.into_bound_py_any(py),
            (_, _, Some(value)) => value.into_bound_py_any(py),
            _ => {
                Err(errors::internal_error(py, &"a JSON number is neither an integer nor a float"))
            }
        },
        Value::String(text) => text.into_bound_py_any(py),
        Value::Array(values) => {
            let items: Vec<_> =
                values.iter().map(|value| json_value(py, value)).collect::<PyResult<_>>()?;
            items.into_bound_py_any(py)
        }
        Value::Object(map) => Ok(json_object(py, map)?.into_any()),
    }
}
