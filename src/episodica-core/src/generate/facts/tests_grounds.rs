//! Tests of the support check on handwritten facts.

use std::sync::Arc;

use proptest::prelude::*;

use super::candidate::RejectReason;
use super::evidence_check::grounded;
use crate::model::Message;
use crate::model::testing::said;

struct Case {
    language: &'static str,
    text: String,
    holds: bool,
    kept: bool,
    is_held_out: bool,
}

/// Loads the facts of a fixture and checks each one.
fn checked(language: &'static str, fixture: &str) -> Vec<Case> {
    let (mut cases, mut talk, mut day) = (Vec::new(), Vec::<Arc<Message>>::new(), String::new());
    for line in fixture.lines() {
        if let Some(time) = line.strip_prefix("@ ") {
            (talk, day) = (Vec::new(), time.to_owned());
        } else if let Some((cited, text)) =
            line.get(2..).and_then(|rest| rest.split_once(" | ")).filter(|_| is_statement(line))
        {
            let cited = cited.split(',').map(|at| &*talk[at.parse::<usize>().expect("a number")]);
            let cited: Vec<&Message> = cited.collect();
            let context: Vec<&Message> = talk.iter().map(|message| &**message).collect();
            let mut names: Vec<&str> = Vec::new();
            for message in &context {
                if !names.contains(&message.speaker()) {
                    names.push(message.speaker());
                }
            }
            cases.push(Case {
                language,
                holds: line.starts_with('+'),
                kept: grounded(text, "", &cited, &context, &names).is_ok(),
                is_held_out: cases.len() % 4 >= 2,
                text: text.to_owned(),
            });
        } else if let Some((speaker, text)) = line.split_once(": ") {
            let (name, role) = match speaker.strip_suffix(" (assistant)") {
                Some(name) => (name, "assistant"),
                None => (speaker, "user"),
            };
            talk.push(said(talk.len() as u64, role, Some(name), &day, text));
        }
    }
    cases
}

fn is_statement(line: &str) -> bool {
    line.starts_with("+ ") || line.starts_with("- ")
}

#[test]
#[allow(clippy::print_stdout, reason = "it prints the shares of docs/llm.md")]
fn what_follows_is_kept_and_what_does_not_is_refused() {
    let mut all = Vec::new();
    all.extend(checked("en", include_str!("../../../../../tests/fixtures/support/en.txt")));
    all.extend(checked("zh", include_str!("../../../../../tests/fixtures/support/zh.txt")));
    all.extend(checked("de", include_str!("../../../../../tests/fixtures/support/de.txt")));
    all.extend(checked("es", include_str!("../../../../../tests/fixtures/support/es.txt")));
    assert_eq!(all.len(), 200);
    for case in all.iter().filter(|case| case.kept != case.holds) {
        let half = if case.is_held_out { "held out" } else { "tuned on" };
        println!("{} {half} wrongly {}: {}", case.language, verdict(case.kept), case.text);
    }
    for is_held_out in [false, true] {
        let share = |holds: bool| {
            let half = all.iter().filter(|one| one.is_held_out == is_held_out);
            let some: Vec<&Case> = half.filter(|one| one.holds == holds).collect();
            some.iter().filter(|one| one.kept).count() as f64 / some.len() as f64
        };
        let (kept, passed) = (share(true), share(false));
        println!("held out {is_held_out}: {kept:.3} of the true kept, {passed:.3} of the false");
        assert!(kept >= 0.95, "{kept}");
        // The check covers names, numbers, dates and speakers; all else in a fact passes.
        assert!(passed <= 0.58, "{passed}");
    }
}

fn check(statement: &str, source: &str) -> Result<(), RejectReason> {
    let day = "2024-03-11T09:30:00+01:00";
    let message = said(0, "user", Some("Alice"), day, source);
    grounded(statement, "", &[&message], &[&message], &["Alice", "Bob"])
}

#[test]
fn what_the_messages_say_is_kept() {
    for (statement, source) in [
        ("Alice moved to Lyon on 8 March 2024.", "I moved to Lyon last Friday."),
        ("Alice moved to Lyon in March 2024.", "I moved to Lyon last Friday."),
        ("Enjoys long walks in Kew.", "I like long walks in Kew"),
        ("Alice has three cats and 12 hens.", "We have 3 cats, twelve hens"),
        ("Bob gave Alice a book.", "Bob gave me a book"),
        ("Bob's exam is on 18 March 2024.", "Bob's exam is on the 18th"),
        ("Alice moved on 2 May 2023.", "I moved on 2 May, last year"),
        ("The user's dog Rex is five.", "rex, my dog, is 5"),
        ("Alice was in Bath in the week of 4 March 2024.", "I was in Bath last week"),
        ("As of 11 March 2024, Alice runs daily.", "I run every day"),
        ("Alice's exam is on 15 March 2024.", "My exam is on Friday."),
        ("小李2024年3月8日搬到上海。", "小李:我上周五搬到上海"),
        ("用户养了三只猫。", "我有3只猫"),
        ("用户居住在杭州。", "我住杭州"),
    ] {
        assert_eq!(check(statement, source), Ok(()), "{statement}");
    }
}

