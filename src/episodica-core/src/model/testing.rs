//! Records for tests.

use std::sync::Arc;

use super::{BY_USER, MemoryKind, Message, SemanticMemory, TextProvenance};
use crate::clock::Moment;

/// A message whose id and text follow from its number.
pub(crate) fn said(
    number: u64,
    role: &str,
    name: Option<&str>,
    when: &str,
    text: &str,
) -> Arc<Message> {
    Arc::new(Message {
        message_id: format!("m{number}"),
        seq: number,
        role: role.into(),
        name: name.map(Into::into),
        content: text.to_owned(),
        timestamp: Moment::parse(when).expect("valid"),
        session_id: None,
        agent_id: None,
        metadata: None,
        edited_at: None,
    })
}

/// A fact that the application stated on 11 March 2024.
pub(crate) fn stated_fact(content: &str) -> SemanticMemory {
    let at = Moment::parse("2024-03-11T09:30:00+01:00").expect("valid");
    let new = SemanticMemory::new("f0".to_owned(), "alice".to_owned(), content.to_owned(), at);
    SemanticMemory {
        kind: MemoryKind::PersonalInfo,
        confidence: 1.0,
        importance: 0.8,
        subject: "Alice".to_owned(),
        provenance: TextProvenance { method: BY_USER.to_owned(), ..TextProvenance::default() },
        ..new
    }
}
