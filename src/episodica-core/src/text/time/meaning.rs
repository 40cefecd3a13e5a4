//! The meaning of a pattern match: its days, and how certain they are.

use jiff::civil::{Date, Weekday};

use super::calendar::{self, CalendarUnit, Days, TimeLean};
use super::grammar::{FEW, NamedStep, PatternMeaning};
use super::mention::{DateGrain, NamedDates};
use super::patterns::DatePatterns;
use super::tense::{DateReach, SENTENCE_ENDS};
use crate::text::Language;
use crate::text::expression::TextMatch;

/// Words at the start of a mention that indicate the future, unless its clause is in the past.
const FORWARD: [&str; 14] = [
    "until",
    "till",
    "by",
    "for",
    "before",
    "through",
    "bis",
    "ab",
    "vor",
    "hasta",
    "antes de",
    "jusqu",
    "avant",
    "à partir",
];

/// Words at the start of a mention for the day of an arrangement, which is ahead even if the
/// arrangement is told in the past: "auf den 9. April verlegt".
const TARGETS: [&str; 9] = ["für", "fürs", "auf", "al", "para", "pour", "au", "übers", "über das"];

/// The days of a match, and their output form.
pub(super) struct DateMatch {
    pub days: Days,
    pub grain: DateGrain,
    pub about: Option<Date>,
    /// True if the words determine the days regardless of the date of the text.
    pub absolute: bool,
    /// True if only the year is missing.
    pub lacks_year: bool,
    /// True if the words name a weekday.
    pub weekday: bool,
    /// True if the words name a day of the month without its month.
    pub lacks_month: bool,
    pub confident: bool,
}

impl DateMatch {
    pub(super) fn new(days: Days, grain: DateGrain) -> Self {
        Self {
            days,
            grain,
            about: None,
            absolute: false,
            lacks_year: false,
            weekday: false,
            lacks_month: false,
            confident: true,
        }
    }

    pub(super) fn day(day: Date) -> Self {
        Self::new((day, day), DateGrain::Day)
    }

    pub(super) fn absolute(days: Days, grain: DateGrain) -> Self {
        Self { absolute: true, ..Self::new(days, grain) }
    }

    pub(super) fn naming(&self) -> NamedDates {
        if self.absolute {
            NamedDates::Days
        } else if self.lacks_year {
            NamedDates::NoYear
        } else if self.lacks_month {
            NamedDates::NoMonth
        } else if self.weekday {
            NamedDates::Weekday
        } else {
            NamedDates::Nothing
        }
    }

    pub(super) fn sure(self, confident: bool) -> Self {
        Self { confident: self.confident && confident, ..self }
    }
}

/// A match at its position in the text.
pub(super) struct MatchPlace<'p, 't> {
    pub patterns: &'p DatePatterns,
    pub text: &'t str,
    pub today: Date,
    pub start: usize,
    pub end: usize,
    pub found: &'p TextMatch<'t>,
}

