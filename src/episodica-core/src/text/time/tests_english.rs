//! The English grammar, as a table: text and expected mentions. `~` marks mentions that are not
//! confident, `!` absolute ones.

use super::{TimeMention, mentions};
use crate::clock::Moment;

pub(super) fn found(anchor: &str, text: &str) -> String {
    let show = |mention: &TimeMention| {
        let mark = if mention.confident { "" } else { "~" };
        let absolute = if mention.relative { "" } else { "!" };
        format!("{}={mark}{absolute}{}", &text[mention.start..mention.end], mention.iso())
    };
    let found = mentions(text, Moment::parse(anchor).expect("valid"));
    found.iter().map(show).collect::<Vec<_>>().join("; ")
}

fn check(anchor: &str, rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(text, expected)| {
            let got = found(anchor, text);
            (got != *expected).then(|| format!("{text}\n  got      {got}\n  expected {expected}"))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {} rows at {anchor}:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
}

/// A Monday.
const MAY: &str = "2023-05-08T13:56:00Z";

#[test]
fn days() {
    check(
        MAY,
        &[
            ("I ran yesterday", "yesterday=2023-05-07"),
            ("Today is fine", "Today=2023-05-08"),
            ("See you tomorrow!", "tomorrow=2023-05-09"),
            ("dinner tonight?", "tonight=2023-05-08"),
            ("It rained last night", "last night=2023-05-07"),
            ("I swam this morning", "this morning=2023-05-08"),
            ("tomorrow morning works", "tomorrow morning=2023-05-09"),
            ("yesterday evening we sang", "yesterday evening=2023-05-07"),
            ("the day before yesterday", "the day before yesterday=2023-05-06"),
            ("the day after tomorrow", "the day after tomorrow=2023-05-10"),
            ("two days ago", "two days ago=2023-05-06"),
            ("10 days ago", "10 days ago=2023-04-28"),
            ("a couple of days ago", "a couple of days ago=2023-05-06"),
            ("a few days ago", "a few days ago=2023-05-04/2023-05-06"),
            ("five days from now", "five days from now=2023-05-13"),
            ("We will meet in two days", "in two days=2023-05-10"),
            ("yesterday's lunch", "yesterday=2023-05-07"),
            ("a week ago today", "a week ago today=2023-05-01"),
            ("five years ago yesterday", "five years ago yesterday=2018-05-07"),
            ("2-3 days ago", "2-3 days ago=2023-05-05/2023-05-06"),
        ],
    );
}

#[test]
fn weeks_months_and_years() {
    check(
        MAY,
        &[
            ("last week", "last week=2023-05-01/2023-05-07"),
            ("this week", "this week=2023-05-08/2023-05-14"),
            ("next week", "next week=2023-05-15/2023-05-21"),
            ("last weekend", "last weekend=2023-05-06/2023-05-07"),
            ("this past weekend we hiked", "this past weekend=2023-05-06/2023-05-07"),
            ("this weekend", "this weekend=2023-05-13/2023-05-14"),
            ("next weekend", "next weekend=2023-05-20/2023-05-21"),
            ("In the coming years it will change", ""),
            ("over the past months I slept badly", ""),
            ("booked Rome for the weekend of the 21st", ""),
            ("two weekends ago", "two weekends ago=2023-04-29/2023-04-30"),
            ("two weeks ago", "two weeks ago=2023-04-24/2023-04-30"),
            ("a week ago", "a week ago=2023-05-01/2023-05-07"),
            ("the week before last", "the week before last=2023-04-24/2023-04-30"),
            ("the week after next", "the week after next=2023-05-22/2023-05-28"),
            ("I'll leave in three weeks", "in three weeks=2023-05-29/2023-06-04"),
            ("last month", "last month=2023-04"),
            ("next month", "next month=2023-06"),
            ("this month", "this month=2023-05"),
            ("three months ago", "three months ago=2023-02"),
            ("last year", "last year=2022"),
            ("next year", "next year=2024"),
            ("earlier this year", "this year=2023"),
            ("two years ago", "two years ago=2021"),
            ("ten years ago", "ten years ago=2013"),
            ("a few years ago", "a few years ago=2019-01-01/2021-12-31"),
            ("about two years ago", "two years ago=2021"),
            ("half a year ago", "half a year ago=2022-11"),
            ("a decade ago", "a decade ago=2013"),
            ("the year before last", "the year before last=2021"),
            ("over the last two weeks", "the last two weeks=2023-04-24/2023-05-08"),
            ("in the next few days", "the next few days=2023-05-08/2023-05-12"),
            ("in the past year", "the past year=2022-05-08/2023-05-08"),
            ("for three years", ""),
            ("The results come in two weeks", "in two weeks=2023-05-22/2023-05-28"),
            ("I finished it in two weeks", ""),
            ("it took 3 months", ""),
            ("the last day", ""),
        ],
    );
}

#[test]
fn weekdays() {
    check(
        MAY,
        &[
            ("I moved last Friday", "last Friday=2023-05-05"),
            ("last Monday", "last Monday=2023-05-01"),
            ("last Sunday", "last Sunday=2023-05-07"),
            ("next Monday", "next Monday=2023-05-15"),
            ("next Friday", "next Friday=~2023-05-12"),
            ("this Friday", "this Friday=2023-05-12"),
            ("We met on Friday", "on Friday=2023-05-05"),
            ("We will meet on Friday", "on Friday=2023-05-12"),
            ("Tuesday of last week", "Tuesday of last week=2023-05-02"),
            ("Friday next week", "Friday next week=2023-05-19"),
            ("last week Tuesday", "last week Tuesday=2023-05-02"),
            ("this past Saturday", "this past Saturday=2023-05-06"),
            ("every Friday", ""),
            ("on Fridays", ""),
            ("Black Friday deals", ""),
            ("on Sat we ran", "on Sat=2023-05-06"),
            ("the sun came out and I sat down", ""),
            ("Friday, May 5, 2023", "Friday, May 5, 2023=!2023-05-05"),
        ],
    );
}

#[test]
fn dates() {
    check(
        MAY,
        &[
            ("May 5, 2022", "May 5, 2022=!2022-05-05"),
            ("May 5th, 2022", "May 5th, 2022=!2022-05-05"),
            ("May 5,2022", "May 5,2022=!2022-05-05"),
            ("5 May 2022", "5 May 2022=!2022-05-05"),
            ("the 5th of May 2022", "the 5th of May 2022=!2022-05-05"),
            ("We met on May 5", "on May 5=2023-05-05"),
            ("It is on May 20", "on May 20=2023-05-20"),
            ("We will fly on June 3rd", "on June 3rd=2023-06-03"),
            ("my birthday was on March 3", "on March 3=~2023-03-03"),
            ("Dec. 24, 2021", "Dec. 24, 2021=!2021-12-24"),
            ("8 Sept 2021", "8 Sept 2021=!2021-09-08"),
            ("2023-05-01", "2023-05-01=!2023-05-01"),
            ("at 2023-05-01T10:00:00Z we", "2023-05-01T10:00:00Z=!2023-05-01"),
            ("5/8/2023", "5/8/2023=~!2023-05-08"),
            ("5/23/2023", "5/23/2023=!2023-05-23"),
            ("23/5/2023", "23/5/2023=!2023-05-23"),
            ("8.5.2023", "8.5.2023=!2023-05-08"),
            ("2023-02-30", ""),
            ("in May 2022", "in May 2022=!2022-05"),
            ("We met in March", "in March=2023-03"),
            ("We met in June", "in June=2022-06"),
            ("We will meet in June", "in June=2023-06"),
            ("last May", "last May=2022-05"),
            ("next June", "next June=2023-06"),
            ("back in 2019", "in 2019=!2019"),
            ("since 2016", "since 2016=!2016"),
            ("in 2021,", "in 2021=!2021"),
            ("early 2020", "early 2020=!2020"),
            ("mid-2020", "mid-2020=!2020"),
            ("in the 1990s", "the 1990s=!1990-01-01/1999-12-31"),
            ("in the 90s", "the 90s=!1990-01-01/1999-12-31"),
            ("January was cold", "January=~2023-01"),
            ("on Feb 29, 2024", "on Feb 29, 2024=!2024-02-29"),
        ],
    );
}

#[test]
fn seasons_and_feasts() {
    check(
        MAY,
        &[
            ("the summer of 2019", "the summer of 2019=!2019-06-01/2019-08-31"),
            ("Fall 2021", "Fall 2021=!2021-09-01/2021-11-30"),
            ("winter 2019", "winter 2019=~!2019-12-01/2020-02-29"),
            ("last summer", "last summer=2022-06-01/2022-08-31"),
            ("last winter", "last winter=2022-12-01/2023-02-28"),
            ("next winter", "next winter=2023-12-01/2024-02-29"),
            ("this summer", "this summer=2023-06-01/2023-08-31"),
            ("we met in the summer", "in the summer=2022-06-01/2022-08-31"),
            ("spring water and fall asleep", ""),
            ("We met at Christmas", "at Christmas=2022-12-25"),
            ("Christmas Eve 2021", "Christmas Eve 2021=!2021-12-24"),
            ("last Christmas", "last Christmas=2022-12-25"),
            ("We danced on New Year's Eve", "on New Year's Eve=2022-12-31"),
            ("Valentine's Day 2023", "Valentine's Day 2023=!2023-02-14"),
            ("Thanksgiving 2022", "Thanksgiving 2022=!2022-11-24"),
            ("Easter 2023", "Easter 2023=!2023-04-09"),
            ("a new year, a new day", ""),
        ],
    );
}

#[test]
fn ranges() {
    check(
        MAY,
        &[
            ("from 3 to 5 June 2022", "from 3 to 5 June 2022=!2022-06-03/2022-06-05"),
            ("June 3-5, 2022", "June 3-5, 2022=!2022-06-03/2022-06-05"),
            ("3-5 June 2022", "3-5 June 2022=!2022-06-03/2022-06-05"),
            ("from June 3 to 5, 2022", "from June 3 to 5, 2022=!2022-06-03/2022-06-05"),
            ("from May 30 to June 2, 2022", "from May 30 to June 2, 2022=!2022-05-30/2022-06-02"),
            ("between May and July 2022", "between May and July 2022=!2022-05-01/2022-07-31"),
            (
                "from November to February 2022",
                "from November to February 2022=!2021-11-01/2022-02-28",
            ),
            ("from 2019 to 2021", "from 2019 to 2021=!2019-01-01/2021-12-31"),
            ("2019-2021", "2019-2021=!2019-01-01/2021-12-31"),
            ("2019–2021", "2019–2021=!2019-01-01/2021-12-31"),
        ],
    );
}

#[test]
fn what_is_no_date() {
    check(
        MAY,
        &[
            ("I may go, and march on", ""),
            ("May I ask? April and June said yes", ""),
            ("you may 5 times", ""),
            ("at 5 pm, 10:30 or 17h", ""),
            ("version 2023.1, file notes-2023.txt, v2.5", ""),
            ("in 2000 steps", ""),
            ("it cost 2019 dollars", ""),
            ("the second one, a minute", ""),
            ("May the 5 people come", ""),
            ("https://a.example/2023/05/08/today.html", ""),
            ("an august person", ""),
            ("her 30s", ""),
            ("the gift from June", ""),
            ("weekdays are weak days", ""),
            ("last but not least, next to the past", ""),
            ("March 5 miles", ""),
            ("the fall of Rome", ""),
            ("sunday_driver.py", ""),
        ],
    );
}

#[test]
fn other_anchors() {
    // A Sunday and a Friday in the evening, New Year's Day east of Greenwich, and the ends of the
    // calendar.
    check(
        "2024-01-14T10:00:00Z",
        &[
            ("last Sunday", "last Sunday=2024-01-07"),
            ("last weekend", "last weekend=2024-01-06/2024-01-07"),
            ("last month", "last month=2023-12"),
            ("We met in December", "in December=2023-12"),
        ],
    );
    check(
        "2024-03-15T23:30:00-05:00",
        &[
            ("last Friday", "last Friday=2024-03-08"),
            ("today", "today=2024-03-15"),
            ("tomorrow", "tomorrow=2024-03-16"),
        ],
    );
    check(
        "2024-01-01T00:30:00+09:00",
        &[
            ("yesterday", "yesterday=2023-12-31"),
            ("last year", "last year=2023"),
            ("this week", "this week=2024-01-01/2024-01-07"),
        ],
    );
    check(
        "0001-01-01T00:00:00Z",
        &[
            ("yesterday", ""),
            ("last year", ""),
            ("last week", ""),
            ("9999 years ago", ""),
            ("tomorrow", "tomorrow=0001-01-02"),
        ],
    );
    check(
        "9999-12-31T00:00:00Z",
        &[
            ("tomorrow", ""),
            ("next year", ""),
            ("I will go in 9999 weeks", ""),
            ("yesterday", "yesterday=9999-12-30"),
        ],
    );
}
