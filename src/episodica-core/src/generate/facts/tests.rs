//! Extraction over messages: who speaks to whom, gates, sources, and input of any kind.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::clock::Moment;
use crate::config::Config;
pub(super) use crate::model::testing::said;
use crate::model::{MemoryKind, Message};

/// The kinds and statements of one sentence that `speaker` says to `other`, who greets first.
pub(super) fn statements(
    speaker: &str,
    other: &str,
    when: &str,
    sentence: &str,
) -> Vec<(&'static str, String)> {
    let talk =
        [said(0, "user", Some(other), when, "Hi."), said(1, "user", Some(speaker), when, sentence)];
    let found = extract_offline(&talk, &Config::default()).candidates;
    found.into_iter().map(|candidate| (candidate.kind.name(), candidate.content)).collect()
}

const DAY: &str = "2024-03-11T09:30:00+01:00";

fn contents(messages: &[Arc<Message>]) -> Vec<String> {
    extract_offline(messages, &Config::default())
        .candidates
        .into_iter()
        .map(|candidate| candidate.content)
        .collect()
}

#[test]
fn dates_come_from_the_message_and_date_the_fact() {
    let talk = [said(0, "user", Some("Alice"), DAY, "I moved to Lyon last Friday.")];
    let candidate = extract_offline(&talk, &Config::default()).candidates.remove(0);
    assert_eq!(candidate.content, "Alice moved to Lyon on 8 March 2024.");
    assert_eq!(candidate.valid_from, Moment::parse("2024-03-08T00:00:00+01:00").expect("valid"));
    assert_eq!(
        (candidate.subject.as_str(), candidate.attribute.as_str(), candidate.value.as_str()),
        ("Alice", "home", "lyon")
    );
    assert_eq!(candidate.source_messages, ["m0"]);
    let later = [said(0, "user", Some("Ben"), "2023-12-31T23:00:00Z", "I visited Bath yesterday.")];
    assert_eq!(contents(&later), ["Ben visited Bath on 30 December 2023."]);
}

#[test]
fn a_bare_weekday_in_the_past_is_the_last_one_whatever_the_verb() {
    assert!(contents(&[said(0, "user", Some("Ada"), DAY, "I signed on Friday.")]).is_empty());
    let booked = said(0, "user", Some("Ada"), DAY, "I booked the ferry to Oslo on Friday.");
    assert_eq!(contents(&[booked]), ["Ada booked the ferry to Oslo on 8 March 2024."]);
}

#[test]
fn users_without_a_name_are_the_user() {
    assert_eq!(
        contents(&[said(0, "user", None, DAY, "I work at Siemens.")]),
        ["The user works at Siemens."]
    );
    assert_eq!(contents(&[said(0, "user", None, DAY, "我住在杭州。")]), ["用户住在杭州。"]);
}

#[test]
fn an_agent_is_not_a_user_but_may_speak_of_one() {
    let user = said(0, "user", None, DAY, "Where is my parcel?");
    let agent = |text: &str| said(1, "assistant", None, DAY, text);
    assert!(contents(&[user.clone(), agent("I live in the cloud and I love hiking.")]).is_empty());
    assert!(contents(&[user.clone(), agent("You should try Lisbon in May.")]).is_empty());
    let shipped = agent("Your order 88-3141 was shipped yesterday.");
    assert_eq!(
        contents(&[user, shipped]),
        ["The user's order 88-3141 was shipped on 10 March 2024."]
    );
    assert_eq!(
        contents(&[agent("Your order 88-3141 is on hold.")]),
        ["The user's order 88-3141 is on hold."]
    );
}

#[test]
fn two_named_people_are_both_users_whatever_their_roles() {
    let talk = [
        said(0, "user", Some("Ada"), DAY, "I live in Delft."),
        said(1, "assistant", Some("Ben"), DAY, "I live in Bath."),
    ];
    assert_eq!(contents(&talk), ["Ada lives in Delft.", "Ben lives in Bath."]);
}

