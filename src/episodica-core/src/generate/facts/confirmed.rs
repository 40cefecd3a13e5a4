//! Facts from a person's request and the confirmation of an assistant or a tool: "Move the review
//! to 10 April." and "Moved to 10 April."

use std::sync::Arc;

use super::candidate::FactCandidate;
use super::know_how::about_user;
use super::words::tells_the_past;
use crate::generate::episode::ToldSentence;
use crate::generate::voice::speaks_of_self;
use crate::model::{MemoryKind, Message};

/// Maximum number of messages between a request and its confirmation, such as tool calls and
/// results.
const REACH: usize = 4;
/// Maximum length of a confirmation and of a request, in bytes.
const MAX_BYTES: usize = 240;
/// Maximum length of a message that confirms, in bytes; a longer one explains.
const MAX_MESSAGE: usize = 800;

/// The fact that an agent's sentence reports: something done or found. It begins with the request
/// before it, if there is a short one, and cites both messages.
pub(super) fn confirmed(
    told: &ToldSentence,
    before: &[ToldSentence],
    messages: &[Arc<Message>],
) -> Option<FactCandidate> {
    let message = &messages[told.message];
    let is_state = told.form.has_digit || told.form.has_name || told.form.content > 1;
    if told.asks
        || told.own.is_some()
        || message.role.eq_ignore_ascii_case("system")
        || told.said.len() > MAX_BYTES
        || message.content.len() > MAX_MESSAGE
        || !is_state
        || speaks_of_self(&told.said) && !tells_the_past(&told.said)
        || told.heads().outcome <= 0.0
    {
        return None;
    }
    let request = before.iter().rev().find(|other| !other.by_agent)?;
    let between = told.message.checked_sub(request.message)?;
    let is_thanks = !request.asks && request.heads().small_talk > 0.0;
    let is_asked = (1..=REACH).contains(&between)
        && request.said.len() <= MAX_BYTES
        && request.own.is_none()
        && !is_thanks;
    let message_id = message.message_id.clone();
    let (content, source_messages) = match about_user(told) {
        Some(content) => (content, vec![message_id]),
        None if is_asked => {
            let asked = messages[request.message].message_id.clone();
            (format!("{} {}", request.content, told.content), vec![asked, message_id])
        }
        None => (told.content.clone(), vec![message_id]),
    };
    Some(FactCandidate {
        content,
        kind: MemoryKind::Decision,
        confidence: 0.75,
        importance: 0.62,
        subject: request.speaker.clone(),
        attribute: String::new(),
        value: String::new(),
        valid_from: message.timestamp,
        said: message.timestamp,
        source_messages,
    })
}
