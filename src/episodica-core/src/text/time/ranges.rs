//! Ranges of dates: "from 3 to 5 June", "between May and July 2022", "2019-2021".

use super::absolute::{Name, Written, small};
use super::calendar;
use super::english::{Found, Grammar};
use super::lexer::Kind;
use super::mention::Grain;
use super::vocabulary::Word;

impl Grammar {
    /// "2019-2021".
    pub(super) fn span_of_years(&self, at: usize) -> Option<Found> {
        let Some(Kind::Span(from, to)) = self.kind(at) else { return None };
        if !(1800..=2100).contains(&from)
            || !(from + 1..=2100).contains(&to)
            || self.counts_something(at + 1)
        {
            return None;
        }
        let days = (calendar::year(i64::from(from))?.0, calendar::year(i64::from(to))?.1);
        Some(Found { relative: false, ..Found::new(at + 1, days, Grain::Year) })
    }

    /// "3 to 5 June", "5th and the 7th of May" with "between": the first day has no month of its
    /// own.
    pub(super) fn bare_range_start(&self, at: usize) -> Option<Written> {
        let (Kind::Number(first, 1 | 2) | Kind::Ordinal(first)) = self.kind(at)? else {
            return None;
        };
        let next = self.connector(at, at + 1)?;
        let next = if self.word(next) == Word::The { next + 1 } else { next };
        let (Kind::Number(last, 1 | 2) | Kind::Ordinal(last)) = self.kind(next)? else {
            return None;
        };
        let mut written = self.day_before_month(next, small(last)?, 0)?;
        let Name::Day(month, last) = written.name else { return None };
        written.name = Name::Days(month, small(first).filter(|first| *first < last)?, last);
        Some(written)
    }

    /// The date that ends the range whose first date is `first`.
    pub(super) fn range_end(&self, at: usize, first: &Written) -> Option<Written> {
        let next = self.connector(at, first.end)?;
        if let (Name::Day(month, from), Some(Kind::Number(day, 1 | 2) | Kind::Ordinal(day))) =
            (first.name, self.kind(next))
        {
            let day = small(day)?;
            if day > from
                && self.day_before_month(next, day, 0).is_none()
                && !self.counts_something(next + 1)
            {
                let after = self.skip_comma(next + 1);
                let year = self.year(after);
                return Some(Written::new(
                    if year.is_some() { after + 1 } else { next + 1 },
                    Name::Day(month, day),
                    year,
                ));
            }
        }
        if let (Name::Month(_), Word::Month(month), false) =
            (first.name, self.word(next), self.is_day_number(next + 1))
        {
            let of = if self.word(next + 1) == Word::Of { next + 2 } else { next + 1 };
            let year = self.year(of);
            return Some(Written::new(
                if year.is_some() { of + 1 } else { next + 1 },
                Name::Month(month),
                year,
            ));
        }
        if first.name == Name::Year {
            let year = self.year(next)?;
            return Some(Written::new(next + 1, Name::Year, Some(year)));
        }
        self.written(next).filter(|last| {
            matches!(last.name, Name::Day(..) | Name::Holiday(_))
                && matches!(first.name, Name::Day(..) | Name::Holiday(_))
        })
    }

    /// The token after "to", "until", a dash, or (after "between") "and".
    fn connector(&self, start: usize, at: usize) -> Option<usize> {
        let between = self.before(start) == Word::Between
            || start >= 2
                && self.before(start) == Word::The
                && self.word(start - 2) == Word::Between;
        let from = matches!(self.before(start), Word::From | Word::During | Word::In | Word::On)
            || start >= 2 && self.before(start) == Word::The && self.word(start - 2) == Word::From;
        match self.word(at) {
            Word::And if between => Some(at + 1),
            Word::To if from || !matches!(self.kind(start), Some(Kind::Number(_, 4))) => {
                Some(at + 1)
            }
            _ => self.mark(at, b'-').then_some(at + 1),
        }
    }
}
