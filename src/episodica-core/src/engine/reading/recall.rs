//! What was handed out as context comes back in prompts that are then added as messages: it is
//! recognised by its lines and not learned again.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use crate::engine::services::Services;
use crate::engine::user::User;
use crate::model::Message;
use crate::text::normalized_hash;

/// Lines remembered of one user, the latest.
const MAX_LINES: usize = 8_192;
/// A shorter line is anybody's.
const MIN_CHARS: usize = 12;

/// Hashes of the lines that were handed out, oldest first.
#[derive(Default)]
pub(crate) struct Recalled {
    order: VecDeque<String>,
    known: HashSet<String>,
}

impl Recalled {
    /// Remembers the lines of a context.
    pub fn note(&mut self, text: &str) {
        for hash in text.lines().filter_map(line_hash) {
            if self.known.insert(hash.clone()) {
                self.order.push_back(hash);
            }
        }
        while self.order.len() > MAX_LINES {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }

    fn knows(&self, line: &str) -> bool {
        !self.known.is_empty() && line_hash(line).is_some_and(|hash| self.known.contains(&hash))
    }
}

fn line_hash(line: &str) -> Option<String> {
    let line = line.trim().trim_start_matches(['-', '>', '*', ' ']);
    (line.chars().count() >= MIN_CHARS).then(|| normalized_hash(line))
}

impl Services {
    /// The messages as they may be learned from: without lines that this user's context held, or
    /// that are a known statement word for word in a message of several lines.
    pub(crate) fn without_recalled(
        &self,
        user: &User,
        messages: &[Arc<Message>],
    ) -> Vec<Arc<Message>> {
        let recalled = user.recalled.lock();
        let view = user.view.read();
        let mut hidden = 0;
        let seen = messages
            .iter()
            .map(|message| {
                let many = message.content.trim().contains('\n');
                let is_recalled = |line: &str| {
                    let bare = line.trim().trim_start_matches(['-', '>', '*', ' ']);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_known_whatever_their_marks_and_forgotten_in_order() {
        let mut recalled = Recalled::default();
        recalled
            .note("# 11 Mar 2024, Mon\nAnn: I moved to Lyon last Friday.\n- Ann lives in Lyon.");
        assert!(recalled.knows("> Ann: I moved to Lyon last Friday."));
        assert!(recalled.knows("ann lives in lyon"));
        assert!(!recalled.knows("Ben: I moved to Lyon last Friday."));
        assert!(!recalled.knows("ok"));
        for number in 0..MAX_LINES {
            recalled.note(&format!("a line with the number {number}"));
        }
        assert!(!recalled.knows("Ann lives in Lyon."));
    }
}
