//! A stretch of conversation, at three levels of detail.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Message;
use crate::clock::Moment;

/// Messages that belong together: L0 title and summary, L1 narrative (`content`), L2 the messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// Unique among the owner's episodes; derived from the first and last message and the revision.
    pub episode_id: String,
    /// The user.
    pub user_id: String,
    /// A short title, as a person would give it.
    pub title: String,
    /// L1: the narrative, third person, dates resolved.
    pub content: String,
    /// L2: the messages, verbatim, in order. In JSON their ids, because the log of messages has the
    /// messages; reading gives references ([`Message::reference`]). In the first format of a store
    /// (`original_messages`) each id stands in a copy of its message.
    #[serde(default, rename = "message_ids", alias = "original_messages", with = "message_ids")]
    pub original_messages: Vec<Arc<Message>>,
    /// Number of messages.
    pub message_count: usize,
    /// The reason for the boundary, in words for people.
    pub boundary_reason: String,
    /// When it began: the moment of the first message.
    pub timestamp: Moment,
    /// When the record was written.
    pub created_at: Moment,
    /// Any JSON object; `merged_from` lists the ids of episodes that were merged into this one.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// Labels, for people.
    #[serde(default)]
    pub tags: Vec<String>,
    /// L0: at most 100 tokens.
    #[serde(default)]
    pub summary: String,
    /// When it ended: the moment of the last message.
    pub ended_at: Moment,
    /// The session, if all messages share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Arc<str>>,
    /// Its subjects, the most characteristic first.
    #[serde(default)]
    pub topics: Vec<String>,
    /// Names in it.
    #[serde(default)]
    pub entities: Vec<String>,
    /// How the end was found.
    pub boundary: BoundaryJudgement,
    /// How the text was made.
    pub provenance: TextProvenance,
    /// Ids of the facts and of the messages of other episodes that the model saw when it wrote the
    /// text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<String>,
    /// When it was archived: searches and contexts leave it and its messages out. `None` = not
    /// archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Moment>,
    /// How often it was rewritten (regenerated, merged, edited).
    #[serde(default)]
    pub revision: u32,
}

impl Episode {
    /// L0 as it is indexed: title, a full stop, summary.
    pub(crate) fn abstract_text(&self) -> String {
        abstract_of(&self.title, &self.summary)
    }
}

/// The JSON form of an episode's messages.
mod message_ids {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    use crate::model::Message;

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum MessageId {
        Plain(String),
        InCopy { message_id: String },
    }

    pub fn serialize<S: Serializer>(
        messages: &[Arc<Message>],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(messages.iter().map(|message| &message.message_id))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Arc<Message>>, D::Error> {
        let ids = Vec::<MessageId>::deserialize(deserializer)?.into_iter();
        let reference = |(MessageId::Plain(id) | MessageId::InCopy { message_id: id })| {
            Arc::new(Message::reference(id))
        };
        Ok(ids.map(reference).collect())
    }
}

/// L0 as it is indexed: title, a full stop, summary.
pub(crate) fn abstract_of(title: &str, summary: &str) -> String {
    if summary.is_empty() { title.to_owned() } else { format!("{title}. {summary}") }
}

/// The judgement that a segment ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoundaryJudgement {
    /// Whether the segment ends here.
    pub should_end: bool,
    /// The cue that decided.
    pub reason: BoundaryReason,
    /// 0 to 1.
    pub confidence: f32,
    /// The topic of the segment, in a few words.
    #[serde(default)]
    pub topic_summary: String,
    /// The detector that decided.
    pub detection_method: DetectionMethod,
}

/// The cue that ended a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundaryReason {
    /// The session was closed, or the next message belongs to another session.
    Session,
    /// A pause longer than the configured gap.
    TimeGap,
    /// The talk turned to something else.
    TopicShift,
    /// A speaker announced a change of subject.
    Intent,
    /// A speaker said goodbye.
    Closing,
    /// The buffer is full.
    Size,
    /// The caller ended the segment (`flush`).
    Flush,
    /// A model decided.
    Llm,
    /// The episode was imported; its reason exists only in words.
    Imported,
}

impl BoundaryReason {
    /// The word used in files and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::TimeGap => "time_gap",
            Self::TopicShift => "topic_shift",
            Self::Intent => "intent",
            Self::Closing => "closing",
            Self::Size => "size",
            Self::Flush => "flush",
            Self::Llm => "llm",
            Self::Imported => "imported",
        }
    }
}

/// Which detector found a boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DetectionMethod {
    /// Rules over time, topic, cues and size.
    Heuristic,
    /// One model call over a window of messages.
    Window,
    /// One model call a message.
    Message,
    /// Keyword overlap, used while the model fails.
    KeywordOverlap,
    /// None: the caller or the end of a session decided.
    Forced,
}

impl DetectionMethod {
    /// The word used in files and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Heuristic => "heuristic",
            Self::Window => "window",
            Self::Message => "message",
            Self::KeywordOverlap => "keyword_overlap",
            Self::Forced => "forced",
        }
    }
}

/// How a text was made: by a model or by the rules, and from which prompt.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TextProvenance {
    /// `offline`, the model's name, `user` for edits, `imported`.
    pub method: String,
    /// Version of the prompt (or of the offline rules).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt_version: String,
    /// Prompt and completion tokens of the calls that made it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// True if the model's answer came from the cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// True if the answer was malformed and repaired.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub salvaged: bool,
    /// Why the rules replaced the configured model; empty if they did not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fallback: String,
    /// True if the rules made it because the configured model failed; the model writes it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pending_llm: bool,
}

impl TextProvenance {
    /// True if the engine's rules made the text.
    pub fn is_by_rules(&self) -> bool {
        self.method == "offline"
    }
}

/// Value of [`TextProvenance::fallback`] if the model refused the episode's messages.
pub const REFUSED: &str = "refused";

fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_json(value: impl Serialize) -> String {
        serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
    }

    #[test]
    fn names_are_those_of_the_files() {
        use BoundaryReason::{
            Closing, Flush, Imported, Intent, Llm, Session, Size, TimeGap, TopicShift,
        };
        for reason in [Session, TimeGap, TopicShift, Intent, Closing, Size, Flush, Llm, Imported] {
            assert_eq!(reason.name(), in_json(reason));
        }
        use DetectionMethod::{Forced, Heuristic, KeywordOverlap, Message, Window};
        for method in [Heuristic, Window, Message, KeywordOverlap, Forced] {
            assert_eq!(method.name(), in_json(method));
        }
    }
}
