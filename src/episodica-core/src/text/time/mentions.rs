//! Finds the mentions of a text: merges those that the patterns of its language find with those of
//! the Chinese grammar.

use super::mention::{NamedDates, TimeMention};
use super::neighbours::{follow_named, names_month};
use super::{chinese, neighbours, patterns};
use crate::clock::Moment;
use crate::text::{Language, is_cjk, language};

/// Number of texts before a day without its month that may name the month.
const NAMED_BEFORE: usize = 6;

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
pub(super) fn mentions_in(text: &str, anchor: Moment, language: Language) -> Vec<TimeMention> {
    let today = anchor.local().date();
    if !(1..=9999).contains(&today.year()) {
        return Vec::new();
    }
    let mut found = patterns::of(language).scan(text, today);
    let has_accents = || text.chars().any(|c| !c.is_ascii() && c.is_alphabetic() && !is_cjk(c));
    let is_doubtful = match language {
        Language::Other => true,
        Language::English => has_accents(),
        _ => false,
    };
    if found.is_empty() && is_doubtful {
        // A few words may not be enough to detect the language.
        let others = [Language::German, Language::Spanish, Language::French];
        let scans = others.map(|other| patterns::of(other).scan(text, today));
        found = scans.into_iter().find(|found| !found.is_empty()).unwrap_or_default();
        // It is German for "here", too.
        found.retain(|mention| !text[mention.start..mention.end].eq_ignore_ascii_case("hier"));
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

/// [`mentions_in`] of a text that follows `before`, the texts said before it, the nearest first: a
/// day without its month is of the month that the nearest of them names, if it names one.
pub(crate) fn mentions_after<'a>(
    before: impl Iterator<Item = &'a str>,
    text: &str,
    anchor: Moment,
    language: Language,
) -> Vec<TimeMention> {
    let mut found = mentions_in(text, anchor, language);
    let lacks_month = |mention: &TimeMention| mention.naming == NamedDates::NoMonth;
    let named = found.iter().position(names_month).unwrap_or(found.len());
    let followers = &mut found[..named];
    if !followers.iter().any(lacks_month) {
        return found;
    }
    let today = anchor.local().date();
    let earlier = before.take(NAMED_BEFORE).map(|text| mentions(text, anchor));
    if let Some(earlier) = earlier.into_iter().find(|found| found.iter().any(names_month)) {
        for mention in followers {
            follow_named(mention, &earlier, today);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_of_the_month_that_the_text_before_names() {
        let friday = Moment::parse("2025-02-21T18:00:00Z").unwrap();
        let day = |before: &[&str], text: &str| {
            let found = mentions_after(before.iter().copied(), text, friday, Language::English);
            found[0].day().map(|day| day.to_string())
        };
        let text = "I fly back on the 28th.";
        assert_eq!(day(&[], text).as_deref(), Some("2025-02-28"));
        // It was in July, and the flight is ahead.
        assert_eq!(day(&["Did we move on the 19th of July?", "No."], text), None);
        let told = ["Fine.", "We fly on 19 July 2025.", "We leave in August."];
        assert_eq!(day(&told, text).as_deref(), Some("2025-07-28"));
        // The text's own month counts first.
        assert_eq!(day(&told, "On 3 March, back on the 5th.").as_deref(), Some("2025-03-03"));
    }
}
