//! Restricts which records a search may return; applied before ranking.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::clock::Moment;
use crate::model::{Episode, Message, SemanticMemory};
use crate::score::Where;

/// Conditions on a record; all of them must hold.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Earliest time.
    pub since: Option<Moment>,
    /// Latest time.
    pub until: Option<Moment>,
    /// The required session.
    pub session_id: Option<String>,
    /// Conditions on the record's metadata.
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

    /// True if the interval from `start` to `end` overlaps the filter's interval.
    pub(crate) fn admits_time(&self, start: Moment, end: Moment) -> bool {
        self.since.is_none_or(|since| end >= since) && self.until.is_none_or(|until| start <= until)
    }

    /// Tests a message by its time, session and metadata.
    pub(crate) fn admits_message(&self, message: &Message) -> bool {
        self.admits_time(message.timestamp, message.timestamp)
            && self.is_session(message.session_id.as_deref())
            && self.admits_metadata_of(message)
    }

    /// Tests an episode by its time and the sessions of its messages. The metadata may be that of
    /// the episode or of one of its messages.
    pub(crate) fn admits_episode(&self, episode: &Episode) -> bool {
        let messages = &episode.original_messages;
        self.admits_time(episode.timestamp, episode.ended_at)
            && (self.session_id.is_none()
                || messages.iter().any(|message| self.is_session(message.session_id.as_deref())))
            && (self.metadata.admits(&episode.metadata)
                || messages.iter().any(|message| self.admits_metadata_of(message)))
    }

    /// Tests a fact by the interval in which it held, its session and its metadata.
    pub(crate) fn admits_fact(&self, fact: &SemanticMemory) -> bool {
        let session = || fact.metadata.get("session_id").and_then(Value::as_str);
        self.admits_time(fact.valid_from, fact.valid_to.unwrap_or(Moment::MAX))
            && self.is_session(session())
            && self.metadata.admits(&fact.metadata)
    }

    fn is_session(&self, session: Option<&str>) -> bool {
        self.session_id.as_deref().is_none_or(|wanted| session == Some(wanted))
    }

    /// Messages keep their metadata as JSON text, which is parsed only if a filter needs it. A
    /// message without metadata has no keys.
    fn admits_metadata_of(&self, message: &Message) -> bool {
        self.metadata.is_empty() || {
            let read = |raw: &RawValue| serde_json::from_str(raw.get()).ok();
            let metadata: Map<String, Value> =
                message.metadata.as_deref().and_then(read).unwrap_or_default();
            self.metadata.admits(&metadata)
        }
    }
}
