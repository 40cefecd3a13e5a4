//! Dates by name and number: "May 5", "5 May 2023", "in May", "since 2016", "the summer of 2019",
//! "Christmas". Ranges are in `ranges`.

use super::calendar::{self, Days, Holiday, Lean};
use super::english::{Found, Grammar};
use super::lexer::Kind;
use super::mention::Grain;
use super::vocabulary::{Unit, Word};

/// What a date names besides its year.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Name {
    Day(i8, i8),
    /// A run of days of one month.
    Days(i8, i8, i8),
    Month(i8),
    Season(i8),
    Holiday(Holiday),
    Year,
    Decade,
}

/// A date as written: with or without its year.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    pub end: usize,
    pub name: Name,
    pub year: Option<i64>,
    pub confident: bool,
}

impl Written {
    pub(super) fn new(end: usize, name: Name, year: Option<i64>) -> Self {
        Self { end, name, year, confident: true }
    }

    fn days(&self, year: i64) -> Option<Days> {
        let one = |day| Some((day, day));
        match self.name {
            Name::Day(month, day) => calendar::date(year, month, day).and_then(one),
            Name::Days(month, first, last) => {
                Some((calendar::date(year, month, first)?, calendar::date(year, month, last)?))
            }
            Name::Month(month) => calendar::month(year, month),
            Name::Season(season) => calendar::season(year, season),
            Name::Holiday(holiday) => calendar::holiday(year, holiday).and_then(one),
            Name::Year => calendar::year(year),
            Name::Decade => calendar::decade(year),
        }
    }

    fn grain(&self) -> Grain {
        match self.name {
            Name::Day(..) | Name::Days(..) | Name::Holiday(_) => Grain::Day,
            Name::Month(_) => Grain::Month,
            Name::Season(_) => Grain::Season,
            Name::Year => Grain::Year,
            Name::Decade => Grain::Decade,
        }
    }
}

impl Grammar {
    /// The date, or range of dates, that begins at `at`.
    pub(super) fn absolute(&self, at: usize) -> Option<Found> {
        if let Some(found) = self.span_of_years(at) {
            return Some(found);
        }
        let first = match self.bare_range_start(at) {
            Some(first) => first,
            None => self.written(at)?,
        };
        let range = self.range_end(at, &first);
        let end = range.map_or(first.end, |last| last.end);
        let lean = self.lean(at, end);
        let year = first.year.or(range.and_then(|last| last.year));
        let mut days = match year {
            Some(year) => first.days(year)?,
            None => calendar::infer(self.today, lean, |year| first.days(year))?,
        };
        if let Some(last) = range {
            let mut until = last.days(last.year.unwrap_or(i64::from(days.0.year())))?;
            if until.1 < days.0 {
                // "from November to February": the year turns in between.
                match (first.year, last.year) {
                    (_, None) => until = last.days(i64::from(days.0.year()) + 1)?,
                    (None, Some(year)) => days = first.days(year - 1)?,
                    _ => return None,
                }
            }
            if until.1 < days.0 {
                return None;
            }
            days.1 = until.1;
        }
        let grain = match range {
            Some(last) if last.grain() != first.grain() || last.grain() > Grain::Year => Grain::Day,
            Some(_) if first.grain() == Grain::Season => Grain::Day,
            _ => first.grain(),
        };
        let inferred = year.is_none();
        let sure = !inferred || lean != Lean::Unknown && !self.is_yearly(at, end);
        // "November" alone may be a name; "from November to February" is not.
        let clear = |written: &Written| {
            written.confident || matches!(written.name, Name::Month(_)) && range.is_some()
        };
        let confident = clear(&first) && sure && range.as_ref().is_none_or(clear);
        Some(Found { end, days, grain, relative: inferred, confident })
    }

