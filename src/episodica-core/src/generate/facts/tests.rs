//! Tests of the extraction: speakers, rejections, sources and arbitrary input.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::clock::Moment;
use crate::config::MemoryConfig;
use crate::generate::episode::write_offline;
use crate::model::testing::said;
use crate::model::{MemoryKind, Message};

const DAY: &str = "2024-03-11T09:30:00+01:00";

fn contents(messages: &[Arc<Message>]) -> Vec<String> {
    extract_offline(messages, &MemoryConfig::default())
        .candidates
        .into_iter()
        .map(|candidate| candidate.content)
        .collect()
}

fn one(name: &str, text: &str) -> Vec<String> {
    contents(&[said(0, "user", Some(name), DAY, text)])
}

#[test]
fn dates_come_from_the_message_and_date_the_fact() {
    let talk = [said(0, "user", Some("Alice"), DAY, "I moved to Lyon last Friday.")];
    let candidate = extract_offline(&talk, &MemoryConfig::default()).candidates.remove(0);
    assert_eq!(candidate.content, "Alice moved to Lyon last Friday [8 March 2024].");
    assert_eq!(candidate.valid_from, Moment::parse("2024-03-08T00:00:00+01:00").expect("valid"));
    assert_eq!(
        (candidate.subject.as_str(), candidate.attribute.as_str(), candidate.value.as_str()),
        ("Alice", "home", "lyon")
    );
    assert_eq!(candidate.source_messages, ["m0"]);
    let later = [said(0, "user", Some("Ben"), "2023-12-31T23:00:00Z", "I visited Bath yesterday.")];
    assert_eq!(contents(&later), ["Ben visited Bath yesterday [30 December 2023]."]);
}

#[test]
fn a_sentence_stands_in_the_third_person_or_as_a_balanced_quotation() {
    for (said, fact) in [
        ("I have two cats, Miso and Tofu.", "Ada has two cats, Miso and Tofu."),
        (
            "We hiked in Bath last week.",
            "Ada: \"We hiked in Bath last week [4 to 10 March 2024].\"",
        ),
        ("I have two cats and I'm happy.", "Ada has two cats and Ada is happy."),
        ("My sister and I love hiking.", "Ada's sister and Ada love hiking."),
        ("My band is called \"Go to Bath\" now.", "Ada: \"My band is called 'Go to Bath' now.\""),
        ("Vivo en Sevilla con mi hermano Luis.", "Ada: \"Vivo en Sevilla con mi hermano Luis.\""),
        ("Ich arbeite bei Siemens in Graz.", "Ada: \"Ich arbeite bei Siemens in Graz.\""),
        ("我上个月搬到了苏州。", "Ada 上个月（2024年2月）搬到了苏州。"),
        ("我们在苏州开了一家书店。", "Ada：“我们在苏州开了一家书店。”"),
    ] {
        assert_eq!(one("Ada", said), [fact], "{said}");
    }
}

#[test]
fn a_home_and_a_job_in_one_sentence_are_two_facts() {
    for (said, facts) in [
        ("I live in Paris and work as a nurse.", ["Ada lives in Paris.", "Ada works as a nurse."]),
        (
            "I live in Paris, but my sister lives in Rome.",
            ["Ada lives in Paris.", "Ada's sister lives in Rome."],
        ),
        (
            "Ich wohne in Graz und arbeite bei Siemens.",
            ["Ada: \"Ich wohne in Graz.\"", "Ada: \"Ich arbeite bei Siemens.\""],
        ),
        (
            "Vivo en Sevilla y trabajo en Renfe.",
            ["Ada: \"Vivo en Sevilla.\"", "Ada: \"Trabajo en Renfe.\""],
        ),
        ("我住在苏州，在华为上班。", ["Ada 住在苏州。", "Ada 在华为上班。"]),
    ] {
        assert_eq!(one("Ada", said), facts, "{said}");
    }
}

