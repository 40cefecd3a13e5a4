//! Reads messages: lines of the message log, and the messages inside episodes.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient::{LooseMoment, MAX_JSON_DEPTH, is_too_deep, text};
use super::state::{is_deleted, is_state};
use crate::clock::Moment;
use crate::ids::{Owner, record_id};
use crate::model::Message;
use crate::store::line::identity;

/// Reads a line of the message log; `Err` states why the line is not a message.
pub(crate) fn read_message(owner: &Owner, line: &[u8]) -> Result<Message, String> {
    let strict: Result<Message, _> = serde_json::from_slice(line);
    let message = strict.or_else(|_| read_foreign(owner, line))?;
    if message.metadata.as_ref().is_some_and(|raw| is_too_deep(raw.get())) {
        return Err(format!("not a message: metadata is nested deeper than {MAX_JSON_DEPTH}"));
    }
    Ok(message)
}

/// The message of a line of the message log; `None` for any other line.
pub(crate) fn message_of_line(owner: &Owner, line: &[u8]) -> Option<Message> {
    if is_state(line) || is_deleted(line) { None } else { read_message(owner, line).ok() }
}

/// A message in the form of another program.
#[derive(Deserialize)]
pub(super) struct MessageRow {
    #[serde(default)]
    pub message_id: Option<String>,
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
    agent_id: Option<Arc<str>>,
    #[serde(default)]
    pub metadata: Option<Box<RawValue>>,
}

impl MessageRow {
    /// `id` generates an id for a message without one; `fallback` is the date of a message without
    /// a date.
    pub fn into_message(self, id: impl FnOnce() -> String, fallback: Moment) -> Message {
        #[derive(Deserialize)]
        struct SpeakerFields {
            original_speaker: Option<String>,
        }
        let speaker = || {
            serde_json::from_str::<SpeakerFields>(self.metadata.as_ref()?.get())
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
            agent_id: self.agent_id,
            metadata: self.metadata.filter(|raw| !matches!(raw.get().trim(), "{}" | "null")),
        }
    }
}

/// The `seq` of a message that has none yet; loading assigns one.
pub(crate) const UNPLACED: u64 = u64::MAX;

/// Reads a message that lacks this package's keys.
fn read_foreign(owner: &Owner, line: &[u8]) -> Result<Message, String> {
    let row: MessageRow =
        serde_json::from_slice(line).map_err(|error| format!("not a message: {error}"))?;
    if row.content.is_empty() && row.role.is_empty() {
        return Err("not a message: neither role nor content".into());
    }
    let epoch = Moment::new(0, 0).expect("invariant: 1970 is a year");
    Ok(row.into_message(|| record_id(owner, "message", &[b"line", identity(line)]), epoch))
}
