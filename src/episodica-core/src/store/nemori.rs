//! Reads episode and semantic lines, ours and Nemori's, into the records of the engine.
//!
//! Nemori's lines lack what we added, write dates without offset (taken as UTC) and name messages
//! loosely or not at all. What is missing gets a value that follows from the line alone, so that
//! every opening of the same file gives the same ids. The types of the model stay strict; leniency
//! lives here.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient::{LooseMoment, MAX_JSON_DEPTH, is_too_deep, object, text, words};
use super::line::identity;
use crate::clock::Moment;
use crate::ids::{Owner, record_id};
use crate::model::{
    Boundary, BoundaryReason, DetectionMethod, Episode, MemoryKind, Message, Provenance,
    SemanticMemory,
};

/// Confidence of a memory that states none: Nemori's own default.
const IMPORTED_CONFIDENCE: f32 = 0.8;
/// Importance of a memory that states none: the middle.
const IMPORTED_IMPORTANCE: f32 = 0.5;

/// A line that was read, and what about it a person should know.
pub(crate) type Read<T> = Result<(T, Vec<String>), String>;

#[derive(Deserialize)]
struct MessageId<'a> {
    #[serde(borrow, default)]
    message_id: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct MessageRow {
    #[serde(default)]
    message_id: Option<String>,
    #[serde(default)]
    seq: Option<u64>,
    #[serde(default, deserialize_with = "text")]
    role: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default, deserialize_with = "text")]
    content: String,
    #[serde(default)]
    timestamp: LooseMoment,
    #[serde(default)]
    session_id: Option<Arc<str>>,
    #[serde(default)]
    metadata: Option<Box<RawValue>>,
}

impl MessageRow {
    /// `id` names it if it has no id of its own, `fallback` dates it.
    fn into_message(self, id: impl FnOnce() -> String, fallback: Moment) -> Message {
        #[derive(Deserialize)]
        struct Speaker {
            original_speaker: Option<String>,
        }
        let speaker = || {
            serde_json::from_str::<Speaker>(self.metadata.as_ref()?.get())
                .ok()?
                .original_speaker
                .filter(|name| !name.is_empty())
        };
        Message {
            message_id: self.message_id.unwrap_or_else(id),
            seq: self.seq.unwrap_or(UNPLACED),
            name: self.name.or_else(speaker).map(Arc::from),
            role: if self.role.is_empty() { "user".into() } else { self.role.into() },
            content: self.content,
            timestamp: self.timestamp.get().unwrap_or(fallback),
            session_id: self.session_id,
            metadata: self.metadata.filter(|raw| !matches!(raw.get().trim(), "{}" | "null")),
        }
    }
}

/// The `seq` of a message that has none yet; the loader gives it one.
pub(crate) const UNPLACED: u64 = u64::MAX;

/// A line of the message log that lacks keys of ours.
pub(crate) fn read_message(owner: &Owner, line: &[u8]) -> Result<Message, String> {
    let row: MessageRow =
        serde_json::from_slice(line).map_err(|error| format!("not a message: {error}"))?;
    if row.content.is_empty() && row.role.is_empty() {
        return Err("not a message: neither role nor content".into());
    }
    let epoch = Moment::new(0, 0).expect("invariant: 1970 is a year");
    Ok(row.into_message(|| record_id(owner, "message", &[b"line", identity(line)]), epoch))
}

#[derive(Deserialize)]
struct EpisodeRow<'a> {
    #[serde(default)]
    episode_id: Option<String>,
    #[serde(default)]
    user_id: Option<String>,
    #[serde(default, deserialize_with = "text")]
    title: String,
    #[serde(default, deserialize_with = "text")]
    content: String,
    #[serde(borrow, default)]
    original_messages: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "text")]
    boundary_reason: String,
    #[serde(default)]
    timestamp: LooseMoment,
    #[serde(default)]
    created_at: LooseMoment,
    #[serde(default, deserialize_with = "object")]
    metadata: serde_json::Map<String, serde_json::Value>,
    #[serde(default, deserialize_with = "words")]
    tags: Vec<String>,
    #[serde(default, deserialize_with = "text")]
    summary: String,
    #[serde(default)]
    ended_at: LooseMoment,
    #[serde(default)]
    session_id: Option<Arc<str>>,
    #[serde(default, deserialize_with = "words")]
    topics: Vec<String>,
    #[serde(default, deserialize_with = "words")]
    entities: Vec<String>,
    #[serde(default)]
    boundary: Option<Boundary>,
    #[serde(default)]
    provenance: Option<Provenance>,
    #[serde(default)]
    revision: u32,
}

