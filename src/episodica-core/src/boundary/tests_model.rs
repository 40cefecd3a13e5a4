//! Boundaries by a model: when to ask it, and how to read its answers.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::window::{WindowScan, WindowStep, plan_step, read_answer};
use super::{BufferSegment, turn};
use crate::clock::Moment;
use crate::config::MemoryConfig;
use crate::model::testing::said;
use crate::model::{BoundaryReason, DetectionMethod, Message};

/// Messages a minute apart, with a pause of two hours before each of `pauses`.
fn talk(count: usize, pauses: &[usize]) -> Vec<Arc<Message>> {
    let mut minutes = 0;
    (0..count)
        .map(|number| {
            minutes += if pauses.contains(&number) { 120 } else { 1 };
            let at = Moment::new(1_710_000_000_000_000 + minutes * 60_000_000, 0).expect("valid");
            said(
                number as u64,
                "user",
                Some("Ann"),
                &at.to_string(),
                &format!("number {number} is about kite {}", number / 7),
            )
        })
        .collect()
}

fn answer(episodes: &[(&[i64], f64)]) -> String {
    let episodes: Vec<Value> = episodes
        .iter()
        .map(|(messages, confidence)| {
            json!({
                "messages": messages, "topic": "kites", "reason": "wind fell",
                "confidence": confidence,
            })
        })
        .collect();
    json!({"episodes": episodes}).to_string()
}

fn lengths(segments: &[BufferSegment]) -> Vec<usize> {
    segments.iter().map(|segment| segment.length).collect()
}

fn reading(text: &str, messages: &[Arc<Message>], complete: bool) -> Option<WindowScan> {
    read_answer(text, messages, complete.then_some(BoundaryReason::Flush), &MemoryConfig::default())
}

#[test]
fn the_model_is_asked_only_where_there_is_doubt() {
    let config = MemoryConfig::default();
    let step = |count, pauses: &[usize], seen, complete: bool| {
        plan_step(&talk(count, pauses), seen, complete.then_some(BoundaryReason::Flush), &config)
    };
    assert_eq!(step(19, &[], 0, false), WindowStep::Wait);
    assert_eq!(step(20, &[], 0, false), WindowStep::Ask(20));
    assert_eq!(step(400, &[], 0, false), WindowStep::Ask(20));
    assert_eq!(step(24, &[], 5, false), WindowStep::Wait, "19 new ones are no window");
    assert_eq!(step(25, &[], 5, false), WindowStep::Ask(25));
    assert_eq!(step(25, &[], 16, false), WindowStep::Ask(25), "the buffer is full");
    assert!(
        matches!(step(25, &[], 20, false), WindowStep::Cut(_)),
        "full, and hardly anything new: the rules cut"
    );
    let WindowStep::Cut(cut) = step(12, &[6], 0, false) else {
        panic!("a short stretch before a pause is an episode")
    };
    assert_eq!((lengths(&cut), cut[0].boundary.reason), (vec![6], BoundaryReason::TimeGap));
    let WindowStep::Cut(cut) = step(8, &[], 0, true) else { panic!("a short rest is an episode") };
    assert_eq!(lengths(&cut), [8]);
    assert_eq!(step(0, &[], 0, true), WindowStep::Wait);
    assert_eq!(step(30, &[], 0, true), WindowStep::Ask(30), "one question about the rest");
    assert_eq!(step(31, &[], 0, true), WindowStep::Ask(20));
    assert_eq!(step(20, &[3, 9], 0, false), WindowStep::Ask(20), "one about several stretches");
}

#[test]
fn a_good_answer_cuts_where_it_says_and_leaves_the_last_open() {
    let messages = talk(20, &[]);
    let text = answer(&[
        (&[0, 1, 2, 3, 4, 5], 0.9),
        (&[6, 7, 8, 9, 10, 11, 12], 0.8),
        (&[13, 14, 15, 16, 17, 18, 19], 0.9),
    ]);
    let found = reading(&text, &messages, false).expect("usable");
    assert_eq!((lengths(&found.segments), found.repaired, found.salvaged), (vec![6, 7], 0, false));
    let boundary = &found.segments[0].boundary;
    assert_eq!(
        (boundary.reason, boundary.detection_method),
        (BoundaryReason::Llm, DetectionMethod::Window)
    );
    assert_eq!(found.segments[0].description(), "the model saw a boundary");
    assert_eq!(lengths(&reading(&text, &messages, true).expect("usable").segments), [6, 7, 7]);
}

#[test]
fn a_models_words_about_a_boundary_are_not_kept() {
    let messages = talk(20, &[]);
    let text = answer(&[
        (&[0, 1, 2, 3, 4, 5], 0.9),
        (&[6, 7, 8, 9, 10, 11, 12], 0.8),
        (&[13, 14, 15, 16, 17, 18, 19], 0.9),
    ]);
    for complete in [false, true] {
        let found = reading(&text, &messages, complete).expect("usable");
        let kept = format!("{:?}", found.segments);
        assert!(!kept.contains("kites") && !kept.contains("wind fell"), "{kept}");
    }
}

#[test]
fn cuts_below_the_configured_confidence_are_none() {
    let text = answer(&[(&[0, 1, 2, 3], 0.3), (&[4, 5, 6, 7, 8, 9], 0.9)]);
    assert_eq!(lengths(&reading(&text, &talk(10, &[]), true).expect("usable").segments), [10]);
}

