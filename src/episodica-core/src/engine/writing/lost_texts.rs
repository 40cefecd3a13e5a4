//! Rewrites derived texts when messages are deleted.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use crate::boundary::{describe, topic_summary};
use crate::engine::memory::view::UserView;
use crate::generate::episode::write_offline;
use crate::index::for_each_term;
use crate::model::{BoundaryJudgement, Episode, Message, SemanticMemory, TextProvenance};

/// The next revision of an episode: all texts rewritten from the remaining messages.
pub(crate) fn episode_without(episode: &Episode, left: Vec<Arc<Message>>) -> Episode {
    let text = write_offline(&left);
    let boundary =
        BoundaryJudgement { topic_summary: topic_summary(&left), ..episode.boundary.clone() };
    let times = || left.iter().map(|message| message.timestamp);
    let timestamp = times().min().unwrap_or(episode.timestamp);
    let ended_at = times().max().unwrap_or(episode.ended_at);
    let session_id = left.first().and_then(|message| message.session_id.clone());
    let session_id =
        session_id.filter(|id| left.iter().all(|message| message.session_id.as_ref() == Some(id)));
    Episode {
        title: text.title,
        summary: text.summary,
        content: text.content,
        topics: text.topics,
        entities: text.entities,
        message_count: left.len(),
        boundary_reason: describe(boundary.reason).to_owned(),
        boundary,
        original_messages: left,
        timestamp,
        ended_at,
        session_id,
        revision: episode.revision + 1,
        provenance: TextProvenance { method: "offline".to_owned(), ..TextProvenance::default() },
        ..episode.clone()
    }
}

/// All texts in a JSON value, including names of keys.
fn add_texts<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| add_texts(value, texts)),
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            texts.push(key);
            add_texts(value, texts);
        }),
        _ => {}
    }
}

/// The words of deleted messages.
pub(crate) struct TextsLost(HashSet<String>);

impl TextsLost {
    pub fn of(view: &UserView, messages: &HashSet<&str>) -> Self {
        let slots = messages.iter().filter_map(|message| view.messages.slot(message));
        Self(slots.flat_map(|slot| terms(&view.messages.get(slot).content)).collect())
    }

    /// True if a fact contains a word of the deleted messages that none of its remaining source
    /// messages contains: only the deleted ones may have said it.
    pub fn tells(&self, view: &UserView, fact: &SemanticMemory) -> bool {
        let mut said = HashSet::new();
        for slot in fact.source_messages.iter().filter_map(|id| view.messages.slot(id)) {
            let message = view.messages.get(slot);
            said.extend(terms(&message.content));
            said.extend(terms(message.speaker()));
        }
        let mut metadata = Vec::new();
        fact.metadata.values().for_each(|value| add_texts(value, &mut metadata));
        // The rules name attributes in words of their own.
        let attribute = if fact.provenance.method == "offline" { "" } else { &fact.attribute };
        let texts = [&*fact.content, &*fact.subject, attribute].into_iter().chain(metadata);
        texts.flat_map(terms).any(|term| self.0.contains(&term) && !said.contains(&term))
    }
}

fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for_each_term(text, |term| terms.push(term.text.to_owned()));
    terms
}