impl MatchPlace<'_, '_> {
    pub(super) fn resolve(&self, meaning: PatternMeaning) -> Option<DateMatch> {
        let today = self.today;
        match meaning {
            PatternMeaning::Day(offset) => calendar::add_days(today, offset).map(DateMatch::day),
            PatternMeaning::Tomorrow => self.tomorrow(),
            PatternMeaning::WeeksAway(count) => self.away(CalendarUnit::Week, count),
            PatternMeaning::InWeeks(count) => match self.lean() {
                TimeLean::Past => None,
                lean => {
                    let found = self.away(CalendarUnit::Week, count);
                    found.map(|found| found.sure(lean == TimeLean::Future))
                }
            },
            PatternMeaning::MonthsAway(count) => self.away(CalendarUnit::Month, count),
            PatternMeaning::Ago => self.counted(-1).map(|found| found.sure(!self.lasts())),
            PatternMeaning::In => self.counted(1),
            PatternMeaning::InUnits => match self.lean() {
                TimeLean::Past => None,
                TimeLean::Future => self.counted(1),
                TimeLean::Unknown => self.counted(1).map(|found| found.sure(false)),
            },
            PatternMeaning::CountedFrom => self.counted_from(),
            PatternMeaning::Rolling(direction) => self.rolling(direction),
            PatternMeaning::Weekday(step) => self.weekday(step),
            PatternMeaning::WeekdayOf(week) => {
                let weekday = self.named_weekday()?;
                let found = calendar::day_of_week(today, week, weekday).map(DateMatch::day);
                // "Monday this week", written on a Sunday with which a week begins, is tomorrow.
                let is_doubtful = self.patterns.language == Language::English
                    && today.weekday() == Weekday::Sunday
                    && weekday != today.weekday().to_monday_zero_offset();
                found.map(|found| found.sure(!is_doubtful))
            }
            PatternMeaning::WeekdayAnd(weeks) => {
                let next = calendar::weekday_after(today, self.named_weekday()?, 1)?;
                let weeks = self.count("n").unwrap_or(weeks);
                let day = calendar::add_days(next, weeks.checked_mul(7)?).map(DateMatch::day)?;
                Some(day.sure(weeks != FEW && !self.is_other_week()))
            }
            PatternMeaning::WeekdayAgo(weeks) => {
                let last = calendar::weekday_before(today, self.named_weekday()?)?;
                calendar::add_days(last, -7 * weeks).map(DateMatch::day)
            }
            PatternMeaning::NthWeekday => self.nth_weekday(),
            PatternMeaning::SpanOfMonth => self.span_of_month(),
            PatternMeaning::MonthName => {
                self.named_month(NamedStep::Tense).map(|found| found.sure(false))
            }
            PatternMeaning::Unit(offset) => match self.named_unit()? {
                CalendarUnit::Day | CalendarUnit::Fortnight => None,
                unit => self.unit(unit, offset),
            },
            PatternMeaning::This(unit) => self.unit(unit, 0),
            PatternMeaning::Weekend => self.weekend(),
            PatternMeaning::Season(step) => self.season(step),
            PatternMeaning::Month(step) => self.named_month(step),
            PatternMeaning::MonthOfYear(offset) => {
                let days = calendar::month(i64::from(today.year()) + offset, self.month("mon")?)?;
                Some(DateMatch::new(days, DateGrain::Month))
            }
            PatternMeaning::DayOfMonthAway(offset) => {
                let (first, _) = calendar::month_offset(today, offset)?;
                let day = calendar::date(first.year().into(), first.month(), self.day_number("d")?);
                day.map(DateMatch::day)
            }
            PatternMeaning::Feast(step) => self.feast(step),
            PatternMeaning::Date => self.date(),
            PatternMeaning::Months => self.months(),
            PatternMeaning::DayOfMonth => self.day_of_month(),
            PatternMeaning::Year => self.years(),
            PatternMeaning::YearOf => self.years().map(|found| found.sure(false)),
            PatternMeaning::Decade => self.decade(),
            PatternMeaning::Slashed => self.slashed(),
        }
    }

    fn tomorrow(&self) -> Option<DateMatch> {
        let morning = self.patterns.mornings.is_match(&self.text[..self.start]);
        (!morning).then(|| calendar::add_days(self.today, 1))?.map(DateMatch::day)
    }

    fn named_month(&self, step: NamedStep) -> Option<DateMatch> {
        let month = self.month("mon").or_else(|| self.number("m"))?;
        self.stepped(step, DateGrain::Month, |year| calendar::month(year, month))
    }

    fn season(&self, step: NamedStep) -> Option<DateMatch> {
        let season = self.patterns.seasons.find(self.group("season")?)?;
        let lean = self.lean();
        let (_, end) = calendar::season(self.today.year().into(), season)?;
        // "A mission this spring", said in autumn, is next year.
        let is_over = step == NamedStep::This && end < self.today;
        let next = is_over && lean == TimeLean::Future;
        let step = if next { NamedStep::Next } else { step };
        let found = self.stepped(step, DateGrain::Season, |year| calendar::season(year, season))?;
        // Some speakers mean the winter at the start of a year, others the one at its end.
        let is_winter = season == 3
            && (found.absolute
                || !matches!(step, NamedStep::Last | NamedStep::Next)
                || matches!(self.today.month(), 12 | 1 | 2));
        // "Born in spring", said in spring, may be a year ago.
        let has_begun = step == NamedStep::Tense
            && !found.absolute
            && lean == TimeLean::Past
            && found.days.1 >= self.today;
        let clear = !is_winter && !has_begun && (!is_over || lean != TimeLean::Unknown);
        Some(DateMatch { lacks_year: false, ..found.sure(clear) })
    }

