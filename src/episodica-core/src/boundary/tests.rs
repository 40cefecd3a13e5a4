//! Conversations and their segments; invariance against batching.

use std::sync::Arc;

use ndarray::{Array2, Axis, Slice};
use proptest::prelude::*;

use super::heuristic::finished_segments;
use super::scan::follows_day;
use super::{BufferSegment, flush_segments, keyword_overlap};
use crate::clock::Moment;
use crate::config::MemoryConfig;
use crate::model::{BoundaryReason, DetectionMethod, Message};

/// A message of `speaker` at `minute`, in session `session` (0 = none).
fn message(seq: u64, minute: i64, session: u32, role: &str, content: &str) -> Arc<Message> {
    Arc::new(Message {
        message_id: format!("m{seq}"),
        seq,
        role: role.into(),
        name: None,
        content: content.to_owned(),
        timestamp: Moment::new(minute * 60_000_000, 0).unwrap(),
        session_id: (session > 0).then(|| format!("s{session}").into()),
        agent_id: None,
        metadata: None,
        edited_at: None,
    })
}

/// Alternating speakers, a minute apart, one session.
fn talk(lines: &[&str]) -> Vec<Arc<Message>> {
    lines
        .iter()
        .enumerate()
        .map(|(at, line)| message(at as u64, at as i64, 0, "user", line))
        .collect()
}

fn cuts(found: &[BufferSegment]) -> Vec<(usize, BoundaryReason)> {
    found.iter().map(|segment| (segment.length, segment.boundary.reason)).collect()
}

const GARDEN: [&str; 6] = [
    "The tomato plants in my garden finally got flowers.",
    "Nice! Did you plant the tomato seeds in March or April?",
    "In March, in the greenhouse behind the garden shed.",
    "My tomato plants always die from blight in the greenhouse.",
    "Water only the soil, never the leaves of the plants.",
    "Good idea, I will water the soil in the morning.",
];

#[test]
fn a_session_never_shares_an_episode_with_another() {
    let mut buffer = vec![
        message(0, 0, 1, "user", "Hello"),
        message(1, 1, 2, "user", "Other session"),
        message(2, 2, 2, "user", "goes on"),
    ];
    let found = finished_segments(&buffer, None, &MemoryConfig::default());
    assert_eq!(cuts(&found), [(1, BoundaryReason::Session)]);
    assert_eq!(
        (found[0].boundary.confidence, found[0].boundary.detection_method),
        (1.0, DetectionMethod::Forced)
    );
    buffer.push(message(3, 3, 0, "user", "no session"));
    let all = flush_segments(&buffer, None, &MemoryConfig::default(), BoundaryReason::Flush);
    assert_eq!(
        cuts(&all),
        [(1, BoundaryReason::Session), (2, BoundaryReason::Session), (1, BoundaryReason::Flush)]
    );
}

#[test]
fn a_pause_ends_a_segment_and_disorder_does_not() {
    let at = |minutes: &[i64]| -> Vec<Arc<Message>> {
        minutes
            .iter()
            .enumerate()
            .map(|(seq, minute)| {
                message(seq as u64, *minute, 0, "user", "some words about nothing much")
            })
            .collect()
    };
    let config = MemoryConfig::default();
    assert_eq!(
        cuts(&finished_segments(&at(&[0, 1, 2, 32]), None, &config)),
        [(3, BoundaryReason::TimeGap)]
    );
    assert_eq!(cuts(&finished_segments(&at(&[0, 1, 2, 31]), None, &config)), []);
    assert_eq!(cuts(&finished_segments(&at(&[0, 20, 3, 21, 5, 22]), None, &config)), []);
    assert_eq!(
        cuts(&finished_segments(&at(&[1000, 1001, 2]), None, &config)),
        [(2, BoundaryReason::TimeGap)]
    );
    // The single message before the pause is shorter than the minimum and joins the next segment.
    assert_eq!(
        cuts(&finished_segments(&at(&[0, 60, 61, 120]), None, &config)),
        [(3, BoundaryReason::TimeGap)]
    );
    // Unless the pause is longer than a day.
    const DAY: i64 = 24 * 60;
    let two = [(1, BoundaryReason::TimeGap), (2, BoundaryReason::TimeGap)];
    assert_eq!(cuts(&finished_segments(&at(&[0, DAY, DAY + 1, DAY + 60]), None, &config)).len(), 1);
    assert_eq!(cuts(&finished_segments(&at(&[0, DAY + 1, DAY + 2, DAY + 60]), None, &config)), two);
    assert_eq!(cuts(&finished_segments(&at(&[0, 7 * DAY]), None, &config)), two[..1]);
    assert_eq!(cuts(&finished_segments(&at(&[7 * DAY, 0]), None, &config)), two[..1]);
    let weekly = MemoryConfig { time_gap_minutes: 7.0 * 1_440.0, ..MemoryConfig::default() };
    assert_eq!(cuts(&finished_segments(&at(&[0, 2 * DAY, 2 * DAY + 1]), None, &weekly)), []);
    // The confidence is compared with the threshold: a pause just over the limit has 0.8.
    let strict = MemoryConfig { boundary_confidence_threshold: 0.95, ..MemoryConfig::default() };
    assert_eq!(cuts(&finished_segments(&at(&[0, 1, 32]), None, &strict)), []);
    assert_eq!(
        cuts(&finished_segments(&at(&[0, 1, 300]), None, &strict)),
        [(2, BoundaryReason::TimeGap)]
    );
}

