//! The meaning of counted units ("three weeks ago"), of weekends, and of years and dates in
//! numbers.

use jiff::civil::Date;

use super::calendar::{self, CalendarUnit, TimeLean};
use super::grammar::FEW;
use super::meaning::{DateMatch, MatchPlace};
use super::mention::DateGrain;
use super::tense::DateReach;
use crate::text::Language;

impl MatchPlace<'_, '_> {
    pub(super) fn years(&self) -> Option<DateMatch> {
        let plausible = |year: &i64| (1800..=2100).contains(year);
        let first = self.number("y").filter(plausible)?;
        let last =
            if self.group("y2").is_some() { self.number("y2").filter(plausible)? } else { first };
        let days = (calendar::year(first)?.0, calendar::year(last)?.1);
        (first <= last).then(|| DateMatch::absolute(days, DateGrain::Year))
    }

    pub(super) fn decade(&self) -> Option<DateMatch> {
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
    pub(super) fn slashed(&self) -> Option<DateMatch> {
        let (a, b, year): (i8, i8, i64) = (self.number("a")?, self.number("b")?, self.number("y")?);
        let day_first = self.patterns.day_first || a > 12;
        let (day, month) = if day_first { (a, b) } else { (b, a) };
        let day = calendar::date(year, month, day)?;
        let sure = self.patterns.day_first || a == b || a > 12 || b > 12;
        Some(DateMatch::absolute((day, day), DateGrain::Day).sure(sure))
    }

    pub(super) fn weekend(&self) -> Option<DateMatch> {
        // "For the weekend of the 21st" means that one.
        if self.text[self.end..].starts_with(" of ") {
            return None;
        }
        let (saturday, _) = calendar::weekend(self.today, 0)?;
        let (offset, sure) = match self.clear_lean(DateReach::Week) {
            TimeLean::Future => (0, true),
            lean if self.today >= saturday => (0, lean == TimeLean::Past),
            lean => (-1, lean == TimeLean::Past),
        };
        self.unit(CalendarUnit::Weekend, offset).map(|found| found.sure(sure && !self.is_habit()))
    }

    pub(super) fn count(&self, group: &str) -> Option<i64> {
        self.number(group).or_else(|| self.patterns.numbers.find(self.group(group)?))
    }

    /// True if the words tell how long something has lasted: "ça fait deux ans que j'y habite".
    pub(super) fn lasts(&self) -> bool {
        let after = &self.text[self.end..];
        self.patterns.language == Language::French
            && [" que ", " qu'", " qu’"].iter().any(|word| after.starts_with(word))
    }

    /// `{n}` `{unit}` in `direction`, or between `{n}` and `{n2}`.
    pub(super) fn counted(&self, direction: i64) -> Option<DateMatch> {
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

    /// "Three weeks tomorrow", "six weeks and two days from today". Without "from", weeks count
    /// from the day unless they may be a duration that ends there: "it was four weeks yesterday".
    pub(super) fn counted_from(&self) -> Option<DateMatch> {
        let unit = self.named_unit()?;
        let amount = |group, none| self.group(group).map_or(Some(none), |_| self.count(group));
        let (count, days) = (amount("n", 1)?, amount("n2", 0)?);
        let base = match self.group("base")?.to_lowercase().as_str() {
            "yesterday" => -1,
            "tomorrow" => 1,
            _ => 0,
        };
        let link = self.group("link").map(str::to_lowercase);
        let sign: i64 = if link.as_deref() == Some("before ") { -1 } else { 1 };
        let is_vague = count == FEW || self.group("n2").is_some() && days == FEW;
        let lasts = self.patterns.lasting.is_match(&self.text[..self.start]);
        if matches!(unit, CalendarUnit::Month | CalendarUnit::Year | CalendarUnit::Decade) {
            let is_clear = link.is_some() && (base, sign, days) == (0, 1, 0);
            return self.counted(1).map(|found| found.sure(is_clear && !lasts));
        }
        let counted = self.same_day(unit, sign.checked_mul(count)?)?;
        let day = calendar::add_days(counted, sign.checked_mul(days)?.checked_add(base)?)?;
        let is_ahead = || {
            let clause = self.patterns.tense.clause(self.text, self.start..self.end);
            base >= 0
                && unit != CalendarUnit::Day
                && !self.is_other_week()
                && !self.patterns.elapsed.is_match(&self.text[clause])
                && self.clear_lean(DateReach::Week) != TimeLean::Past
        };
        Some(DateMatch::day(day).sure(!is_vague && !lasts && (link.is_some() || is_ahead())))
    }

    pub(super) fn away(&self, unit: CalendarUnit, count: i64) -> Option<DateMatch> {
        let weeks = match unit {
            CalendarUnit::Week => count,
            CalendarUnit::Fortnight => count.checked_mul(2)?,
            CalendarUnit::Decade => return self.unit(CalendarUnit::Year, count.checked_mul(10)?),
            _ => return self.unit(unit, count),
        };
        let about = calendar::add_days(self.today, weeks.checked_mul(7)?)?;
        Some(DateMatch { about: Some(about), ..self.unit(CalendarUnit::Week, weeks)? })
    }

    pub(super) fn unit(&self, unit: CalendarUnit, offset: i64) -> Option<DateMatch> {
        let (days, grain) = calendar::unit(self.today, unit, offset)?;
        let found = DateMatch::new(days, grain);
        // "We skied this weekend", said on a Wednesday, is about the last one.
        let is_ahead = unit == CalendarUnit::Weekend && offset == 0 && days.0 > self.today;
        Some(found.sure(!is_ahead || self.clear_lean(DateReach::Week) != TimeLean::Past))
    }

    /// The days from some units ago until today, or from today on.
    pub(super) fn rolling(&self, direction: i64) -> Option<DateMatch> {
        let unit = self.named_unit()?;
        let count = match self.group("n") {
            // "In the coming years" tells of no number.
            None if matches!(unit, CalendarUnit::Day) || self.group("unit")?.ends_with('s') => {
                return None;
            }
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
    pub(super) fn same_day(&self, unit: CalendarUnit, count: i64) -> Option<Date> {
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