#[test]
fn pauses_cut_whatever_the_model_says() {
    let text = answer(&[(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 0.9)]);
    let found = reading(&text, &talk(10, &[4]), true).expect("usable");
    assert_eq!(lengths(&found.segments), [4, 6]);
    assert_eq!(found.segments[0].boundary.reason, BoundaryReason::TimeGap);
}

#[test]
fn a_pause_of_more_than_a_day_cuts_even_a_single_message() {
    let single = |minutes: i64| {
        let mut messages = talk(6, &[]);
        let first = Arc::make_mut(&mut messages[0]);
        first.timestamp = Moment::new(first.timestamp.micros() - minutes * 60_000_000, 0).unwrap();
        messages
    };
    let text = answer(&[(&[0, 1, 2, 3, 4, 5], 0.9)]);
    for (minutes, expected) in [(60, &[6][..]), (24 * 60 + 1, &[1, 5]), (7 * 24 * 60, &[1, 5])] {
        let found = reading(&text, &single(minutes), true).expect("usable");
        assert_eq!(lengths(&found.segments), expected, "{minutes} minutes");
    }
    let step = plan_step(&single(24 * 60 + 1), 0, None, &MemoryConfig::default());
    assert!(matches!(&step, WindowStep::Cut(cut) if lengths(cut) == [1]), "{step:?}");
}

#[test]
fn missing_doubled_and_invented_indexes_are_repaired() {
    // 3 is missing, 5 is claimed twice, 99 and -1 are unknown numbers, and the second list is out
    // of order.
    let text = answer(&[(&[0, 1, 2, 5, 4], 0.9), (&[9, 5, 6, 7, 8, 99, -1], 0.9)]);
    let found = reading(&text, &talk(10, &[]), true).expect("usable");
    assert_eq!(lengths(&found.segments), [6, 4]);
    assert_eq!(found.repaired, 4);
}

#[test]
fn ranges_strings_and_bare_lists_will_do() {
    let messages = talk(8, &[]);
    for text in [
        r#"{"episodes":[{"first":0,"last":3},{"first":4,"last":7}]}"#,
        r#"{"episodes":[{"messages":["0","1","2","3"]},{"messages":["4","5","6","7"]}]}"#,
        r#"[[0,1,2,3],[4,5,6,7]]"#,
        "Here you are:\n```json\n[{\"messages\":[0,1,2,3]},{\"messages\":[4,5,6,7]}]\n```",
    ] {
        assert_eq!(
            lengths(&reading(text, &messages, true).expect("usable").segments),
            [4, 4],
            "{text}"
        );
    }
    for text in ["", "no", "{}", r#"{"episodes":[]}"#, r#"{"episodes":[{"messages":[77]}]}"#] {
        assert_eq!(reading(text, &messages, true), None, "{text}");
    }
}

#[test]
fn too_short_joins_a_neighbour_and_too_long_is_cut_again() {
    let found =
        reading(&answer(&[(&[0], 0.9), (&[1, 2, 3, 4], 0.9), (&[5], 0.9)]), &talk(6, &[]), true)
            .expect("usable");
    assert_eq!(lengths(&found.segments), [6]);
    let all: Vec<i64> = (0..45).collect();
    let found = reading(&answer(&[(&all, 0.9)]), &talk(45, &[]), true).expect("usable");
    assert!(
        found.segments.len() > 1 && found.segments.iter().all(|segment| segment.length <= 25),
        "{:?}",
        lengths(&found.segments)
    );
}

#[test]
fn message_by_message_each_is_judged_once() {
    let config = MemoryConfig::default();
    let messages = talk(6, &[]);
    assert_eq!(
        turn::plan_step(&messages, 0, None, &config),
        WindowStep::Ask(3),
        "the third is the first that may open an episode"
    );
    assert_eq!(turn::plan_step(&messages, 5, None, &config), WindowStep::Ask(6));
    assert_eq!(turn::plan_step(&messages, 6, None, &config), WindowStep::Wait);
    let yes =
        r#"{"should_end":true,"reason":"new matter","confidence":0.9,"topic_summary":"kites"}"#;
    let segment = turn::read_answer(yes, &messages[..4], &config).expect("usable").expect("ends");
    assert_eq!(
        (segment.length, segment.description(), segment.boundary.detection_method),
        (3, "the model saw a boundary", DetectionMethod::Message)
    );
    assert_eq!(
        turn::read_answer(r#"{"should_end":true,"confidence":0.2}"#, &messages[..4], &config),
        Some(None)
    );
    assert_eq!(turn::read_answer("perhaps", &messages[..4], &config), None);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 256,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_the_answer_every_message_is_in_one_segment(
        count in 1usize..60,
        pauses in prop::collection::vec(1usize..60, 0..4),
        groups in prop::collection::vec(
            (prop::collection::vec(-3i64..70, 0..30), 0.0f64..1.0), 0..8,
        ),
        cut in 0usize..2_000,
        complete: bool,
    ) {
        let messages = talk(count, &pauses);
        let groups: Vec<(&[i64], f64)> =
            groups.iter().map(|(messages, confidence)| (&messages[..], *confidence)).collect();
        let mut text = answer(&groups);
        text.truncate(cut);
        if let Some(found) = reading(&text, &messages, complete) {
            let config = MemoryConfig::default();
            let total: usize = found.segments.iter().map(|segment| segment.length).sum();
            prop_assert!(total == count || !complete && total < count, "{total} of {count}");
            prop_assert!(
                found
                    .segments
                    .iter()
                    .all(|segment| segment.length >= 1 && segment.length <= config.buffer_size_max)
            );
        }
    }
}
