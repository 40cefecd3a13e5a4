//! The meaning of a pattern match: its days, and how certain they are.

use jiff::civil::Date;

use super::calendar::{self, Days, Lean, Unit};
use super::mention::{Grain, Naming};
use super::patterns::{FEW, Meaning, Patterns, Step};
use crate::text::expression::Match;

/// Days around a text in which a date without a year and a tense is clear.
const NEAR_DAYS: i64 = 120;

/// Words at the start of a date that look forward.
const FORWARD: [&str; 9] =
    ["until", "till", "by", "from", "bis", "ab", "hasta", "jusqu", "à partir"];

/// The days of a match, and their output form.
pub(super) struct Found {
    pub days: Days,
    pub grain: Grain,
    pub about: Option<Date>,
    /// The words fix the days, whatever the date of the text.
    pub absolute: bool,
    /// Only the year is missing.
    pub lacks_year: bool,
    /// The words name a day of the week.
    pub weekday: bool,
    pub confident: bool,
}

impl Found {
    pub(super) fn new(days: Days, grain: Grain) -> Self {
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
        Self::new((day, day), Grain::Day)
    }

    fn absolute(days: Days, grain: Grain) -> Self {
        Self { absolute: true, ..Self::new(days, grain) }
    }

    pub(super) fn naming(&self) -> Naming {
        if self.absolute {
            Naming::Days
        } else if self.lacks_year {
            Naming::NoYear
        } else if self.weekday {
            Naming::Weekday
        } else {
            Naming::Nothing
        }
    }

    fn sure(self, confident: bool) -> Self {
        Self { confident: self.confident && confident, ..self }
    }
}

/// A match at its position in the text.
pub(super) struct Place<'p, 't> {
    pub patterns: &'p Patterns,
    pub text: &'t str,
    pub today: Date,
    pub start: usize,
    pub end: usize,
    pub found: &'p Match<'t>,
}

impl Place<'_, '_> {
    pub(super) fn resolve(&self, meaning: Meaning) -> Option<Found> {
        let today = self.today;
        match meaning {
            Meaning::Day(offset) => calendar::add_days(today, offset).map(Found::day),
            Meaning::Tomorrow => {
                let morning = self.patterns.mornings.is_match(&self.text[..self.start]);
                (!morning).then(|| calendar::add_days(today, 1))?.map(Found::day)
            }
            Meaning::WeeksAway(count) => self.away(Unit::Week, count),
            Meaning::MonthsAway(count) => self.away(Unit::Month, count),
            Meaning::Ago => self.counted(-1),
            Meaning::In => self.counted(1),
            Meaning::InUnits => match self.lean() {
                Lean::Past => None,
                Lean::Future => self.counted(1),
                Lean::Unknown => self.counted(1).map(|found| found.sure(false)),
            },
            Meaning::AgoToTheDay => self.ago_to_the_day(),
            Meaning::Rolling(direction) => self.rolling(direction),
            Meaning::Weekday(step) => self.weekday(step),
            Meaning::WeekdayOf(week) => {
                calendar::day_of_week(today, week, self.named_weekday()?).map(Found::day)
            }
            Meaning::WeekdayAnd(weeks) => {
                let next = calendar::weekday_after(today, self.named_weekday()?, 1)?;
                calendar::add_days(next, 7 * weeks).map(Found::day)
            }
            Meaning::WeekdayAgo(weeks) => {
                let last = calendar::weekday_before(today, self.named_weekday()?)?;
                calendar::add_days(last, -7 * weeks).map(Found::day)
            }
            Meaning::NthWeekday => self.nth_weekday(),
            Meaning::SpanOfMonth => self.span_of_month(),
            Meaning::MonthName => {
                let month = self.month("mon")?;
                let found =
                    self.stepped(Step::Tense, Grain::Month, |year| calendar::month(year, month))?;
                Some(found.sure(false))
            }
            Meaning::Unit(offset) => match self.named_unit()? {
                Unit::Day | Unit::Fortnight => None,
                unit => self.unit(unit, offset),
            },
            Meaning::This(unit) => self.unit(unit, 0),
            Meaning::Weekend => self.weekend(),
            Meaning::Season(step) => {
                let season = self.patterns.seasons.find(self.group("season")?)?;
                let found =
                    self.stepped(step, Grain::Season, |year| calendar::season(year, season))?;
                // The winter of a year is the one at its beginning for some speakers.
                let clear = season != 3 || !found.absolute;
                Some(Found { lacks_year: false, ..found.sure(clear) })
            }
            Meaning::Month(step) => {
                let month = self.month("mon").or_else(|| self.number("m"))?;
                self.stepped(step, Grain::Month, |year| calendar::month(year, month))
            }
            Meaning::Feast(step) => self.feast(step),
            Meaning::Date => self.date(),
            Meaning::Months => self.months(),
            Meaning::DayOfMonth => self.day_of_month(),
            Meaning::Year => self.years(),
            Meaning::YearOf => self.years().map(|found| found.sure(false)),
            Meaning::Decade => self.decade(),
            Meaning::Slashed => self.slashed(),
        }
    }