    /// One date that begins at `at`.
    pub(super) fn written(&self, at: usize) -> Option<Written> {
        match self.kind(at)? {
            Kind::Iso(year, month, 0) => {
                // "2010-11" may be a season of football.
                let mut written = Written::new(at + 1, Name::Month(small(month)?), plausible(year));
                calendar::month(written.year?, small(month)?)?;
                written.confident = month < 10;
                Some(written)
            }
            Kind::Iso(year, month, day) => self.numeric(at, year, month, day),
            Kind::Dotted(day, month, year) => self.numeric(at, year, month, day),
            Kind::Slashed(a, b, year) => {
                let two_digits = year < 100;
                let year = if two_digits { 2000 + year } else { year };
                // Month first where both are possible; only a day above 12 tells for sure.
                let found = if a > 12 {
                    self.numeric(at, year, b, a)
                } else {
                    self.numeric(at, year, a, b)
                };
                found.map(|mut written| {
                    written.confident = !two_digits && (a == b || a > 12 || b > 12);
                    written
                })
            }
            Kind::Span(a, b) => self.day_before_month(at, small(a)?, small(b)?),
            Kind::Number(value, digits) => match digits {
                1 | 2 => self.day_before_month(at, small(value)?, 0),
                4 => self.year_alone(at, value),
                _ => None,
            },
            Kind::Ordinal(value) => self.day_before_month(at, small(value)?, 0),
            Kind::Decade(value) => self.decade(at, value),
            Kind::Mark(_) => None,
            Kind::Word(word) => self.named(at, word),
        }
    }

    fn numeric(&self, at: usize, year: u32, month: u32, day: u32) -> Option<Written> {
        let (month, day, year) = (small(month)?, small(day)?, i64::from(year));
        calendar::date(year, month, day)?;
        Some(Written::new(at + 1, Name::Day(month, day), Some(year)))
    }

