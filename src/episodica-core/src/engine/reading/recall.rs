//! Recognises contexts of this memory inside messages. Applications add their prompts as messages.
//! A context in such a message must be neither learned from nor found again.

use std::ops::Range;
use std::sync::Arc;

use jiff::civil::Date;

use crate::engine::memory::view::UserView;
use crate::engine::reading::recalled_lines::{RecalledLines, bare};
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::index::MessagePrior;
use crate::model::Message;
use crate::score::without_contexts;

/// Characters of a quoted line that are compared with a message: the line may be an excerpt.
const COMPARED_CHARS: usize = 24;
const LEAST_COMPARED: usize = 4;
/// Most quoted lines that are compared.
const COMPARED_LINES: usize = 16;

/// The parts of a message outside contexts of this memory; `None` if it contains no such context. A
/// context is this memory's if one of its lines quotes another message or a fact.
pub(crate) fn own_parts(view: &UserView, slot: u32) -> Option<Vec<Range<usize>>> {
    let message = view.messages.get(slot);
    let found = without_contexts(&message.content)?;
    let begin = |said: &str| -> String {
        said.trim_start_matches("[…] ").chars().take(COMPARED_CHARS).collect()
    };
    let quoted = found.quoted.iter().take(COMPARED_LINES);
    let (mut said, mut is_known): (Vec<(Date, String)>, bool) = (Vec::new(), false);
    for (day, line) in quoted {
        match day {
            Some(day) if line.chars().count() >= LEAST_COMPARED => said.push((*day, begin(line))),
            _ => is_known |= view.same_statement(line).is_some(),
        }
    }
    let is_quoted = |(other, prior): (u32, &MessagePrior)| {
        let day = Date::new(prior.day.year, prior.day.month, prior.day.day).ok();
        // The context may have been written for another time zone.
        let near = |date: &Date| day.is_some_and(|day| (*date - day).get_days().abs() <= 1);
        other != slot
            && said.iter().any(|(date, line)| {
                near(date)
                    && view.messages.contains(other)
                    && view.messages.get(other).content.contains(line.as_str())
            })
    };
    let mut all = (0..).zip(view.messages.priors());
    (is_known || !said.is_empty() && all.any(is_quoted)).then_some(found.rest)
}

impl EngineServices {
    /// The messages to learn from, without lines of contexts that were packed for this user.
    /// Messages of several lines also lose the lines that repeat a known fact word for word.
    pub(crate) fn without_recalled(
        &self,
        user: &OpenUser,
        messages: &[Arc<Message>],
    ) -> Vec<Arc<Message>> {
        let recalled = user.recalled.lock();
        self.unrecalled(&recalled, &user.view.read(), messages)
    }

    /// [`EngineServices::without_recalled`] for a view that is locked already.
    pub(crate) fn unrecalled(
        &self,
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
                    let bare = bare(line);
                    recalled.knows(line)
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
        self.counters.count("messages_with_recalled_context", hidden);
        seen
    }
}
