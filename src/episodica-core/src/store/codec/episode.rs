//! Reads lines of the episode log. A line names its messages by id (`message_ids`); lines of the
//! first format and of Nemori hold them (`original_messages`).

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient::{
    LooseMoment, MAX_JSON_DEPTH, Read, check_owner, imported, is_too_deep, note_dates, object,
    text, words,
};
use super::message::MessageRow;
use crate::clock::Moment;
use crate::ids::{Owner, record_id};
use crate::model::{
    BoundaryJudgement, BoundaryReason, DetectionMethod, Episode, Message, TextProvenance,
};
use crate::store::line::identity;

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
    message_ids: Option<Vec<MessageId<'a>>>,
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
    boundary: Option<BoundaryJudgement>,
    #[serde(default)]
    provenance: Option<TextProvenance>,
    #[serde(default)]
    archived_at: LooseMoment,
    #[serde(default)]
    revision: u32,
}

/// Reads an episode line. Messages in `known` are shared; of others the episode gets those that the
/// line holds, or references.
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
        ("archived_at", &row.archived_at),
    ]);
    let episode_id = row.episode_id.filter(|id| !id.is_empty());
    let episode_id =
        episode_id.unwrap_or_else(|| record_id(owner, "episode", &[b"line", identity(line)]));
    let epoch = Moment::new(0, 0).expect("invariant: 1970 is a year");
    let stated = row.timestamp.get().or(row.created_at.get());
    let messages = match row.message_ids {
        Some(ids) if row.original_messages.is_none() => {
            ids.into_iter().map(|id| named_message(&id.0, known)).collect()
        }
        _ => held_messages(
            owner,
            &episode_id,
            row.original_messages,
            stated.unwrap_or(epoch),
            known,
        )?,
    };
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
        boundary: row.boundary.unwrap_or_else(|| BoundaryJudgement {
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
        archived_at: row.archived_at.get(),
        revision: row.revision,
        original_messages: messages,
    };
    Ok((episode, notes))
}

#[derive(Deserialize)]
struct MessageId<'a>(#[serde(borrow)] Cow<'a, str>);

fn named_message(id: &str, known: &HashMap<&str, &Arc<Message>>) -> Arc<Message> {
    known.get(id).map_or_else(|| Arc::new(Message::reference(id.to_owned())), |one| Arc::clone(one))
}

fn held_messages(
    owner: &Owner,
    episode_id: &str,
    raw: Option<&RawValue>,
    date: Moment,
    known: &HashMap<&str, &Arc<Message>>,
) -> Result<Vec<Arc<Message>>, String> {
    let Some(raw) = raw.filter(|raw| raw.get() != "null") else { return Ok(Vec::new()) };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::codec::message::read_message;

    fn owner() -> Owner {
        Owner::new("default", "Alice").unwrap()
    }

    #[test]
    fn an_episode_of_nemori_loads_with_sensible_values() {
        let line = concat!(
            r#"{"episode_id":"e1","user_id":"Alice","title":"Move","content":"Alice moved.","#,
            r#""original_messages":[{"role":"user","content":"I moved","#,
            r#""timestamp":"2024-03-11T09:30:00.000001","metadata":{"original_speaker":"Ali"}},"#,
            r#"{"message_id":"m2","role":"assistant","content":"Where?","metadata":{}}],"#,
            r#""message_count":2,"boundary_reason":"topic change","#,
            r#""created_at":"2024-03-12T00:00:00","timestamp":"2024-03-11T09:30:00","#,
            r#""metadata":null,"tags":["home"]}"#,
        )
        .as_bytes();
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
    fn a_line_names_its_messages() {
        let line = br#"{"episode_id":"e","message_ids":["m1","m2"],"timestamp":1}"#;
        let (episode, _) = read_episode(&owner(), line, &HashMap::new()).unwrap();
        assert!(episode.original_messages.iter().all(|message| message.is_reference()));
        let mut written = Vec::new();
        crate::store::line::encode_line(&mut written, &episode).unwrap();
        let message = Arc::new(
            read_message(&owner(), br#"{"message_id":"m2","role":"user","content":"hi"}"#).unwrap(),
        );
        let known = HashMap::from([("m2", &message)]);
        let (again, _) = read_episode(&owner(), written.trim_ascii_end(), &known).unwrap();
        let [first, second] = &again.original_messages[..] else { panic!("two messages") };
        assert_eq!((first.message_id.as_str(), first.is_reference()), ("m1", true));
        assert!(Arc::ptr_eq(second, &message));
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
        let line = concat!(
            r#"{"episode_id":"e","original_messages":"#,
            r#"[{"message_id":"m1","role":"user","content":"hi"}]}"#,
        )
        .as_bytes();
        let (episode, _) = read_episode(&owner(), line, &known).unwrap();
        assert!(Arc::ptr_eq(&episode.original_messages[0], &message));
        let line = concat!(
            r#"{"episode_id":"e","original_messages":"#,
            r#"[{"message_id":"m1","role":"user"},{"role":"user","content":"new"}]}"#,
        )
        .as_bytes();
        let (episode, _) = read_episode(&owner(), line, &known).unwrap();
        assert!(Arc::ptr_eq(&episode.original_messages[0], &message));
        assert_eq!(episode.original_messages[1].content, "new");
    }

    #[test]
    fn an_episode_of_another_user_is_refused() {
        let line = br#"{"episode_id":"e","user_id":"bob"}"#;
        assert_eq!(
            read_episode(&owner(), line, &HashMap::new()).unwrap_err(),
            "the record belongs to another user: `bob`"
        );
    }

    #[test]
    fn nesting_does_not_overflow() {
        let deep = "[".repeat(500_000);
        for key in ["metadata", "original_messages", "message_ids", "tags"] {
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
