//! Tests of the support check on handwritten facts.

use std::sync::Arc;

use super::grounds::grounded;
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
        // Names, numbers, dates and speakers only: the model is believed in all else.
        assert!(passed <= 0.70, "{passed}");
    }
}

fn verdict(kept: bool) -> &'static str {
    if kept { "kept" } else { "refused" }
}
