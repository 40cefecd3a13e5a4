//! Counted units: "two weeks ago", "in a few days", "the past three months".

use jiff::civil::Date;

use super::calendar::{self, Lean};
use super::english::{Found, Grammar};
use super::lexer::Kind;
use super::mention::Grain;
use super::vocabulary::{Unit, Word};

/// A count of units: "two", "a few", "2-3".
#[derive(Debug, Clone, Copy)]
pub(super) struct Quantity {
    pub least: i64,
    pub most: i64,
    exact: bool,
    half: bool,
}

impl Grammar {
    /// The days from `count` units back until today, or from today on.
    pub(super) fn rolling(
        &self,
        end: usize,
        unit: Unit,
        count: i64,
        future: bool,
    ) -> Option<Found> {
        let count = if future { count } else { count.checked_neg()? };
        let other = match unit {
            Unit::Day => calendar::add_days(self.today, count)?,
            Unit::Week | Unit::Weekend => calendar::add_days(self.today, count.checked_mul(7)?)?,
            Unit::Month => self.shifted_months(count)?,
            Unit::Year => self.shifted_months(count.checked_mul(12)?)?,
            Unit::Decade => self.shifted_months(count.checked_mul(120)?)?,
            Unit::Hour | Unit::Minute => return None,
        };
        let days = if future { (self.today, other) } else { (other, self.today) };
        Some(Found::new(end, days, Grain::Day).unsure())
    }

    fn shifted_months(&self, months: i64) -> Option<Date> {
        let (first, last) = calendar::month_offset(self.today, months)?;
        calendar::date(i64::from(first.year()), first.month(), self.today.day().min(last.day()))
    }

    /// "in three weeks", "in a few days' time".
    pub(super) fn in_quantity(&self, at: usize) -> Option<Found> {
        let (after, count) = self.quantity(at + 1)?;
        let Word::Unit(unit, _) = self.word(after) else { return None };
        if self.word(after + 1) == Word::Of
            || matches!(unit, Unit::Hour | Unit::Minute | Unit::Weekend)
        {
            return None;
        }
        // "I read it in two weeks" is how long it took.
        match self.lean(at, after + 1) {
            Lean::Past => None,
            Lean::Future => self.away(after + 1, unit, count, 1),
            Lean::Unknown => self.away(after + 1, unit, count, 1).map(Found::unsure),
        }
    }

    /// "two weeks ago", "a few days from now".
    pub(super) fn quantity_ago(&self, at: usize) -> Option<Found> {
        if matches!(self.before(at), Word::Number(_)) || at > 0 && self.mark(at - 1, b'-') {
            return None;
        }
        let (after, count) = self.quantity(at)?;
        let Word::Unit(unit, _) = self.word(after) else { return None };
        match (self.word(after + 1), self.word(after + 2)) {
            (Word::Ago, Word::Today) => self.to_the_day(after + 3, unit, count, 0),
            (Word::Ago, Word::Yesterday) => self.to_the_day(after + 3, unit, count, -1),
            (Word::Ago, _) => self.away(after + 2, unit, count, -1),
            (Word::Back, _) => self.away(after + 2, unit, count, -1).map(Found::unsure),
            (Word::From, Word::Now | Word::Today) => self.away(after + 3, unit, count, 1),
            _ => None,
        }
    }

    /// "five years ago today": the same day of the calendar.
    fn to_the_day(&self, end: usize, unit: Unit, count: Quantity, offset: i64) -> Option<Found> {
        let back = count.most.checked_neg().filter(|_| !count.half)?;
        let day = match unit {
            Unit::Day => calendar::add_days(self.today, back)?,
            Unit::Week => calendar::add_days(self.today, back.checked_mul(7)?)?,
            Unit::Month => self.shifted_months(back)?,
            Unit::Year => self.shifted_months(back.checked_mul(12)?)?,
            _ => return None,
        };
        let day = calendar::add_days(day, offset)?;
        let found = Found::new(end, (day, day), Grain::Day);
        Some(if count.exact { found } else { found.unsure() })
    }

