//! The time range that a question is about.

use std::collections::BTreeSet;

use jiff::civil::Date;

use super::mention::{DateGrain, NamedDates, TimeMention};
use super::mentions::mentions;
use crate::clock::Moment;

/// The days that a question is about, from `from` to `to`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DateRange {
    /// The first day, or `None` for "before …" and "until …".
    pub from: Option<Date>,
    /// The last day, or `None` for "after …" and "since …".
    pub to: Option<Date>,
}

/// One part of a date in a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DatePart {
    /// A year.
    Year(i16),
    /// A month, 1 to 12.
    Month(i8),
    /// A day of the month.
    Day(i8),
    /// A day of the week, 0 = Monday.
    Weekday(i8),
}

/// The parts of dates that `text` names ("in May 2023", "5月3日", "on a Friday") and that do not
/// depend on the date of the question.
///
/// ```
/// use episodica_core::text::time::{DatePart, date_parts};
/// let parts: Vec<DatePart> = date_parts("Where did we go on 5 May?").into_iter().collect();
/// assert_eq!(parts, [DatePart::Month(5), DatePart::Day(5)]);
/// assert!(date_parts("Where did we go yesterday?").is_empty());
/// ```
pub fn date_parts(text: &str) -> BTreeSet<DatePart> {
    let mut parts = BTreeSet::new();
    // No part depends on the day of the question.
    let anchor = Moment::new(0, 0).unwrap_or(Moment::MIN);
    for mention in mentions(text, anchor) {
        let (from, to) = (mention.from, mention.to);
        if mention.naming == NamedDates::Weekday {
            parts.insert(DatePart::Weekday(from.weekday().to_monday_zero_offset()));
        }
        if mention.naming == NamedDates::Days && mention.grain != DateGrain::Decade {
            parts.extend([DatePart::Year(from.year()), DatePart::Year(to.year())]);
        }
        if matches!(mention.naming, NamedDates::Days | NamedDates::NoYear) {
            if matches!(mention.grain, DateGrain::Day | DateGrain::Month) {
                parts.extend([DatePart::Month(from.month()), DatePart::Month(to.month())]);
            }
            if mention.grain == DateGrain::Day {
                parts.extend([DatePart::Day(from.day()), DatePart::Day(to.day())]);
            }
        }
    }
    parts
}

/// The side of a mention that a question is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QuestionSide {
    Within,
    /// Before the mention; `true` = the days of the mention count too ("until"), `false` = they
    /// don't ("before").
    Before(bool),
    /// After the mention; `true` = the days of the mention count too ("since").
    After(bool),
}

/// The days of `text`, a question asked at `now`; `None` if it names no time.
///
/// Several mentions give the range that covers them all. Uncertain mentions count only if all are
/// uncertain, so use the result as a preference, or as a filter that can be relaxed.
///
/// ```
/// use episodica_core::clock::Moment;
/// use episodica_core::text::time::query_range;
/// let now = Moment::parse("2023-05-08T10:00:00Z")?;
/// let range = query_range("Where did we go last week?", now).expect("a time is named");
/// assert_eq!(range.from.map(|day| day.to_string()).as_deref(), Some("2023-05-01"));
/// assert_eq!(range.to.map(|day| day.to_string()).as_deref(), Some("2023-05-07"));
/// let since = query_range("Where has she worked since 2019?", now).expect("a range");
/// assert_eq!(since.to, None);
/// assert_eq!(query_range("Who is Anna?", now), None);
/// # Ok::<(), episodica_core::Error>(())
/// ```
pub fn query_range(text: &str, now: Moment) -> Option<DateRange> {
    let mut found = mentions(text, now);
    if found.iter().any(|mention| mention.confident) {
        found.retain(|mention| mention.confident);
    }
    let mut whole: Option<DateRange> = None;
    for mention in &found {
        let one = one_range(text, mention);
        whole = Some(match whole {
            None => one,
            Some(range) => DateRange {
                from: range.from.zip(one.from).map(|(a, b)| a.min(b)),
                to: range.to.zip(one.to).map(|(a, b)| a.max(b)),
            },
        });
    }
    whole
}

fn one_range(text: &str, mention: &TimeMention) -> DateRange {
    let tomorrow = |day: Date| day.tomorrow().unwrap_or(day);
    let yesterday = |day: Date| day.yesterday().unwrap_or(day);
    match side(text, mention) {
        QuestionSide::Within => DateRange { from: Some(mention.from), to: Some(mention.to) },
        QuestionSide::Before(included) => DateRange {
            from: None,
            to: Some(if included { mention.to } else { yesterday(mention.from) }),
        },
        QuestionSide::After(included) => DateRange {
            from: Some(if included { mention.from } else { tomorrow(mention.to) }),
            to: None,
        },
    }
}

