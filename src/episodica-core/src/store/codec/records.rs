//! Reads lines that hold a record. The model's types define the only form; other keys are ignored.

use serde::de::DeserializeOwned;

use super::state::{is_deleted, is_state};
use crate::ids::Owner;
use crate::model::{Episode, Message, SemanticMemory};

/// Maximum nesting of a caller's JSON: every reader handles this depth.
pub(crate) const MAX_JSON_DEPTH: usize = 128;

/// Limit of a message's `seq`: JSON numbers below it are exact in every program.
const LAST_SEQ: u64 = 1 << 53;

/// True if well-formed JSON is nested deeper than [`MAX_JSON_DEPTH`].
pub(crate) fn is_too_deep(json: &str) -> bool {
    let (mut depth, mut inside, mut escaped) = (0_usize, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            b'[' | b'{' if !inside => depth += 1,
            b']' | b'}' if !inside => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_JSON_DEPTH {
            return true;
        }
    }
    false
}

/// Reads a message; `Err` states why the JSON is not a message.
pub(crate) fn read_message(json: &[u8]) -> Result<Message, String> {
    let message: Message = parse_record(json)?;
    check_filled("message_id", &message.message_id)?;
    check_filled("role", &message.role)?;
    if message.seq >= LAST_SEQ {
        return Err(format!("field `seq` is too large: `{}`", message.seq));
    }
    if message.metadata.as_ref().is_some_and(|raw| is_too_deep(raw.get())) {
        return Err(format!("field `metadata` is nested deeper than {MAX_JSON_DEPTH}"));
    }
    Ok(message)
}

/// The message of a line of the message log; `None` for any other line.
pub(crate) fn message_of_line(line: &[u8]) -> Option<Message> {
    if is_state(line) || is_deleted(line) { None } else { read_message(line).ok() }
}

/// Reads an episode, with references in place of its messages; `Err` states why the JSON is not an
/// episode.
pub(crate) fn read_episode(json: &[u8]) -> Result<Episode, String> {
    let episode: Episode = parse_record(json)?;
    check_filled("episode_id", &episode.episode_id)?;
    Ok(episode)
}

/// Reads a fact; `Err` states why the JSON is not a fact.
pub(crate) fn read_fact(json: &[u8]) -> Result<SemanticMemory, String> {
    let fact: SemanticMemory = parse_record(json)?;
    check_filled("memory_id", &fact.memory_id)?;
    check_filled("content", &fact.content)?;
    for (field, value) in [("confidence", fact.confidence), ("importance", fact.importance)] {
        if !(0.0..=1.0).contains(&value) {
            return Err(format!("field `{field}` is outside 0 to 1: `{value}`"));
        }
    }
    Ok(fact)
}

/// [`read_episode`] for a line of the owner's log.
pub(crate) fn episode_of_line(owner: &Owner, line: &[u8]) -> Result<Episode, String> {
    let episode = read_episode(line)?;
    check_owner(owner, &episode.user_id)?;
    Ok(episode)
}

/// [`read_fact`] for a line of the owner's log.
pub(crate) fn fact_of_line(owner: &Owner, line: &[u8]) -> Result<SemanticMemory, String> {
    let fact = read_fact(line)?;
    check_owner(owner, &fact.user_id)?;
    Ok(fact)
}

fn check_owner(owner: &Owner, user_id: &str) -> Result<(), String> {
    if user_id == owner.user {
        Ok(())
    } else {
        Err(format!("the record belongs to another user: `{user_id}`"))
    }
}

fn check_filled(field: &str, value: &str) -> Result<(), String> {
    if value.is_empty() { Err(format!("field `{field}` is empty")) } else { Ok(()) }
}

fn parse_record<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    serde_json::from_slice(json).map_err(|error| {
        let text = error.to_string();
        let what = text.rsplit_once(" at line ").map_or(&*text, |(what, _)| what);
        match last_key(json.get(..error.column()).unwrap_or_default()) {
            Some(key) if error.is_data() && !what.starts_with("missing field") => {
                format!("field `{key}`: {what}")
            }
            _ => format!("{what}, at byte {}", error.column()),
        }
    })
}