fn check_owner(owner: &Owner, user_id: Option<&str>) -> Result<(), String> {
    match user_id {
        Some(user) if !user.is_empty() && user != owner.user => {
            Err(format!("the record belongs to another user: `{user}`"))
        }
        _ => Ok(()),
    }
}

fn note_dates(dates: &[(&str, &LooseMoment)]) -> Vec<String> {
    let unreadable = |(key, date): &(&str, &LooseMoment)| match date {
        LooseMoment::Unreadable(text) => {
            Some(format!("`{key}` is no date and was passed over: `{text}`"))
        }
        _ => None,
    };
    dates.iter().filter_map(unreadable).collect()
}

/// Reads an episode line; messages that `known` holds are shared with it instead of read again.
pub(crate) fn read_episode(
    owner: &Owner,
    line: &[u8],
    known: &HashMap<&str, &Arc<Message>>,
) -> Read<Episode> {
    let row: EpisodeRow<'_> =
        serde_json::from_slice(line).map_err(|error| format!("not an episode: {error}"))?;
    if row.episode_id.is_none() && row.content.is_empty() && row.original_messages.is_none() {
        return Err("not an episode: neither episode_id nor content nor messages".into());
    }
    check_owner(owner, row.user_id.as_deref())?;
    let notes = note_dates(&[
        ("timestamp", &row.timestamp),
        ("created_at", &row.created_at),
        ("ended_at", &row.ended_at),
    ]);
    let episode_id = row.episode_id.filter(|id| !id.is_empty());
    let episode_id =
        episode_id.unwrap_or_else(|| record_id(owner, "episode", &[b"line", identity(line)]));
    let epoch = Moment::new(0, 0).expect("invariant: 1970 is a year");
    let stated = row.timestamp.get().or(row.created_at.get());
    let messages =
        read_messages(owner, &episode_id, row.original_messages, stated.unwrap_or(epoch), known)?;
    let first = messages.first().map(|message| message.timestamp);
    let timestamp = row.timestamp.get().or(first).or(row.created_at.get()).unwrap_or(epoch);
    let last = messages.iter().map(|message| message.timestamp).max();
    let shared = messages.first().and_then(|first| first.session_id.clone());
    let shared = shared.filter(|session| {
        messages.iter().all(|message| message.session_id.as_ref() == Some(session))
    });
    let episode = Episode {
        episode_id,
        user_id: owner.user.clone(),
        title: row.title,
        content: row.content,
        message_count: messages.len(),
        boundary: row.boundary.unwrap_or_else(|| Boundary {
            should_end: true,
            reason: BoundaryReason::Imported,
            confidence: 1.0,
            topic_summary: String::new(),
            detection_method: DetectionMethod::Forced,
        }),
        boundary_reason: row.boundary_reason,
        timestamp,
        created_at: row.created_at.get().unwrap_or(timestamp),
        metadata: row.metadata,
        tags: row.tags,
        summary: row.summary,
        ended_at: row.ended_at.get().or(last).unwrap_or(timestamp),
        session_id: row.session_id.or(shared),
        topics: row.topics,
        entities: row.entities,
        provenance: row.provenance.unwrap_or_else(imported),
        revision: row.revision,
        original_messages: messages,
    };
    Ok((episode, notes))
}

fn imported() -> Provenance {
    Provenance { method: "imported".into(), ..Provenance::default() }
}

fn read_messages(
    owner: &Owner,
    episode_id: &str,
    raw: Option<&RawValue>,
    date: Moment,
    known: &HashMap<&str, &Arc<Message>>,
) -> Result<Vec<Arc<Message>>, String> {
    let Some(raw) = raw.filter(|raw| raw.get() != "null") else { return Ok(Vec::new()) };
    if !known.is_empty()
        && let Ok(ids) = serde_json::from_str::<Vec<MessageId<'_>>>(raw.get())
        && let Some(messages) = ids
            .iter()
            .map(|row| known.get(row.message_id.as_deref()?).map(|message| Arc::clone(message)))
            .collect()
    {
        return Ok(messages);
    }
    let rows: Vec<MessageRow> =
        serde_json::from_str(raw.get()).map_err(|error| format!("original_messages: {error}"))?;
    if rows.iter().any(|row| row.metadata.as_ref().is_some_and(|raw| is_too_deep(raw.get()))) {
        return Err(format!("original_messages: metadata is nested deeper than {MAX_JSON_DEPTH}"));
    }
    let place = |(position, row): (usize, MessageRow)| match row
        .message_id
        .as_deref()
        .and_then(|id| known.get(id))
    {
        Some(message) => Arc::clone(message),
        None => {
            let id = || {
                record_id(
                    owner,
                    "message",
                    &[episode_id.as_bytes(), position.to_string().as_bytes()],
                )
            };
            Arc::new(row.into_message(id, date))
        }
    };
    Ok(rows.into_iter().enumerate().map(place).collect())
}

