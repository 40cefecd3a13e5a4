//! The lines of contexts that were packed for a user.

use std::collections::{HashSet, VecDeque};

use crate::score::is_date;
use crate::text::normalized_hash;

/// Number of lines that are remembered for a user: the latest.
const MAX_LINES: usize = 8_192;
/// Shorter lines are too common to be recognised.
const MIN_CHARS: usize = 12;
/// Hashes of the lines that contexts contained, oldest first.
#[derive(Clone, Default)]
pub(crate) struct RecalledLines {
    order: VecDeque<String>,
    known: HashSet<String>,
}

impl RecalledLines {
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

    pub fn knows(&self, line: &str) -> bool {
        !self.known.is_empty() && line_hash(line).is_some_and(|hash| self.known.contains(&hash))
    }
}

/// A line without the markup of lists, quotations and contexts.
pub(super) fn bare(line: &str) -> &str {
    let line = line.trim().trim_start_matches(['-', '>', '*', ' ']);
    let line = line.strip_prefix("[…]").unwrap_or(line).trim_start();
    // The date of a fact: "8 May: ".
    match line.split_once(": ") {
        Some((date, fact)) if is_date(date) => fact,
        _ => line,
    }
}

fn line_hash(line: &str) -> Option<String> {
    let line = bare(line);
    (line.chars().count() >= MIN_CHARS).then(|| normalized_hash(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_known_whatever_their_marks_and_forgotten_in_order() {
        let mut recalled = RecalledLines::default();
        recalled.note(
            "# Facts, 2024\n- 8 Mar: Ann lives in Lyon.\n# Mon 11 Mar 2024\n[…] Ann: I moved \
                to Lyon last Friday.",
        );
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
