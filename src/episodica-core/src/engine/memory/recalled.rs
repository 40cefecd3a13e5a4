//! Recognises contexts of this memory inside messages. Applications add their prompts as messages.
//! A context in such a message must be neither learned from nor found again.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use jiff::civil::Date;

use crate::engine::memory::view::UserView;
use crate::index::MessagePrior;
use crate::score::{is_date, unmarked, without_contexts};
use crate::text::normalized_hash;

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
        unmarked(said).trim_start().chars().take(COMPARED_CHARS).collect()
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
                    && view.messages.has_message(other)
                    && unmarked(&view.messages.get(other).content).contains(line.as_str())
            })
    };
    let mut all = (0..).zip(view.messages.priors());
    (is_known || !said.is_empty() && all.any(is_quoted)).then_some(found.rest)
}

/// Number of lines that are remembered for a user: the latest.
const MAX_LINES: usize = 8_192;
/// Shorter lines are too common to be recognised.
const MIN_CHARS: usize = 12;

/// Hashes of the lines that contexts contained, oldest first, each with the slot of the next
/// message when it was first recalled: no earlier message can be a copy of it.
#[derive(Clone, Default)]
pub(crate) struct RecalledLines {
    order: VecDeque<String>,
    known: HashMap<String, u32>,
}

impl RecalledLines {
    pub fn note_line(&mut self, text: &str, next: u32) {
        for hash in text.lines().filter_map(line_hash) {
            self.known.entry(hash).or_insert_with_key(|hash| {
                self.order.push_back(hash.clone());
                next
            });
        }
        while self.order.len() > MAX_LINES {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }

    /// True if the message with this slot has the line from a context.
    pub fn has_line(&self, line: &str, slot: u32) -> bool {
        let first = || self.known.get(&line_hash(line)?).copied();
        !self.known.is_empty() && first().is_some_and(|first| first <= slot)
    }
}

/// A line without the markup of lists, quotations and contexts.
pub(crate) fn bare_line(line: &str) -> &str {
    let line = line.trim().trim_start_matches(['-', '>', '*', ' ']);
    let line = line.strip_prefix("[…]").unwrap_or(line).trim_start();
    // The date of a fact: "8 May: ".
    match line.split_once(": ") {
        Some((date, fact)) if is_date(date) => fact,
        _ => line,
    }
}

fn line_hash(line: &str) -> Option<String> {
    let line = bare_line(line);
    (line.chars().count() >= MIN_CHARS).then(|| normalized_hash(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_known_whatever_their_marks_and_forgotten_in_order() {
        let mut recalled = RecalledLines::default();
        recalled.note_line(
            "# Facts, 2024\n- 8 Mar: Ann lives in Lyon.\n# Mon 11 Mar 2024\n[…] Ann: I moved \
                to Lyon last Friday.",
            7,
        );
        recalled.note_line("Ann lives in Lyon.", 9);
        assert!(recalled.has_line("> Ann: I moved to Lyon last Friday.", 7));
        assert!(recalled.has_line("ann lives in lyon", 8));
        assert!(!recalled.has_line("ann lives in lyon", 6));
        assert!(!recalled.has_line("Ben: I moved to Lyon last Friday.", 8));
        assert!(!recalled.has_line("ok", 8));
        for number in 0..MAX_LINES {
            recalled.note_line(&format!("a line with the number {number}"), 10);
        }
        assert!(!recalled.has_line("Ann lives in Lyon.", 11));
    }
}