    /// The tense of the clause. Where it tells nothing, "until", "by" and "from" look forward.
    fn lean(&self) -> Lean {
        let lean = self.patterns.tense.lean(self.text, self.start..self.end);
        let surface = self.text[self.start..self.end].to_lowercase();
        let opens = |word: &&str| {
            surface.strip_prefix(*word).is_some_and(|rest| rest.starts_with([' ', '’', '\'']))
        };
        match lean {
            Lean::Unknown if FORWARD.iter().any(opens) => Lean::Future,
            lean => lean,
        }
    }

    /// The day of the week that stands before a number: "Saturday 21 March".
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

    fn named_unit(&self) -> Option<Unit> {
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

    /// An annual date, given by its year, by a word such as "last", or by the tense.
    fn stepped(
        &self,
        step: Step,
        grain: Grain,
        days: impl Fn(i64) -> Option<Days>,
    ) -> Option<Found> {
        if let Some(year) = self.number::<i64>("y") {
            return Some(Found::absolute(days(year)?, grain));
        }
        let lean = if step == Step::Tense { self.lean() } else { Lean::Unknown };
        let found = match step {
            Step::Last => calendar::last(self.today, days),
            Step::Next | Step::NextOrLater => calendar::next(self.today, days),
            Step::This => days(i64::from(self.today.year())),
            Step::Tense => calendar::infer(self.today, lean, days),
        }?;
        // Without a tense, a day that is months away may be this year's or another one's.
        let near = (-NEAR_DAYS..=NEAR_DAYS)
            .contains(&found.0.duration_since(self.today).as_hours().div_euclid(24));
        let sure = step != Step::Tense || (lean != Lean::Unknown || near) && !self.is_habit();
        let found = Found { lacks_year: step == Step::Tense, ..Found::new(found, grain) };
        Some(found.sure(sure))
    }

    fn weekday(&self, step: Step) -> Option<Found> {
        let weekday = self.named_weekday()?;
        let of_today = self.today.weekday().to_monday_zero_offset();
        let lean = if step == Step::Tense { self.lean() } else { Lean::Unknown };
        let past = step == Step::Last
            || lean == Lean::Past
            || step == Step::Tense && lean == Lean::Unknown;
        let day = if past {
            calendar::weekday_before(self.today, weekday)?
        } else {
            calendar::weekday_after(self.today, weekday, i8::from(step != Step::This))?
        };
        let sure = match step {
            Step::Tense => lean != Lean::Unknown && !self.is_habit(),
            Step::This => weekday >= of_today,
            Step::NextOrLater => weekday <= of_today,
            Step::Last | Step::Next => true,
        };
        Some(Found { weekday: true, ..Found::day(day) }.sure(sure))
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

    /// Seven days counted from the first or back from the last of the month, or a weekend.
    fn span_of_month(&self) -> Option<Found> {
        let (nth, month) = (self.nth()?, self.month("mon")?);
        let weekend = self.group("span")?.eq_ignore_ascii_case("weekend");
        let found = self.stepped(Step::Tense, Grain::Day, |year| {
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
        Some(Found { lacks_year: false, absolute: false, ..found })
    }

    fn nth_weekday(&self) -> Option<Found> {
        let (nth, month, weekday) = (self.nth()?, self.month("mon")?, self.named_weekday()?);
        let found = self.stepped(Step::Tense, Grain::Day, |year| {
            calendar::nth_weekday(year, month, nth, weekday).map(|day| (day, day))
        })?;
        // The words do not name the day itself, so the output writes it out.
        Some(Found { lacks_year: false, absolute: false, ..found })
    }

    fn feast(&self, step: Step) -> Option<Found> {
        let feast = self.patterns.feasts.find(self.group("feast")?)?;
        if !self.ends_here() {
            return None;
        }
        let found = self.stepped(step, Grain::Day, |year| {
            calendar::holiday(year, feast).map(|day| (day, day))
        })?;
        Some(Found { lacks_year: false, ..found })
    }

    /// One day, or a range of days, possibly into the next month.
    fn date(&self) -> Option<Found> {
        let month = self.month("mon").or_else(|| self.number("m"))?;
        let first = self.day_number("d")?;
        let last = if self.group("d2").is_some() { self.day_number("d2")? } else { first };
        let last_month = if self.group("mon2").is_some() { self.month("mon2")? } else { month };
        if let Some(found) = self.date_on_weekday(month, first, last) {
            return Some(found);
        }
        self.stepped(Step::Tense, Grain::Day, |year| {
            let to_year = year + i64::from(last_month < month);
            let days =
                (calendar::date(year, month, first)?, calendar::date(to_year, last_month, last)?);
            (days.0 <= days.1).then_some(days)
        })
    }

    /// A date without a year that names its day of the week: of the years beside this one, mostly
    /// one alone fits.
    fn date_on_weekday(&self, month: i8, day: i8, last: i8) -> Option<Found> {
        if day != last || self.group("y").is_some() {
            return None;
        }
        let weekday = self.weekday_beside()?;
        let this = i64::from(self.today.year());
        let dates = [this, this + 1, this - 1].into_iter();
        let mut dates = dates.filter_map(|year| calendar::date(year, month, day));
        let date = dates.find(|date| date.weekday().to_monday_zero_offset() == weekday)?;
        Some(Found { lacks_year: true, ..Found::day(date) })
    }

    /// "Between May and July 2022"; a range across the new year ends in the year that the words
    /// name.
    fn months(&self) -> Option<Found> {
        let (first, last) = (self.month("mon")?, self.month("mon2")?);
        let days = |year: i64| {
            let from = year - i64::from(last < first);
            Some((calendar::month(from, first)?.0, calendar::month(year, last)?.1))
        };
        match (self.number::<i64>("y"), self.number::<i64>("y2")) {
            (Some(from), Some(to)) => {
                let days = (calendar::month(from, first)?.0, calendar::month(to, last)?.1);
                (days.0 <= days.1).then(|| Found::absolute(days, Grain::Month))
            }
            (Some(from), None) => {
                let to = from + i64::from(last < first);
                Some(Found::absolute(days(to)?, Grain::Month))
            }
            (None, Some(to)) => Some(Found::absolute(days(to)?, Grain::Month)),
            (None, None) => {
                let found = calendar::infer(self.today, self.lean(), days)?;
                Some(Found::new(found, Grain::Month).sure(!self.is_habit()))
            }
        }
    }

    /// A bare day of the month: the nearest one that matches the tense.
    fn day_of_month(&self) -> Option<Found> {
        let day = self.day_number("d")?;
        if let Some(step) = self.group("step") {
            let offset = match step.to_lowercase().as_str() {
                "last" => -1,
                "next" => 1,
                _ => 0,
            };
            let (first, _) = calendar::month_offset(self.today, offset)?;
            return calendar::date(first.year().into(), first.month(), day).map(Found::day);
        }
        if !self.ends_here() {
            return None;
        }
        let found = calendar::day_of_month(self.today, self.lean(), day).map(Found::day)?;
        Some(found.sure(!self.is_habit()))
    }

    fn years(&self) -> Option<Found> {
        let plausible = |year: &i64| (1800..=2100).contains(year);
        let first = self.number("y").filter(plausible)?;
        let last =
            if self.group("y2").is_some() { self.number("y2").filter(plausible)? } else { first };
        let days = (calendar::year(first)?.0, calendar::year(last)?.1);
        (first <= last).then(|| Found::absolute(days, Grain::Year))
    }

    fn decade(&self) -> Option<Found> {
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
        Some(Found::absolute(calendar::decade(first)?, Grain::Decade))
    }

    /// Two numbers and a year: unless the language fixes the order, only a number above 12 shows
    /// which one is the day.
    fn slashed(&self) -> Option<Found> {
        let (a, b, year): (i8, i8, i64) = (self.number("a")?, self.number("b")?, self.number("y")?);
        let day_first = self.patterns.day_first || a > 12;
        let (day, month) = if day_first { (a, b) } else { (b, a) };
        let day = calendar::date(year, month, day)?;
        let sure = self.patterns.day_first || a == b || a > 12 || b > 12;
        Some(Found::absolute((day, day), Grain::Day).sure(sure))
    }

    fn weekend(&self) -> Option<Found> {
        let (saturday, _) = calendar::weekend(self.today, 0)?;
        let (offset, sure) = match self.lean() {
            Lean::Future => (0, true),
            lean if self.today >= saturday => (0, lean == Lean::Past),
            lean => (-1, lean == Lean::Past),
        };
        self.unit(Unit::Weekend, offset).map(|found| found.sure(sure && !self.is_habit()))
    }

    fn count(&self, group: &str) -> Option<i64> {
        self.number(group).or_else(|| self.patterns.numbers.find(self.group(group)?))
    }

    /// `{n}` `{unit}` in `direction`, or between `{n}` and `{n2}`.
    fn counted(&self, direction: i64) -> Option<Found> {
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
        let grain =
            if matches!(near.grain, Grain::Month | Grain::Year) { near.grain } else { Grain::Day };
        Some(Found::new(days, grain))
    }

    fn away(&self, unit: Unit, count: i64) -> Option<Found> {
        let weeks = match unit {
            Unit::Week => count,
            Unit::Fortnight => count.checked_mul(2)?,
            Unit::Decade => return self.unit(Unit::Year, count.checked_mul(10)?),
            _ => return self.unit(unit, count),
        };
        let about = calendar::add_days(self.today, weeks.checked_mul(7)?)?;
        Some(Found { about: Some(about), ..self.unit(Unit::Week, weeks)? })
    }

    fn unit(&self, unit: Unit, offset: i64) -> Option<Found> {
        calendar::unit(self.today, unit, offset).map(|(days, grain)| Found::new(days, grain))
    }

    /// "Five years ago today": the same day of the calendar.
    fn ago_to_the_day(&self) -> Option<Found> {
        let back = self.count("n").filter(|count| *count != FEW)?.checked_neg()?;
        let day = self.same_day(self.named_unit()?, back)?;
        let today = self.group("today")?.eq_ignore_ascii_case("today");
        calendar::add_days(day, if today { 0 } else { -1 }).map(Found::day)
    }

    /// The days from some units ago until today, or from today on.
    fn rolling(&self, direction: i64) -> Option<Found> {
        let unit = self.named_unit()?;
        let count = match self.group("n") {
            None if matches!(unit, Unit::Day) => return None,
            None if unit == Unit::Weekend => return self.unit(unit, direction),
            None => 1,
            Some(_) => match self.count("n")? {
                FEW => 4,
                // "coming a week on Friday" counts from Friday.
                1 => return None,
                count => count,
            },
        };
        let other = self.same_day(unit, direction.checked_mul(count)?)?;
        Some(Found::new((other.min(self.today), other.max(self.today)), Grain::Day))
    }

    /// The day `count` units from today.
    fn same_day(&self, unit: Unit, count: i64) -> Option<Date> {
        let months = match unit {
            Unit::Day => return calendar::add_days(self.today, count),
            Unit::Week | Unit::Weekend => {
                return calendar::add_days(self.today, count.checked_mul(7)?);
            }
            Unit::Fortnight => return calendar::add_days(self.today, count.checked_mul(14)?),
            Unit::Month => count,
            Unit::Year => count.checked_mul(12)?,
            Unit::Decade => count.checked_mul(120)?,
        };
        calendar::months_away(self.today, months)
    }
}