#[test]
fn an_announced_subject_begins_a_segment() {
    for line in [
        "Anyway, changing the subject: how was Rome?",
        "On another note, I bought a car in Rome.",
        "换个话题，你的车修好了吗？",
    ] {
        let mut lines = GARDEN.to_vec();
        lines.extend([
            line,
            "The car was in the workshop.",
            "And the trip to the coast?",
            "It rained on every beach.",
            "Still better than work.",
        ]);
        assert_eq!(
            cuts(&finished_segments(&talk(&lines), None, &MemoryConfig::default())),
            [(6, BoundaryReason::Intent)],
            "{line}"
        );
    }
    let mut lines = GARDEN.to_vec();
    lines.extend([
        "By the way, tomato plants need soil that drains.",
        "Yes, the garden soil drains well.",
        "haha yes",
        "Plants love it.",
        "True.",
    ]);
    assert_eq!(
        finished_segments(&talk(&lines), None, &MemoryConfig::default()),
        [],
        "an aside on the same subject is none"
    );
}

#[test]
fn a_goodbye_ends_a_segment_after_the_last_bye() {
    for (bye, echo) in [
        ("Talk to you later!", "Bye!"),
        ("Good night, sleep well", "You too!"),
        ("先这样，回头聊", "晚安"),
        ("See you tomorrow!", "See you!"),
    ] {
        let mut lines = GARDEN.to_vec();
        lines.extend([
            bye,
            echo,
            "I finished the report on the bridge.",
            "How long is it?",
            "Forty pages with photos.",
            "Send it over please.",
            "On its way.",
        ]);
        let found = finished_segments(&talk(&lines), None, &MemoryConfig::default());
        assert_eq!(cuts(&found), [(8, BoundaryReason::Closing)], "{bye}");
    }
    let mut lines = GARDEN.to_vec();
    lines.extend([
        "I had a good night yesterday.",
        "Where were you?",
        "At the garden party.",
        "With the tomato people?",
        "Yes.",
    ]);
    assert_eq!(finished_segments(&talk(&lines), None, &MemoryConfig::default()), []);
}

#[test]
fn vectors_show_a_change_of_subject_but_not_under_a_question() {
    let lines: Vec<String> = (0..16)
        .map(|at| {
            format!(
                "statement {at} on the {}",
                if at < 8 { "tomato harvest" } else { "steel bridge" }
            )
        })
        .collect();
    let rows = |turn: usize| {
        Array2::from_shape_fn((16, 4), |(at, axis)| {
            f32::from(u8::from(axis == usize::from(at >= turn)))
        })
    };
    let config = MemoryConfig::default();
    let buffer = talk(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let found = finished_segments(&buffer, Some(rows(8).view()), &config);
    assert_eq!(cuts(&found), [(8, BoundaryReason::TopicShift)]);
    assert_eq!(found[0].boundary.detection_method, DetectionMethod::Heuristic);
    assert!(
        found[0].boundary.confidence >= config.boundary_confidence_threshold
            && !found[0].boundary.topic_summary.is_empty()
    );
    let mut asked = buffer.clone();
    asked[7] = message(7, 7, 0, "user", "is that so, what do you think?");
    assert_ne!(
        cuts(&finished_segments(&asked, Some(rows(8).view()), &config)),
        [(8, BoundaryReason::TopicShift)]
    );
}

#[test]
fn backchannels_alone_change_nothing() {
    let mut lines = GARDEN.to_vec();
    lines.extend(["haha yes", "wow", "ok", "哈哈哈", "👍", "Thanks!"]);
    assert_eq!(finished_segments(&talk(&lines), None, &MemoryConfig::default()), []);
}

#[test]
fn a_full_buffer_is_cut_and_every_limit_holds() {
    let buffer: Vec<Arc<Message>> = (0..60)
        .map(|at| message(at, at as i64, 0, "user", "the same words again and again"))
        .collect();
    for (min, max) in [(2, 25), (1, 1), (5, 5), (3, 4), (2, 3), (10, 12)] {
        let config =
            MemoryConfig { buffer_size_min: min, buffer_size_max: max, ..MemoryConfig::default() };
        let found = finished_segments(&buffer, None, &config);
        assert!(
            found.iter().all(|segment| (min..=max).contains(&segment.length)),
            "{min} {max} {:?}",
            cuts(&found)
        );
        assert!(buffer.len() - found.iter().map(|segment| segment.length).sum::<usize>() < max);
    }
}

#[test]
fn the_stand_in_says_who_it_is() {
    let mut lines = GARDEN.to_vec();
    lines.push("Talk to you later!");
    lines.extend(["New topic: the bridge.", "It is long.", "And old.", "And steel.", "And red."]);
    let found = keyword_overlap::finished_segments(&talk(&lines), None, &MemoryConfig::default());
    assert_eq!(found[0].boundary.detection_method, DetectionMethod::KeywordOverlap);
    let all = keyword_overlap::flush_segments(
        &talk(&lines),
        None,
        &MemoryConfig::default(),
        BoundaryReason::Session,
    );
    assert_eq!(all.last().unwrap().boundary.reason, BoundaryReason::Session);
    assert!(flush_segments(&[], None, &MemoryConfig::default(), BoundaryReason::Flush).is_empty());
}

#[test]
fn huge_and_broken_messages_are_harmless() {
    let buffer = talk(&[
        "x".repeat(10 << 20).as_str(),
        "\u{0}\u{1b}[31m",
        "",
        "🙂🙂",
        &"bye ".repeat(1 << 20),
    ]);
    let all = flush_segments(&buffer, None, &MemoryConfig::default(), BoundaryReason::Flush);
    assert_eq!(all.iter().map(|segment| segment.length).sum::<usize>(), 5);
}

fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(GARDEN.to_vec()).prop_map(str::to_owned),
        3 => "[a-z]{3,8}( [a-z]{3,8}){1,8}[.?!]",
        1 => prop::sample::select(vec![
            "Bye!", "good night", "haha yes", "By the way, the car", "New topic: rust", "再见",
            "对了，你的猫呢？", "", "🙂",
        ])
        .prop_map(str::to_owned),
    ]
}

