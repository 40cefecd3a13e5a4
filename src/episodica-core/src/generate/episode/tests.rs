//! Tests of whole conversations and their episodes.

use std::sync::Arc;

use proptest::prelude::*;

use super::{EpisodeText, write_offline};
use crate::clock::Moment;
use crate::model::Message;
use crate::text::count_tokens;

/// Messages of named speakers, a minute apart, from `start` on.
fn talk(start: &str, lines: &[(&str, &str)]) -> Vec<Arc<Message>> {
    let start = Moment::parse(start).unwrap();
    let message = |(at, (name, content)): (usize, &(&str, &str))| {
        let role = matches!(*name, "user" | "assistant" | "tool").then_some(*name);
        Arc::new(Message {
            message_id: format!("m{at}"),
            seq: at as u64,
            role: role.unwrap_or("user").into(),
            name: role.is_none().then(|| (*name).into()),
            content: (*content).to_owned(),
            timestamp: Moment::new(start.micros() + at as i64 * 60_000_000, start.offset_seconds())
                .unwrap(),
            session_id: None,
            agent_id: None,
            metadata: None,
        })
    };
    lines.iter().enumerate().map(message).collect()
}

/// Checks the invariants of every episode.
fn check(text: &EpisodeText) {
    assert!(!text.title.is_empty() && text.title.chars().count() <= 80, "{:?}", text.title);
    assert!(!text.title.contains('\n') && text.title.trim() == text.title, "{:?}", text.title);
    assert!(count_tokens(&text.summary) <= 100, "{}", text.summary);
    assert!(count_tokens(&text.content) <= 2_000, "{} tokens", count_tokens(&text.content));
    assert!(!text.content.contains('\u{0}') && !text.summary.contains('\u{1b}'));
}

fn written(start: &str, lines: &[(&str, &str)]) -> EpisodeText {
    let messages = talk(start, lines);
    let text = write_offline(&messages);
    check(&text);
    assert_eq!(text, write_offline(&messages), "the same every time");
    text
}

const MOVE: [(&str, &str); 8] = [
    ("Maya", "Hi Tom! Guess what, I moved to Lyon last Friday!"),
    ("Tom", "Wow, Lyon? What happened to the flat in Brussels?"),
    ("Maya", "I sold it in January. My new job at the botanical garden starts on 18 March."),
    ("Tom", "The botanical garden! Are you going to look after the orchids?"),
    (
        "Maya",
        "Orchids and carnivorous plants, in the big greenhouse. My sister Irène helped me with the \
         boxes.",
    ),
    ("Tom", "haha yes she is strong"),
    ("Maya", "She carried the piano stool and 14 boxes of books."),
    ("Tom", "Congratulations! Talk to you soon."),
];

#[test]
fn a_move_is_told_as_one() {
    let text = written("2024-03-11T09:30:00+01:00", &MOVE);
    let telling = ["Lyon", "botanical garden", "Orchids", "orchids", "Irène", "carnivorous"];
    assert!(
        telling.iter().filter(|word| text.title.contains(**word)).count() >= 1,
        "{}",
        text.title
    );
    assert!(
        text.content.starts_with("On Monday 11 March 2024 at 09:30, Maya and Tom talked."),
        "{}",
        text.content
    );
    assert!(text.content.contains("8 March 2024"), "{}", text.content);
    for kept in ["Lyon", "Brussels", "18 March", "14 boxes", "Irène", "Maya's sister"] {
        assert!(text.content.contains(kept), "{kept}: {}", text.content);
    }
    assert!(text.summary.contains("Maya"), "{}", text.summary);
    assert!(
        text.entities.iter().any(|name| name == "Lyon")
            && text.entities.iter().any(|name| name == "Brussels"),
        "{:?}",
        text.entities
    );
}

