//! Calendar arithmetic that never panics: results outside the years 1 to 9999 are `None`.

use jiff::Span;
use jiff::civil::{Date, Weekday};

use super::mention::DateGrain;

/// The first and last day of a range.
pub(super) type Days = (Date, Date);

/// Whether the sentence places a date without a year in the past or in the future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeLean {
    Past,
    Future,
    Unknown,
}

/// Days within which a day of the month must fall on its weekday if no tense tells the direction.
const SOON: i32 = 45;

/// A unit of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CalendarUnit {
    Day,
    Week,
    Fortnight,
    Weekend,
    Month,
    Year,
    Decade,
}

pub(super) fn date(year: i64, month: i8, day: i8) -> Option<Date> {
    let year = i16::try_from(year).ok().filter(|year| (1..=9999).contains(year))?;
    Date::new(year, month, day).ok()
}

pub(super) fn add_days(start: Date, days: i64) -> Option<Date> {
    let moved = start.checked_add(Span::new().try_days(days).ok()?).ok()?;
    (1..=9999).contains(&moved.year()).then_some(moved)
}

/// The week (from Monday) that is `offset` weeks after the week of `today`.
pub(super) fn week(today: Date, offset: i64) -> Option<Days> {
    let back = i64::from(today.weekday().to_monday_zero_offset());
    let monday = add_days(today, offset.checked_mul(7)?.checked_sub(back)?)?;
    Some((monday, add_days(monday, 6)?))
}

/// Saturday and Sunday of the week that is `offset` weeks after the week of `today`.
pub(super) fn weekend(today: Date, offset: i64) -> Option<Days> {
    let (_, sunday) = week(today, offset)?;
    Some((add_days(sunday, -1)?, sunday))
}

/// The day `weekday`, from Monday (0) to Sunday (6), of the week that is `offset` weeks after the
/// week of `today`.
pub(super) fn day_of_week(today: Date, offset: i64, weekday: i8) -> Option<Date> {
    add_days(week(today, offset)?.0, i64::from(weekday))
}

/// The latest `weekday` (Monday is 0) that is at least one day before `today`.
pub(super) fn weekday_before(today: Date, weekday: i8) -> Option<Date> {
    let back = (today.weekday().to_monday_zero_offset() - weekday).rem_euclid(7);
    add_days(today, -i64::from(if back == 0 { 7 } else { back }))
}

/// The earliest `weekday` (Monday is 0) that is at least `least` days after `today`.
pub(super) fn weekday_after(today: Date, weekday: i8, least: i8) -> Option<Date> {
    let ahead = (weekday - today.weekday().to_monday_zero_offset()).rem_euclid(7);
    add_days(today, i64::from(if ahead < least { ahead + 7 } else { ahead }))
}

pub(super) fn month(year: i64, month: i8) -> Option<Days> {
    let first = date(year, month, 1)?;
    Some((first, first.last_of_month()))
}

/// The month that is `offset` months after the month of `today`.
pub(super) fn month_offset(today: Date, offset: i64) -> Option<Days> {
    let index =
        (i64::from(today.year()) * 12 + i64::from(today.month()) - 1).checked_add(offset)?;
    month(index.div_euclid(12), i8::try_from(index.rem_euclid(12)).ok()? + 1)
}

/// The same day `months` months away, or the last day of that month.
pub(super) fn months_away(today: Date, months: i64) -> Option<Date> {
    let (first, last) = month_offset(today, months)?;
    date(i64::from(first.year()), first.month(), today.day().min(last.day()))
}

pub(super) fn year(year: i64) -> Option<Days> {
    Some((date(year, 1, 1)?, date(year, 12, 31)?))
}

/// The ten years that begin with `first`.
pub(super) fn decade(first: i64) -> Option<Days> {
    Some((date(first, 1, 1)?, date(first + 9, 12, 31)?))
}

/// The calendar unit that is `offset` units after the unit of `today`.
pub(super) fn unit(today: Date, unit: CalendarUnit, offset: i64) -> Option<(Days, DateGrain)> {
    Some(match unit {
        CalendarUnit::Week => (week(today, offset)?, DateGrain::Week),
        CalendarUnit::Weekend => (weekend(today, offset)?, DateGrain::Weekend),
        CalendarUnit::Month => (month_offset(today, offset)?, DateGrain::Month),
        CalendarUnit::Year => {
            (year(i64::from(today.year()).checked_add(offset)?)?, DateGrain::Year)
        }
        CalendarUnit::Decade => {
            let first = (i64::from(today.year()) / 10).checked_add(offset)?.checked_mul(10)?;
            (decade(first)?, DateGrain::Decade)
        }
        CalendarUnit::Day => {
            let day = add_days(today, offset)?;
            ((day, day), DateGrain::Day)
        }
        CalendarUnit::Fortnight => (week(today, offset.checked_mul(2)?)?, DateGrain::Week),
    })
}

