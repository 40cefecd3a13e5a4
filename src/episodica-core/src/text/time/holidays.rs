//! Feasts whose day follows from the year.

use jiff::civil::Date;

use super::calendar::{add_days, date, nth_weekday};
use super::lunar::{self, LunarFeast};

/// A feast whose date follows from the year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holiday {
    Fixed(i8, i8),
    /// Days after Easter Sunday.
    Easter(i64),
    /// A feast of the Chinese lunar calendar.
    Lunar(LunarFeast),
    /// Days after the fourth Thursday of November.
    Thanksgiving(i64),
}

/// The day of `holiday` in `year`.
pub(super) fn holiday(year: i64, holiday: Holiday) -> Option<Date> {
    match holiday {
        Holiday::Fixed(month, day) => date(year, month, day),
        Holiday::Easter(after) => add_days(easter(year)?, after),
        Holiday::Lunar(feast) => lunar::day(year, feast),
        Holiday::Thanksgiving(after) => add_days(nth_weekday(year, 11, 4, 3)?, after),
    }
}

/// Easter Sunday of the Gregorian calendar (the anonymous algorithm, Meeus 1991).
fn easter(year: i64) -> Option<Date> {
    let (century, of_century) = (year / 100, year % 100);
    let golden = year % 19;
    let skipped = (century + 8) / 25;
    let correction = (century - skipped + 1) / 3;
    let epact = (19 * golden + century - century / 4 - correction + 15) % 30;
    let weekday = (32 + 2 * (century % 4) + 2 * (of_century / 4) - epact - of_century % 4) % 7;
    let shift = (golden + 11 * epact + 22 * weekday) / 451;
    let days = epact + weekday - 7 * shift + 114;
    date(year, i8::try_from(days / 31).ok()?, i8::try_from(days % 31 + 1).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn easter_and_thanksgiving() {
        for (year, month, day) in
            [(2019, 4, 21), (2023, 4, 9), (2024, 3, 31), (2025, 4, 20), (1981, 4, 19)]
        {
            assert_eq!(easter(year), date(year, month, day));
        }
        assert_eq!(holiday(2023, Holiday::Thanksgiving(0)), date(2023, 11, 23));
    }
}
