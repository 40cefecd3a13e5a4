//! A mention of time, and how it is written with its date.

use jiff::civil::Date;

use super::style;
use crate::text::Language;

/// How precise a mention is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Grain {
    /// One day, or a range of days that fits none of the others.
    Day,
    /// Saturday and Sunday.
    Weekend,
    /// Monday to Sunday.
    Week,
    /// One calendar month, or several.
    Month,
    /// Three months; a winter begins in December of the year before the one it ends in.
    Season,
    /// One calendar year, or several.
    Year,
    /// Ten calendar years.
    Decade,
}

/// What the words of a mention name without looking at when they were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Naming {
    /// All of its days.
    Days,
    /// A day or a month of which only the year is missing.
    NoYear,
    /// A day of the week.
    Weekday,
    /// Nothing: "yesterday", "last summer".
    Nothing,
}

/// A place in a text that names a time, and the days it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeMention {
    /// Where the mention starts, in bytes of the text.
    pub start: usize,
    /// Where it ends (exclusive), in bytes of the text.
    pub end: usize,
    /// The first day that is meant.
    pub from: Date,
    /// The last day that is meant; never before `from`.
    pub to: Date,
    /// How precise the mention is.
    pub grain: Grain,
    /// Whether its meaning depends on when it was written.
    pub relative: bool,
    /// Whether a careful reader would have no doubt about the days.
    pub confident: bool,
    /// The day that a vague mention centres on ("two weeks ago").
    pub about: Option<Date>,
    /// What its words name by themselves.
    pub naming: Naming,
    /// The language of the mention.
    pub language: Language,
}

impl TimeMention {
    /// The days in ISO 8601: a day, a month (`2023-05`), a year (`2023`), or an interval of days
    /// (`2023-05-01/2023-05-07`).
    pub fn iso(&self) -> String {
        let (from, to) = (self.from, self.to);
        let day = |date: Date| format!("{:04}-{:02}-{:02}", date.year(), date.month(), date.day());
        let same_month = (from.year(), from.month()) == (to.year(), to.month());
        match self.grain {
            Grain::Month if same_month => format!("{:04}-{:02}", from.year(), from.month()),
            Grain::Year if from.year() == to.year() => format!("{:04}", from.year()),
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
            Grain::Month if same_month => style.month(from),
            Grain::Season if from.month() < 12 => style.season(
                usize::from(from.month() >= 6) + usize::from(from.month() >= 9),
                from.year(),
            ),
            Grain::Month | Grain::Season => style.span(&style.month(from), &style.month(to)),
            Grain::Year if from.year() == to.year() => style.year(from.year()),
            Grain::Year | Grain::Decade => {
                style.span(&style.year(from.year()), &style.year(to.year()))
            }
            _ if from == to => style.day(from),
            _ if same_month => style.days(from, to),
            _ => style.span(&style.day(from), &style.day(to)),
        }
    }
}
