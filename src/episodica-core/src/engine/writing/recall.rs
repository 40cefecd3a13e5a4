//! Leaves out contexts of this memory where a message is learned from.

use std::sync::Arc;

use crate::engine::memory::recalled::bare_line;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::model::{Message, SemanticMemory};

/// The messages to learn from, without lines of contexts that were packed for this user before they
/// were said. Messages of several lines also lose the lines that repeat a known fact word for word,
/// unless it was learned from them: a model may be asked again about a message.
pub(crate) fn without_recalled(
    services: &EngineServices,
    user: &OpenUser,
    messages: &[Arc<Message>],
) -> Vec<Arc<Message>> {
    // In this order, as where contexts are packed.
    let view = user.view.read();
    let recalled = user.recalled.lock();
    let mut hidden = 0;
    let seen = messages
        .iter()
        .map(|message| {
            let many = message.content.trim().contains('\n');
            let slot = view.messages.slot_of(&message.message_id).unwrap_or(u32::MAX);
            let is_of_others =
                |fact: &Arc<SemanticMemory>| !fact.source_messages.contains(&message.message_id);
            let is_recalled = |line: &str| {
                let bare = bare_line(line);
                recalled.has_line(line, slot)
                    || many
                        && !bare.is_empty()
                        && view.same_statement(bare).is_some_and(is_of_others)
            };
            if !message.content.lines().any(is_recalled) {
                return Arc::clone(message);
            }
            hidden += 1;
            let kept: Vec<&str> =
                message.content.lines().filter(|line| !is_recalled(line)).collect();
            Arc::new(Message { content: kept.join("\n"), ..(**message).clone() })
        })
        .collect();
    services.counters.count_event("messages_with_recalled_context", hidden);
    seen
}