#[test]
fn chinese_stays_chinese() {
    let text = written(
        "2024-03-11T20:00:00+08:00",
        &[
            ("林夏", "我昨天搬到成都了！"),
            ("周远", "真的吗？新房子怎么样？"),
            ("林夏", "我的新房子有一个大阳台，橘猫特别喜欢阳台。"),
            ("周远", "橘猫叫什么名字？"),
            ("林夏", "叫汤圆，今年三岁。"),
            ("周远", "哈哈哈"),
        ],
    );
    assert!(
        !text.title.contains(' ') && text.title.contains(|c: char| c > '\u{4e00}'),
        "{}",
        text.title
    );
    assert!(
        ["阳台", "橘猫", "成都"].iter().any(|word| text.title.contains(word)),
        "{}",
        text.title
    );
    assert!(
        text.content.starts_with("2024年3月11日（星期一）20:00，林夏和周远的对话。"),
        "{}",
        text.content
    );
    assert!(text.content.contains("林夏昨天（2024年3月10日）搬到成都了。"), "{}", text.content);
    assert!(!text.content.contains("said"), "{}", text.content);
}

#[test]
fn work_logs_keep_their_code_and_identifiers() {
    let text = written(
        "2025-02-11T14:20:00Z",
        &[
            (
                "user",
                "The ferry proxy crashed:\n```\nthread 'main' panicked at \
                 src/pool.rs:188:9:\nindex out of bounds: the len is 3\n```\nAny idea?",
            ),
            (
                "assistant",
                "The bug is in `checkout`. See https://docs.example.org/pool?id=7#x for the \
                 `PooledConn` guard.",
            ),
            (
                "user",
                "Traceback (most recent call last):\n  File \"app.py\", line 3, in <module>\n    \
                 raise ValueError(FG-1042)",
            ),
            (
                "assistant",
                "I'll prepare the patch for src/pool.rs. **Decision**: release 2.3.1 tomorrow.",
            ),
        ],
    );
    for kept in [
        "src/pool.rs:188:9",
        "index out of bounds: the len is 3",
        "https://docs.example.org/pool?id=7#x",
        "FG-1042",
        "2.3.1",
        "12 February 2025",
    ] {
        assert!(text.content.contains(kept), "{kept}: {}", text.content);
    }
    assert!(
        text.content.contains("The assistant will prepare the patch for src/pool.rs."),
        "{}",
        text.content
    );
    assert!(text.entities.iter().any(|name| name == "PooledConn"), "{:?}", text.entities);
    assert!(!text.title.contains("```"), "{}", text.title);
}

#[test]
fn small_and_odd_talks_have_honest_titles() {
    for (lines, part) in [
        (&[("Maya", "I adopted a retired greyhound")][..], "greyhound"),
        (&[("Maya", "😂😂"), ("Tom", "👍")], "😂"),
        (&[("Maya", "Hi!"), ("Tom", "Hello, how are you?")], "H"),
        (&[("Maya", ""), ("Tom", "  ")], "Maya"),
        (&[("Maya", "。")], "Maya"),
        (&[("user", "12:30")], "12:30"),
        (&[("Юля", "Вчера мы ездили на Байкал и видели нерпу.")], "Байкал"),
        (&[("さくら", "昨日、札幌で友達と味噌ラーメンを食べました。")], "札幌"),
        (&[("a\u{0}b", "control \u{1b}[31m characters\u{7}")], "Control"),
    ] {
        let text = written("2024-03-11T09:30:00Z", lines);
        assert!(text.title.contains(part), "{lines:?}: {}", text.title);
        assert!(!text.title.contains("Episode"), "{}", text.title);
    }
    assert_eq!(write_offline(&[]), EpisodeText::default());
}

#[test]
fn a_title_names_events_without_leading_words_or_reactions() {
    let text = written(
        "2024-03-11T09:30:00Z",
        &[
            ("Maya", "On another note, I adopted a retired greyhound from the shelter yesterday."),
            ("Tom", "I can imagine those greyhound hurdles at the crowded shelter were tough."),
            ("Maya", "Thanks, I repaired my grandfather's telescope."),
        ],
    );
    assert!(text.title.starts_with("Maya adopted a retired greyhound"), "{}", text.title);
    assert!(!text.title.contains("imagine") && !text.title.contains("note"), "{}", text.title);
    let two = written(
        "2024-03-11T09:30:00Z",
        &[
            ("Maya", "I adopted a retired greyhound yesterday."),
            ("Tom", "It commemorates my long regatta career."),
            ("Tom", "I sold my sailing boat, because the harbour closes."),
        ],
    );
    assert_eq!(two.title, "Tom sold Tom's sailing boat, because the harbour closes");
}

