//! Leaves out contexts of this memory where a message is learned from.

use std::sync::Arc;

use crate::engine::memory::recalled::{RecalledLines, bare_line};
use crate::engine::memory::view::UserView;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::model::Message;

/// The messages to learn from, without lines of contexts that were packed for this user.
/// Messages of several lines also lose the lines that repeat a known fact word for word.
pub(crate) fn without_recalled(
    services: &EngineServices,
    user: &OpenUser,
    messages: &[Arc<Message>],
) -> Vec<Arc<Message>> {
    let recalled = user.recalled.lock();
    unrecalled_in(services, &recalled, &user.view.read(), messages)
}

/// [`without_recalled`] for a view that is locked already.
pub(crate) fn unrecalled_in(
    services: &EngineServices,
    recalled: &RecalledLines,
    view: &UserView,
    messages: &[Arc<Message>],
) -> Vec<Arc<Message>> {
    let mut hidden = 0;
    let seen = messages
        .iter()
        .map(|message| {
            let many = message.content.trim().contains('\n');
            let is_recalled = |line: &str| {
                let bare = bare_line(line);
                recalled.has_line(line)
                    || many && !bare.is_empty() && view.same_statement(bare).is_some()
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
