//! Which records a search may return at all; applied before ranking.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::clock::Moment;
use crate::model::{Episode, Message, SemanticMemory};
use crate::score::Where;

/// Conditions that a record must meet, all of them.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Not before.
    pub since: Option<Moment>,
    /// Not after.
    pub until: Option<Moment>,
    /// Only this session.
    pub session_id: Option<String>,
    /// Only records whose metadata meets these conditions.
    pub metadata: Where,
}

impl Filter {
    /// True if every record passes.
    pub fn is_empty(&self) -> bool {
        self.since.is_none()
            && self.until.is_none()
            && self.session_id.is_none()
            && self.metadata.is_empty()
    }

    /// True if any part of the time from `start` to `end` is inside.
    pub(crate) fn admits_time(&self, start: Moment, end: Moment) -> bool {
        self.since.is_none_or(|since| end >= since) && self.until.is_none_or(|until| start <= until)
    }

    /// Tests a message by when it was said, its session and its metadata.
    pub(crate) fn admits_message(&self, message: &Message) -> bool {
        self.admits_time(message.timestamp, message.timestamp)
            && self.is_session(message.session_id.as_deref())
            && self.admits_metadata_of(message)
    }

    /// Tests an episode by its time; one of its messages may have the session or the metadata.
    pub(crate) fn admits_episode(&self, episode: &Episode) -> bool {
        let messages = &episode.original_messages;
        self.admits_time(episode.timestamp, episode.ended_at)
            && (self.session_id.is_none()
                || messages.iter().any(|message| self.is_session(message.session_id.as_deref())))
            && (self.metadata.admits(&episode.metadata)
                || messages.iter().any(|message| self.admits_metadata_of(message)))
    }

    /// Tests a fact by the time for which it held, its session and its metadata.
    pub(crate) fn admits_fact(&self, fact: &SemanticMemory) -> bool {
        let session = || fact.metadata.get("session_id").and_then(Value::as_str);
        self.admits_time(fact.valid_from, fact.valid_to.unwrap_or(Moment::MAX))
            && self.is_session(session())
            && self.metadata.admits(&fact.metadata)
    }

    fn is_session(&self, session: Option<&str>) -> bool {
        self.session_id.as_deref().is_none_or(|wanted| session == Some(wanted))
    }

    /// Messages keep their metadata as JSON text; it is parsed only where it is asked for. A
    /// message without any is one whose metadata has no key.
    fn admits_metadata_of(&self, message: &Message) -> bool {
        self.metadata.is_empty() || {
            let read = |raw: &RawValue| serde_json::from_str(raw.get()).ok();
            let metadata: Map<String, Value> =
                message.metadata.as_deref().and_then(read).unwrap_or_default();
            self.metadata.admits(&metadata)
        }
    }
}
