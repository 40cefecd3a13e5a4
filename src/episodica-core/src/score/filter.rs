//! Restricts which records a search may return; applied before ranking.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::clock::Moment;
use crate::index::MessageIndex;
use crate::model::{Episode, MemoryKind, Message, SemanticMemory};
use crate::score::MetadataFilter;

/// Conditions on a record; all of them must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordFilter {
    /// Earliest time.
    pub since: Option<Moment>,
    /// Latest time.
    pub until: Option<Moment>,
    /// The required session.
    pub session_id: Option<String>,
    /// The required agent.
    pub agent_id: Option<String>,
    /// Conditions on the record's metadata.
    pub metadata: MetadataFilter,
    /// Categories of facts, one of which is required; empty admits all.
    pub fact_kinds: Vec<MemoryKind>,
    /// The attribute that facts must state.
    pub attribute: Option<String>,
    /// Minimum importance of facts.
    pub min_importance: Option<f32>,
    /// `true`: only facts about agents; `false`: only facts about the user.
    pub about_agent: Option<bool>,
    /// Only facts that a model, the user or the application stated, if messages may pass, too: a
    /// fact that quotes a message tells nothing that the message doesn't.
    pub stated_only: bool,
}

impl RecordFilter {
    /// True if every record passes.
    pub fn is_empty(&self) -> bool {
        self.since.is_none()
            && self.until.is_none()
            && self.session_id.is_none()
            && self.agent_id.is_none()
            && self.metadata.is_empty()
            && !self.is_about_facts()
    }

    /// True if a condition applies to facts only; then only facts can pass.
    pub fn is_about_facts(&self) -> bool {
        !self.fact_kinds.is_empty()
            || self.attribute.is_some()
            || self.min_importance.is_some()
            || self.about_agent.is_some()
    }

    /// True if only facts may pass that were stated.
    pub(crate) fn wants_stated(&self) -> bool {
        self.stated_only && !self.is_about_facts()
    }

    /// True if the interval from `start` to `end` overlaps the filter's interval.
    pub(crate) fn admits_time(&self, start: Moment, end: Moment) -> bool {
        self.since.is_none_or(|since| end >= since) && self.until.is_none_or(|until| start <= until)
    }

    /// Tests a message by its time, session, agent and metadata.
    pub(crate) fn admits_message(&self, message: &Message) -> bool {
        !self.is_about_facts()
            && self.admits_time(message.timestamp, message.timestamp)
            && self.admits_origin_of(message)
            && self.admits_metadata_of(message)
    }

    /// Tests an episode by its time, the sessions and agents of its messages, and its metadata
    /// combined with that of any one of its messages.
    pub(crate) fn admits_episode(&self, episode: &Episode) -> bool {
        let messages = &episode.original_messages;
        !self.is_about_facts()
            && self.admits_time(episode.timestamp, episode.ended_at)
            && (self.admits_every_origin()
                || messages.iter().any(|message| self.admits_origin_of(message)))
            && self.admits_metadata_with(&episode.metadata, messages.iter())
    }

    /// Tests a fact by its period of validity, category, attribute and importance; by its metadata
    /// combined with that of any one message that proves it; and by the session and agent of its
    /// metadata or of such a message.
    pub(crate) fn admits_fact(&self, fact: &SemanticMemory, said: &MessageIndex) -> bool {
        let named = |key| fact.metadata.get(key).and_then(Value::as_str);
        let proofs = || {
            fact.source_messages.iter().filter_map(|id| said.slot_of(id)).map(|slot| said.get(slot))
        };
        (!self.wants_stated() || fact.stands_beside_messages())
            && self.admits_time(fact.valid_from, fact.valid_to.unwrap_or(Moment::MAX))
            && (self.fact_kinds.is_empty() || self.fact_kinds.contains(&fact.kind))
            && self.min_importance.is_none_or(|least| fact.importance >= least)
            && self.about_agent.is_none_or(|wanted| fact.is_about_agent() == wanted)
            && self.attribute.as_ref().is_none_or(|attribute| fact.attribute == *attribute)
            && (self.admits_every_origin()
                || self.admits_origin(named("session_id"), named("agent_id"))
                || proofs().any(|message| self.admits_origin_of(message)))
            && self.admits_metadata_with(&fact.metadata, proofs())
    }

    fn admits_every_origin(&self) -> bool {
        self.session_id.is_none() && self.agent_id.is_none()
    }

    fn admits_origin_of(&self, message: &Message) -> bool {
        self.admits_origin(message.session_id.as_deref(), message.agent_id.as_deref())
    }

    fn admits_origin(&self, session: Option<&str>, agent: Option<&str>) -> bool {
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        is(&self.session_id, session) && is(&self.agent_id, agent)
    }

    fn admits_metadata_of(&self, message: &Message) -> bool {
        self.metadata.is_empty() || self.metadata.admits(&metadata_of(message))
    }

    /// Tests a derived record's metadata combined with that of one message. The record's own keys
    /// take precedence; the message's keys are included so that `$ne` sees them.
    fn admits_metadata_with<'a>(
        &self,
        own: &Map<String, Value>,
        messages: impl Iterator<Item = &'a Arc<Message>>,
    ) -> bool {
        if self.metadata.is_empty() {
            return true;
        }
        let mut messages = messages.peekable();
        if messages.peek().is_none() {
            return self.metadata.admits(own);
        }
        messages.any(|message| {
            let mut metadata = metadata_of(message);
            metadata.extend(own.clone());
            self.metadata.admits(&metadata)
        })
    }
}

/// Parses a message's metadata, which is kept as JSON text, since few filters need it. A message
/// without metadata has an empty map.
fn metadata_of(message: &Message) -> Map<String, Value> {
    let read = |raw: &RawValue| serde_json::from_str(raw.get()).ok();
    message.metadata.as_deref().and_then(read).unwrap_or_default()
}