/// The date of a day of the month that is named without its month, and whether it is certain: the
/// tense tells the direction, or the date soon falls on the named `weekday` (Monday is 0). Without
/// such a date it is uncertain.
pub(super) fn day_and_weekday(
    today: Date,
    lean: TimeLean,
    day: i8,
    weekday: Option<i8>,
) -> Option<(Date, bool)> {
    let of_month = |offset| {
        let (first, _) = month_offset(today, offset)?;
        date(i64::from(first.year()), first.month(), day)
    };
    let nearest = |days: &mut dyn Iterator<Item = Date>| {
        days.filter(|day| match lean {
            TimeLean::Past => *day <= today,
            TimeLean::Future => *day >= today,
            TimeLean::Unknown => true,
        })
        .min_by_key(|day| days_between(*day, today).abs())
    };
    let agrees = |date: &Date| Some(date.weekday().to_monday_zero_offset()) == weekday;
    let soon = |date: &Date| lean != TimeLean::Unknown || days_between(*date, today).abs() <= SOON;
    let fitting = || (-2..=2).filter_map(of_month).filter(agrees).filter(soon);
    // Without a tense, a plan is likelier than a day that has passed.
    let both =
        nearest(&mut fitting().filter(|day| *day >= today)).or_else(|| nearest(&mut fitting()));
    match both {
        Some(both) => Some((both, true)),
        None => {
            let found = nearest(&mut (-2..=2).filter_map(of_month))?;
            Some((found, lean != TimeLean::Unknown && weekday.is_none()))
        }
    }
}

/// The `nth` (from 1; -1 is the last) `weekday` of a month.
pub(super) fn nth_weekday(year: i64, month: i8, nth: i8, weekday: i8) -> Option<Date> {
    let weekday = Weekday::from_monday_zero_offset(weekday).ok()?;
    date(year, month, 1)?.nth_weekday_of_month(nth, weekday).ok()
}

/// Spring (0) to winter (3) of `year`; a winter begins in December of `year`.
pub(super) fn season(year: i64, season: i8) -> Option<Days> {
    let first = date(year, 3 + 3 * season, 1)?;
    Some((first, month_offset(first, 2)?.1))
}

/// The `days` of the years around `today`, in order. A year may lack them: 29 February may be eight
/// years away.
fn candidates(
    today: Date,
    days: impl Fn(i64) -> Option<Days>,
) -> impl DoubleEndedIterator<Item = Days> {
    (-8..=8).filter_map(move |offset| days(i64::from(today.year()) + offset))
}

/// The latest range that ended before `today`.
pub(super) fn last(today: Date, days: impl Fn(i64) -> Option<Days>) -> Option<Days> {
    candidates(today, days).rev().find(|(_, to)| *to < today)
}

/// The earliest range that begins after `today`.
pub(super) fn next(today: Date, days: impl Fn(i64) -> Option<Days>) -> Option<Days> {
    candidates(today, days).find(|(from, _)| *from > today)
}

/// The range meant by a mention without a year; for `Unknown` the nearest one, or the past one in a
/// tie.
pub(super) fn infer(
    today: Date,
    lean: TimeLean,
    days: impl Fn(i64) -> Option<Days>,
) -> Option<Days> {
    let mut found = candidates(today, days);
    match lean {
        TimeLean::Past => found.rev().find(|(from, _)| *from <= today),
        TimeLean::Future => found.find(|(_, to)| *to >= today),
        TimeLean::Unknown => found.min_by_key(|(from, to)| {
            (days_between(*to, today)).max(days_between(today, *from)).max(0)
        }),
    }
}

/// Most days to a date whose weekday tells its year.
const YEAR_DAYS: i32 = 366;

/// The day of `days` that falls on `weekday` (Monday is 0) within a year before or after `today`.
/// No day has the same weekday in two of three years in a row.
pub(super) fn day_on_weekday(
    today: Date,
    weekday: i8,
    days: impl Fn(i64) -> Option<Days>,
) -> Option<Date> {
    let year = i64::from(today.year());
    let mut near = (year - 1..=year + 1).filter_map(|year| Some(days(year)?.0));
    near.find(|day| {
        day.weekday().to_monday_zero_offset() == weekday
            && days_between(*day, today).abs() <= YEAR_DAYS
    })
}

/// Most days to the date that another year gives, for that year to be likely too.
const NEAR_DAYS: i32 = 90;

/// True if the tense picks days that are most of a year away although the same days of another year
/// are near, on the other side of today. The tense may then belong to something else: a notice that
/// was given "for 1 July", a form of the future about a day that has just passed.
pub(super) fn is_doubtful(today: Date, found: Days, days: impl Fn(i64) -> Option<Days>) -> bool {
    infer(today, TimeLean::Unknown, days).is_some_and(|(from, to)| {
        (from, to) != found
            && days_between(to, today) <= NEAR_DAYS
            && days_between(today, from) <= NEAR_DAYS
    })
}

pub(super) fn days_between(earlier: Date, later: Date) -> i32 {
    earlier.until(later).map_or(i32::MAX, |span| span.get_days())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_calendar_are_none() {
        let (first, last) = (date(1, 1, 1).unwrap(), date(9999, 12, 31).unwrap());
        assert_eq!(add_days(first, -1), None);
        assert_eq!(add_days(last, i64::MAX), None);
        assert_eq!(week(last, 1), None);
        assert_eq!(month_offset(first, -1), None);
        assert_eq!(month_offset(first, i64::MIN), None);
        assert_eq!(season(9999, 3), None);
        assert_eq!(date(0, 1, 1), None);
    }

    #[test]
    fn leap_days_are_found() {
        let today = date(2023, 5, 8).unwrap();
        let leap = |year| Some((date(year, 2, 29)?, date(year, 2, 29)?));
        assert_eq!(infer(today, TimeLean::Past, leap).unwrap().0, date(2020, 2, 29).unwrap());
        assert_eq!(infer(today, TimeLean::Unknown, leap).unwrap().0, date(2024, 2, 29).unwrap());
    }
}