    fn named(&self, at: usize, word: Word) -> Option<Written> {
        match word {
            Word::The => match self.kind(at + 1)? {
                Kind::Ordinal(value) => self.day_before_month(at + 1, small(value)?, 0),
                Kind::Decade(_) => self.written(at + 1),
                _ => None,
            },
            Word::Month(month) => self.month(at, month),
            Word::ShortMonth(month) if self.capital(at) || self.is_day_number(at + 1) => {
                self.month(at, month)
            }
            // "Friday, May 5": the weekday is part of the date.
            Word::Weekday(_) | Word::ShortWeekday(_) => {
                let next = self.skip_dot_comma(at + 1);
                let next = if self.word(next) == Word::The { next + 1 } else { next };
                if next > at + 2 && !self.capital(at) {
                    return None;
                }
                self.written(next).filter(|written| matches!(written.name, Name::Day(..)))
            }
            Word::Season(season) => {
                let next = if self.word(at + 1) == Word::Of { at + 2 } else { at + 1 };
                if let Some(year) = self.year(next) {
                    let mut written = Written::new(next + 1, Name::Season(season), Some(year));
                    // A winter has two years.
                    written.confident = season != 3;
                    return Some(written);
                }
                let in_the = self.before(at) == Word::The
                    && at >= 2
                    && matches!(self.word(at - 2), Word::In | Word::During | Word::Since);
                let bare = season != 0
                    && season != 2
                    && matches!(self.before(at), Word::In | Word::Since | Word::During);
                (in_the || bare)
                    .then(|| Written::new(at + 1, Name::Season(season), None).in_doubt())
            }
            Word::Holiday(holiday) => self.holiday(at, at + 1, holiday),
            Word::Valentine => self.feast(at, at + 1, (2, 14), Unit::Day),
            Word::Boxing => self.feast(at, at + 1, (12, 26), Unit::Day),
            Word::Independence => self.feast(at, at + 1, (7, 4), Unit::Day),
            Word::New => {
                let Word::Unit(Unit::Year, plural) = self.word(at + 1) else { return None };
                let next = self.skip_possessive(at + 2);
                match self.word(next) {
                    Word::Eve => self.holiday(at, next + 1, Holiday::Fixed(12, 31)),
                    Word::Unit(Unit::Day, false) => {
                        self.holiday(at, next + 1, Holiday::Fixed(1, 1))
                    }
                    _ if self.capital(at)
                        && self.capital(at + 1)
                        && (plural || next == at + 2)
                        && self.before(at) != Word::Other =>
                    {
                        self.holiday(at, next, Holiday::Fixed(1, 1)).map(Written::in_doubt)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// A feast that needs its second word: "Valentine's Day".
    fn feast(&self, at: usize, next: usize, (month, day): (i8, i8), unit: Unit) -> Option<Written> {
        let next = self.skip_possessive(next);
        (self.word(next) == Word::Unit(unit, false))
            .then(|| self.holiday(at, next + 1, Holiday::Fixed(month, day)))?
    }

    /// A feast whose name ends before `end`, with "Eve" or "Day" and a year if they follow.
    fn holiday(&self, at: usize, end: usize, holiday: Holiday) -> Option<Written> {
        if matches!(
            self.before(at),
            Word::Last | Word::This | Word::Next | Word::Past | Word::Every
        ) {
            return None;
        }
        let (end, name) = match (self.word(end), holiday) {
            (Word::Eve, Holiday::Fixed(12, 25)) => (end + 1, Name::Holiday(Holiday::Fixed(12, 24))),
            (Word::Eve, _) => return None,
            (Word::Unit(Unit::Day, false) | Word::Weekday(6), _) => {
                (end + 1, Name::Holiday(holiday))
            }
            _ => (end, Name::Holiday(holiday)),
        };
        let of = if self.word(end) == Word::Of { end + 1 } else { end };
        match self.year(of) {
            Some(year) => Some(Written::new(of + 1, name, Some(year))),
            None => Some(Written::new(end, name, None)),
        }
    }

    /// "May 5th, 2023", "May 3-5", "May 2023", "in May".
    fn month(&self, at: usize, month: i8) -> Option<Written> {
        let capital = self.capital(at);
        // May, March and August are words of their own in lower case.
        let verb = matches!(month, 3 | 5 | 8) && !capital;
        let prepared =
            matches!(
                self.before(at),
                Word::In | Word::Since | Word::During | Word::Part | Word::Between
            ) || self.before(at) == Word::Of && at >= 2 && matches!(self.word(at - 2), Word::Part);
        let dated = matches!(
            self.before(at),
            Word::On | Word::By | Word::To | Word::From | Word::Of | Word::Before | Word::After
        ) || prepared;
        let next = if self.mark(at + 1, b'.') && matches!(self.word(at), Word::ShortMonth(_)) {
            at + 2
        } else {
            at + 1
        };
        let next = if self.word(next) == Word::The
            && matches!(self.kind(next + 1), Some(Kind::Ordinal(_)))
        {
            next + 1
        } else {
            next
        };
        let (day, last, ordinal) = match self.kind(next) {
            Some(Kind::Number(day, 1 | 2)) => (small(day)?, 0, false),
            Some(Kind::Ordinal(day)) => (small(day)?, 0, true),
            Some(Kind::Span(a, b)) if a < b && b <= 31 => (small(a)?, small(b)?, true),
            _ => (0, 0, false),
        };
        if day > 0 && !self.counts_something(next + 1) {
            let after = self.skip_comma(next + 1);
            let after = if self.word(after) == Word::Of && self.year(after + 1).is_some() {
                after + 1
            } else {
                after
            };
            let year = self.year(after);
            if verb && !ordinal && year.is_none() && !dated {
                return None;
            }
            calendar::date(year.unwrap_or(2000), month, day)?;
            let name =
                if last > day { Name::Days(month, day, last) } else { Name::Day(month, day) };
            return Some(Written::new(
                if year.is_some() { after + 1 } else { next + 1 },
                name,
                year,
            ));
        }
        let of = if self.word(next) == Word::Of || self.mark(next, b',') { next + 1 } else { next };
        if let Some(year) = self.year(of).filter(|_| !verb || prepared || of == next) {
            return Some(Written::new(of + 1, Name::Month(month), Some(year)));
        }
        if matches!(self.before(at), Word::Last | Word::This | Word::Next | Word::Every) {
            return None;
        }
        // Names of people and verbs need a preposition that only dates have.
        let name_or_verb =
            matches!(month, 3..=6 | 8) || matches!(self.word(at), Word::ShortMonth(_));
        if prepared && (capital || !verb || self.before(at) == Word::In) {
            return Some(Written::new(at + 1, Name::Month(month), None));
        }
        (!name_or_verb && (capital || dated))
            .then(|| Written::new(at + 1, Name::Month(month), None).in_doubt())
    }

    /// "5 May 2023", "5th of May", "3-5 June"; `last` is 0 for a single day.
    pub(super) fn day_before_month(&self, at: usize, day: i8, last: i8) -> Option<Written> {
        let next = if self.word(at + 1) == Word::Of { at + 2 } else { at + 1 };
        let month = match self.word(next) {
            Word::Month(month) => month,
            Word::ShortMonth(month) if self.capital(next) => month,
            _ => return None,
        };
        let comma = if self.mark(next + 1, b'.') && matches!(self.word(next), Word::ShortMonth(_)) {
            next + 2
        } else {
            next + 1
        };
        let comma =
            if self.mark(comma, b',') || self.word(comma) == Word::Of { comma + 1 } else { comma };
        let year = self.year(comma);
        let verb = matches!(month, 3 | 5)
            && !self.capital(next)
            && next == at + 1
            && !matches!(self.kind(at), Some(Kind::Ordinal(_)));
        if verb && year.is_none() || last != 0 && last <= day {
            return None;
        }
        calendar::date(year.unwrap_or(2000), month, day.max(last))?;
        let name = if last > 0 { Name::Days(month, day, last) } else { Name::Day(month, day) };
        Some(Written::new(if year.is_some() { comma + 1 } else { next + 1 }, name, year))
    }

    /// A year without a month: after a preposition of time, and counting nothing.
    fn year_alone(&self, at: usize, value: u32) -> Option<Written> {
        let year = plausible(value).filter(|year| (1800..=2100).contains(year))?;
        let sure = matches!(
            self.before(at),
            Word::In
                | Word::Since
                | Word::During
                | Word::Part
                | Word::Between
                | Word::Unit(Unit::Year, false)
        );
        let of_part = self.before(at) == Word::Of
            && at >= 2
            && matches!(self.word(at - 2), Word::Part | Word::Unit(..));
        let dashed_part = at >= 2 && self.mark(at - 1, b'-') && self.word(at - 2) == Word::Part;
        let loose = matches!(
            self.before(at),
            Word::By | Word::To | Word::From | Word::Before | Word::After | Word::About
        );
        let counted = self.counts_something(at + 1)
            || self.mark(at + 1, b'-') && matches!(self.word(at + 2), Word::Other);
        if counted || !(sure || of_part || dashed_part || loose) {
            return None;
        }
        let written = Written::new(at + 1, Name::Year, Some(year));
        // "from 2000 steps": what follows a loose preposition and goes on with a word may be a
        // count.
        let goes_on = matches!(self.kind(at + 1), Some(Kind::Word(Word::Other)));
        Some(if loose && goes_on { written.in_doubt() } else { written })
    }

    fn decade(&self, at: usize, value: u32) -> Option<Written> {
        let first = if value < 100 { 1900 + value } else { value };
        let marked = self.before(at) == Word::The
            || at > 0 && self.mark(at - 1, b'\'')
            || self.before(at) == Word::Part;
        let certain = value >= 100 && (1800..=2090).contains(&value);
        (certain || marked && (20..=90).contains(&value))
            .then(|| Written::new(at + 1, Name::Decade, Some(i64::from(first))))
    }

    /// A four-digit year at `at`, or `'23`.
    pub(super) fn year(&self, at: usize) -> Option<i64> {
        match self.kind(at)? {
            Kind::Number(value, 4) => plausible(value).filter(|_| !self.counts_something(at + 1)),
            _ => None,
        }
    }

    /// Whether the token at `at` can be the day of a month.
    pub(super) fn is_day_number(&self, at: usize) -> bool {
        match self.kind(at) {
            Some(Kind::Number(day, 1 | 2) | Kind::Ordinal(day)) => {
                (1..=31).contains(&day) && !self.counts_something(at + 1)
            }
            _ => false,
        }
    }

    /// Whether the word at `at` is a unit, so that the number before it is no date.
    pub(super) fn counts_something(&self, at: usize) -> bool {
        matches!(self.word(at), Word::Measure | Word::Unit(_, true))
    }

    pub(super) fn skip_comma(&self, at: usize) -> usize {
        if self.mark(at, b',') && self.year(at + 1).is_some() { at + 1 } else { at }
    }

    fn skip_dot_comma(&self, at: usize) -> usize {
        let at = if self.mark(at, b'.') && matches!(self.word(at - 1), Word::ShortWeekday(_)) {
            at + 1
        } else {
            at
        };
        if self.mark(at, b',') { at + 1 } else { at }
    }

    /// Past `'s` or `'`.
    fn skip_possessive(&self, at: usize) -> usize {
        if !self.mark(at, b'\'') {
            return at;
        }
        let letter = self.tokens.get(at + 1).is_some_and(|token| {
            token.start == self.tokens[at].end && token.end == token.start + 1
        });
        if letter && self.word(at + 1) == Word::Other { at + 2 } else { at + 1 }
    }
}

impl Written {
    fn in_doubt(mut self) -> Self {
        self.confident = false;
        self
    }
}

pub(super) fn small(value: u32) -> Option<i8> {
    i8::try_from(value).ok()
}

fn plausible(year: u32) -> Option<i64> {
    (1000..=9999).contains(&year).then_some(i64::from(year))
}
