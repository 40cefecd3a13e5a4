//! Everyday sentences with one expression of time each: the date of the text, the sentence, and the
//! expected days (`-` for none). The cases come from tables, one per language.

use super::mentions;
use crate::clock::Moment;

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
