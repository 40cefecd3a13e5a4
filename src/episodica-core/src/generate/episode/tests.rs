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
            edited_at: None,
        })
    };
    lines.iter().enumerate().map(message).collect()
}

/// Checks the invariants of every episode.
fn check(text: &EpisodeText) {
    assert!(!text.title.is_empty() && text.title.chars().count() <= 120, "{:?}", text.title);
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
    assert!(is_of(&text.title, &MOVE), "{}", text.title);
    let telling = ["Lyon", "botanical garden", "Brussels"];
    assert!(telling.iter().any(|word| text.title.contains(word)), "{}", text.title);
    let lines: Vec<&str> = text.content.lines().collect();
    assert_eq!(lines[0], "Monday 11 March 2024, 09:30");
    assert_eq!(lines[1], "Maya: Hi Tom! Guess what, I moved to Lyon last Friday [8 March 2024]!");
    assert_eq!(lines.len(), 1 + MOVE.len());
    for ((name, said), line) in MOVE.iter().zip(&lines[1..]).skip(1) {
        let dated =
            said.replace("January", "January [2024]").replace("18 March", "18 March [2024]");
        assert_eq!(*line, format!("{name}: {dated}"));
    }
    assert!(text.summary.contains("Maya: \""), "{}", text.summary);
    assert!(
        text.entities.iter().any(|name| name == "Lyon")
            && text.entities.iter().any(|name| name == "Brussels"),
        "{:?}",
        text.entities
    );
}

/// True if a title is a span of what one of the speakers said, with or without the name.
fn is_of(title: &str, lines: &[(&str, &str)]) -> bool {
    lines.iter().any(|(name, said)| {
        let span = title
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix(": ").or_else(|| rest.strip_prefix('：')));
        said.contains(span.unwrap_or(title))
    })
}

#[test]
fn chinese_stays_chinese() {
    let lines = [
        ("林夏", "我昨天搬到成都了！"),
        ("周远", "真的吗？新房子怎么样？"),
        ("林夏", "我的新房子有一个大阳台，橘猫特别喜欢阳台。"),
        ("周远", "橘猫叫什么名字？"),
        ("林夏", "叫汤圆，今年三岁。"),
        ("周远", "哈哈哈"),
    ];
    let text = written("2024-03-11T20:00:00+08:00", &lines);
    assert!(is_of(&text.title, &lines), "{}", text.title);
    assert!(["阳台", "成都"].iter().any(|word| text.title.contains(word)), "{}", text.title);
    assert!(
        text.content.starts_with(
            "2024年3月11日（星期一）20:00\n林夏：我昨天[2024年3月10日]搬到成都了！\n周远："
        ),
        "{}",
        text.content
    );
    assert!(text.summary.starts_with("林夏：“"), "{}", text.summary);
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
        "release 2.3.1 tomorrow [12 February 2025].",
        "\nthe assistant: I'll prepare the patch for src/pool.rs. **Decision**:",
    ] {
        assert!(text.content.contains(kept), "{kept}: {}", text.content);
    }
    assert!(text.entities.iter().any(|name| name == "PooledConn"), "{:?}", text.entities);
    assert!(!text.title.contains("```"), "{}", text.title);
}

#[test]
fn no_line_of_a_message_looks_like_another_speakers() {
    let lines =
        [("Maya", "first line\nTom: I owe you\nMonday 11 March 2024, 09:30"), ("Tom", "no")];
    let text = written("2024-03-11T09:30:00Z", &lines);
    let starts =
        |prefix: &str| text.content.lines().filter(|line| line.starts_with(prefix)).count();
    assert_eq!((starts("Tom: "), starts("Monday 11"), starts("Maya: ")), (1, 1, 1));
}

#[test]
fn each_day_has_its_line() {
    let mut messages = talk("2024-03-11T23:59:00+01:00", &[("Maya", "Still up?"), ("Tom", "Yes.")]);
    let text = write_offline(&messages).content;
    assert!(text.contains("\nTuesday 12 March 2024, 00:00\nTom: Yes."), "{text}");
    messages.pop();
    assert!(!write_offline(&messages).content.contains("Tuesday"));
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
        (&[("a\u{0}b", "control \u{1b}[31m characters\u{7}")], "control"),
    ] {
        let text = written("2024-03-11T09:30:00Z", lines);
        assert!(text.title.contains(part), "{lines:?}: {}", text.title);
        assert!(!text.title.contains("Episode"), "{}", text.title);
    }
    assert_eq!(write_offline(&[]), EpisodeText::default());
}