#[test]
fn you_is_named_only_between_two() {
    let ada = said(0, "user", Some("Ada"), DAY, "Hi.");
    let ben = said(1, "user", Some("Ben"), DAY, "Hello.");
    let cleo = said(2, "user", Some("Cleo"), DAY, "I bought a lamp for your kitchen in Delft.");
    assert_eq!(
        contents(&[ada.clone(), cleo.clone()]),
        ["Cleo bought a lamp for Ada's kitchen in Delft."]
    );
    assert!(contents(&[ada, ben, cleo]).is_empty());
}

#[test]
fn a_problem_and_its_solution_make_a_case() {
    let talk = [
        said(
            0,
            "user",
            Some("Renske"),
            DAY,
            "The build fails with a linker error on the staging host.",
        ),
        said(1, "assistant", None, DAY, "The fix is a newer linker in the base image."),
    ];
    let case = extract_offline(&talk, &Config::default()).candidates.remove(0);
    assert_eq!(case.kind, MemoryKind::Case);
    assert_eq!(
        case.content,
        "Problem: The build fails with a linker error on the staging host. Solution: The fix is a newer linker in the base image."
    );
    assert_eq!(
        (case.subject.as_str(), case.source_messages),
        ("assistant", vec!["m0".to_owned(), "m1".to_owned()])
    );
}

#[test]
fn gates_are_counted() {
    let text = "I love hiking. I love hiking. Do I love hiking? If I moved to Rome, I would sing.";
    let talk = [said(0, "user", Some("Ada"), DAY, text)];
    let found = extract_offline(&talk, &Config::default());
    assert_eq!(found.candidates.len(), 1);
    for reason in [RejectReason::Duplicate, RejectReason::Question, RejectReason::Hypothetical] {
        assert_eq!(found.rejected.get(&reason), Some(&1), "{reason:?}");
    }
    let strict = Config { min_importance: 0.9, ..Config::default() };
    assert_eq!(extract_offline(&talk, &strict).rejected[&RejectReason::LowImportance], 2);
    let sure = Config { min_confidence: 0.99, ..Config::default() };
    assert_eq!(extract_offline(&talk, &sure).rejected[&RejectReason::LowConfidence], 2);
}

#[test]
fn code_quotes_and_pasted_text_are_not_talk() {
    let long = format!("I live in {}.", "Rome and ".repeat(200));
    for text in ["```\nI live in Rome.\n```", "\"I live in Rome\" is what she wrote.", &long] {
        assert!(contents(&[said(0, "user", Some("Ada"), DAY, text)]).is_empty(), "{text}");
    }
}

proptest! {
    #[test]
    fn nothing_panics_on_any_text(text in "\\PC{0,120}", name in "\\PC{0,8}") {
        let talk = [said(0, "user", Some(&name), DAY, &text), said(1, "assistant", None, DAY, &text)];
        extract_offline(&talk, &Config { min_confidence: 0.0, min_importance: 0.0, ..Config::default() });
    }

    #[test]
    fn nothing_panics_on_words_that_rules_look_for(
        words in prop::collection::vec(prop::sample::select(vec![
            "I", "we", "my", "sister", "Anna", "'m", "have", "been", "to", "at", "Rome", ",", "and", "moved", "love", "not", "\"", "-", "`", "If",
            "last", "Friday", "is", "favourite", "let's", "go", "with", "Decision:", "your", "on", "3", "the", "still", "a", "nurse", "we're",
            "我", "在", "上海", "工作", "生日", "三月", "叫", "，", "。", "你", "(", "'", "是", "的", "打算", "昨天",
        ]), 0..24),
        spaced in any::<bool>(),
    ) {
        let text = words.join(if spaced { " " } else { "" });
        let talk = [said(0, "user", Some("Ada"), DAY, &text), said(1, "assistant", None, DAY, &text)];
        let found = extract_offline(&talk, &Config { min_confidence: 0.0, min_importance: 0.0, ..Config::default() });
        for candidate in &found.candidates {
            prop_assert!(!candidate.content.is_empty() && !candidate.source_messages.is_empty());
        }
    }
}