#[test]
fn invented_names_numbers_and_dates_are_refused() {
    use RejectReason::{Empty, UnsupportedDate, UnsupportedName, UnsupportedNumber};
    for (statement, source, reason) in [
        ("Alice moved to Paris.", "I moved to Lyon.", UnsupportedName),
        ("Carol moved to Lyon.", "I moved to Lyon.", UnsupportedName),
        ("Alice works with Bob Smith.", "I work with Bob.", UnsupportedName),
        ("Alice works at Meta.", "I work at a big company.", UnsupportedName),
        ("Alice has four cats.", "I have 3 cats.", UnsupportedNumber),
        ("Alice paid 1,250 euros.", "I paid 1,150 euros.", UnsupportedNumber),
        ("Alice moved on 9 March 2024.", "I moved last Friday.", UnsupportedDate),
        ("Alice moved on 8 March 2024.", "I moved last month.", UnsupportedDate),
        ("Alice moved in 2019.", "I moved.", UnsupportedDate),
        ("用户叫欧阳锋。", "我叫小李", UnsupportedName),
        ("用户有五只猫。", "我有三只猫", UnsupportedNumber),
        (" ... ", "I moved.", Empty),
    ] {
        assert_eq!(check(statement, source), Err(reason), "{statement}");
    }
    let nothing = grounded("Alice sings.", "", &[], &[], &["Alice"]);
    assert_eq!(nothing, Err(RejectReason::NoSource));
}

#[test]
fn a_participant_said_what_a_fact_tells_of_them() {
    let day = "2024-03-11T09:30:00+01:00";
    let is_kept = |text: &str, sentence: &str| {
        let message = said(0, "user", Some("Alice"), day, text);
        let talk = [&*message];
        grounded(sentence, "", &talk, &talk, &["Alice", "Bob"]).is_ok()
    };
    assert!(is_kept("Hey Bob, I got promoted!", "Alice got promoted."));
    assert!(!is_kept("Hey Bob, I got promoted!", "Bob got promoted."), "it only addresses Bob");
    assert!(is_kept("Bob got promoted!", "Bob got promoted."));
    assert!(is_kept("Bob’s promotion is official.", "Bob got promoted."));
    assert!(!is_kept("Bobby got promoted!", "Bob got promoted."));
}

/// Once, a true change was refused because it shared no word with its message.
#[test]
fn other_words_are_believed_and_other_names_are_not() {
    assert_eq!(check("Alice is no longer a vegetarian.", "I had a steak, first in years"), Ok(()));
    let refused = Err(RejectReason::UnsupportedName);
    assert_eq!(check("Alice is fond of Rilke.", "I had a steak, first in years"), refused);
}

#[test]
fn a_fact_is_about_somebody_whom_its_messages_name() {
    let day = "2024-03-11T09:30:00+01:00";
    let talk = [
        said(0, "user", Some("Priya"), day, "I live with Daniel in Leeds."),
        said(1, "assistant", Some("Otto"), day, "What should I know?"),
        said(2, "user", Some("Priya"), day, "He snores a lot."),
        said(3, "user", Some("Priya"), day, "My shifts are long."),
        said(4, "user", Some("Priya"), day, "I have been vegetarian since I was 15."),
        said(5, "assistant", Some("Otto"), day, "No meat for either of you, then."),
    ];
    let context: Vec<&Message> = talk.iter().map(|message| &**message).collect();
    let is_kept = |sentence: &str, subject: &str, cited: usize| {
        let source = [context[cited]];
        grounded(sentence, subject, &source, &context, &["Priya", "Otto"]).is_ok()
    };
    assert!(is_kept("Priya has been vegetarian since she was 15.", "Priya", 4));
    assert!(!is_kept("Daniel has been vegetarian since he was 15.", "Daniel", 4));
    assert!(is_kept("Daniel snores a lot.", "Daniel", 2), "named two messages before");
    assert!(is_kept("Daniel eats no meat.", "Daniel", 5), "the assistant confirms it");
    assert!(is_kept("The user has been vegetarian since 15.", "The user", 4));
}

/// Facts about a user without a name, in ten languages: the word for the user is no name.
#[test]
#[allow(clippy::print_stdout, reason = "it prints what it refuses")]
fn a_user_without_a_name_has_facts_in_ten_languages() {
    let mut kept: std::collections::BTreeMap<&str, (u32, u32)> = std::collections::BTreeMap::new();
    for line in include_str!("../../../../../tests/fixtures/support/unnamed.txt").lines() {
        let parts: Vec<&str> = line.split(" | ").collect();
        let [language, text, sentence] = parts[..] else { panic!("three parts: {line}") };
        let message = said(0, "user", None, "2024-03-11T09:30:00+01:00", text);
        let checked = grounded(sentence, "", &[&message], &[&message], &["user"]);
        let (good, all) = kept.entry(language).or_default();
        (*good, *all) = (*good + u32::from(checked.is_ok()), *all + 1);
        if let Err(reason) = checked {
            println!("{language}: {reason:?}: {sentence}");
        }
    }
    assert_eq!(kept.len(), 10);
    let (good, all) = kept.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    println!("kept {good} of {all}: {kept:?}");
    assert!(10 * good >= 9 * all, "{good} of {all}");
    assert!(kept.values().all(|(good, all)| 5 * good >= 4 * all), "{kept:?}");
}

proptest! {
    #[test]
    fn any_text_supports_itself_without_capitals_and_nothing_panics(
        text in "[a-z]{1,6}( [a-z]{1,6}){0,6}", other in "\\PC{0,60}",
    ) {
        prop_assert_eq!(check(&text, &text), Ok(()));
        let _ = check(&other, &text);
        let _ = check(&text, &other);
    }
}

fn verdict(kept: bool) -> &'static str {
    if kept { "kept" } else { "refused" }
}