prop_compose! {
    fn any_buffer()(
        parts in prop::collection::vec(
            (
                any_line(), prop_oneof![
                    8 => 0_i64..5, 1 => 25_i64..200, 1 => -90_i64..0, 1 => 1_400_i64..1_500,
                ],
                prop_oneof![12 => Just(0_u32), 1 => Just(1)], any::<bool>(),
            ),
            0..70,
        )
    ) -> Vec<Arc<Message>> {
        let (mut minute, mut session) = (0, 1);
        parts.into_iter().enumerate().map(|(at, (line, step, next, reply))| {
            minute += step;
            session += next;
            message(at as u64, minute, session, if reply { "assistant" } else { "user" }, &line)
        }).collect()
    }
}

fn vectors(buffer: &[Arc<Message>]) -> Array2<f32> {
    let mut rows: Array2<f32> = Array2::zeros((buffer.len(), 6));
    for (at, message) in buffer.iter().enumerate() {
        rows[[at, message.content.len() % 6]] = 0.8;
        rows[[at, (message.content.len() / 7) % 6]] += 0.6;
        let norm = rows.row(at).dot(&rows.row(at)).sqrt();
        rows.row_mut(at).mapv_inplace(|value: f32| value / norm);
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn segments_do_not_depend_on_batches(
        buffer in any_buffer(), sizes in prop::collection::vec(1_usize..9, 1..20),
        min in 1_usize..4, extra in 0_usize..22, with_vectors: bool,
    ) {
        let config =
            MemoryConfig {
                buffer_size_min: min,
                buffer_size_max: min + extra,
                ..MemoryConfig::default()
            };
        let rows = vectors(&buffer);
        let view = |from: usize, to: usize| {
            with_vectors.then(|| rows.slice_axis(Axis(0), Slice::from(from..to)))
        };
        let at_once = finished_segments(&buffer, view(0, buffer.len()), &config);
        let (mut start, mut end, mut in_batches) = (0, 0, Vec::new());
        for size in sizes.iter().cycle() {
            if end == buffer.len() {
                break;
            }
            end = (end + size).min(buffer.len());
            for segment in finished_segments(&buffer[start..end], view(start, end), &config) {
                start += segment.length;
                in_batches.push(segment);
            }
            prop_assert!(end - start < config.buffer_size_max.max(1));
        }
        prop_assert_eq!(&at_once, &in_batches);
        let rest =
            flush_segments(
                &buffer[start..],
                view(start, buffer.len()),
                &config,
                BoundaryReason::Flush,
            );
        let all = flush_segments(&buffer, view(0, buffer.len()), &config, BoundaryReason::Flush);
        in_batches.extend(rest);
        prop_assert_eq!(&all, &in_batches);
        prop_assert_eq!(all.iter().map(|segment| segment.length).sum::<usize>(), buffer.len());
        let mut at = 0;
        for segment in &all {
            prop_assert!(segment.length >= 1 && segment.length <= config.buffer_size_max);
            let sessions: Vec<_> =
                buffer[at..at + segment.length].iter().map(|message| &message.session_id).collect();
            prop_assert!(sessions.iter().all(|session| *session == sessions[0]));
            let forced =
                matches!(segment.boundary.reason, BoundaryReason::Session | BoundaryReason::Flush);
            let end = at + segment.length;
            let before_day = end < buffer.len() && follows_day(&buffer, at, end);
            let is_long = segment.length >= config.buffer_size_min;
            prop_assert!(forced || is_long || before_day, "{:?}", segment);
            at = end;
        }
    }
}
