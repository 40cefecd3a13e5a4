//! Feasts of the Chinese lunar calendar, from a table: their dates follow from astronomy, not from
//! a rule.

use jiff::civil::Date;

use super::calendar::{add_days, date};

/// A feast of the lunar calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LunarFeast {
    /// 除夕, 春节 and 元宵节, as days after the new year.
    NewYear(i64),
    /// 端午节.
    DragonBoat,
    /// 中秋节.
    MidAutumn,
}

const FIRST_YEAR: i64 = 2015;

/// Month and day of 春节, 端午节 and 中秋节 for each year.
const DAYS: [[(i8, i8); 3]; 16] = [
    [(2, 19), (6, 20), (9, 27)],
    [(2, 8), (6, 9), (9, 15)],
    [(1, 28), (5, 30), (10, 4)],
    [(2, 16), (6, 18), (9, 24)],
    [(2, 5), (6, 7), (9, 13)],
    [(1, 25), (6, 25), (10, 1)],
    [(2, 12), (6, 14), (9, 21)],
    [(2, 1), (6, 3), (9, 10)],
    [(1, 22), (6, 22), (9, 29)],
    [(2, 10), (6, 10), (9, 17)],
    [(1, 29), (5, 31), (10, 6)],
    [(2, 17), (6, 19), (9, 25)],
    [(2, 6), (6, 9), (9, 15)],
    [(1, 26), (5, 28), (10, 3)],
    [(2, 13), (6, 16), (9, 22)],
    [(2, 3), (6, 5), (9, 12)],
];

/// The day of `feast` in `year`, if the table contains it.
pub(super) fn day(year: i64, feast: LunarFeast) -> Option<Date> {
    let row = DAYS.get(usize::try_from(year - FIRST_YEAR).ok()?)?;
    let on = |(month, day)| date(year, month, day);
    match feast {
        LunarFeast::NewYear(after) => add_days(on(row[0])?, after),
        LunarFeast::DragonBoat => on(row[1]),
        LunarFeast::MidAutumn => on(row[2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feasts_fall_on_their_lunar_days() {
        assert_eq!(day(2024, LunarFeast::NewYear(0)), date(2024, 2, 10));
        assert_eq!(day(2024, LunarFeast::NewYear(-1)), date(2024, 2, 9));
        assert_eq!(day(2023, LunarFeast::MidAutumn), date(2023, 9, 29));
        assert_eq!(day(2025, LunarFeast::DragonBoat), date(2025, 5, 31));
        assert_eq!(day(1999, LunarFeast::MidAutumn), None);
        // 端午节 is the fifth day of the fifth month, four to five months after the new year.
        // 中秋节 is the fifteenth day of the eighth, seven to eight and a half months after it.
        for year in FIRST_YEAR..FIRST_YEAR + DAYS.len() as i64 {
            let days = |feast| {
                (day(year, feast).unwrap() - day(year, LunarFeast::NewYear(0)).unwrap()).get_days()
            };
            assert!((121..=152).contains(&days(LunarFeast::DragonBoat)), "{year}");
            assert!((218..=252).contains(&days(LunarFeast::MidAutumn)), "{year}");
        }
    }
}
