//! Converts Python dictionaries of options and messages to the engine's requests. The package has
//! validated the values, so an invalid value here is a bug in the package.

use episodica_core::clock::{Clock, DisplayZone, Moment, SystemClock};
use episodica_core::config::SecretPolicy;
use episodica_core::engine::{ForgettingPolicy, ListingPage, RecordKind, StatedFact};
use episodica_core::model::{KeptSide, LinkKind, MemoryKind, NewMessage};
use episodica_core::score::{HitKind, MetadataFilter, RecordFilter, SearchMethod, SearchRequest};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::value::RawValue;

use crate::errors;

fn optional_value<'py, T: FromPyObjectOwned<'py>>(
    options: &Bound<'py, PyDict>,
    key: impl IntoPyObject<'py>,
) -> PyResult<Option<T>> {
    match options.get_item(key)? {
        Some(value) if !value.is_none() => value.extract().map(Some).map_err(Into::into),
        _ => Ok(None),
    }
}

fn optional_moment<'py>(
    options: &Bound<'py, PyDict>,
    key: impl IntoPyObject<'py>,
) -> PyResult<Option<Moment>> {
    let text: Option<String> = optional_value(options, key)?;
    text.map(|text| Moment::parse(&text))
        .transpose()
        .map_err(|error| errors::to_exception(options.py(), &error))
}

/// The conditions on records.
pub(crate) fn record_filter(options: &Bound<'_, PyDict>) -> PyResult<RecordFilter> {
    let conditions: Option<String> = optional_value(options, "where")?;
    let metadata = match conditions {
        Some(text) => {
            let conditions = serde_json::from_str(&text).map_err(|error| {
                errors::invalid_input(
                    options.py(),
                    format!("where is not a JSON object: `{error}`"),
                )
            })?;
            MetadataFilter::parse(&conditions)
                .map_err(|error| errors::to_exception(options.py(), &error))?
        }
        None => MetadataFilter::default(),
    };
    Ok(RecordFilter {
        since: optional_moment(options, "since")?,
        until: optional_moment(options, "until")?,
        session_id: optional_value(options, "session_id")?,
        agent_id: optional_value(options, "agent_id")?,
        metadata,
        fact_kinds: fact_kinds(options, "fact_kinds")?,
        attribute: optional_value(options, "attribute")?,
        min_importance: optional_value(options, "min_importance")?,
        about_agent: optional_value(options, "about_agent")?,
        stated_only: optional_value(options, "stated_only")?.unwrap_or(false),
    })
}

fn fact_kind(options: &Bound<'_, PyDict>) -> PyResult<Option<MemoryKind>> {
    let name: Option<String> = optional_value(options, "kind")?;
    name.map(|name| named_kind(options.py(), &name)).transpose()
}

fn fact_kinds(options: &Bound<'_, PyDict>, key: &str) -> PyResult<Vec<MemoryKind>> {
    let names: Vec<String> = optional_value(options, key)?.unwrap_or_default();
    names.iter().map(|name| named_kind(options.py(), name)).collect()
}

fn named_kind(py: Python<'_>, name: &str) -> PyResult<MemoryKind> {
    let known = MemoryKind::ALL.into_iter().find(|kind| kind.name() == name);
    known.ok_or_else(|| errors::invalid_input(py, format!("unknown kind of fact: `{name}`")))
}

/// The kind of a link by its name.
pub(crate) fn link_kind(py: Python<'_>, name: &str) -> PyResult<LinkKind> {
    let known = LinkKind::ALL.into_iter().find(|kind| kind.name() == name);
    known.ok_or_else(|| errors::invalid_input(py, format!("unknown kind of change: `{name}`")))
}

/// The side of a change by its name.
pub(crate) fn kept_side(py: Python<'_>, name: &str) -> PyResult<KeptSide> {
    let sides = [KeptSide::Old, KeptSide::New, KeptSide::Both];
    let known = sides.into_iter().find(|side| side.name() == name);
    known.ok_or_else(|| errors::invalid_input(py, format!("unknown side of a change: `{name}`")))
}

fn hit_kind(py: Python<'_>, kind: &str) -> PyResult<HitKind> {
    match kind {
        "episodic" => Ok(HitKind::Episodic),
        "semantic" => Ok(HitKind::Semantic),
        "message" => Ok(HitKind::Message),
        other => Err(errors::invalid_input(py, format!("unknown kind: `{other}`"))),
    }
}

/// True if hits include explanations of their scores.
pub(crate) fn wants_explanations(options: &Bound<'_, PyDict>) -> PyResult<bool> {
    Ok(optional_value(options, "explain")?.unwrap_or(false))
}

/// A search request; "yesterday" is resolved in the time zone.
pub(crate) fn search_request(
    query: &str,
    options: &Bound<'_, PyDict>,
    zone: &DisplayZone,
) -> PyResult<SearchRequest> {
    let py = options.py();
    let kinds: Vec<String> = optional_value(options, "kinds")?.unwrap_or_default();
    let kinds = kinds.iter().map(|kind| hit_kind(py, kind));
    let per_kind: Vec<(String, usize)> = optional_value(options, "per_kind")?.unwrap_or_default();
    let per_kind = per_kind.iter().map(|(kind, most)| Ok((hit_kind(py, kind)?, *most)));
    let method: Option<String> = optional_value(options, "method")?;
    let method = match method.as_deref() {
        None | Some("hybrid") => SearchMethod::Hybrid,
        Some("rrf") => SearchMethod::Rrf,
        Some("vector") => SearchMethod::Vector,
        Some("bm25") => SearchMethod::Bm25,
        Some("norlift") => SearchMethod::Norlift,
        Some(other) => return Err(errors::invalid_input(py, format!("unknown method: `{other}`"))),
    };
    Ok(SearchRequest {
        query: query.to_owned(),
        top_k: optional_value(options, "top_k")?.unwrap_or(10),
        per_kind: per_kind.collect::<PyResult<_>>()?,
        kinds: kinds.collect::<PyResult<_>>()?,
        method,
        filter: record_filter(options)?,
        threshold: optional_value(options, "threshold")?,
        include_superseded: optional_value(options, "include_superseded")?.unwrap_or(false),
        now: optional_moment(options, "now")?
            .unwrap_or_else(|| zone.local_moment(SystemClock.now())),
    })
}

