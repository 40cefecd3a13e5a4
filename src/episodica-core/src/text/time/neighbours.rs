//! What a mention tells about its neighbour: "August last year", "Monday 16 June … on the
//! 17th".

use std::ops::Range;

use jiff::civil::Date;

use super::calendar;
use super::joined::{Joined, Neighbours};
use super::mention::{DateGrain, NamedDates, TimeMention};
use super::patterns;
use super::tense::SENTENCE_ENDS;

/// Longest text between a date and its year, such as ", in ".
const GAP: usize = 4;
/// A weekday without more words is at most this many days away.
const WEEK: i32 = 7;
/// Quotation marks, each with those that close it.
const QUOTES: [(char, &str); 10] = [
    ('"', "\""),
    ('\'', "'"),
    ('‘', "’"),
    ('“', "”"),
    ('„', "“”"),
    ('«', "»"),
    ('»', "«"),
    ('「', "」"),
    ('『', "』"),
    ('《', "》"),
];

/// Joins dates with what is next to them, gives days without a month the month named before, and
/// marks as uncertain what another date or a quotation makes doubtful.
pub(super) fn settle(text: &str, today: Date, found: &mut Vec<TimeMention>) {
    let mut at = 1;
    while at < found.len() {
        let (first, second) = (&found[at - 1], &found[at]);
        let pair = || Neighbours { text, today, first, second }.together();
        match with_year(text, first, second).map(Joined::One).or_else(pair) {
            Some(Joined::One(joined)) => {
                found[at - 1] = joined;
                found.remove(at);
                continue;
            }
            Some(Joined::Sure(first, second)) => {
                found[at - 1].confident &= first;
                found[at].confident &= second;
            }
            None => {}
        }
        at += 1;
    }
    for at in 0..found.len() {
        let (before, rest) = found.split_at_mut(at);
        let [mention, later @ ..] = rest else { continue };
        follow_named(mention, before, today);
        // "A wedding on the 16th, so we meet on Sunday 17 May."
        let names_another = |other: &TimeMention| {
            other.confident && names_month(other) && month_of(other) != month_of(mention)
        };
        if mention.naming == NamedDates::NoMonth && later.iter().any(names_another) {
            mention.confident = false;
        }
    }
    // "Heute in sechzehn Tagen" is not today.
    for at in 0..found.len() {
        let (mention, next) = (found[at], found.get(at + 1));
        let is_counted = mention.naming == NamedDates::Nothing
            && mention.grain == DateGrain::Day
            && next.is_none_or(|next| next.start > mention.end + 1)
            && patterns::of(mention.language).counted_on.is_match(&text[mention.end..]);
        found[at].confident &= !is_counted;
    }
    leave_open(text, today, found);
}

/// Marks as uncertain a relative date in a quotation, whose day of telling is unknown, or after an
/// earlier year: "in 2019 she said that she would move next week"; and a date without its year
/// beside another year: "in 1998 we moved on 3 May".
fn leave_open(text: &str, today: Date, found: &mut [TimeMention]) {
    if !found.iter().any(|mention| mention.relative && mention.confident) {
        return;
    }
    let quoted = quotations(text);
    let is_year = |other: &&TimeMention| {
        matches!(other.grain, DateGrain::Year | DateGrain::Decade)
            && other.naming == NamedDates::Days
    };
    let days = found.to_vec();
    let years: Vec<TimeMention> = found.iter().filter(is_year).copied().collect();
    for mention in found.iter_mut().filter(|mention| mention.relative) {
        let lacks_year = matches!(mention.naming, NamedDates::NoYear | NamedDates::NoMonth);
        let is_other_year = |year: &TimeMention| {
            !is_apart(text, mention, year) && !(year.from..=year.to).contains(&mention.from)
        };
        // "At Easter I come on Sunday", said in March.
        let is_far_away = |other: &TimeMention| {
            let is_day = matches!(other.grain, DateGrain::Day | DateGrain::Weekend);
            let days = calendar::days_between(today, other.from).abs();
            let is_other = other.start != mention.start;
            is_other && is_day && days > WEEK && !is_apart(text, mention, other)
        };
        let is_elsewhere = mention.naming == NamedDates::Weekday
            && mention.from > today
            && days.iter().any(is_far_away);
        let follows_past = |year: &TimeMention| {
            year.start < mention.start
                && year.to.year() < today.year()
                && !is_apart(text, mention, year)
        };
        let is_told_then = mention.naming == NamedDates::Nothing && years.iter().any(follows_past);
        let is_quoted = quoted.iter().any(|quote| quote.contains(&mention.start));
        if is_quoted
            || is_told_then
            || is_elsewhere
            || lacks_year && years.iter().any(is_other_year)
        {
            mention.confident = false;
        }
    }
}

