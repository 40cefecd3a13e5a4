//! The form in which a language states its words for dates and its signs of tense.

use super::calendar::CalendarUnit;
use super::holidays::Holiday;

/// The value that stands for "a few" among a language's counts.
pub(super) const FEW: i64 = 0;

/// Selects one of several weekdays, months, seasons or feasts with the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedStep {
    BeforeLast,
    Last,
    This,
    Next,
    /// "Next Friday": the coming one for some speakers, a week later for others.
    NextOrLater,
    /// The one that matches the tense of the clause.
    Tense,
}

/// The meaning of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternMeaning {
    /// A day this many days away.
    Day(i64),
    /// The next day; in some languages the word also means "morning".
    Tomorrow,
    /// Approximately this many weeks or months away.
    WeeksAway(i64),
    /// As `WeeksAway`, in words that may also express a duration.
    InWeeks(i64),
    MonthsAway(i64),
    /// `{n}` `{unit}` before today.
    Ago,
    /// `{n}` `{unit}` after today.
    In,
    /// As `In`, in words that may also express a duration.
    InUnits,
    /// `{n}` `{unit}`, one if the pattern has no `{n}`, and perhaps `{n2}` days from `{base}`, a
    /// day near today.
    CountedFrom,
    /// The range of `{n}` `{unit}` (of one `{unit}` if the pattern has no `{n}`) that ends today
    /// (-1) or begins today (1).
    Rolling(i64),
    Weekday(NamedStep),
    /// `{wd}` of the week this many weeks away.
    WeekdayOf(i64),
    /// This many weeks, or `{n}`, after the next `{wd}`.
    WeekdayAnd(i64),
    /// This many weeks before the last `{wd}`.
    WeekdayAgo(i64),
    /// The `{nth}` `{wd}` of `{mon}`.
    NthWeekday,
    /// The `{nth}` week or weekend of `{mon}`.
    SpanOfMonth,
    /// The bare name of a month.
    MonthName,
    /// The `{unit}` this many units away.
    Unit(i64),
    /// The unit that includes today.
    This(CalendarUnit),
    /// The weekend that matches the tense.
    Weekend,
    Season(NamedStep),
    Month(NamedStep),
    /// `{mon}` of the year this many years away.
    MonthOfYear(i64),
    /// `{d}` of the month this many months away.
    DayOfMonthAway(i64),
    Feast(NamedStep),
    /// A day or a range of days of `{mon}` or `{m}`.
    Date,
    /// `{mon}` to `{mon2}`.
    Months,
    DayOfMonth,
    Year,
    /// A year before a noun: "the 2019 marathon".
    YearOf,
    Decade,
    /// `1/2/2024`.
    Slashed,
}

/// The words of a language for the patterns; every name is a regular expression in lower case.
pub(super) struct DateVocabulary {
    pub months: [&'static str; 12],
    pub weekdays: [&'static str; 7],
    pub units: &'static [(&'static str, CalendarUnit)],
    pub numbers: &'static [(&'static str, i64)],
    pub day_words: &'static [(&'static str, i8)],
    /// From spring to winter.
    pub seasons: [&'static str; 4],
    pub feasts: &'static [(&'static str, Holiday)],
    pub patterns: &'static [(&'static str, PatternMeaning)],
    /// Words that make a date recur every week or year.
    pub habits: &'static str,
    /// Words before a word for "tomorrow" that give it the meaning "morning".
    pub mornings: &'static str,
    /// Words after a day or a feast that show that it is not part of a longer name.
    pub goes_on: &'static str,
    /// Texts that are not dates, up to the end of the mention.
    pub rejected: &'static [&'static str],
    /// Words after a number that is a count, not a date.
    pub counted: &'static str,
    /// Whether `1/2/2024` is in February.
    pub day_first: bool,
}

/// The signs of the tenses of a language: verb forms and particles, as regular expressions. If
/// several match at one position, the first in the order of the fields wins.
pub(super) struct TenseSigns {
    /// Words that match another field only by accident.
    pub shadows: &'static [&'static str],
    /// The future in a past form: "decided to move".
    pub intentions: &'static [&'static str],
    /// The past of verbs of arranging, "booked", whose date may be that of the deed or that of what
    /// was arranged.
    pub arranged: &'static [&'static str],
    /// Words between such a verb and its date for what was arranged: "booked a table for".
    pub purposes: &'static str,
    /// Words that leave the tense of the date open although they contain a sign: "told me".
    pub doubts: &'static [&'static str],
    pub past: &'static [&'static str],
    /// The future, and present forms for what is arranged.
    pub ahead: &'static [&'static str],
    /// Ambiguous forms.
    pub open: &'static [&'static str],
    /// The replacements of `<participle>` and `<irregular>` in the other fields.
    pub participle: &'static str,
    pub irregular: &'static str,
    /// Words for a person. A clause without them and without a sign of tense may be about every
    /// year if it has one of the impersonal words.
    pub personal: &'static str,
    pub impersonal: &'static str,
    /// Words that begin a clause.
    pub conjunctions: &'static str,
    pub rule: TenseRule,
    /// Whether the language writes spaces between words.
    pub spaced: bool,
}

/// Selects the deciding sign among several in a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TenseRule {
    /// The nearest sign before the date, else the first sign after it.
    Nearest,
    /// Any past sign; a clause without one is in the future.
    PastFirst,
    /// Any future sign, else any past sign.
    AheadFirst,
}