/// A page of records.
pub(crate) fn listing_page(options: &Bound<'_, PyDict>) -> PyResult<ListingPage> {
    Ok(ListingPage {
        filter: record_filter(options)?,
        newest_first: optional_value(options, "newest_first")?.unwrap_or(false),
        offset: optional_value(options, "offset")?.unwrap_or(0),
        after: optional_value(options, "after")?.unwrap_or_default(),
        limit: optional_value(options, "limit")?.unwrap_or(usize::MAX),
        include_superseded: optional_value(options, "include_superseded")?.unwrap_or(false),
        include_archived: optional_value(options, "include_archived")?.unwrap_or(false),
    })
}

/// Kinds of records by their names.
pub(crate) fn record_kinds(py: Python<'_>, names: &[String]) -> PyResult<Vec<RecordKind>> {
    names.iter().map(|name| record_kind(py, name)).collect()
}

/// The conditions under which records are proposed for archiving.
pub(crate) fn forgetting_policy(options: &Bound<'_, PyDict>) -> PyResult<ForgettingPolicy> {
    let kinds: Vec<String> = optional_value(options, "kinds")?.unwrap_or_default();
    let kinds = record_kinds(options.py(), &kinds)?;
    Ok(ForgettingPolicy {
        strength: optional_value(options, "strength")?,
        older_than_days: optional_value(options, "older_than_days")?,
        unused_days: optional_value(options, "unused_days")?,
        max_uses: optional_value(options, "max_uses")?,
        max_importance: optional_value(options, "max_importance")?,
        filter: record_filter(options)?,
        kinds,
        exempt_kinds: fact_kinds(options, "exempt_kinds")?,
    })
}

/// The kind of record to list.
pub(crate) fn record_kind(py: Python<'_>, kind: &str) -> PyResult<RecordKind> {
    match kind {
        "message" => Ok(RecordKind::Message),
        "episode" | "episodic" => Ok(RecordKind::Episode),
        "semantic" => Ok(RecordKind::Semantic),
        other => Err(errors::invalid_input(py, format!("unknown kind of record: `{other}`"))),
    }
}

/// A fact to add.
pub(crate) fn stated_fact(fact: &Bound<'_, PyDict>) -> PyResult<StatedFact> {
    let py = fact.py();
    let metadata: Option<String> = optional_value(fact, "metadata")?;
    let procedure: Option<String> = optional_value(fact, "procedure")?;
    let procedure = procedure
        .map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(|error| errors::invalid_input(py, format!("steps are not JSON: `{error}`")))?;
    let metadata =
        metadata.map(|text| serde_json::from_str(&text)).transpose().map_err(|error| {
            errors::invalid_input(py, format!("metadata is not a JSON object: `{error}`"))
        })?;
    Ok(StatedFact {
        content: optional_value(fact, "content")?.unwrap_or_default(),
        kind: fact_kind(fact)?,
        valid_from: optional_moment(fact, "valid_from")?,
        expires_after: optional_value(fact, "expires_after")?,
        subject: optional_value(fact, "subject")?,
        attribute: optional_value(fact, "attribute")?.unwrap_or_default(),
        value: optional_value(fact, "value")?.unwrap_or_default(),
        metadata: metadata.unwrap_or_default(),
        procedure,
        source_messages: optional_value(fact, "source_messages")?.unwrap_or_default(),
        source: optional_value(fact, "source")?,
    })
}

/// How to treat secrets in messages.
pub(crate) fn secret_policy(py: Python<'_>, word: &str) -> PyResult<SecretPolicy> {
    serde_json::from_value(word.into())
        .map_err(|_| errors::invalid_input(py, format!("unknown policy for secrets: `{word}`")))
}

/// A message to add.
pub(crate) fn new_message(message: &Bound<'_, PyDict>) -> PyResult<NewMessage> {
    let py = message.py();
    let metadata: Option<String> = optional_value(message, intern!(py, "metadata"))?;
    let metadata = metadata.map(RawValue::from_string).transpose();
    Ok(NewMessage {
        role: optional_value(message, intern!(py, "role"))?.unwrap_or_default(),
        content: optional_value(message, intern!(py, "content"))?.unwrap_or_default(),
        name: optional_value(message, intern!(py, "name"))?,
        timestamp: optional_moment(message, intern!(py, "timestamp"))?,
        session_id: optional_value(message, intern!(py, "session_id"))?,
        agent_id: optional_value(message, intern!(py, "agent_id"))?,
        metadata: metadata.map_err(|error| {
            errors::invalid_input(py, format!("metadata is not JSON: `{error}`"))
        })?,
        message_id: optional_value(message, intern!(py, "message_id"))?,
        secrets: None,
        refuses_edit: false,
        skips_deleted: false,
        edited_at: optional_moment(message, intern!(py, "edited_at"))?,
    })
}
