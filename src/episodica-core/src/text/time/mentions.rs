//! Finding the mentions of a text: the English and the Chinese grammar over the same text, merged.

use super::mention::TimeMention;
use super::{chinese, english};
use crate::clock::Moment;

/// The times that `text` mentions, in order, without overlaps, resolved as written at `anchor`.
///
/// English and Chinese patterns are both read, whatever the language of the text. Dates outside the
/// years 1 to 9999 are left out. Linear in the length of the text; a message without dates costs
/// about a microsecond.
///
/// ```
/// use episodica_core::clock::Moment;
/// use episodica_core::text::time::mentions;
/// let monday = Moment::parse("2023-05-08T10:00:00Z")?;
/// let found = mentions("I ran a race yesterday, like last May.", monday);
/// assert_eq!(found[0].iso(), "2023-05-07");
/// assert_eq!(found[1].iso(), "2022-05");
/// # Ok::<(), episodica_core::Error>(())
/// ```
pub fn mentions(text: &str, anchor: Moment) -> Vec<TimeMention> {
    let today = anchor.local().date();
    if !(1..=9999).contains(&today.year()) {
        return Vec::new();
    }
    let mut found = english::scan(text, today);
    // Every Han character of the patterns begins with one of these bytes in UTF-8.
    if text.bytes().any(|byte| (0xE3..=0xEF).contains(&byte)) {
        let chinese = chinese::scan(text, today);
        if !chinese.is_empty() {
            found.extend(chinese);
            found.sort_by_key(|mention| (mention.start, std::cmp::Reverse(mention.end)));
            let mut end = 0;
            found.retain(|mention| {
                let free = mention.start >= end;
                if free {
                    end = mention.end;
                }
                free
            });
        }
    }
    found
}
