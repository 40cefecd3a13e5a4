//! Dates in texts: finds "last Friday", "in May 2023", 上周五 or 2023-05-08 in a text and resolves
//! them to days.
//!
//! A mention is resolved against an anchor, the time of the text, whose local date is "today".
//! Weeks start on Monday. Times of day, durations ("for three years"), recurring dates ("every
//! Friday") and dates relative to an event in the text ("the day after the wedding") are not
//! resolved. Seasons are those of the northern hemisphere; lunar feasts come from a table.
//!
//! A mention is `confident` if a careful reader would be certain of its days. All other mentions
//! serve search only: neither a rewritten text nor a mark in a context has their days.

mod annual;
mod calendar;
mod chinese;
mod chinese_dates;
mod chinese_numbers;
mod chinese_spans;
mod counted;
mod grammar;
mod holidays;
mod joined;
mod languages;
mod lunar;
mod meaning;
mod mention;
mod mentions;
mod neighbours;
mod patterns;
mod query;
mod resolve;
mod style;
mod tense;
#[cfg(test)]
mod tests_cases;
#[cfg(test)]
mod tests_chinese;
#[cfg(test)]
mod tests_english;

pub use mention::{DateGrain, NamedDates, TimeMention};
pub use mentions::mentions;
pub(crate) use mentions::mentions_after;
pub use query::{DatePart, DateRange, date_parts, query_range};
#[cfg(test)]
use resolve::tests::resolve_text;
pub(crate) use resolve::{day_marks, with_dates};
