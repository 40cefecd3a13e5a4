//! A mention of time, and its output form with its date.

use jiff::civil::Date;

use super::style;
use crate::text::Language;

/// The precision of a mention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DateGrain {
    /// One day, or a range of days that none of the other values describes.
    Day,
    /// Saturday and Sunday.
    Weekend,
    /// Monday to Sunday.
    Week,
    /// One calendar month, or several.
    Month,
    /// Three months; a winter begins in December of the year before its end.
    Season,
    /// One calendar year, or several.
    Year,
    /// Ten calendar years.
    Decade,
}

/// The dates that a mention states by itself, regardless of the date of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NamedDates {
    /// All of its days.
    Days,
    /// A day or a month without its year.
    NoYear,
    /// A day without its month: "the 17th".
    NoMonth,
    /// A weekday.
    Weekday,
    /// Nothing: "yesterday", "last summer".
    Nothing,
}

/// A part of a text that names a time, and its days.
///
/// `from` and `to` are the whole range that the words leave open, "since 2019" all of 2019 and "the
/// end of July" all of July; `from` alone is not the day that is meant. Only [`day`](Self::day) is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeMention {
    /// Start of the mention, in bytes of the text.
    pub start: usize,
    /// End of the mention (exclusive), in bytes of the text.
    pub end: usize,
    /// The first day of the range.
    pub from: Date,
    /// The last day of the range; never before `from`.
    pub to: Date,
    /// The precision.
    pub grain: DateGrain,
    /// Whether the days depend on the date of the text.
    pub relative: bool,
    /// Whether a careful reader would be certain of the days.
    pub confident: bool,
    /// The centre of a vague mention ("two weeks ago").
    pub about: Option<Date>,
    /// The dates that its words state by themselves.
    pub naming: NamedDates,
    /// The language of the mention.
    pub language: Language,
}

impl TimeMention {
    /// Makes the days uncertain that depend on the date of the text: it may not be known.
    pub(crate) fn leave_open(&mut self) {
        self.confident &= !self.relative;
    }

    /// The day, if the mention is certain and names exactly one.
    ///
    /// ```
    /// use episodica_core::clock::Moment;
    /// use episodica_core::text::time::mentions;
    /// let monday = Moment::parse("2023-05-08T10:00:00Z")?;
    /// let day = |text| mentions(text, monday)[0].day().map(|day| day.to_string());
    /// assert_eq!(day("I ran a race yesterday.").as_deref(), Some("2023-05-07"));
    /// assert_eq!(day("I have lived here since 2019."), None);
    /// # Ok::<(), episodica_core::Error>(())
    /// ```
    pub fn day(&self) -> Option<Date> {
        (self.confident && self.from == self.to && self.about.is_none()).then_some(self.from)
    }

    /// The days in ISO 8601: a day, a month (`2023-05`), a year (`2023`), or an interval of days
    /// (`2023-05-01/2023-05-07`).
    pub fn iso(&self) -> String {
        let (from, to) = (self.from, self.to);
        let day = |date: Date| format!("{:04}-{:02}-{:02}", date.year(), date.month(), date.day());
        let same_month = (from.year(), from.month()) == (to.year(), to.month());
        match self.grain {
            DateGrain::Month if same_month => format!("{:04}-{:02}", from.year(), from.month()),
            DateGrain::Year if from.year() == to.year() => format!("{:04}", from.year()),
            _ if from == to => day(from),
            _ => format!("{}/{}", day(from), day(to)),
        }
    }

    /// The days in the words of `language`: "5 May 2023", "around 5 May 2023", "1 to 7 May 2023",
    /// "summer 2022"; 2023年5月5日 in Chinese. `Other` gets English.
    pub(crate) fn describe(&self, language: Language) -> String {
        let style = style::of(language);
        if let Some(day) = self.about {
            return style.around(&style.day(day));
        }
        let (from, to) = (self.from, self.to);
        let same_month = (from.year(), from.month()) == (to.year(), to.month());
        match self.grain {
            DateGrain::Month if same_month => style.month(from),
            DateGrain::Season if from.month() < 12 => style.season(
                usize::from(from.month() >= 6) + usize::from(from.month() >= 9),
                from.year(),
            ),
            DateGrain::Month | DateGrain::Season => {
                style.span(&style.month(from), &style.month(to))
            }
            DateGrain::Year if from.year() == to.year() => style.year(from.year()),
            DateGrain::Year | DateGrain::Decade => {
                style.span(&style.year(from.year()), &style.year(to.year()))
            }
            _ if from == to => style.day(from),
            _ if same_month => style.days(from, to),
            _ => style.span(&style.day(from), &style.day(to)),
        }
    }
}
