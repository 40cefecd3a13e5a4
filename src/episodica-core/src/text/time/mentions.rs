//! Finding the mentions of a text.

use jiff::ToSpan;

use super::mention::{Grain, TimeMention};
use crate::clock::Moment;

/// The times that `text` mentions, in order, without overlaps, resolved as written at `anchor`.
///
/// Dates outside the years 1 to 9999 are left out. Linear in the length of the text.
///
/// ```
/// use episodica_core::clock::Moment;
/// use episodica_core::text::time::mentions;
/// let monday = Moment::parse("2023-05-08T10:00:00Z")?;
/// let found = mentions("I ran a race yesterday.", monday);
/// assert_eq!(found[0].iso(), "2023-05-07");
/// # Ok::<(), episodica_core::Error>(())
/// ```
pub fn mentions(text: &str, anchor: Moment) -> Vec<TimeMention> {
    let today = anchor.local().date();
    let lower = text.to_ascii_lowercase();
    let mut found = Vec::new();
    for (word, days) in [("yesterday", -1), ("today", 0), ("tomorrow", 1), ("昨天", -1), ("今天", 0), ("明天", 1)] {
        for (start, _) in lower.match_indices(word) {
            if let Ok(date) = today.checked_add(i64::from(days).days()) {
                let end = start + word.len();
                found.push(TimeMention { start, end, from: date, to: date, grain: Grain::Day, relative: true, confident: true });
            }
        }
    }
    found.sort_by_key(|mention| mention.start);
    found
}
