//! The meaning of a pattern match: its days, and how certain they are.

use jiff::civil::Date;

use super::calendar::{self, CalendarUnit, Days, TimeLean};
use super::grammar::{FEW, NamedStep, PatternMeaning};
use super::holidays;
use super::mention::{DateGrain, NamedDates};
use super::patterns::DatePatterns;
use crate::text::Language;
use crate::text::expression::TextMatch;

/// If neither a year nor the tense of the sentence tells which year is meant, a day is certain only
/// within this many days of the day of the text.
pub(super) const NEAR_DAYS: i32 = 120;

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
            confident: true,
        }
    }

    pub(super) fn day(day: Date) -> Self {
        Self::new((day, day), DateGrain::Day)
    }

    fn absolute(days: Days, grain: DateGrain) -> Self {
        Self { absolute: true, ..Self::new(days, grain) }
    }

    pub(super) fn naming(&self) -> NamedDates {
        if self.absolute {
            NamedDates::Days
        } else if self.lacks_year {
            NamedDates::NoYear
        } else if self.weekday {
            NamedDates::Weekday
        } else {
            NamedDates::Nothing
        }
    }

    fn sure(self, confident: bool) -> Self {
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
            PatternMeaning::Tomorrow => {
                let morning = self.patterns.mornings.is_match(&self.text[..self.start]);
                (!morning).then(|| calendar::add_days(today, 1))?.map(DateMatch::day)
            }
            PatternMeaning::WeeksAway(count) => self.away(CalendarUnit::Week, count),
            PatternMeaning::MonthsAway(count) => self.away(CalendarUnit::Month, count),
            PatternMeaning::Ago => self.counted(-1),
            PatternMeaning::In => self.counted(1),
            PatternMeaning::InUnits => match self.lean() {
                TimeLean::Past => None,
                TimeLean::Future => self.counted(1),
                TimeLean::Unknown => self.counted(1).map(|found| found.sure(false)),
            },
            PatternMeaning::AgoToTheDay => self.ago_to_the_day(),
            PatternMeaning::Rolling(direction) => self.rolling(direction),
            PatternMeaning::Weekday(step) => self.weekday(step),
            PatternMeaning::WeekdayOf(week) => {
                calendar::day_of_week(today, week, self.named_weekday()?).map(DateMatch::day)
            }
            PatternMeaning::WeekdayAnd(weeks) => {
                let next = calendar::weekday_after(today, self.named_weekday()?, 1)?;
                calendar::add_days(next, 7 * weeks).map(DateMatch::day)
            }
            PatternMeaning::WeekdayAgo(weeks) => {
                let last = calendar::weekday_before(today, self.named_weekday()?)?;
                calendar::add_days(last, -7 * weeks).map(DateMatch::day)
            }
            PatternMeaning::NthWeekday => self.nth_weekday(),
            PatternMeaning::SpanOfMonth => self.span_of_month(),
            PatternMeaning::MonthName => {
                let month = self.month("mon")?;
                let found = self.stepped(NamedStep::Tense, DateGrain::Month, |year| {
                    calendar::month(year, month)
                })?;
                Some(found.sure(false))
            }
            PatternMeaning::Unit(offset) => match self.named_unit()? {
                CalendarUnit::Day | CalendarUnit::Fortnight => None,
                unit => self.unit(unit, offset),
            },
            PatternMeaning::This(unit) => self.unit(unit, 0),
            PatternMeaning::Weekend => self.weekend(),
            PatternMeaning::Season(step) => {
                let season = self.patterns.seasons.find(self.group("season")?)?;
                let lean = self.lean();
                let (_, end) = calendar::season(self.today.year().into(), season)?;
                // "A mission this spring", said in autumn, is next year.
                let is_over = step == NamedStep::This && end < self.today;
                let next = is_over && lean == TimeLean::Future;
                let step = if next { NamedStep::Next } else { step };
                let found =
                    self.stepped(step, DateGrain::Season, |year| calendar::season(year, season))?;
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
            PatternMeaning::Month(step) => {
                let month = self.month("mon").or_else(|| self.number("m"))?;
                self.stepped(step, DateGrain::Month, |year| calendar::month(year, month))
            }
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

    /// The tense of the clause, or of a clause next to it.
    fn lean(&self) -> TimeLean {
        self.directed(self.patterns.tense.lean(self.text, self.start..self.end))
    }

    /// The tense of the clause if its signs agree.
    fn clear_lean(&self) -> TimeLean {
        self.directed(self.patterns.tense.clear_lean(self.text, self.start..self.end))
    }

    /// `lean`, unless the preposition indicates the future.
    fn directed(&self, lean: TimeLean) -> TimeLean {
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
        match self.patterns.tense.clear_lean(self.text, self.start..self.end) {
            TimeLean::Past => TimeLean::Unknown,
            TimeLean::Unknown if recurs => TimeLean::Unknown,
            _ => TimeLean::Future,
        }
    }

    /// True if "for" or "zum" precedes the day: "a reminder was set for 13 June".
    fn is_target(&self) -> bool {
        if self.group("d").or_else(|| self.group("wd")).is_none() {
            return false;
        }
        let before = self.text[..self.start].trim_end();
        let surface = self.text[self.start..self.end].to_lowercase();
        match self.patterns.language {
            Language::English => before.ends_with(" for") || surface.starts_with("for "),
            Language::German => surface.starts_with("zum "),
            _ => false,
        }
    }

    /// The weekday before a number: "Saturday 21 March".
    fn weekday_beside(&self) -> Option<i8> {
        let words = self.text[self.start..self.end].split(|c: char| !c.is_alphabetic());
        let mut words = words.filter(|word| !word.is_empty()).take(3);
        words.find_map(|word| self.patterns.weekdays.find(&word.to_lowercase()))
    }

    fn group(&self, name: &str) -> Option<&str> {
        self.found.group(name)
    }

    fn number<T: std::str::FromStr>(&self, group: &str) -> Option<T> {
        self.group(group)?.parse().ok()
    }

    fn day_number(&self, group: &str) -> Option<i8> {
        let day = self.group(group)?;
        let number = day.parse().ok().or_else(|| self.patterns.day_words.find(day));
        number.filter(|day| (1..=31).contains(day))
    }

    fn month(&self, group: &str) -> Option<i8> {
        self.patterns.months.find(self.group(group)?)
    }

    fn named_weekday(&self) -> Option<i8> {
        match self.group("wd") {
            Some(name) => self.patterns.weekdays.find(name),
            None => self.patterns.short_weekdays.find(self.group("swd")?),
        }
    }

    fn named_unit(&self) -> Option<CalendarUnit> {
        self.patterns.units.find(self.group("unit")?)
    }

    fn is_habit(&self) -> bool {
        let clause = self.patterns.tense.clause(self.text, self.start..self.end);
        self.patterns.habits.is_match(&self.text[clause])
    }

    /// Whether the sentence continues after the match in a way that a name would not.
    fn ends_here(&self) -> bool {
        self.patterns.goes_on.is_match(&self.text[self.end..])
    }

    /// True if a day follows a month: "through April 10".
    fn precedes_day(&self) -> bool {
        let is_month = self.group("mon").is_some() && self.group("d").is_none();
        is_month && matches!(self.digits_after(&[' ']), 1 | 2)
    }

    /// Number of digits after the match and `marks`.
    fn digits_after(&self, marks: &[char]) -> usize {
        let after = self.text[self.end..].trim_start_matches(marks);
        after.bytes().take_while(u8::is_ascii_digit).count()
    }

    /// An annual date in the year given by its number, by a word such as "last", or by the tense.
    fn stepped(
        &self,
        step: NamedStep,
        grain: DateGrain,
        days: impl Fn(i64) -> Option<Days>,
    ) -> Option<DateMatch> {
        if let Some(year) = self.number::<i64>("y") {
            return Some(DateMatch::absolute(days(year)?, grain));
        }
        if self.group("y").is_none() && self.precedes_day() {
            return None;
        }
        let lean = match step {
            NamedStep::Tense => self.lean(),
            _ => TimeLean::Unknown,
        };
        let found = match step {
            NamedStep::Last => calendar::last(self.today, &days),
            NamedStep::Next | NamedStep::NextOrLater => calendar::next(self.today, &days),
            NamedStep::This => days(i64::from(self.today.year())),
            NamedStep::Tense => calendar::infer(self.today, lean, &days),
        }?;
        let nearest = calendar::infer(self.today, TimeLean::Unknown, &days);
        let is_day = self.group("d").is_some();
        let is_clear = || match lean {
            TimeLean::Unknown => {
                is_day && calendar::days_between(self.today, found.0).abs() <= NEAR_DAYS
            }
            _ if nearest == Some(found) => true,
            // A year that is not the nearest needs a clear tense.
            _ => {
                self.clear_lean() == lean
                    && !(is_day && calendar::is_doubtful(self.today, found, &days))
            }
        };
        let is_general = || {
            matches!(grain, DateGrain::Month | DateGrain::Season)
                && self.patterns.tense.is_general(self.text, self.start..self.end)
        };
        let sure = step != NamedStep::Tense
            || is_clear()
                && !self.is_habit()
                && !is_general()
                && self.digits_after(&[',', ' ', '(']) != 4;
        let found =
            DateMatch { lacks_year: step == NamedStep::Tense, ..DateMatch::new(found, grain) };
        Some(found.sure(sure))
    }

    fn weekday(&self, step: NamedStep) -> Option<DateMatch> {
        let weekday = self.named_weekday()?;
        let of_today = self.today.weekday().to_monday_zero_offset();
        let lean = match step {
            NamedStep::Tense | NamedStep::This => self.clear_lean(),
            _ => TimeLean::Unknown,
        };
        let past = step == NamedStep::Last || step == NamedStep::Tense && lean != TimeLean::Future;
        let day = if past {
            calendar::weekday_before(self.today, weekday)?
        } else {
            calendar::weekday_after(self.today, weekday, i8::from(step != NamedStep::This))?
        };
        let sure = match step {
            NamedStep::Tense => {
                // "On Monday", said on a Monday in the past tense, may be today.
                let is_today = lean == TimeLean::Past && weekday == of_today;
                lean != TimeLean::Unknown && !is_today && !self.is_habit() && self.is_one_weekday()
            }
            NamedStep::This => weekday >= of_today && lean != TimeLean::Past,
            NamedStep::NextOrLater => weekday <= of_today,
            NamedStep::Last | NamedStep::Next => true,
        };
        Some(DateMatch { weekday: true, ..DateMatch::day(day) }.sure(sure))
    }

    /// True if a weekday is not one of several and not part of a name: "Monday to Friday", "Friday
    /// scan".
    fn is_one_weekday(&self) -> bool {
        let (before, after) = (&self.text[..self.start], &self.text[self.end..]);
        let first = self.text[self.start..self.end].split(' ').next().unwrap_or_default();
        let is_bare = self.patterns.weekdays.find(&first.to_lowercase()).is_some();
        !self.patterns.listed_before.is_match(before)
            && !self.patterns.listed_after.is_match(after)
            && !(self.patterns.language == Language::English
                && (after.starts_with(['\'', '’']) || is_bare && !self.ends_here()))
    }

    /// The ordinal of a weekday or week in its month; the last is -1.
    fn nth(&self) -> Option<i8> {
        Some(match self.group("nth")?.to_lowercase().as_str() {
            "last" => -1,
            "first" | "1st" => 1,
            "second" | "2nd" => 2,
            "third" | "3rd" => 3,
            _ => 4,
        })
    }

    /// The nth week of a month (from day 1, 8, 15 or 22; the last week: its last seven days), or
    /// its nth weekend.
    fn span_of_month(&self) -> Option<DateMatch> {
        let (nth, month) = (self.nth()?, self.month("mon")?);
        let weekend = self.group("span")?.eq_ignore_ascii_case("weekend");
        let found = self.stepped(NamedStep::Tense, DateGrain::Day, |year| {
            if weekend {
                let saturday = calendar::nth_weekday(year, month, nth, 5)?;
                return Some((saturday, calendar::add_days(saturday, 1)?));
            }
            let (first, last) = calendar::month(year, month)?;
            let from = match nth {
                -1 => calendar::add_days(last, -6)?,
                nth => calendar::add_days(first, 7 * i64::from(nth - 1))?,
            };
            Some((from, calendar::add_days(from, 6)?))
        })?;
        Some(DateMatch { lacks_year: false, absolute: false, ..found })
    }

    fn nth_weekday(&self) -> Option<DateMatch> {
        let (nth, month, weekday) = (self.nth()?, self.month("mon")?, self.named_weekday()?);
        let found = self.stepped(NamedStep::Tense, DateGrain::Day, |year| {
            calendar::nth_weekday(year, month, nth, weekday).map(|day| (day, day))
        })?;
        // The words do not state the day, so the output adds it.
        Some(DateMatch { lacks_year: false, absolute: false, ..found })
    }

    fn feast(&self, step: NamedStep) -> Option<DateMatch> {
        let feast = self.patterns.feasts.find(self.group("feast")?)?;
        if !self.ends_here() {
            return None;
        }
        let found = self.stepped(step, DateGrain::Day, |year| {
            holidays::holiday(year, feast).map(|day| (day, day))
        })?;
        Some(DateMatch { lacks_year: false, ..found })
    }

    /// One day, or a range of days, possibly into the next month.
    fn date(&self) -> Option<DateMatch> {
        let month = self.month("mon").or_else(|| self.number("m"))?;
        let first = self.day_number("d")?;
        let last = if self.group("d2").is_some() { self.day_number("d2")? } else { first };
        let last_month = if self.group("mon2").is_some() { self.month("mon2")? } else { month };
        if let Some(found) = self.date_on_weekday(month, first, last) {
            return Some(found);
        }
        let found = self.stepped(NamedStep::Tense, DateGrain::Day, |year| {
            let to_year = year + i64::from(last_month < month);
            let days =
                (calendar::date(year, month, first)?, calendar::date(to_year, last_month, last)?);
            (days.0 <= days.1).then_some(days)
        })?;
        // A year after "2.4." would not be read as a part of the date.
        let lacks_year = found.lacks_year && self.group("mon").is_some();
        Some(DateMatch { lacks_year, ..found })
    }

    /// A date without a year that names its weekday. It is certain if the weekday fits the nearest
    /// year; if it fits no year near the year of the text, one of the two is a mistake.
    fn date_on_weekday(&self, month: i8, day: i8, last: i8) -> Option<DateMatch> {
        if day != last || self.group("y").is_some() {
            return None;
        }
        let weekday = self.weekday_beside()?;
        let days = |year| calendar::date(year, month, day).map(|day| (day, day));
        let (date, _) = calendar::infer(self.today, TimeLean::Unknown, days)?;
        let fits = date.weekday().to_monday_zero_offset() == weekday;
        Some(DateMatch { lacks_year: true, ..DateMatch::day(date) }.sure(fits))
    }

    /// "Between May and July 2022". A range across the new year ends in the year that is named.
    fn months(&self) -> Option<DateMatch> {
        let (first, last) = (self.month("mon")?, self.month("mon2")?);
        let days = |year: i64| {
            let from = year - i64::from(last < first);
            Some((calendar::month(from, first)?.0, calendar::month(year, last)?.1))
        };
        match (self.number::<i64>("y"), self.number::<i64>("y2")) {
            (Some(from), Some(to)) => {
                let days = (calendar::month(from, first)?.0, calendar::month(to, last)?.1);
                (days.0 <= days.1).then(|| DateMatch::absolute(days, DateGrain::Month))
            }
            (Some(from), None) => {
                let to = from + i64::from(last < first);
                Some(DateMatch::absolute(days(to)?, DateGrain::Month))
            }
            (None, Some(to)) => Some(DateMatch::absolute(days(to)?, DateGrain::Month)),
            (None, None) => {
                let lean = self.clear_lean();
                let found = calendar::infer(self.today, lean, days)?;
                let sure = lean != TimeLean::Unknown && !self.is_habit();
                Some(DateMatch::new(found, DateGrain::Month).sure(sure))
            }
        }
    }

    /// A bare day of the month: the nearest one that matches the tense, which decides the month.
    fn day_of_month(&self) -> Option<DateMatch> {
        let day = self.day_number("d")?;
        if let Some(step) = self.group("step") {
            let offset = match step.to_lowercase().as_str() {
                "last" => -1,
                "next" => 1,
                _ => 0,
            };
            let (first, _) = calendar::month_offset(self.today, offset)?;
            return calendar::date(first.year().into(), first.month(), day).map(DateMatch::day);
        }
        if !self.ends_here() {
            return None;
        }
        let (lean, weekday) = (self.clear_lean(), self.named_weekday());
        let (found, is_clear) = calendar::day_and_weekday(self.today, lean, day, weekday)?;
        // "Different from the first" counts things.
        let is_number =
            self.group("d").is_some_and(|day| day.starts_with(|c: char| c.is_ascii_digit()));
        // "From the 28th to New Year": the other end tells the month.
        let is_range = self.patterns.range_goes_on.is_match(&self.text[self.end..]);
        Some(DateMatch::day(found).sure(is_clear && is_number && !is_range && !self.is_habit()))
    }

    fn years(&self) -> Option<DateMatch> {
        let plausible = |year: &i64| (1800..=2100).contains(year);
        let first = self.number("y").filter(plausible)?;
        let last =
            if self.group("y2").is_some() { self.number("y2").filter(plausible)? } else { first };
        let days = (calendar::year(first)?.0, calendar::year(last)?.1);
        (first <= last).then(|| DateMatch::absolute(days, DateGrain::Year))
    }

    fn decade(&self) -> Option<DateMatch> {
        let first: i64 = self.number("decade")?;
        // "her 30s" is an age.
        let the = self.text[self.start..].starts_with(['t', 'T'])
            || self.text[..self.start].ends_with(['\'', '’']);
        let first = if first >= 100 {
            first
        } else if the {
            1900 + first
        } else {
            return None;
        };
        Some(DateMatch::absolute(calendar::decade(first)?, DateGrain::Decade))
    }

    /// Two numbers and a year. Unless the language determines the order, only a number above 12
    /// shows which of the two is the day.
    fn slashed(&self) -> Option<DateMatch> {
        let (a, b, year): (i8, i8, i64) = (self.number("a")?, self.number("b")?, self.number("y")?);
        let day_first = self.patterns.day_first || a > 12;
        let (day, month) = if day_first { (a, b) } else { (b, a) };
        let day = calendar::date(year, month, day)?;
        let sure = self.patterns.day_first || a == b || a > 12 || b > 12;
        Some(DateMatch::absolute((day, day), DateGrain::Day).sure(sure))
    }

    fn weekend(&self) -> Option<DateMatch> {
        let (saturday, _) = calendar::weekend(self.today, 0)?;
        let (offset, sure) = match self.clear_lean() {
            TimeLean::Future => (0, true),
            lean if self.today >= saturday => (0, lean == TimeLean::Past),
            lean => (-1, lean == TimeLean::Past),
        };
        self.unit(CalendarUnit::Weekend, offset).map(|found| found.sure(sure && !self.is_habit()))
    }

    fn count(&self, group: &str) -> Option<i64> {
        self.number(group).or_else(|| self.patterns.numbers.find(self.group(group)?))
    }

    /// `{n}` `{unit}` in `direction`, or between `{n}` and `{n2}`.
    fn counted(&self, direction: i64) -> Option<DateMatch> {
        let unit = self.named_unit()?;
        let count = self.count("n")?;
        let (near, far) = match (count, self.group("n2")) {
            (FEW, _) => (2, 4),
            (count, Some(_)) => (count, self.count("n2")?),
            (count, None) => return self.away(unit, direction.checked_mul(count)?),
        };
        let near = self.away(unit, direction.checked_mul(near)?)?;
        let far = self.away(unit, direction.checked_mul(far)?)?;
        let days = (near.days.0.min(far.days.0), near.days.1.max(far.days.1));
        let grain = if matches!(near.grain, DateGrain::Month | DateGrain::Year) {
            near.grain
        } else {
            DateGrain::Day
        };
        Some(DateMatch::new(days, grain))
    }

    fn away(&self, unit: CalendarUnit, count: i64) -> Option<DateMatch> {
        let weeks = match unit {
            CalendarUnit::Week => count,
            CalendarUnit::Fortnight => count.checked_mul(2)?,
            CalendarUnit::Decade => return self.unit(CalendarUnit::Year, count.checked_mul(10)?),
            _ => return self.unit(unit, count),
        };
        let about = calendar::add_days(self.today, weeks.checked_mul(7)?)?;
        Some(DateMatch { about: Some(about), ..self.unit(CalendarUnit::Week, weeks)? })
    }

    fn unit(&self, unit: CalendarUnit, offset: i64) -> Option<DateMatch> {
        calendar::unit(self.today, unit, offset).map(|(days, grain)| DateMatch::new(days, grain))
    }

    /// "Five years ago today": the same day of the calendar.
    fn ago_to_the_day(&self) -> Option<DateMatch> {
        let back = self.count("n").filter(|count| *count != FEW)?.checked_neg()?;
        let day = self.same_day(self.named_unit()?, back)?;
        let today = self.group("today")?.eq_ignore_ascii_case("today");
        calendar::add_days(day, if today { 0 } else { -1 }).map(DateMatch::day)
    }

    /// The days from some units ago until today, or from today on.
    fn rolling(&self, direction: i64) -> Option<DateMatch> {
        let unit = self.named_unit()?;
        let count = match self.group("n") {
            None if matches!(unit, CalendarUnit::Day) => return None,
            None if unit == CalendarUnit::Weekend => return self.unit(unit, direction),
            None => 1,
            Some(_) => match self.count("n")? {
                FEW => 4,
                // "coming a week on Friday" counts from Friday.
                1 => return None,
                count => count,
            },
        };
        let other = self.same_day(unit, direction.checked_mul(count)?)?;
        let days = (other.min(self.today), other.max(self.today));
        Some(DateMatch::new(days, DateGrain::Day).sure(unit != CalendarUnit::Decade))
    }

    /// The day `count` units from today.
    fn same_day(&self, unit: CalendarUnit, count: i64) -> Option<Date> {
        let months = match unit {
            CalendarUnit::Day => return calendar::add_days(self.today, count),
            CalendarUnit::Week | CalendarUnit::Weekend => {
                return calendar::add_days(self.today, count.checked_mul(7)?);
            }
            CalendarUnit::Fortnight => {
                return calendar::add_days(self.today, count.checked_mul(14)?);
            }
            CalendarUnit::Month => count,
            CalendarUnit::Year => count.checked_mul(12)?,
            CalendarUnit::Decade => count.checked_mul(120)?,
        };
        calendar::months_away(self.today, months)
    }
}