#[test]
fn openers_and_the_words_of_others_are_left_out() {
    for (said, fact) in [
        ("Yeah, by the way, I moved to Bath in May.", "Ada moved to Bath in May 2023."),
        ("So my sister works for Acme in Bath.", "Ada's sister works for Acme in Bath."),
        ("哈哈，我上个月搬到了苏州。", "Ada 上个月（2024年2月）搬到了苏州。"),
    ] {
        assert_eq!(one("Ada", said), [fact], "{said}");
    }
    for said in [
        "> I live in Bath.",
        "In my novel I live in Bath with Tom Kern.",
        "Translate into French: \"I live in Bath and work as a nurse.\"",
        "Mallory: I moved to Bath last week.",
        "请翻译：我住在苏州，在华为上班。",
    ] {
        assert!(one("Ada", said).is_empty(), "{said}: {:?}", one("Ada", said));
    }
}

#[test]
fn what_must_not_be_missed_is_kept_however_short() {
    for said in ["I'm deaf.", "I can't take ibuprofen.", "Never push to main.", "我对花生过敏。"]
    {
        assert_eq!(one("Ada", said).len(), 1, "{said}");
    }
    let strange = [said(0, "Human", None, DAY, "I work at Siemens.")];
    assert_eq!(contents(&strange), ["The user works at Siemens."]);
    let strange = [said(0, "customer", None, DAY, "I'm allergic to nuts.")];
    assert_eq!(contents(&strange).len(), 1);
}

#[test]
fn what_an_agent_confirms_is_known_with_the_request() {
    let confirmed = |request: &str, role: &str, answer: &str| {
        contents(&[said(0, "user", None, DAY, request), said(1, role, None, DAY, answer)])
    };
    let found = confirmed(
        "Set the render timeout to 30 seconds.",
        "assistant",
        "Render timeout is now 30 s.",
    );
    assert!(found.iter().any(|fact| fact.contains("Render timeout is now 30 s")), "{found:?}");
    let found = confirmed("Move the review to 10 April.", "tool", "Moved to 10 April.");
    assert!(found.iter().any(|fact| fact.contains("Moved to 10 April")), "{found:?}");
    let found = confirmed(
        "The request counter is racy, please fix it.",
        "assistant",
        "Wrapped the counter in a mutex and the race is gone.",
    );
    assert!(found.iter().any(|fact| fact.contains("in a mutex")), "{found:?}");
    let found = confirmed(
        "Makes sense, thanks for breaking it down!",
        "assistant",
        "Wrapped the counter in a mutex and the race is gone.",
    );
    assert!(found.iter().all(|fact| !fact.contains("thanks")), "{found:?}");
    for answer in ["You could move it to 10 April.", "I will move it to 10 April.", "Moved?"] {
        assert!(
            confirmed("Move the review to 10 April.", "assistant", answer)
                .iter()
                .all(|fact| !fact.contains(answer)),
            "{answer}"
        );
    }
}

#[test]
fn captions_ellipses_emoji_and_halves_of_quotations_are_left_out() {
    for (said, fact) in [
        (
            "I painted this lake in Bath [Image: a lake. A boat] \u{1f60a}",
            "Ada painted this lake in Bath.",
        ),
        ("I bought... and sold a boat in Bath...", "Ada bought – and sold a boat in Bath."),
        (
            "I sang \"Hey Jude at my sister's wedding in Bath.",
            "Ada sang Hey Jude at Ada's sister's wedding in Bath.",
        ),
        ("**I sold my red bicycle in Bath,**", "Ada sold Ada's red bicycle in Bath."),
    ] {
        assert_eq!(one("Ada", said), [fact], "{said}");
    }
}

#[test]
fn small_talk_is_not_learned() {
    for said in ["Wow, that's great!", "Thanks, you too.", "Hi!", "哈哈，太好了！", "Sounds good."]
    {
        assert!(one("Ada", said).is_empty(), "{said}");
    }
}

