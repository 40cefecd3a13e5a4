//! Finds the mentions of a text: merges those that the patterns of its language find with those of
//! the Chinese grammar.

use super::mention::TimeMention;
use super::{chinese, neighbours, patterns};
use crate::clock::Moment;
use crate::text::{Language, is_cjk, language};

/// The times that `text` mentions, in order, without overlaps, for a text written at `anchor`.
///
/// The patterns of German, Spanish and French read texts in these languages, the English patterns
/// all other texts; the Chinese grammar reads every text. Dates outside the years 1 to 9999 are
/// left out.
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
    mentions_in(text, anchor, language(text))
}

/// [`mentions`] of a text in a known language, for texts too short to detect it.
pub(crate) fn mentions_in(text: &str, anchor: Moment, language: Language) -> Vec<TimeMention> {
    let today = anchor.local().date();
    if !(1..=9999).contains(&today.year()) {
        return Vec::new();
    }
    let mut found = patterns::of(language).scan(text, today);
    let has_accents = || text.chars().any(|c| !c.is_ascii() && c.is_alphabetic() && !is_cjk(c));
    if found.is_empty() && (language == Language::Other || has_accents()) {
        // A few words may not be enough to detect the language.
        let others = [Language::German, Language::Spanish, Language::French];
        let scans = others.map(|other| patterns::of(other).scan(text, today));
        found = scans.into_iter().find(|found| !found.is_empty()).unwrap_or_default();
    }
    // Every Han character that begins a pattern starts with one of these bytes in UTF-8.
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
    neighbours::settle(text, today, &mut found);
    found
}