/// The side given by the word before the mention, or after it in Chinese.
fn side(text: &str, mention: &TimeMention) -> QuestionSide {
    let surface = &text[mention.start..mention.end];
    let first = surface.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    if let Some(side) = side_of(&first.to_lowercase()) {
        return side;
    }
    let before = text[..mention.start].trim_end();
    let before = before.strip_suffix("the").map_or(before, str::trim_end);
    let word_start = before
        .rfind(|c: char| !c.is_alphabetic())
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    if let Some(side) = side_of(&before[word_start..].to_lowercase()) {
        return side;
    }
    let after = &text[mention.end..];
    if ["以前", "之前", "前"].iter().any(|word| after.starts_with(word)) {
        QuestionSide::Before(false)
    } else if ["以来", "以來", "起"].iter().any(|word| after.starts_with(word)) {
        QuestionSide::After(true)
    } else if ["以后", "以後", "之后", "之後", "后", "後"]
        .iter()
        .any(|word| after.starts_with(word))
    {
        QuestionSide::After(false)
    } else {
        QuestionSide::Within
    }
}

/// The side given by a preposition. Omits the German "vor", which also means "ago".
fn side_of(preposition: &str) -> Option<QuestionSide> {
    match preposition {
        "before" | "antes" | "avant" => Some(QuestionSide::Before(false)),
        "until" | "till" | "bis" | "hasta" | "jusqu" => Some(QuestionSide::Before(true)),
        "after" | "nach" | "después" | "après" => Some(QuestionSide::After(false)),
        "since" | "seit" | "ab" | "desde" | "depuis" | "dès" => Some(QuestionSide::After(true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> String {
        let now = Moment::parse("2023-05-08T10:00:00Z").unwrap();
        let end = |day: Option<Date>| day.map_or("..".to_owned(), |day| day.to_string());
        query_range(text, now)
            .map_or("none".to_owned(), |range| format!("{} {}", end(range.from), end(range.to)))
    }

    #[test]
    fn dates_of_questions() {
        use DatePart::{Day, Month, Weekday, Year};
        let parts = |text| date_parts(text).into_iter().collect::<Vec<_>>();
        assert_eq!(parts("What happened on 5 May 2023?"), [Year(2023), Month(5), Day(5)]);
        assert_eq!(parts("the 3rd of June"), [Month(6), Day(3)]);
        assert_eq!(parts("may I march on?"), []);
        assert_eq!(parts("on 2023-05-08, a Monday"), [Year(2023), Month(5), Day(8)]);
        assert_eq!(parts("What did we eat on Friday?"), [Weekday(4)]);
        assert_eq!(parts("the January sale"), [Month(1)]);
        assert_eq!(parts("who won the 2021 race?"), [Year(2021)]);
        assert_eq!(parts("2021年5月3日"), [Year(2021), Month(5), Day(3)]);
        assert_eq!(parts("Was war am 3. Mai?"), [Month(5), Day(3)]);
        assert_eq!(parts("¿Qué hicimos en mayo de 2023?"), [Year(2023), Month(5)]);
    }

    #[test]
    fn questions() {
        for (text, expected) in [
            ("What did we do in May 2023?", "2023-05-01 2023-05-31"),
            ("When did I meet Ana last week?", "2023-05-01 2023-05-07"),
            ("Where did she live before 2020?", ".. 2019-12-31"),
            ("What happened after March 5, 2022?", "2022-03-06 .."),
            ("What has changed since the summer of 2021?", "2021-06-01 .."),
            ("Between May and July 2022, what did we read?", "2022-05-01 2022-07-31"),
            ("Did I travel in 2019 or in 2021?", "2019-01-01 2021-12-31"),
            ("What did I eat on Friday?", "2023-05-05 2023-05-05"),
            ("What did we plan over the last two weeks?", "2023-04-24 2023-05-08"),
            ("When did Ana move?", "none"),
            ("去年我去了哪里？", "2022-01-01 2022-12-31"),
            ("2020年以前她住在哪里？", ".. 2019-12-31"),
            ("去年夏天以来发生了什么？", "2022-06-01 .."),
            ("上周我们聊了什么", "2023-05-01 2023-05-07"),
            ("她什么时候搬家的", "none"),
        ] {
            assert_eq!(range(text), expected, "{text}");
        }
    }
}
