//! Everyday sentences with one expression of time each: the date of the text, the sentence, and the
//! expected days (`-` for none). The cases come from tables, one per language.

use jiff::civil::{Date, date};

use super::{TimeMention, mentions};
use crate::clock::Moment;
use crate::text::sentences;

fn check(table: &str) {
    let mut wrong = Vec::new();
    for row in table.lines() {
        let [said, text, expected] = *row.split('\t').collect::<Vec<_>>() else {
            panic!("a row has three columns: {row}");
        };
        let anchor = Moment::parse(&format!("{said}T12:00:00Z")).expect("a day");
        let found: Vec<String> = mentions(text, anchor)
            .iter()
            .filter(|mention| mention.confident)
            .map(|mention| mention.iso())
            .collect();
        if found.join(" ") != expected.trim_matches('-') {
            wrong.push(format!("{said} {text}\n  got      {found:?}\n  expected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// How the dates of a sentence compare with the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Right,
    Missing,
    Wrong,
}

/// The first and last day of `2024-05-03`, `2024-05`, `2024` or `2024-05-01..2024-05-07`.
fn days_of(truth: &str) -> (Date, Date) {
    if let Some((from, to)) = truth.split_once("..") {
        return (days_of(from).0, days_of(to).1);
    }
    let mut numbers = truth.split('-').map(|part| part.parse::<i16>().expect("a number"));
    let year = numbers.next().expect("a year");
    let mut part = || numbers.next().map(|number| i8::try_from(number).expect("small"));
    match (part(), part()) {
        (Some(month), Some(day)) => (date(year, month, day), date(year, month, day)),
        (Some(month), None) => (date(year, month, 1), date(year, month, 1).last_of_month()),
        _ => (date(year, 1, 1), date(year, 12, 31)),
    }
}

/// A range is met by any date in it or around it, a day, month or year only by itself.
fn judged(found: &[TimeMention], truth: &str) -> Verdict {
    if truth == "-" {
        return if found.is_empty() { Verdict::Right } else { Verdict::Wrong };
    }
    let (from, to) = days_of(truth);
    let says = |mention: &TimeMention| {
        let inside = from <= mention.from && mention.to <= to;
        let around = mention.from <= from && to <= mention.to;
        if truth.contains("..") { inside || around } else { inside && around }
    };
    if found.iter().any(|mention| mention.to < from || to < mention.from) {
        Verdict::Wrong
    } else if found.iter().any(says) {
        Verdict::Right
    } else {
        Verdict::Missing
    }
}

/// Sentences of everyday talk in five languages, written before their author read the rules, by
/// topic. The rules were mended on the first five topics only.
#[test]
fn everyday_talk() {
    let mut halves = [Vec::new(), Vec::new()];
    for row in include_str!("cases/talk.tsv").lines() {
        let [topic, said, truth, text] = *row.split('\t').collect::<Vec<_>>() else {
            panic!("a row has four columns: {row}");
        };
        let anchor = Moment::parse(&format!("{said}T12:00:00Z")).expect("a day");
        let mut found: Vec<_> = sentences(text).iter().flat_map(|s| mentions(s, anchor)).collect();
        let today = anchor.local().date();
        found.retain(|mention| mention.confident && (mention.from, mention.to) != (today, today));
        let seen = ["arranging", "family", "travel", "work", "health"].contains(&topic);
        halves[usize::from(!seen)].push(judged(&found, truth));
    }
    for (verdicts, right) in halves.iter().zip([0.98, 0.91]) {
        let share = |verdict| {
            verdicts.iter().filter(|one| **one == verdict).count() as f32 / verdicts.len() as f32
        };
        let shares = [Verdict::Right, Verdict::Missing, Verdict::Wrong].map(share);
        assert!(shares[0] >= right && shares[2] < 0.01, "right, missing, wrong: {shares:?}");
    }
}

#[test]
fn english() {
    check(include_str!("cases/english.tsv"));
}

#[test]
fn chinese() {
    check(include_str!("cases/chinese.tsv"));
}

#[test]
fn german() {
    check(include_str!("cases/german.tsv"));
}

#[test]
fn spanish() {
    check(include_str!("cases/spanish.tsv"));
}

#[test]
fn french() {
    check(include_str!("cases/french.tsv"));
}
