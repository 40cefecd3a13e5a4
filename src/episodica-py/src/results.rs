//! The hits of a search, converted to Python values one by one on access.

use std::collections::HashMap;

use episodica_core::engine::PackedContext;
use episodica_core::score::{HitKind, HitRecord, ScoreTerm, SearchHit};
use episodica_core::sync::Mutex;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::classes::{EXPLANATION, HIT, build};
use crate::records::{self, RecordFrame};

/// The hits of one search or context.
#[pyclass(frozen, name = "Results", module = "episodica._native")]
pub(crate) struct HitResults {
    shown: RecordFrame,
    hits: Vec<SearchHit>,
    #[pyo3(get)]
    degraded: Vec<String>,
    #[pyo3(get)]
    intent: &'static str,
    /// True if hits include explanations of their scores.
    explain: bool,
    /// The converted episodes of the hits by their ids: hits of one episode share it.
    episodes: Mutex<HashMap<String, Py<PyAny>>>,
}

impl HitResults {
    pub(crate) fn new(
        shown: RecordFrame,
        hits: Vec<SearchHit>,
        degraded: Vec<String>,
        intent: &'static str,
        explain: bool,
    ) -> Self {
        Self { shown, hits, degraded, intent, explain, episodes: Mutex::default() }
    }

    /// The episode of a hit.
    fn hit_episode<'py>(
        &self,
        py: Python<'py>,
        hit: &SearchHit,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(episode) = &hit.episode else { return Ok(None) };
        let id = &*episode.episode_id;
        if let Some(made) = self.episodes.lock().get(id) {
            return Ok(Some(made.clone_ref(py).into_bound(py)));
        }
        // Python code may run while a value is made, so nothing is locked then.
        let made = records::convert_episode(py, &self.shown, episode)?;
        self.episodes.lock().insert(id.to_owned(), made.clone().unbind());
        Ok(Some(made))
    }
}

/// Lowest probability with which a memory answers a question that is called found.
const FOUND: f64 = 0.5;

/// A packed context, as a dictionary.
pub(crate) fn convert_context(
    py: Python<'_>,
    shown: RecordFrame,
    context: PackedContext,
    explain: bool,
) -> PyResult<Bound<'_, PyDict>> {
    let messages = records::convert_messages(py, &shown, &context.messages)?;
    let facts = context.facts.iter().map(|fact| records::convert_fact(py, &shown, fact));
    let facts: Vec<_> = facts.collect::<PyResult<_>>()?;
    let PackedContext {
        text,
        hits,
        degraded,
        intent,
        token_count,
        excerpts,
        reasons,
        relevance,
        ..
    } = context;
    let packed = PyDict::new(py);
    packed.set_item("text", text)?;
    packed.set_item("hits", HitResults::new(shown, hits, degraded, intent.name(), explain))?;
    packed.set_item("messages", messages)?;
    packed.set_item("facts", PyTuple::new(py, facts)?)?;
    packed.set_item("token_count", token_count)?;
    packed.set_item("excerpts", PyTuple::new(py, excerpts)?)?;
    packed.set_item("relevance", relevance)?;
    packed.set_item("found", relevance >= FOUND)?;
    let named = PyDict::new(py);
    for (id, reason) in reasons {
        named.set_item(id, reason.name())?;
    }
    packed.set_item("reasons", named)?;
    Ok(packed)
}

#[pymethods]
impl HitResults {
    fn __len__(&self) -> usize {
        self.hits.len()
    }

    /// The kind of each hit, without converting the hits.
    fn kinds(&self) -> Vec<&'static str> {
        self.hits.iter().map(|hit| kind_name(hit.kind)).collect()
    }

    /// One hit.
    fn hit<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let hit =
            self.hits.get(index).ok_or_else(|| PyIndexError::new_err("hit index out of range"))?;
        hit_value(py, &self.shown, hit, self.hit_episode(py, hit)?, self.explain)
    }
}

fn kind_name(kind: HitKind) -> &'static str {
    match kind {
        HitKind::Episodic => "episodic",
        HitKind::Semantic => "semantic",
        HitKind::Message => "message",
    }
}