#[derive(Deserialize)]
struct SemanticRow {
    #[serde(default)]
    memory_id: Option<String>,
    #[serde(default)]
    user_id: Option<String>,
    #[serde(default, deserialize_with = "text")]
    content: String,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    knowledge_type: Option<String>,
    #[serde(default, deserialize_with = "words")]
    source_episodes: Vec<String>,
    #[serde(default)]
    created_at: LooseMoment,
    #[serde(default)]
    confidence: Option<f32>,
    #[serde(default)]
    importance: Option<f32>,
    #[serde(default, deserialize_with = "object")]
    metadata: serde_json::Map<String, serde_json::Value>,
    #[serde(default, deserialize_with = "words")]
    tags: Vec<String>,
    #[serde(default, deserialize_with = "words")]
    source_messages: Vec<String>,
    #[serde(default, deserialize_with = "text")]
    subject: String,
    #[serde(default, deserialize_with = "text")]
    attribute: String,
    #[serde(default)]
    valid_from: LooseMoment,
    #[serde(default)]
    valid_to: LooseMoment,
    #[serde(default)]
    superseded_by: Option<String>,
    #[serde(default)]
    updated_at: LooseMoment,
    #[serde(default)]
    revision_count: u32,
    #[serde(default)]
    provenance: Option<Provenance>,
}

