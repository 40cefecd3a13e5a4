//! One utterance of a conversation.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::clock::Moment;
use crate::config::SecretPolicy;

/// Who speaks, in the terms of chat APIs: `user`, `assistant`, `system`, `tool` or any other word
/// the caller uses.
pub type Role = Arc<str>;

/// A message as the caller passes it, without a position in the log.
#[derive(Debug, Clone, Default)]
pub struct NewMessage {
    /// `user`, `assistant`, …
    pub role: String,
    /// The text, verbatim.
    pub content: String,
    /// The speaker's name.
    pub name: Option<String>,
    /// When it was said; `None` = now.
    pub timestamp: Option<Moment>,
    /// The session it belongs to.
    pub session_id: Option<String>,
    /// The agent that said it or heard it.
    pub agent_id: Option<String>,
    /// Any JSON value, kept as it came.
    pub metadata: Option<Box<RawValue>>,
    /// The caller's own id. Other words under a known id are a newer version of that message.
    pub message_id: Option<String>,
    /// What becomes of secrets in it; `None` = as the configuration says.
    pub secrets: Option<SecretPolicy>,
    /// When these words replaced earlier ones, if the caller knows; the time when it was said for
    /// words that are known to be the first.
    pub edited_at: Option<Moment>,
    /// True if other words under a known id are an error.
    pub refuses_edit: bool,
}

/// A message in the log, in one of its versions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Message {
    /// Unique among the owner's messages.
    pub message_id: String,
    /// Position in the owner's history, from 0, in the order of arrival; never reused.
    pub seq: u64,
    /// `user`, `assistant`, …
    pub role: Role,
    /// The speaker's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// The text, verbatim.
    pub content: String,
    /// When it was said.
    pub timestamp: Moment,
    /// The session it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Arc<str>>,
    /// The agent that said it or heard it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Arc<str>>,
    /// Any JSON value, kept as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<RawValue>>,
    /// When these words replaced earlier ones; `None` for the first version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_at: Option<Moment>,
}

impl Message {
    /// Stands for a message of which only the id was read. A view has none: they are replaced by
    /// the messages when the records enter it.
    pub fn reference(message_id: String) -> Self {
        Self {
            message_id,
            seq: u64::MAX,
            role: Role::default(),
            name: None,
            content: String::new(),
            timestamp: Moment::new(0, 0).expect("invariant: 1970 is a year"),
            session_id: None,
            agent_id: None,
            metadata: None,
            edited_at: None,
        }
    }

    /// True for a [`Message::reference`]: every message that was read has a role.
    pub fn is_reference(&self) -> bool {
        self.role.is_empty()
    }

    /// The name to attribute the words to: the speaker's name, else the role.
    pub fn speaker(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.role)
    }

    /// True if the speaker is a program: its name, or its role if it has no name, is in
    /// `AGENT_NAMES`, or [`Message::is_machinery`] holds. Unknown roles, such as "customer", are
    /// people.
    pub fn is_agent(&self) -> bool {
        let speaker = self.speaker().trim();
        AGENT_NAMES.iter().any(|name| speaker.eq_ignore_ascii_case(name)) || self.is_machinery()
    }

    /// True if the application wrote it, not a participant.
    pub fn is_machinery(&self) -> bool {
        let roles = ["system", "tool", "developer", "function"];
        roles.iter().any(|role| self.role.eq_ignore_ascii_case(role))
    }
}

/// Common speaker names of programs.
const AGENT_NAMES: [&str; 14] = [
    "assistant",
    "aimessagechunk",
    "ai",
    "bot",
    "chatbot",
    "agent",
    "system",
    "copilot",
    "model",
    "助手",
    "助理",
    "机器人",
    "客服",
    "ai助手",
];

/// A speaker's name as it is stored: on one line, without colons and invisible characters, so that
/// a name can't imitate a line of the conversation. `None` if nothing is left.
pub(crate) fn clean_name(name: &str) -> Option<String> {
    let is_unseen = |c: char| {
        matches!(c, '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    let seen = name.chars().filter(|c| !is_unseen(*c));
    let plain: String =
        seen.map(|c| if c.is_control() || ":：".contains(c) { ' ' } else { c }).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.message_id == other.message_id
            && self.content == other.content
            && self.timestamp == other.timestamp
    }
}