/// Fields that a hit copies from its record, so that readers do not need a case per kind.
struct CopiedFields<'a> {
    id: &'a str,
    content: &'a str,
    title: &'a str,
    uri_kind: &'static str,
}

fn hit_value<'py>(
    py: Python<'py>,
    shown: &RecordFrame,
    hit: &SearchHit,
    of: Option<Bound<'py, PyAny>>,
    explain: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let quoted = hit.claims.iter().map(|fact| records::convert_fact(py, shown, fact));
    let (made, repeated, when) = match &hit.record {
        HitRecord::Episode(inner) => (
            records::convert_episode(py, shown, inner)?,
            CopiedFields {
                id: &inner.episode_id,
                content: &inner.content,
                title: &inner.title,
                uri_kind: "episode",
            },
            inner.timestamp,
        ),
        HitRecord::Semantic(inner) => (
            records::convert_fact(py, shown, inner)?,
            CopiedFields {
                id: &inner.memory_id,
                content: &inner.content,
                title: "",
                uri_kind: "semantic",
            },
            inner.valid_from,
        ),
        HitRecord::Message(inner) => (
            records::convert_message(py, shown, inner)?,
            CopiedFields {
                id: &inner.message_id,
                content: &inner.content,
                title: inner.speaker(),
                uri_kind: "message",
            },
            inner.timestamp,
        ),
    };
    build!(py, HIT, hit => SearchHit {
        kind: PyString::intern(py, kind_name(*kind)),
        score,
        rank,
        messages: matched_messages(hit, &made)?,
        episode: of,
        claims: PyTuple::new(py, quoted.collect::<PyResult<Vec<_>>>()?)?,
        superseded_by: PyTuple::new(py, superseded_by)?,
        explanation: explain.then(|| explanation_tree(py, explanation)).transpose()?,
        record: &made,
    } skip { terms } more {
        id: repeated.id,
        uri: shown.owner.uri(repeated.uri_kind, repeated.id),
        content: repeated.content,
        title: repeated.title,
        timestamp: records::convert_moment(py, &shown.zone, when)?,
        scores: explanation_terms(py, &hit.explanation)?,
        snippet: hit.snippet(),
    })
}

/// The messages of a hit, as objects of its converted record.
fn matched_messages<'py>(
    hit: &SearchHit,
    made: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = made.py();
    match &hit.record {
        HitRecord::Message(_) => PyTuple::new(py, [made]),
        HitRecord::Semantic(_) => Ok(PyTuple::empty(py)),
        HitRecord::Episode(episode) => {
            let all =
                made.getattr(pyo3::intern!(py, "original_messages"))?.cast_into::<PyTuple>()?;
            let places = hit.messages.iter().filter_map(|wanted| {
                let of_episode = &episode.original_messages;
                of_episode.iter().position(|one| one.message_id == wanted.message_id)
            });
            let found: Vec<_> = places.map(|place| all.get_item(place)).collect::<PyResult<_>>()?;
            PyTuple::new(py, found)
        }
    }
}

fn explanation_tree<'py>(py: Python<'py>, term: &ScoreTerm) -> PyResult<Bound<'py, PyAny>> {
    build!(py, EXPLANATION, term => ScoreTerm {
        name: PyString::intern(py, name),
        value,
        detail: detail.to_string(),
        children: PyTuple::new(
            py,
            children.iter().map(|child| explanation_tree(py, child)).collect::<PyResult<Vec<_>>>()?,
        )?,
    })
}

/// Every term of the explanation by name; only the root if it has no other terms.
fn explanation_terms<'py>(py: Python<'py>, root: &ScoreTerm) -> PyResult<Bound<'py, PyDict>> {
    fn add_terms(into: &Bound<'_, PyDict>, term: &ScoreTerm) -> PyResult<()> {
        for child in &term.children {
            into.set_item(PyString::intern(into.py(), child.name), child.value)?;
            add_terms(into, child)?;
        }
        Ok(())
    }
    let dict = PyDict::new(py);
    if root.children.is_empty() {
        dict.set_item(root.name, root.value)?;
    }
    add_terms(&dict, root)?;
    Ok(dict)
}