#[test]
fn a_title_is_of_one_sentence_and_never_joins_nouns() {
    for lines in [
        &[
            ("Maya", "New gamecube game, aaaah, mariokart!"),
            ("Tom", "Oof, that and small screens, the worst."),
            ("Maya", "Small screens and mariokart!"),
        ][..],
        &[
            ("Maya", "Laptop, why have you failed me?"),
            ("Tom", "Navy people and their laptop screens, again."),
        ],
        &[(
            "user",
            "Could you please explain how the midi through port of the two drum machines \
            decides which of these many messages it passes on to the synthesizer",
        )],
    ] {
        let title = written("2024-03-11T09:30:00Z", lines).title;
        let is_part = |(_, line): &(&str, &str)| {
            line.to_lowercase().contains(&title.trim_end_matches('…').to_lowercase())
        };
        assert!(lines.iter().any(is_part), "{title}");
    }
}

#[test]
fn long_talks_lose_their_small_talk_first_and_keep_their_order() {
    let mut lines: Vec<(String, String)> = Vec::new();
    for at in 0..25 {
        let name = if at % 2 == 0 { "Maya" } else { "Tom" };
        let filler =
            "It was really good and we talked about things for some time, you know how it \
            is when you are there. "
                .repeat(6);
        lines.push((
            name.to_owned(),
            format!(
                "haha yes! {filler} The harbour crane number {at} lifted {} containers from \
                the vessel Antares.",
                at * 7 + 3
            ),
        ));
    }
    let borrowed: Vec<(&str, &str)> =
        lines.iter().map(|(name, line)| (name.as_str(), line.as_str())).collect();
    let text = written("2024-03-11T09:30:00Z", &borrowed);
    let places: Vec<usize> =
        (0..25).filter_map(|at| text.content.find(&format!("crane number {at} lifted"))).collect();
    assert!(places.len() >= 20 && places.is_sorted(), "{} {}", places.len(), text.content);
}

#[test]
fn huge_messages_are_bounded() {
    let huge = "The quick harbour pilot Ingrid boards 31 ships. ".repeat(220_000);
    let started = std::time::Instant::now();
    let text = written(
        "2024-03-11T09:30:00Z",
        &[
            ("Maya", &huge),
            ("Tom", &"A".repeat(1 << 20)),
            ("Maya", &"我".repeat(1 << 20)),
            ("Tom", &"\n".repeat(1 << 20)),
        ],
    );
    assert!(text.content.contains("Ingrid"));
    assert!(started.elapsed().as_secs() < 20);
}

#[test]
fn a_capital_is_one_letter_for_one() {
    let given = ["éa", "ßa", "ῲ", "x", ""].map(super::narrative::capitalised);
    assert_eq!(given, ["Éa", "ßa", "ῲ", "X", ""]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn limits_hold_for_anything(lines in prop::collection::vec(
        ("(Maya|Tom|user|assistant|林夏)", prop_oneof![
            "\\PC{0,120}", "[a-zA-Z' ,.!?0-9]{0,300}", "[我你他的了在上海北京猫狗，。！？]{0,80}",
            "[ -~\n\t]{0,200}", "(I|My|me|you) [a-z]{2,9} [a-z ]{0,40}[.!?]",
        ]),
        1..12,
    )) {
        let borrowed: Vec<(&str, &str)> =
            lines.iter().map(|(name, line)| (name.as_str(), line.as_str())).collect();
        let text = write_offline(&talk("2024-03-11T09:30:00Z", &borrowed));
        prop_assert!(
            !text.title.is_empty() && text.title.chars().count() <= 80,
            "{:?}",
            text.title,
        );
        prop_assert!(count_tokens(&text.summary) <= 100, "{:?}", text.summary);
        prop_assert!(count_tokens(&text.content) <= 2_000);
        prop_assert!(text.content.chars().all(|c| !c.is_control() || c == '\n'));
    }
}
