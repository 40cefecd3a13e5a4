"""The same message in another form or under another id, and parts that are broken or not typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from episodica import MemorySystem
from episodica.readers import read_conversations


def write(path: Path, value: Any) -> Path:
    if path.suffix == ".jsonl":
        value = "".join(json.dumps(one) + "\n" for one in value)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def said_by(memory: MemorySystem, user: str = "u") -> list[str]:
    return [one.content for one in memory.messages(user)]


SAID = {"role": "user", "name": "Ida", "content": "I row.", "timestamp": "2026-02-03T10:00:00Z"}
COPIES: dict[str, Any] = {
    "a.csv": "timestamp,name,content\n2026-02-03T10:00:00Z,Ida,I row.\n",
    "a.txt": "2026-02-03 10:00 Ida: I row.\n",
    "a.json": [SAID],
    "b.json": [{**SAID, "timestamp": "2026-02-03T11:00:00+01:00"}],
    "c.jsonl": [{**SAID, "timestamp": "2026-02-03T10:00:00"}],
}


@pytest.mark.parametrize("first", COPIES)
def test_what_is_deleted_stays_so_in_another_form(
    memory: MemorySystem, tmp_path: Path, first: str
) -> None:
    memory.import_(write(tmp_path / first, COPIES[first]), "u")
    (message,) = memory.messages("u")
    for name, copy in COPIES.items():
        assert memory.import_(write(tmp_path / name, copy), "u").known == 1
    memory.delete("u", message.message_id)
    for name in COPIES:
        assert memory.import_(tmp_path / name, "u").deleted == 1
    assert not said_by(memory)


@pytest.mark.parametrize("when", ["", None])
def test_the_number_of_a_message_tells_an_edit_without_a_time(
    memory: MemorySystem, tmp_path: Path, when: str | None
) -> None:
    before = [{**SAID, "id": 1, "content": "Hello."}, {**SAID, "id": 2}]
    after = {**SAID, "id": 2, "content": "I sail.", "timestamp": when}
    memory.import_(write(tmp_path / "a.json", [*before, after]), "u")
    assert said_by(memory) == ["Hello.", "I sail."]


UNTIMED: list[dict[str, Any]] = [
    {},
    *({"timestamp": one} for one in ("", " ", None, "null", 0, "unknown")),
]


@pytest.mark.parametrize("name", ["b.json", "b.jsonl"])
@pytest.mark.parametrize("untimed", UNTIMED)
def test_a_newer_file_without_times_has_newer_versions(
    memory: MemorySystem, tmp_path: Path, untimed: dict[str, Any], name: str
) -> None:
    said = [{**SAID, "id": 1, "content": "I moved to Vigo."}, {**SAID, "id": 2}]
    memory.import_(write(tmp_path / "a.json", said), "u")
    bare = {key: value for key, value in said[0].items() if key != "timestamp"}
    newer = [{**bare, **untimed, "content": "I moved to Faro."}]
    report = memory.import_(write(tmp_path / name, newer), "u")
    assert (report.edited, report.messages) == (1, 0)
    first, second = memory.messages("u")
    assert (first.content, second.content) == ("I moved to Faro.", "I row.")
    assert first.timestamp == second.timestamp
    memory.flush("u")
    assert not any("Vigo" in one.content for one in memory.semantic_memories("u"))


def test_a_newer_table_and_a_zone_tell_versions_without_times(tmp_path: Path) -> None:
    table = "id,timestamp,name,content\n7,{},Ida,I moved to {}.\n"
    with MemorySystem(tmp_path / "store", timezone="America/Lima") as memory:
        dated = table.format("2026-02-03T10:00:00", "Vigo")
        memory.import_(write(tmp_path / "a.csv", dated), "u")
        report = memory.import_(write(tmp_path / "b.csv", table.format("", "Faro")), "u")
        assert report.edited == 1
        assert said_by(memory) == ["I moved to Faro."]


def test_numbers_of_another_chat_without_times_tell_no_versions(
    memory: MemorySystem, tmp_path: Path
) -> None:
    numbered = [{**SAID, "id": at, "content": f"I have {at} boats here."} for at in range(3)]
    memory.import_(write(tmp_path / "a.json", numbered), "u")
    words = ["What is a keel?", "Who sells ropes near Turku?", "I have 2 boats here."]
    other = [
        {"role": "user", "name": "Ida", "id": at, "content": text} for at, text in enumerate(words)
    ]
    report = memory.import_(write(tmp_path / "b.json", other), "u")
    assert (report.edited, report.messages) == (0, 3)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_numbered_list_without_times_is_known_when_it_grows(
    memory: MemorySystem, tmp_path: Path, count: int
) -> None:
    texts = [f"Boat {number} is mine." for number in range(4)]
    said = [{"id": at, "role": "user", "content": text} for at, text in enumerate(texts)]
    memory.import_(write(tmp_path / "a.json", said[:count]), "u")
    report = memory.import_(write(tmp_path / "b.json", said), "u")
    assert (report.known, report.messages) == (count, len(said) - count)


def claude(session: str, own: str, when: str, role: str, content: Any) -> dict[str, Any]:
    about = {"type": role, "sessionId": session, "cwd": "/home/ida/boats", "timestamp": when}
    return {**about, "uuid": f"{own}-0000-4000-8000", "message": {"role": role, "content": content}}


def test_a_resumed_session_under_new_ids_is_known(memory: MemorySystem, tmp_path: Path) -> None:
    times = [f"2026-02-03T10:00:0{second}.417Z" for second in range(3)]
    for session in ("one", "two"):
        said = [
            claude(session, f"{session}-a", times[0], "user", "I row."),
            claude(session, f"{session}-b", times[1], "assistant", [{"type": "text", "text": "?"}]),
            claude(session, f"{session}-c", times[2], "user", f"I sail to {session}."),
        ]
        memory.import_(write(tmp_path / f"{session}.jsonl", said), "u")
    assert said_by(memory) == ["I row.", "?", "I sail to one.", "I sail to two."]


TIMES: list[Any] = [
    ["2026-02-03T10:00:00.417Z", "2026-02-03T10:00:01.417Z", "2026-02-03T10:00:02.417Z"],
    [1770112800417, 1770112801417, 1770112802417],
]


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("keys", [("role", "content", "timestamp"), ("role", "text", "created_at")])
def test_messages_of_a_fork_under_new_ids_are_known(
    memory: MemorySystem, tmp_path: Path, times: list[Any], keys: tuple[str, ...]
) -> None:
    for session in ("one", "two"):
        turns = [("user", "I row."), ("assistant", "?"), ("user", f"I sail to {session}.")]
        said = [
            {"id": f"msg_{session}_0000000000{at}", **dict(zip(keys, (*turn, when), strict=True))}
            for at, (turn, when) in enumerate(zip(turns, times, strict=True))
        ]
        report = memory.import_(write(tmp_path / f"{session}.json", said), "u")
    assert (report.messages, report.known) == (1, 2)
    assert said_by(memory) == ["I row.", "?", "I sail to one.", "I sail to two."]


@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
def test_a_question_and_its_answer_in_whole_seconds_are_copies(
    memory: MemorySystem, tmp_path: Path, order: tuple[str, str]
) -> None:
    secret = "The key is " + "AKIA" + "QYLPMN5HHHFPZAM2."
    reports = []
    for session in order:
        when = "2026-02-03T10:00:0{}.000Z" if session == "one" else "2026-02-03T10:00:0{}Z"
        said = [
            claude(session, f"{session}-a", when.format(0), "user", "Use tabs."),
            claude(session, f"{session}-b", when.format(4), "assistant", secret),
            claude(session, f"{session}-c", when.format(7), "user", f"I sail to {session}."),
        ]
        reports.append(memory.import_(write(tmp_path / f"{session}.jsonl", said), "u"))
    assert [(one.messages, one.known) for one in reports] == [(3, 0), (1, 2)]
    assert memory.import_(tmp_path / f"{order[1]}.jsonl", "u").known == 3


@pytest.mark.parametrize("when", ["2026-02-03", "2026-02-03T10:00", "2026-02-03T10:00:00Z"])
def test_two_chats_that_begin_alike_on_a_day_or_in_a_minute_are_two(
    memory: MemorySystem, tmp_path: Path, when: str
) -> None:
    for name in ("one", "two"):
        said = [
            {"id": f"{name}_0000000000000000{at}", "role": role, "content": text, "timestamp": when}
            for at, (role, text) in enumerate((("user", "Hi"), ("assistant", "Hello!")))
        ]
        assert memory.import_(write(tmp_path / f"{name}.json", said), "u").messages == 2


def test_two_chats_with_the_same_first_question_are_two(
    memory: MemorySystem, tmp_path: Path
) -> None:
    for name, answer in (("one", "Rope."), ("two", "Sail.")):
        said = [
            claude(name, f"{name}-a", "2026-02-03T10:00:03.000Z", "user", "What next?"),
            claude(name, f"{name}-b", "2026-02-03T10:00:05.000Z", "assistant", answer),
        ]
        assert memory.import_(write(tmp_path / f"{name}.jsonl", said), "u").messages == 2


def numbered(*texts: str, day: int = 3, **others: str) -> list[dict[str, Any]]:
    """A chat whose messages have numbers; ``m2="10:07"`` gives one another time."""
    return [
        {
            "id": f"m{at}",
            "role": ("user", "assistant")[at % 2],
            "content": text,
            "timestamp": others.get(f"m{at}", f"2026-02-{day:02}T10:{at:02}:05Z"),
        }
        for at, text in enumerate(texts)
    ]


@pytest.mark.parametrize("when", ["2026-02-03T10:01:06Z", "2026-02-04T10:01:05Z", 1770112800])
@pytest.mark.parametrize("words", ["Nice boat, Ida.", "Nice boats, Ida."])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_numbered_message_with_a_corrected_time_is_the_same(
    memory: MemorySystem, tmp_path: Path, when: Any, words: str, position: int
) -> None:
    said = numbered(*["Nice boat, Ida."] * 3)
    memory.import_(write(tmp_path / "a.json", said), "u")
    earlier = [one.timestamp for one in memory.messages("u")]
    said[position] |= {"timestamp": when, "content": words}
    report = memory.import_(write(tmp_path / "b.json", said), "u")
    assert (report.messages, report.known + report.edited) == (0, 3)
    assert report.notes == ("1 known message with another time: the earlier one is kept",)
    assert [one.timestamp for one in memory.messages("u")] == earlier
    assert memory.import_(tmp_path / "a.json", "u").messages == 0


def test_a_chat_that_grows_takes_no_message_of_another_one(
    memory: MemorySystem, tmp_path: Path
) -> None:
    first = numbered("I row.", "Where?", "Ok.", "Fine.")
    memory.import_(write(tmp_path / "a.json", first[:2]), "u")
    memory.import_(
        write(tmp_path / "b.json", numbered("Sun?", "Rain.", "Ok.", "Fine.", day=4)), "u"
    )
    memory.import_(write(tmp_path / "c.json", numbered("Tea?", "No.", "Ok.", "Fine.", day=1)), "u")
    assert memory.import_(write(tmp_path / "a.json", first), "u").messages == 2
    # Neither the same number with another speaker or other words.
    other = numbered("I row.", "Where?", "Ok.", "Fine.", "By the old quay.")
    other[4] |= {"timestamp": "2026-02-03T10:09:00Z"}
    memory.import_(write(tmp_path / "a.json", other), "u")
    other[4] |= {"timestamp": "2026-02-03T10:19:00Z", "content": "What is a keel made of?"}
    assert memory.import_(write(tmp_path / "a.json", other), "u").messages == 1
    other[3] |= {"timestamp": "2026-02-03T10:29:00Z", "role": "user"}
    assert memory.import_(write(tmp_path / "a.json", other), "u").messages == 1


@pytest.mark.parametrize("when", [None, "", "03.07.2025 10:14", "x.y", 1.5, {}])
def test_messages_without_a_fraction_of_a_second_are_no_copies(
    memory: MemorySystem, tmp_path: Path, when: Any
) -> None:
    for name in ("one", "two"):
        said = [{**SAID, "id": f"msg_{name}_00000000000", "timestamp": when}]
        assert memory.import_(write(tmp_path / f"{name}.json", said), "u").messages == 1


@pytest.mark.parametrize("part", [{"type": "text", "text": None}, {"type": "text", "text": 7}, {}])
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_broken_part_stops_no_session(tmp_path: Path, part: Any, role: str) -> None:
    said = [
        claude("s", "a", "2026-02-03T10:00:00Z", role, [part, {"type": "text", "text": "I row."}]),
        claude("s", "b", "2026-02-03T10:00:01Z", role, [part]),
        claude("s", "c", "2026-02-03T10:00:02Z", "user", "I sail."),
    ]
    (talk,) = read_conversations(write(tmp_path / "s.jsonl", said))
    assert [one["content"] for one in talk.messages] == ["I row.", "I sail."]
    assert any("part" in str(one) for one in talk.left_out)


def test_words_that_only_the_sent_text_has(tmp_path: Path) -> None:
    sent = "<current_datetime>2026</current_datetime>\n\nI row <b>far</b>.\n\n<hint>\nGo.\n</hint>"
    events = [
        {
            "type": "user.message",
            "id": str(at),
            "timestamp": f"2026-02-03T10:0{at}:00Z",
            "data": one,
        }
        for at, one in enumerate(
            [
                {"content": "", "transformedContent": sent},
                {"content": "I sail.", "transformedContent": sent},
            ]
        )
    ]
    (talk,) = read_conversations(write(tmp_path / "events.jsonl", events))
    assert [one["content"] for one in talk.messages] == ["I row <b>far</b>.", "I sail."]


def test_what_is_typed_while_kimi_works_is_said(tmp_path: Path) -> None:
    lines = [
        {
            "type": kind,
            "input": [{"type": "text", "text": text}],
            "origin": {"kind": who},
            "time": at,
        }
        for at, (kind, text, who) in enumerate(
            [
                ("turn.prompt", "I row.", "user"),
                ("turn.steer", "I sail.", "user"),
                ("turn.steer", "Go.", "hook"),
            ],
            1780000001000,
        )
    ]
    (talk,) = read_conversations(write(tmp_path / "wire.jsonl", lines))
    assert [one["content"] for one in talk.messages] == ["I row.", "I sail."]


@pytest.mark.parametrize("name", ["Ida", "ida", "Ida Berg", "+47 400 00 000", "小明"])
@pytest.mark.parametrize("form", ["[2026/7/9 02:28:37] {}:{}", "9/7/2026, 02:28 - {}:{}"])
def test_no_space_behind_the_colon(tmp_path: Path, name: str, form: str) -> None:
    lines = [form.format(name, text) for text in ("I row.", "5 boats", " I sail.")]
    path = write(tmp_path / "chat.txt", "\n".join(lines) + "\n")
    (talk,) = read_conversations(path)
    assert [one["name"] for one in talk.messages] == [name] * 3
    assert [one["content"] for one in talk.messages] == ["I row.", "5 boats", "I sail."]


@pytest.mark.parametrize(
    "notice", ["Ida changed the group name to Boats:Oslo", "https://example.org/a", "Meet at 10:30"]
)
def test_a_colon_in_a_notice_follows_no_name(tmp_path: Path, notice: str) -> None:
    text = f"[2026/7/9 02:28:37] Ida: I row.\n[2026/7/9 02:29:00] {notice}\n"
    (talk,) = read_conversations(write(tmp_path / "chat.txt", text))
    assert [one["content"] for one in talk.messages] == ["I row."]
    assert len(talk.left_out) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("{}.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Speaker 1>I live in {}.\n"),
        ("{}.srt", "1\n00:00:01,000 --> 00:00:02,000\nSpeaker 1: I live in {}.\n"),
    ],
)
def test_a_meeting_in_subtitles_is_a_session(
    memory: MemorySystem, tmp_path: Path, name: str, text: str
) -> None:
    for town in ("Bergen", "Oslo"):
        memory.import_(write(tmp_path / name.format(town), text.format(town)), "u")
    memory.flush("u")
    assert [one.session_id for one in memory.messages("u")] == ["Bergen", "Oslo"]
    subjects = {one.subject for one in memory.semantic_memories("u")}
    assert len(subjects) == 2


@pytest.mark.parametrize("name", ["Kim", "Deleted User"])
def test_accounts_of_one_name_are_told_apart(tmp_path: Path, name: str) -> None:
    said = [
        {
            "id": str(at),
            "type": "Default",
            "timestamp": f"2026-02-03T10:0{at}:00Z",
            "content": f"I row {at}.",
            "author": {"id": own, "name": name},
        }
        for at, own in enumerate(["4", "5", "4"])
    ]
    export = {"channel": {"id": "1", "name": "boats"}, "messages": said}
    (talk,) = read_conversations(write(tmp_path / "c.json", export))
    first, second, third = (one["name"] for one in talk.messages)
    assert first == third != second
    assert second.endswith(" 5")


FAMILY = (
    "12/03/2024, 18:01 - Ben: Hi all\n"
    "12/03/2024, 18:02 - Ann: We got the house in Ulm!\n"
    "12/03/2024, 18:03 - Ben: wow\n"
    "12/03/2024, 18:04 - Ann: ok\n"
)
CHOIR = (
    "12/03/2024, 17:50 - Cy: Rehearsal?\n"
    "12/03/2024, 18:02 - Ann: We got the house in Ulm!\n"
    "12/03/2024, 18:04 - Cy: Great\n"
    "12/03/2024, 18:04 - Ann: ok\n"
    "12/03/2024, 18:05 - Cy: See you\n"
)
LATER = "13/03/2024, 09:00 - Ann: Later.\n"
FAMILY_LATER, CHOIR_LATER = FAMILY + LATER, CHOIR + LATER.replace("09:", "10:")


def test_the_same_words_in_two_chats_are_two_messages(memory: MemorySystem, tmp_path: Path) -> None:
    steps = [
        (FAMILY.splitlines(keepends=True)[0], 1, 0),
        (FAMILY, 3, 1),
        (CHOIR, 5, 0),
        (CHOIR, 0, 5),
        (FAMILY_LATER, 1, 4),
        (CHOIR_LATER, 1, 5),
        (CHOIR_LATER, 0, 6),
        (FAMILY, 0, 4),
        ("".join(CHOIR.splitlines(keepends=True)[2:]), 0, 3),
    ]
    for number, (chat, new, known) in enumerate(steps):
        report = memory.import_(write(tmp_path / f"{number}.txt", chat), "ann")
        assert (report.messages, report.known) == (new, known), number
    said = said_by(memory, "ann")
    assert said.count("We got the house in Ulm!") == said.count("ok") == said.count("Later.") == 2


def test_a_chat_with_other_names_is_known_by_the_messages_in_common(
    memory: MemorySystem, tmp_path: Path
) -> None:
    lines = [f"12/03/2024, 18:{at:02} - {'Ann' if at % 3 else 'Ben'}: {at}\n" for at in range(40)]
    memory.import_(write(tmp_path / "a.txt", "".join(lines)), "ann")
    renamed = "".join(lines).replace("- Ann:", "- Anna:")
    report = memory.import_(write(tmp_path / "b.txt", renamed), "ann")
    assert (report.messages, report.known) == (26, 14)


def test_a_word_deleted_in_one_chat_is_left_out_of_the_other(
    memory: MemorySystem, tmp_path: Path
) -> None:
    memory.import_(write(tmp_path / "a.txt", FAMILY), "ann")
    (told,) = [one for one in memory.messages("ann") if "Ulm" in one.content]
    memory.delete("ann", told.message_id)
    report = memory.import_(write(tmp_path / "b.txt", CHOIR), "ann")
    assert (report.messages, report.deleted) == (4, 1)