    /// The tense of the clause, or of a clause next to it.
    pub(super) fn lean(&self) -> TimeLean {
        self.directed(self.patterns.tense.lean(self.text, self.start..self.end))
    }

    /// The tense of the clause if its signs agree.
    pub(super) fn clear_lean(&self, reach: DateReach) -> TimeLean {
        self.directed(self.patterns.tense.clear_lean(self.text, self.start..self.end, reach))
    }

    pub(super) fn reach(&self) -> DateReach {
        let is_weekday = self.group("wd").or_else(|| self.group("swd")).is_some();
        if is_weekday { DateReach::Week } else { DateReach::Year }
    }

    /// `lean`, unless the preposition indicates the future.
    pub(super) fn directed(&self, lean: TimeLean) -> TimeLean {
        let surface = self.text[self.start..self.end].to_lowercase();
        let opens = |word: &&str| {
            surface.strip_prefix(*word).is_some_and(|rest| rest.starts_with([' ', '’', '\'']))
        };
        if TARGETS.iter().any(opens) || self.is_target() {
            return TimeLean::Future;
        }
        // "By the end of April", "until after Friday".
        let previous = self.text[..self.start].trim_end().rsplit(' ').next().unwrap_or_default();
        if opens(&"from") && lean == TimeLean::Past {
            // "It was moved from Friday."
            return TimeLean::Unknown;
        }
        if !FORWARD.iter().any(|word| opens(word) || *word == previous) {
            return lean;
        }
        // "By Thursday I'm tired" is true of every week.
        let recurs = self.group("wd").is_some()
            && self.patterns.tense.is_open(self.text, self.start..self.end);
        match self.patterns.tense.clear_lean(self.text, self.start..self.end, self.reach()) {
            TimeLean::Past => TimeLean::Unknown,
            TimeLean::Unknown if recurs => TimeLean::Unknown,
            _ => TimeLean::Future,
        }
    }

    /// True if "for" or "zum" precedes the day: "a reminder was set for 13 June".
    pub(super) fn is_target(&self) -> bool {
        if self.group("d").or_else(|| self.group("wd")).is_none() {
            return false;
        }
        let before = self.text[..self.start].trim_end();
        let surface = self.text[self.start..self.end].to_lowercase();
        match self.patterns.language {
            Language::English => before.ends_with(" for") || surface.starts_with("for "),
            Language::German => surface.starts_with("zum "),
            Language::Spanish => before.ends_with(" para"),
            Language::French => before.ends_with(" pour"),
            _ => false,
        }
    }

    pub(super) fn group(&self, name: &str) -> Option<&str> {
        self.found.named_group(name)
    }

    pub(super) fn number<T: std::str::FromStr>(&self, group: &str) -> Option<T> {
        self.group(group)?.parse().ok()
    }

    pub(super) fn day_number(&self, group: &str) -> Option<i8> {
        let day = self.group(group)?;
        let number = day.parse().ok().or_else(|| self.patterns.day_words.find(day));
        number.filter(|day| (1..=31).contains(day))
    }

    pub(super) fn month(&self, group: &str) -> Option<i8> {
        self.patterns.months.find(self.group(group)?)
    }

    pub(super) fn named_weekday(&self) -> Option<i8> {
        match self.group("wd") {
            Some(name) => self.patterns.weekdays.find(name),
            None => self.patterns.short_weekdays.find(self.group("swd")?),
        }
    }

    pub(super) fn named_unit(&self) -> Option<CalendarUnit> {
        self.patterns.units.find(self.group("unit")?)
    }

    pub(super) fn is_habit(&self) -> bool {
        let clause = self.patterns.tense.clause(self.text, self.start..self.end);
        self.patterns.habits.is_match(&self.text[clause])
    }

    /// True if a date may recur every year by its clause, or by the words that it follows after a
    /// mark: "Birthday: 3 May", "every year, on 3 May".
    pub(super) fn is_yearly(&self) -> bool {
        let before = &self.text[..self.start];
        let named = before.trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_beside =
            named.len() < before.len() && !before[named.len()..].contains(SENTENCE_ENDS);
        let clause = || self.patterns.tense.clause(self.text, named.len()..named.len());
        self.is_habit()
            || is_beside && self.patterns.habits.is_match(&self.text[clause().start..named.len()])
    }
}