/// Whether a sentence ends between two mentions.
fn is_apart(text: &str, one: &TimeMention, other: &TimeMention) -> bool {
    let between = one.end.min(other.end)..one.start.max(other.start);
    text.get(between).is_some_and(|gap| gap.contains(SENTENCE_ENDS))
}

/// The texts in paired quotation marks, in bytes. An apostrophe inside a word is no mark.
fn quotations(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<(usize, &str)> = None;
    let mut before = ' ';
    for (at, mark) in text.char_indices() {
        let next = text[at + mark.len_utf8()..].chars().next().unwrap_or(' ');
        let is_apostrophe =
            "'’".contains(mark) && before.is_alphanumeric() && next.is_alphanumeric();
        before = mark;
        if is_apostrophe {
            continue;
        }
        if let Some((start, closing)) = open {
            if closing.contains(mark) {
                found.push(start..at);
                open = None;
            }
        } else if let Some((_, closing)) = QUOTES.iter().find(|(opening, _)| *opening == mark) {
            open = Some((at, closing));
        }
    }
    found
}

fn month_of(mention: &TimeMention) -> (i16, i8) {
    (mention.from.year(), mention.from.month())
}

/// Whether a mention says by its own words in which month it is, perhaps not in which year.
pub(super) fn names_month(mention: &TimeMention) -> bool {
    matches!(mention.naming, NamedDates::Days | NamedDates::NoYear)
        && matches!(mention.grain, DateGrain::Day | DateGrain::Month)
}

/// Moves a day without its month to the month of the last of `earlier` that names one, if it comes
/// after it there; otherwise, and if the tense contradicts, the day becomes uncertain.
pub(super) fn follow_named(mention: &mut TimeMention, earlier: &[TimeMention], today: Date) {
    if mention.naming != NamedDates::NoMonth {
        return;
    }
    let Some(named) = earlier.iter().rfind(|mention| names_month(mention)) else { return };
    let moved = calendar::date(named.from.year().into(), named.from.month(), mention.from.day());
    let is_ahead = |day: Date| day >= today;
    let is_after = |day: &Date| is_ahead(*day) == is_ahead(mention.from) && *day >= named.from;
    match moved.filter(|day| named.confident && is_after(day)) {
        Some(day) => (mention.from, mention.to) = (day, day),
        None => mention.confident &= month_of(mention) == month_of(named),
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

    #[test]
    fn what_another_date_or_a_quotation_leaves_open_has_no_day() {
        let may = Moment::parse("2025-05-14T18:00:00Z").unwrap();
        for text in [
            "Let's go to Crete in September. I fly out on the 4th.",
            "In 1998 we moved on the 3rd of May.",
            "When I lived in Rome in 2010 I worked on the 8th of December.",
            "He told me \"I'll come tomorrow\" but he didn't.",
            "Er sagte „ich komme morgen“ und kam nicht.",
        ] {
            let found = mentions(text, may);
            let marked = crate::text::time::resolve_text(text, may, crate::text::language(text));
            assert!(found.iter().any(|one| one.relative), "{text}");
            assert!(
                found.iter().all(|one| !one.relative || !one.confident || one.from.month() == 9),
                "{text}: {marked}"
            );
        }
        let wednesday = Moment::parse("2024-01-10T10:00:00Z").unwrap();
        assert!(!mentions("We tried snowshoeing this weekend.", wednesday)[0].confident);
        assert!(mentions("We try snowshoeing this weekend.", wednesday)[0].confident);
        let sure = |text| mentions(text, may).iter().all(|one| one.confident);
        assert!(sure("It was 2010. We fly on 3 June."));
        assert!(sure("\"Dune\" runs tomorrow."));
    }
}
