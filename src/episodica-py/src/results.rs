//! What a search found, turned into Python objects hit by hit, when asked for.

use episodica_core::ids::Owner;
use episodica_core::score::{Explanation, Hit, HitKind, Record};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::convert;

/// The hits of one search or context.
#[pyclass(frozen, module = "episodica._native")]
pub(crate) struct Results {
    owner: Owner,
    hits: Vec<Hit>,
    #[pyo3(get)]
    degraded: Vec<String>,
    #[pyo3(get)]
    intent: &'static str,
    /// True if hits carry the trees of their scores.
    explain: bool,
}

impl Results {
    pub(crate) fn new(
        owner: Owner,
        hits: Vec<Hit>,
        degraded: Vec<String>,
        intent: &'static str,
        explain: bool,
    ) -> Self {
        Self { owner, hits, degraded, intent, explain }
    }
}

#[pymethods]
impl Results {
    fn __len__(&self) -> usize {
        self.hits.len()
    }

    /// The kind of each hit, without making the hits.
    fn kinds(&self) -> Vec<&'static str> {
        self.hits.iter().map(|hit| kind_name(hit.kind)).collect()
    }

    /// One hit as plain objects.
    fn hit<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let hit =
            self.hits.get(index).ok_or_else(|| PyIndexError::new_err("hit index out of range"))?;
        convert::to_python(py, &describe(&self.owner, hit, self.explain))
    }
}

fn kind_name(kind: HitKind) -> &'static str {
    match kind {
        HitKind::Episodic => "episodic",
        HitKind::Semantic => "semantic",
        HitKind::Message => "message",
    }
}

fn describe(owner: &Owner, hit: &Hit, explain: bool) -> Value {
    let (id, content, title, timestamp, record) = match &hit.record {
        Record::Episode(inner) => (
            &inner.episode_id,
            &inner.content,
            inner.title.clone(),
            inner.timestamp,
            convert::episode(owner, inner),
        ),
        Record::Semantic(inner) => (
            &inner.memory_id,
            &inner.content,
            String::new(),
            inner.valid_from,
            convert::semantic(owner, inner),
        ),
        Record::Message(inner) => (
            &inner.message_id,
            &inner.content,
            inner.speaker().to_owned(),
            inner.timestamp,
            convert::message(owner, inner),
        ),
    };
    let mut scores = serde_json::Map::new();
    flatten(&hit.explanation, &mut scores);
    json!({
        "kind": kind_name(hit.kind),
        "id": id,
        "uri": record["uri"],
        "score": hit.score,
        "rank": hit.rank,
        "content": content,
        "title": title,
        "snippet": hit.snippet(),
        "timestamp": timestamp,
        // They stand in the record; the package finds them there.
        "messages": hit.messages.iter().map(|message| json!({"message_id": message.message_id})).collect::<Vec<_>>(),
        "scores": scores,
        "explanation": explain.then_some(&hit.explanation),
        "record": record,
    })
}

/// Every term of the tree by its name.
fn flatten(term: &Explanation, into: &mut serde_json::Map<String, Value>) {
    for child in &term.children {
        into.insert(child.name.clone(), child.value.into());
        flatten(child, into);
    }
    if term.children.is_empty() && into.is_empty() {
        into.insert(term.name.clone(), term.value.into());
    }
}