/// The last key of JSON that may end anywhere.
fn last_key(json: &[u8]) -> Option<&str> {
    let is_end = |three: &[u8]| three[0] != b'\\' && &three[1..] == b"\":";
    let end = json.windows(3).rposition(is_end)? + 1;
    let start = json[..end].iter().rposition(|byte| *byte == b'"')? + 1;
    std::str::from_utf8(&json[start..end]).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const DATE: &str = "2024-03-11T09:30:00+01:00";

    fn owner() -> Owner {
        Owner::new("default", "Alice").unwrap()
    }

    fn message() -> Value {
        json!({"message_id": "m1", "seq": 0, "role": "user", "content": "hi", "timestamp": DATE})
    }

    fn episode() -> Value {
        json!({
            "episode_id": "e", "user_id": "Alice", "title": "Move", "content": "Alice moved.",
            "message_ids": ["m1", "m2"], "message_count": 2, "boundary_reason": "topic change",
            "timestamp": DATE, "created_at": DATE, "ended_at": DATE,
            "boundary": {"should_end": true, "reason": "imported", "confidence": 1.0,
                "detection_method": "forced"},
            "provenance": {"method": "offline"},
        })
    }

    fn fact() -> Value {
        json!({
            "memory_id": "f", "user_id": "Alice", "content": "Lives in Lyon", "created_at": DATE,
            "confidence": 0.9, "importance": 0.5, "valid_from": DATE, "updated_at": DATE,
        })
    }

    fn reason(record: &Value) -> String {
        let (owner, line) = (owner(), record.to_string().into_bytes());
        match record {
            _ if record.get("seq").is_some() => read_message(&line).map(drop),
            _ if record.get("title").is_some() => episode_of_line(&owner, &line).map(drop),
            _ => fact_of_line(&owner, &line).map(drop),
        }
        .unwrap_err()
    }

    #[test]
    fn a_line_in_another_form_is_refused_with_the_field() {
        for (mut record, field, value, expected) in [
            (message(), "seq", json!("3"), "field `seq`: invalid type: string \"3\", expected u64"),
            (message(), "seq", json!(1_u64 << 60), "field `seq` is too large"),
            (message(), "role", json!(""), "field `role` is empty"),
            (message(), "timestamp", json!(1_710_149_400), "field `timestamp`: invalid type"),
            (episode(), "created_at", json!("soon"), "field `created_at`: timestamp is not ISO"),
            (episode(), "tags", json!("home"), "field `tags`: invalid type"),
            (episode(), "message_ids", json!([{"role": "user"}]), "untagged enum MessageId"),
            (episode(), "user_id", json!("bob"), "the record belongs to another user: `bob`"),
            (fact(), "confidence", json!(1.5), "field `confidence` is outside 0 to 1: `1.5`"),
            (fact(), "content", json!(""), "field `content` is empty"),
            (fact(), "user_id", json!("bob"), "the record belongs to another user: `bob`"),
        ] {
            record[field] = value;
            let found = reason(&record);
            assert!(found.contains(expected), "{found}");
        }
        for (mut record, field) in [(message(), "content"), (episode(), "ended_at")] {
            record.as_object_mut().unwrap().remove(field);
            let found = reason(&record);
            assert!(found.starts_with(&format!("missing field `{field}`")), "{found}");
        }
    }

    #[test]
    fn unknown_keys_are_ignored() {
        let mut record = message();
        record["of a later version"] = json!([{"x": 1}]);
        assert_eq!(read_message(record.to_string().as_bytes()).unwrap().content, "hi");
    }

    #[test]
    fn an_episode_refers_to_its_messages() {
        let mut record = episode();
        let by_id = episode_of_line(&owner(), record.to_string().as_bytes()).unwrap();
        assert!(by_id.original_messages.iter().all(|message| message.is_reference()));
        record.as_object_mut().unwrap().remove("message_ids");
        record["original_messages"] = json!([message(), {"message_id": "m2"}]);
        let of_the_first_version = episode_of_line(&owner(), record.to_string().as_bytes());
        assert_eq!(of_the_first_version.unwrap(), by_id);
    }

    #[test]
    fn nesting_does_not_overflow() {
        let deep = "[".repeat(500_000);
        let closed = format!("{deep}{}", "]".repeat(500_000));
        for value in [&deep, &closed] {
            for key in ["metadata", "original_messages", "message_ids", "tags"] {
                let line = format!(r#"{{"episode_id":"e","{key}":{value}}}"#);
                assert!(read_episode(line.as_bytes()).is_err());
            }
            let line = message().to_string().replace('}', &format!(",\"metadata\":{value}}}"));
            assert!(read_message(line.as_bytes()).is_err());
        }
    }
}
