//! Dates that people mean: finds "last Friday", "in May 2023", 上周五 or 2023-05-08 in a text and
//! says which days they are.
//!
//! A mention is resolved against an anchor, the moment at which the text was written, whose local
//! date is "today". Weeks start on Monday. Times of day, durations ("for three years"), recurring
//! dates ("every Friday") and dates relative to something told in the text ("the day after the
//! wedding") are left alone. Seasons are those of the northern hemisphere; lunar feasts are not
//! computed.
//!
//! A mention is `confident` where a careful reader would not hesitate; the rest is for search,
//! never for rewriting a text.

mod calendar;
mod chinese;
mod chinese_dates;
mod chinese_numbers;
mod chinese_spans;
mod languages;
mod lunar;
mod meaning;
mod mention;
mod mentions;
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

pub use mention::{Grain, Naming, TimeMention};
pub use mentions::mentions;
pub use query::{DatePart, DateRange, date_parts, query_range};
pub use resolve::resolve_text;