    /// What is `count` units away; an inexact count gives the days it may be.
    fn away(&self, end: usize, unit: Unit, count: Quantity, direction: i64) -> Option<Found> {
        if matches!(unit, Unit::Hour | Unit::Minute) {
            // Hours reach into another day or they don't; only the clock of the anchor would tell.
            return (count.most <= 3)
                .then(|| Found::new(end, (self.today, self.today), Grain::Day).unsure());
        }
        if unit == Unit::Decade && !count.half {
            let years = Quantity {
                least: count.least.checked_mul(10)?,
                most: count.most.checked_mul(10)?,
                ..count
            };
            return self.away(end, Unit::Year, years, direction).map(Found::unsure);
        }
        if count.half {
            let days = match unit {
                Unit::Year => return self.unit(end, Unit::Month, direction * 6).map(Found::unsure),
                Unit::Month => 15,
                Unit::Decade => {
                    return self.unit(end, Unit::Year, direction * 5).map(Found::unsure);
                }
                _ => return None,
            };
            return self.unit(end, Unit::Day, direction * days).map(Found::unsure);
        }
        let near = self.unit(end, unit, direction.checked_mul(count.least)?)?;
        let far = self.unit(end, unit, direction.checked_mul(count.most)?)?;
        let days = (near.days.0.min(far.days.0), near.days.1.max(far.days.1));
        // Several weeks, weekends or decades are no unit of their own: a run of days.
        let grain = if days == near.days || matches!(near.grain, Grain::Month | Grain::Year) {
            near.grain
        } else {
            Grain::Day
        };
        let found = Found::new(end, days, grain);
        Some(if count.exact { found } else { found.unsure() })
    }

    /// A count that begins at `at`, perhaps with one "about" before it, and the token after it.
    pub(super) fn quantity(&self, at: usize) -> Option<(usize, Quantity)> {
        if self.word(at) != Word::About {
            return self.plain_quantity(at);
        }
        let (end, quantity) = self.plain_quantity(at + 1)?;
        Some((end, Quantity { exact: false, ..quantity }))
    }

    fn plain_quantity(&self, at: usize) -> Option<(usize, Quantity)> {
        let exact = |n: i64| Quantity { least: n, most: n, exact: true, half: false };
        let few = Quantity { least: 2, most: 5, exact: false, half: false };
        let (end, quantity) = match (self.kind(at)?, self.word(at + 1)) {
            (Kind::Word(Word::A), Word::Few) => (at + 2, few),
            (Kind::Word(Word::A), Word::Couple) => (at + 2, exact(2)),
            (Kind::Word(Word::A), Word::Half) => (at + 2, Quantity { half: true, ..exact(1) }),
            (Kind::Word(Word::A), Word::Number(n)) => (at + 2, exact(i64::from(n))),
            (Kind::Word(Word::A), _) => (at + 1, exact(1)),
            (Kind::Word(Word::Half), Word::A) => (at + 2, Quantity { half: true, ..exact(1) }),
            (Kind::Word(Word::Half), _) => return None,
            (Kind::Word(Word::Few), _) => (at + 1, few),
            (Kind::Word(Word::Couple), _) => (at + 1, exact(2)),
            (Kind::Word(Word::Number(n)), Word::And) if self.word(at + 2) != Word::A => {
                // "two or three weeks"; "two and a half" is left alone.
                let Word::Number(most) = self.word(at + 2) else { return None };
                (
                    at + 3,
                    Quantity {
                        least: i64::from(n.min(most)),
                        most: i64::from(n.max(most)),
                        exact: false,
                        half: false,
                    },
                )
            }
            (Kind::Word(Word::Number(n)), _) => (at + 1, exact(i64::from(n))),
            (Kind::Number(n, digits), _) if digits <= 4 => (at + 1, exact(i64::from(n))),
            (Kind::Span(a, b), _) if a < b && b < 1000 => (
                at + 1,
                Quantity { least: i64::from(a), most: i64::from(b), exact: false, half: false },
            ),
            _ => return None,
        };
        let end = if self.word(end) == Word::Of && matches!(self.word(end - 1), Word::Couple) {
            end + 1
        } else {
            end
        };
        Some((end, quantity))
    }
}