/// Reads a line of the semantic log.
pub(crate) fn read_semantic(owner: &Owner, line: &[u8]) -> Read<SemanticMemory> {
    let mut row: SemanticRow =
        serde_json::from_slice(line).map_err(|error| format!("not a semantic memory: {error}"))?;
    if row.content.is_empty() {
        return Err("not a semantic memory: no content".into());
    }
    check_owner(owner, row.user_id.as_deref())?;
    let mut notes = note_dates(&[
        ("created_at", &row.created_at),
        ("updated_at", &row.updated_at),
        ("valid_from", &row.valid_from),
        ("valid_to", &row.valid_to),
    ]);
    let word = row.kind.or(row.knowledge_type).unwrap_or_default();
    let kind = MemoryKind::deserialize(
        serde::de::value::StrDeserializer::<serde::de::value::Error>::new(&word),
    )
    .unwrap_or_default();
    // A word that we don't know is not lost.
    if kind.name() != word && !word.is_empty() {
        row.metadata.entry("knowledge_type").or_insert(word.into());
    }
    if !row.tags.is_empty() {
        row.metadata.entry("tags").or_insert(row.tags.into());
    }
    let epoch = Moment::new(0, 0).expect("invariant: 1970 is a year");
    let created_at =
        row.created_at.get().or(row.valid_from.get()).or(row.updated_at.get()).unwrap_or(epoch);
    let mut share = |key: &str, value: Option<f32>, default: f32| match value {
        None => default,
        Some(value) if (0.0..=1.0).contains(&value) => value,
        Some(value) => {
            notes.push(format!("`{key}` is outside 0 to 1 and was brought inside: `{value}`"));
            value.clamp(0.0, 1.0)
        }
    };
    let confidence = share("confidence", row.confidence, IMPORTED_CONFIDENCE);
    let importance = share("importance", row.importance, IMPORTED_IMPORTANCE);
    let memory = SemanticMemory {
        memory_id: row
            .memory_id
            .filter(|id| !id.is_empty())
            .unwrap_or_else(|| record_id(owner, "semantic", &[b"line", identity(line)])),
        user_id: owner.user.clone(),
        content: row.content,
        kind,
        source_episodes: row.source_episodes,
        created_at,
        confidence,
        importance,
        metadata: row.metadata,
        source_messages: row.source_messages,
        subject: row.subject,
        attribute: row.attribute,
        valid_from: row.valid_from.get().unwrap_or(created_at),
        valid_to: row.valid_to.get(),
        superseded_by: row.superseded_by.filter(|id| !id.is_empty()),
        updated_at: row.updated_at.get().unwrap_or(created_at),
        revision_count: row.revision_count,
        provenance: row.provenance.unwrap_or_else(imported),
    };
    Ok((memory, notes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Owner {
        Owner::new("default", "Alice").unwrap()
    }

    #[test]
    fn an_episode_of_nemori_loads_with_sensible_values() {
        let line = br#"{"episode_id":"e1","user_id":"Alice","title":"Move","content":"Alice moved.","original_messages":[{"role":"user","content":"I moved","timestamp":"2024-03-11T09:30:00.000001","metadata":{"original_speaker":"Ali"}},{"message_id":"m2","role":"assistant","content":"Where?","metadata":{}}],"message_count":2,"boundary_reason":"topic change","created_at":"2024-03-12T00:00:00","timestamp":"2024-03-11T09:30:00","metadata":null,"tags":["home"]}"#;
        let (episode, notes) = read_episode(&owner(), line, &HashMap::new()).unwrap();
        assert!(notes.is_empty());
        assert_eq!((episode.message_count, episode.boundary.reason), (2, BoundaryReason::Imported));
        assert_eq!(
            (episode.boundary_reason.as_str(), episode.provenance.method.as_str()),
            ("topic change", "imported")
        );
        let [first, second] = &episode.original_messages[..] else { panic!("two messages") };
        assert_eq!(
            (first.speaker(), first.timestamp.to_string().as_str()),
            ("Ali", "2024-03-11T09:30:00.000001+00:00")
        );
        assert_eq!((second.message_id.as_str(), second.timestamp), ("m2", episode.timestamp));
        let (again, _) = read_episode(&owner(), line, &HashMap::new()).unwrap();
        assert_eq!(again.original_messages[0].message_id, first.message_id);
    }

    #[test]
    fn messages_that_are_known_are_shared() {
        let message = Arc::new(
            read_message(
                &owner(),
                br#"{"message_id":"m1","seq":0,"role":"user","content":"hi","timestamp":1}"#,
            )
            .unwrap(),
        );
        let known = HashMap::from([("m1", &message)]);
        let line = br#"{"episode_id":"e","original_messages":[{"message_id":"m1","role":"user","content":"hi"}]}"#;
        let (episode, _) = read_episode(&owner(), line, &known).unwrap();
        assert!(Arc::ptr_eq(&episode.original_messages[0], &message));
        let line = br#"{"episode_id":"e","original_messages":[{"message_id":"m1","role":"user"},{"role":"user","content":"new"}]}"#;
        let (episode, _) = read_episode(&owner(), line, &known).unwrap();
        assert!(Arc::ptr_eq(&episode.original_messages[0], &message));
        assert_eq!(episode.original_messages[1].content, "new");
    }

    #[test]
    fn facts_of_nemori_load_whatever_their_dates() {
        for date in [
            "\"2024-03-11T09:30:00\"",
            "\"2024-03-11T09:30:00+02:00\"",
            "1710149400.5",
            "null",
            "\"soon\"",
        ] {
            let line = format!(
                r#"{{"memory_id":"f","user_id":"Alice","content":"Lives in Lyon","knowledge_type":"fact","created_at":{date},"confidence":0.9,"tags":["x"],"updated_at":null,"revision_count":1}}"#
            );
            let (memory, notes) = read_semantic(&owner(), line.as_bytes()).unwrap();
            assert_eq!(notes.len(), usize::from(date == "\"soon\""), "{date}");
            assert_eq!(
                (memory.kind, memory.confidence, memory.importance),
                (MemoryKind::Entity, 0.9, 0.5)
            );
            assert_eq!(
                (&memory.metadata["knowledge_type"], &memory.metadata["tags"][0]),
                (&"fact".into(), &"x".into())
            );
            assert!(memory.is_current());
        }
    }

    #[test]
    fn records_of_another_user_are_refused() {
        let line = br#"{"memory_id":"f","user_id":"bob","content":"secret"}"#;
        assert_eq!(
            read_semantic(&owner(), line).unwrap_err(),
            "the record belongs to another user: `bob`"
        );
        assert!(
            read_episode(&owner(), br#"{"episode_id":"e","user_id":"bob"}"#, &HashMap::new())
                .is_err()
        );
    }

    #[test]
    fn nesting_does_not_overflow() {
        let deep = "[".repeat(500_000);
        for key in ["metadata", "original_messages", "tags"] {
            assert!(
                read_episode(
                    &owner(),
                    format!(r#"{{"episode_id":"e","{key}":{deep}}}"#).as_bytes(),
                    &HashMap::new()
                )
                .is_err()
            );
        }
        let closed = format!("{deep}{}", "]".repeat(500_000));
        assert!(
            read_episode(
                &owner(),
                format!(r#"{{"episode_id":"e","metadata":{closed}}}"#).as_bytes(),
                &HashMap::new()
            )
            .is_err()
        );
    }
}