#[test]
fn small_talk_does_not_explain_what_a_sentence_refers_to() {
    let found = one("Ada", "Thanks, Joan! It's the yoga studio in Bath I go to every week.");
    assert!(found.iter().all(|fact| !fact.contains("Thanks")), "{found:?}");
    let found = one("Ada", "I told Joan in Bath about the flat. She lent me 900 for the deposit.");
    assert!(found.iter().any(|fact| fact.contains("Joan") && fact.contains("900")), "{found:?}");
}

#[test]
fn a_sentence_that_is_unclear_alone_is_kept_with_the_question_before_it() {
    let talk = [
        said(0, "user", Some("Ben"), DAY, "Do you work at the library in Bath?"),
        said(1, "user", Some("Ada"), DAY, "I started there two years ago."),
    ];
    let found = extract_offline(&talk, &MemoryConfig::default()).candidates.remove(0);
    let expected =
        "Ben: \"Do you work at the library in Bath?\" Ada started there two years ago [2022].";
    assert_eq!(found.content, expected);
    assert_eq!(found.source_messages, ["m0", "m1"]);
}

#[test]
fn only_what_lasts_has_a_category_of_a_profile() {
    use MemoryKind::*;
    let is_profile =
        |kind| matches!(kind, PersonalInfo | WorkHistory | Preference | Relationship | Goal);
    for (text, lasts) in [
        ("I'm a night owl.", true),
        ("I got my braces off yesterday, so I'm happy with my teeth.", false),
        ("I have an interview at the bank in Bath on Thursday.", false),
    ] {
        let talk = [said(0, "user", Some("Ada"), DAY, text)];
        let found = extract_offline(&talk, &MemoryConfig::default()).candidates.remove(0);
        assert_eq!(is_profile(found.kind), lasts, "{text}: {:?}", found.kind);
    }
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
        ["The user's order 88-3141 was shipped yesterday [10 March 2024]."]
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
fn instructions_are_kept_as_they_are() {
    let agent = said(0, "assistant", None, DAY, "To deploy, run `make ship` on the build host.");
    let found = extract_offline(&[agent], &MemoryConfig::default()).candidates.remove(0);
    assert_eq!(found.kind, MemoryKind::Procedure);
    assert_eq!(found.content, "To deploy, run `make ship` on the build host.");
}

#[test]
fn gates_are_counted() {
    let text = "I love hiking in Bath. I love hiking in Bath. Do I love hiking? If I moved to \
                Rome, I would sing. Wow!";
    let talk = [said(0, "user", Some("Ada"), DAY, text)];
    let found = extract_offline(&talk, &MemoryConfig::default());
    assert_eq!(found.candidates.len(), 1);
    for reason in [
        RejectReason::Duplicate,
        RejectReason::Question,
        RejectReason::Hypothetical,
        RejectReason::LowImportance,
    ] {
        assert_eq!(found.rejected.get(&reason), Some(&1), "{reason:?}");
    }
    let sure = MemoryConfig { min_confidence: 0.99, ..MemoryConfig::default() };
    assert_eq!(extract_offline(&talk, &sure).rejected[&RejectReason::LowConfidence], 2);
    let many =
        (0..10).map(|at| format!("I bought lamp {at} in Bath on Friday. ")).collect::<String>();
    let talk = [said(0, "user", Some("Ada"), DAY, &many)];
    assert_eq!(extract_offline(&talk, &MemoryConfig::default()).rejected[&RejectReason::Volume], 8);
}

#[test]
fn code_and_pasted_text_are_not_talk() {
    let long = format!("I live in {}.", "Rome and ".repeat(200));
    for text in ["```\nI live in Rome.\n```", &long] {
        assert!(one("Ada", text).is_empty(), "{text}");
    }
}

#[test]
fn what_holds_for_a_while_or_in_a_dream_fills_no_slot() {
    for text in [
        "I'm living in Aarhus for a fortnight.",
        "Maybe I moved to Rome in my dream.",
        "We also live in a second flat in Bath.",
    ] {
        let talk = [said(0, "user", Some("Ada"), DAY, text)];
        let found = extract_offline(&talk, &MemoryConfig::default()).candidates;
        assert!(found.iter().all(|found| found.attribute.is_empty()), "{text}");
    }
}

#[test]
fn every_fact_is_supported_by_its_messages() {
    let text = "I moved to Lyon last Friday with 3 cats. My sister Lena and I met in May. \
                Yesterday we sold the red van for 900 euros.";
    let talk = [said(0, "user", Some("Ada"), DAY, text)];
    for found in extract_offline(&talk, &MemoryConfig::default()).candidates {
        let checked = grounded(&found.content, "", &[&talk[0]], &[&talk[0]], &["Ada"]);
        assert_eq!(checked, Ok(()), "{}", found.content);
    }
}

proptest! {
    #[test]
    fn nothing_panics_on_any_text(text in "\\PC{0,120}", name in "\\PC{0,8}") {
        let talk =
            [said(0, "user", Some(&name), DAY, &text), said(1, "assistant", None, DAY, &text)];
        extract_offline(
            &talk,
            &MemoryConfig { min_confidence: 0.0, min_importance: 0.0, ..MemoryConfig::default() },
        );
    }

    #[test]
    fn nothing_panics_on_words_that_rules_look_for(
        words in prop::collection::vec(prop::sample::select(vec![
            "I", "we", "my", "sister", "Anna", "'m", "have", "been", "to", "at", "Rome", ",", "and",
            "moved", "love", "not", "\"", "-", "`", "If", "last", "Friday", "is", "favourite",
            "let's", "go", "with", "Decision:", "your", "on", "3", "the", "still", "a", "nurse",
            "we're", "我", "在", "上海", "工作", "生日", "三月", "叫", "，", "。", "你", "(", "'",
            "是", "的", "打算", "昨天",
        ]), 0..24),
        spaced in any::<bool>(),
    ) {
        let text = words.join(if spaced { " " } else { "" });
        let talk =
            [said(0, "user", Some("Ada"), DAY, &text), said(1, "assistant", None, DAY, &text)];
        let found = extract_offline(
            &talk,
            &MemoryConfig { min_confidence: 0.0, min_importance: 0.0, ..MemoryConfig::default() },
        );
        for candidate in &found.candidates {
            prop_assert!(!candidate.content.is_empty() && !candidate.source_messages.is_empty());
        }
    }

    #[test]
    fn an_episode_and_its_facts_from_one_reading_are_those_of_two(
        lines in prop::collection::vec((
            prop::sample::select(vec!["Ada", "Maya", "小林", ""]),
            prop::collection::vec(prop::sample::select(vec![
                "I moved to Lyon last Friday!", "Jon, I met Tim in May.", "We sold it yesterday.",
                "Look! [Image: a red door]", "[photo of a lake]", "**My** sister loves tea…",
                "- I bought 3 apples on Monday 🙂", "Maya!", "Do you like it?", "\"Go home.",
                "我昨天搬到了上海。", "Ich wohne seit Mai in Graz.", "Ayer perdí el tren.",
                "```\nlet a = 1;\n```", "I've been a nurse... since 2019,", "So, well, okay.",
            ]), 1..4),
        ), 0..8),
    ) {
        let talk: Vec<_> = lines
            .iter()
            .enumerate()
            .map(|(at, (name, text))| {
                let name = (!name.is_empty()).then_some(*name);
                let role = if name.is_some() { "user" } else { "assistant" };
                said(at as u64, role, name, DAY, &text.join(" "))
            })
            .collect();
        let config = MemoryConfig::default();
        let together = write_and_extract(&talk, &config);
        prop_assert_eq!(together, (write_offline(&talk), extract_offline(&talk, &config)));
    }
}
