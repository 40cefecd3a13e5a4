//! Records for tests.

use std::sync::Arc;

use super::Message;
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
    })
}
