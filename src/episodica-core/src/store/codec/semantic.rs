//! Reads lines of the fact log.

use serde::Deserialize;

use super::lenient::{LooseMoment, Read, check_owner, imported, note_dates, object, text, words};
use crate::clock::Moment;
use crate::ids::{Owner, record_id};
use crate::model::{MemoryKind, SemanticMemory, TextProvenance};
use crate::store::line::identity;

/// Confidence of a fact that states none: Nemori's own default.
const IMPORTED_CONFIDENCE: f32 = 0.8;
/// Importance of a fact that states none: the middle.
const IMPORTED_IMPORTANCE: f32 = 0.5;

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
    expires_at: LooseMoment,
    #[serde(default)]
    archived_at: LooseMoment,
    #[serde(default)]
    updated_at: LooseMoment,
    #[serde(default)]
    revision_count: u32,
    #[serde(default)]
    provenance: Option<TextProvenance>,
}

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
        ("expires_at", &row.expires_at),
        ("archived_at", &row.archived_at),
    ]);
    let word = row.kind.or(row.knowledge_type).unwrap_or_default();
    let kind = MemoryKind::deserialize(
        serde::de::value::StrDeserializer::<serde::de::value::Error>::new(&word),
    )
    .unwrap_or_default();
    // Keeps an unknown kind in the metadata.
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
        expires_at: row.expires_at.get(),
        archived_at: row.archived_at.get(),
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
    fn facts_of_nemori_load_whatever_their_dates() {
        for date in [
            "\"2024-03-11T09:30:00\"",
            "\"2024-03-11T09:30:00+02:00\"",
            "1710149400.5",
            "null",
            "\"soon\"",
        ] {
            let line = format!(
                "{{\"memory_id\":\"f\",\"user_id\":\"Alice\",\"content\":\"Lives in Lyon\",\
                 \"knowledge_type\":\"fact\",\"created_at\":{date},\"confidence\":0.9,\
                 \"tags\":[\"x\"],\"updated_at\":null,\"revision_count\":1}}"
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
    fn a_fact_of_another_user_is_refused() {
        let line = br#"{"memory_id":"f","user_id":"bob","content":"secret"}"#;
        assert_eq!(
            read_semantic(&owner(), line).unwrap_err(),
            "the record belongs to another user: `bob`"
        );
    }
}