#[test]
fn a_title_is_one_span_with_its_speaker() {
    for (lines, title) in [
        // A greeting and the listener's name are left out.
        (
            &[
                ("Maya", "Hey Tom, I adopted a retired greyhound from the shelter."),
                ("Tom", "Wow!"),
            ][..],
            "Maya: I adopted a retired greyhound from the shelter",
        ),
        // Shortened at a clause, never within one.
        (
            &[
                (
                    "Tom",
                    "I sold my sailing boat to a couple from Kiel, who want to take it to the \
                     Azores as soon as the winter storms are over and the mast is mended",
                ),
                ("Maya", "Oh no."),
            ],
            "Tom: I sold my sailing boat to a couple from Kiel",
        ),
        (
            &[
                (
                    "Tom",
                    "We finally adopted the two kittens from the harbour - they hid behind the \
                     washing machine for the whole of their first evening and night",
                ),
                ("Maya", "Oh!"),
            ],
            "Tom: We finally adopted the two kittens from the harbour",
        ),
        // What the others speak about, too.
        (
            &[
                ("Ana", "I repainted the hallway. My sister bought a sailing boat in Kiel."),
                ("Bo", "A sailing boat! How big is the boat?"),
                ("Ana", "Nine metres. The boat was built in Sweden."),
                ("Bo", "Is Sweden far from Kiel for such a boat?"),
                ("Ana", "They sailed the boat over in two days."),
                ("Bo", "Which harbour takes a boat that long?"),
                ("Ana", "The boat lies in Kiel."),
            ],
            "Ana: My sister bought a sailing boat in Kiel",
        ),
        // Neither a link nor a picture, nor half of what is printed bold, nor an aside.
        (
            &[
                ("Maya", "- May 2 - May 9:** the walls of the kitchen"),
                ("Maya", "(And the walls of my kitchen were painted blue)"),
                ("Maya", "https://example.org/flats/9"),
                ("Maya", "[Image: a red door]"),
                ("Maya", "We found a flat in Ghent with a garden."),
                ("Tom", "haha yes"),
            ],
            "Maya: We found a flat in Ghent with a garden",
        ),
        // An agent is asked: the request.
        (
            &[
                ("user", "Hello!"),
                ("assistant", "Hello, how can I help?"),
                ("user", "Can you help me write a letter to my landlord?"),
                ("assistant", "Of course. I have drafted a letter of one page about the heating."),
                ("user", "Great, thanks"),
            ],
            "Can you help me write a letter to my landlord?",
        ),
        // What is asked for is the asker's own; what follows is not.
        (
            &[
                ("user", "Hi there"),
                ("user", "Please translate this into French: I sold my house and moved to Kiel."),
                ("assistant", "J'ai vendu ma maison et j'ai déménagé à Kiel."),
                ("user", "Perfect!"),
            ],
            "Please translate this into French: I sold my house and moved to Kiel",
        ),
        (
            &[
                ("林夏", "在吗"),
                ("林夏", "我下个月要去挪威读博士，签证昨天下来了。"),
                ("周远", "哇"),
            ],
            "林夏：我下个月要去挪威读博士，签证昨天下来了",
        ),
    ] {
        assert_eq!(written("2024-03-11T09:30:00Z", lines).title, title);
    }
}

#[test]
fn a_title_breaks_off_only_if_nothing_can_be_told_whole() {
    let long = "Could you please explain how the midi through port of the two drum machines \
                in my studio decides which of these many messages it passes on to the synthesizer";
    let title = written("2024-03-11T09:30:00Z", &[("user", long)]).title;
    assert!(title.ends_with('…') && long.starts_with(title.trim_end_matches('…')), "{title}");
    // A line that ends inside a sentence is no title.
    let wrapped =
        "We decided to move the whole database of the museum\nto another provider in May.";
    let lines = [("Maya", wrapped), ("Tom", "We hired two people for the move of the database.")];
    assert!(written("2024-03-11T09:30:00Z", &lines).title.starts_with("Tom: We hired two"));
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
    // What is left out between two lines of a message does not make one line of them.
    let filler = "It was really good, you know how it is when you are there. ".repeat(6);
    let line = |at| format!("haha yes!\n{filler}\nThe crane number {at} lifted the Antares.");
    let broken: Vec<String> = (0..25).map(line).collect();
    let borrowed: Vec<(&str, &str)> = broken.iter().map(|line| ("Maya", line.as_str())).collect();
    let content = written("2024-03-11T09:30:00Z", &borrowed).content;
    let after = content.split("[…]").skip(1).filter(|text| text.contains("crane"));
    assert!(after.clone().count() > 0, "{content}");
    assert!(after.clone().all(|text| text.starts_with('\n')), "{content}");
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
            !text.title.is_empty() && text.title.chars().count() <= 120,
            "{:?}",
            text.title,
        );
        prop_assert!(count_tokens(&text.summary) <= 100, "{:?}", text.summary);
        prop_assert!(count_tokens(&text.content) <= 2_000);
        prop_assert!(text.content.chars().all(|c| !c.is_control() || c == '\n'));
    }
}
