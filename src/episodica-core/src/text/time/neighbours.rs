//! What a mention tells about its neighbour: "August last year", "Monday 16 June … on the
//! 17th".

use jiff::civil::Date;

use super::calendar;
use super::mention::{DateGrain, NamedDates, TimeMention};

/// Longest text between a date and its year, such as ", in ".
const GAP: usize = 4;

/// Joins dates with the years next to them, and gives days without a month the month named before.
pub(super) fn settle(text: &str, today: Date, found: &mut Vec<TimeMention>) {
    let mut at = 1;
    while at < found.len() {
        match with_year(text, &found[at - 1], &found[at]) {
            Some(joined) => {
                found[at - 1] = joined;
                found.remove(at);
            }
            None => at += 1,
        }
    }
    for at in 0..found.len() {
        let (before, rest) = found.split_at_mut(at);
        let [mention, later @ ..] = rest else { continue };
        follow_named(mention, before, today);
        // "A wedding on the 16th, so we meet on Sunday 17 May."
        let names_another =
            |other: &TimeMention| names_month(other) && month_of(other) != month_of(mention);
        if mention.naming == NamedDates::NoMonth && later.iter().any(names_another) {
            mention.confident = false;
        }
    }
}

fn month_of(mention: &TimeMention) -> (i16, i8) {
    (mention.from.year(), mention.from.month())
}

/// Whether a mention says by its own words in which month it is.
fn names_month(mention: &TimeMention) -> bool {
    mention.confident
        && matches!(mention.naming, NamedDates::Days | NamedDates::NoYear)
        && matches!(mention.grain, DateGrain::Day | DateGrain::Month)
}

/// Moves a day without its month to the month of the last of `earlier` that names one, if it comes
/// after it there; otherwise, and if the tense contradicts, the day becomes uncertain.
pub(crate) fn follow_named(mention: &mut TimeMention, earlier: &[TimeMention], today: Date) {
    if mention.naming != NamedDates::NoMonth {
        return;
    }
    let Some(named) = earlier.iter().rfind(|mention| names_month(mention)) else { return };
    let moved = calendar::date(named.from.year().into(), named.from.month(), mention.from.day());
    let is_ahead = |day: Date| day >= today;
    match moved.filter(|day| is_ahead(*day) == is_ahead(mention.from) && *day >= named.from) {
        Some(day) => (mention.from, mention.to) = (day, day),
        None => mention.confident = false,
    }
}

/// "August" and "last year" as one mention.
fn with_year(text: &str, first: &TimeMention, second: &TimeMention) -> Option<TimeMention> {
    let gap = text[first.end..second.start].trim_matches([' ', ',']);
    if gap.len() > GAP || !gap.chars().all(char::is_alphabetic) {
        return None;
    }
    let is_year = |mention: &TimeMention| {
        mention.grain == DateGrain::Year
            && mention.naming == NamedDates::Nothing
            && mention.from.year() == mention.to.year()
    };
    let is_dated = |mention: &TimeMention| mention.naming == NamedDates::NoYear;
    let (date, year) = match (first, second) {
        (date, year) if is_dated(date) && is_year(year) => (date, year),
        (year, date) if is_dated(date) && is_year(year) => (date, year),
        _ => return None,
    };
    let years = i64::from(year.from.year()) - i64::from(date.from.year());
    let moved = |day: Date| calendar::date(i64::from(day.year()) + years, day.month(), day.day());
    Some(TimeMention {
        start: first.start,
        end: second.end,
        from: moved(date.from)?,
        to: moved(date.to)?,
        confident: year.confident,
        naming: NamedDates::Nothing,
        ..*date
    })
}

#[cfg(test)]
mod tests {
    use super::super::mentions;
    use crate::clock::Moment;

    #[test]
    fn days_without_a_month_follow_the_month_named_before() {
        let may = Moment::parse("2025-05-02T10:00:00Z").unwrap();
        let found = |text| {
            let found = mentions(text, may);
            let written = found.iter().filter(|one| one.confident).map(|one| one.iso());
            written.collect::<Vec<_>>().join(" ")
        };
        for (text, expected) in [
            ("Ferry on Monday 16 June, and I fly on the 17th.", "2025-06-16 2025-06-17"),
            ("I fly on the 17th.", "2025-05-17"),
            ("We met on 3 March, and I fly on the 17th.", "2025-03-03"),
            ("I fly on the 16th, so we meet on 17 June.", "2025-06-17"),
            ("I fly on the 16th, so we meet on 17 May.", "2025-05-16 2025-05-17"),
            ("Fähre am 16. Juni, und ich fliege am 17.", "2025-06-16 2025-06-17"),
            ("El barco sale el 16 de junio y voy a volver el 17.", "2025-06-16 2025-06-17"),
            ("Le bateau part le 16 juin et nous rentrons tous le 17.", "2025-06-16 2025-06-17"),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn a_year_beside_a_date_is_its_year() {
        let may = Moment::parse("2025-05-02T10:00:00Z").unwrap();
        let whole = |text| {
            let found = mentions(text, may);
            assert_eq!(found.len(), 1, "{text}");
            (found[0].iso(), &text[found[0].start..found[0].end])
        };
        for (text, iso, words) in [
            ("It began in August last year.", "2024-08", "in August last year"),
            ("It began on 3 August of last year.", "2024-08-03", "on 3 August of last year"),
            ("Next year in May we marry.", "2026-05", "Next year in May"),
            ("Letztes Jahr im August fing es an.", "2024-08", "Letztes Jahr im August"),
            ("El año pasado en agosto empezó.", "2024-08", "El año pasado en agosto"),
        ] {
            assert_eq!(whole(text), (iso.to_owned(), words));
        }
        assert_eq!(mentions("I ran in August. Last year was calm.", may).len(), 2);
    }
}
