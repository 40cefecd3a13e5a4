//! The time that a question asks about.

use jiff::civil::Date;

use super::mentions::mentions;
use crate::clock::Moment;

/// The days a question asks about, inclusive at both ends; an end that is left open has no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DateRange {
    /// The first day, or `None` for "before …".
    pub from: Option<Date>,
    /// The last day, or `None` for "after …" and "since …".
    pub to: Option<Date>,
}

/// The days that `text`, a question asked at `now`, is about; `None` if it names no time.
///
/// Several mentions give the range that holds them all. What is found is meant as a preference or a filter that can be relaxed: it
/// includes mentions that are not confident if there are no others.
///
/// ```
/// use episodica_core::clock::Moment;
/// use episodica_core::text::time::query_range;
/// let now = Moment::parse("2023-05-08T10:00:00Z")?;
/// let range = query_range("What did we do yesterday?", now).expect("a time is named");
/// assert_eq!(range.from.map(|day| day.to_string()).as_deref(), Some("2023-05-07"));
/// assert_eq!(query_range("Who is Anna?", now), None);
/// # Ok::<(), episodica_core::Error>(())
/// ```
pub fn query_range(text: &str, now: Moment) -> Option<DateRange> {
    let mut found = mentions(text, now);
    if found.iter().any(|mention| mention.confident) {
        found.retain(|mention| mention.confident);
    }
    let from = found.iter().map(|mention| mention.from).min()?;
    let to = found.iter().map(|mention| mention.to).max()?;
    Some(DateRange { from: Some(from), to: Some(to) })
}
