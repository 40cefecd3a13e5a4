"""Files of other tools: what they become, and the words with which broken ones are refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from episodica import EpisodicaError, InvalidInputError, MemorySystem, StoreIOError
from episodica.inputs.messages import normalise
from episodica.readers import read_conversations, with_ids
from episodica.readers.benchmarks import slashed_date, spoken_date

LOCOMO: dict[str, Any] = {
    "sample_id": "talk-1",
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Ben",
        "session_1_date_time": "12:05 am on 1 February, 2024",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a red kite"},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "Nice."},
            {"speaker": "Ben", "dia_id": "D1:3", "text": " "},
        ],
        "session_2_date_time": "12:30 pm on 2 February, 2024",
        "session_3": [{"speaker": "Ben", "dia_id": "D3:1", "text": "Undated."}],
    },
    "qa": [
        {"question": "What flew?", "answer": "a kite", "evidence": ["D1:1; D1:2"], "category": 1},
        {"question": "How many?", "answer": 1, "category": 4},
        {"question": "Whose?", "adversarial_answer": "Ben's", "category": 5},
    ],
}
LONGMEMEVAL = {
    "question_id": "q-1",
    "question": "Which tea?",
    "answer": "green",
    "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
    "haystack_session_ids": ["s-a", "s-b"],
    "haystack_sessions": [
        [
            {"role": "user", "content": "Green tea, please.", "has_answer": True},
            {"role": "assistant", "content": "Sure."},
        ],
        [{"role": "user", "content": "Thanks."}, {"role": "assistant", "content": ""}],
    ],
}
MESSAGES = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


def write(path: Path, data: Any) -> Path:
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def test_locomo(tmp_path: Path) -> None:
    [talk] = read_conversations(write(tmp_path / "a.json", [LOCOMO]))
    assert (talk.name, talk.user_id) == ("talk-1", "talk-1")
    assert talk.messages[0] == {
        "role": "user",
        "name": "Ann",
        "content": "Look! [Image: a red kite]",
        "timestamp": "2024-02-01T00:05:00+00:00",
        "session_id": "session_1",
        "metadata": {"dia_id": "D1:1"},
    }
    stored = normalise(with_ids(talk))
    assert [(one["role"], one["timestamp"], one["session_id"]) for one in stored[1:]] == [
        ("assistant", "2024-02-01T00:05:05+00:00", "session_1"),
        ("assistant", "2024-02-01T00:05:05.000001+00:00", "session_3"),
    ]
    assert [str(one) for one in talk.left_out] == ["message 2 of `talk-1`: no words"]
    assert [(one.text, one.answer, one.evidence) for one in talk.questions] == [
        ("What flew?", "a kite", ("D1:1", "D1:2")),
        ("How many?", "1", ()),
    ]
    assert read_conversations(write(tmp_path / "one.json", LOCOMO)) == [talk]


def test_longmemeval(tmp_path: Path) -> None:
    [talk] = read_conversations(write(tmp_path / "a.json", [LONGMEMEVAL]))
    assert (talk.user_id, talk.questions[0].answer) == ("q-1", "green")
    assert [
        (one["content"], one["timestamp"], one["session_id"], one["metadata"])
        for one in talk.messages
    ] == [
        ("Green tea, please.", "2023-05-20T02:21:00+00:00", "s-a", {"turn": 0, "has_answer": True}),
        ("Sure.", "2023-05-20T02:21:05+00:00", "s-a", {"turn": 1}),
        ("Thanks.", "2023-05-21T10:00:00+00:00", "s-b", {"turn": 0}),
    ]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.json", MESSAGES),
        ("a.json", {"messages": MESSAGES, "model": "m"}),
        ("a.jsonl", "\n".join(map(json.dumps, MESSAGES))),
        ("a.txt", "\n".join(map(json.dumps, MESSAGES)) + "\n\n"),
        ("bom.json", "\ufeff" + json.dumps(MESSAGES)),
    ],
)
def test_message_lists(tmp_path: Path, name: str, data: Any) -> None:
    [talk] = read_conversations(write(tmp_path / name, data))
    assert (talk.name, talk.user_id, talk.messages) == (name, None, MESSAGES)


def test_a_list_a_line_becomes_sessions(tmp_path: Path) -> None:
    other = [{"role": "user", "content": "hey"}, MESSAGES[1]]
    lines = "\n".join(json.dumps({"messages": one}) for one in (MESSAGES, other))
    [talk] = read_conversations(write(tmp_path / "chats.jsonl", lines))
    assert [one["session_id"] for one in talk.messages] == [
        "chats-1",
        "chats-1",
        "chats-2",
        "chats-2",
    ]


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("a.json", "{", "line 1: not valid JSON in `"),
        ("a.json", " \n", "the file is empty: `"),
        ("a.json", [], "the file holds no conversation: `"),
        ("a.json", "[1]", "a list that begins with `1` is not a conversation in `"),
        ("a.json", {"a": 1, "b": 2}, "an object with the keys `a`, `b` is not a conversation in `"),
        (
            "a.json",
            {"conversation": {"session_1": [{"text": "Hi."}]}},
            "conversation 0 in line 1: `speaker` is missing in `",
        ),
        ("a.json", {"conversation": {"session_1": []}}, None),
        (
            "a.json",
            {"conversation": {"session_1_date_time": "May 2023", "session_1": []}},
            "conversation 0 in line 1: date is not like `7:12 pm on 5 March, 2024`: `May 2023`",
        ),
        (
            "a.json",
            {**LONGMEMEVAL, "haystack_dates": []},
            "conversation 0 in line 1: 2 sessions, 2 session ids and 0 dates do not match in `",
        ),
    ],
)
def test_broken_files(tmp_path: Path, name: str, data: Any, text: str | None) -> None:
    file = write(tmp_path / name, data)
    if text is None:
        assert read_conversations(file)[0].messages == []
        return
    with pytest.raises(InvalidInputError) as caught:
        read_conversations(file)
    assert str(caught.value).startswith(text)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("data", "left"),
    [
        (
            [LOCOMO, {"sample_id": "x"}, LOCOMO],
            "conversation 1 in line 1: `conversation` is missing",
        ),
        ([LOCOMO, 5, LOCOMO], "conversation 1 in line 1: it has another form than this format"),
        (
            [{"messages": MESSAGES}, {}, {"messages": MESSAGES}],
            "line 1: conversation 1: `messages` is missing",
        ),
    ],
)
def test_a_broken_conversation_is_left_out_and_stops_no_other(
    tmp_path: Path, data: Any, left: str
) -> None:
    talks = read_conversations(write(tmp_path / "a.json", data))
    whole = read_conversations(write(tmp_path / "b.json", [data[0], data[2]]))
    texts = [[one["content"] for talk in read for one in talk.messages] for read in (talks, whole)]
    assert texts[0] == texts[1] != []
    assert left in [str(one) for talk in talks for one in talk.left_out]


def test_the_expected_formats_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_conversations(write(tmp_path / "a.json", "{}"))
    for name in ("messengers", "JSON", "CSV", "`Name:`"):
        assert name in str(caught.value.hint)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(StoreIOError, match="cannot read"):
        read_conversations(tmp_path / "none.json")
    (tmp_path / "a.json").write_bytes(b"a\xff\xfe")
    with pytest.raises(EpisodicaError, match="not UTF-8"):
        read_conversations(tmp_path / "a.json")


def test_dates() -> None:
    assert spoken_date("7:12 PM on 5 march 2024") == datetime(2024, 3, 5, 19, 12, tzinfo=UTC)
    assert slashed_date("2023/05/20") == datetime(2023, 5, 20, tzinfo=UTC)
    for bad in (
        "7:12 pm on 5 Marsh, 2024",
        "7:12 pm on 31 February, 2024",
        "25:00 pm on 1 May, 2024",
    ):
        with pytest.raises(InvalidInputError):
            spoken_date(bad)
    with pytest.raises(InvalidInputError, match="no such date"):
        slashed_date("2023/13/20")


def test_reading_again_adds_only_what_is_new(tmp_path: Path, memory: MemorySystem) -> None:
    file = write(tmp_path / "chat.json", MESSAGES)
    for _ in range(2):
        memory.add_messages("alice", with_ids(read_conversations(file)[0]))
    write(file, [*MESSAGES, {"role": "user", "content": "hi", "message_id": "own"}])
    added = memory.add_messages("alice", with_ids(read_conversations(file)[0]))
    assert (added.messages_added, added.duplicates) == (1, 2)
    assert [one.content for one in memory.messages("alice")] == ["hi", "hello", "hi"]


def test_our_conversations_can_be_added(root: Path) -> None:
    files = [
        *(root / "tests/fixtures/conversations").glob("*.json"),
        root / "python/episodica/data/sample_conversation.json",
    ]
    assert len(files) == 6
    for file in files:
        [talk] = read_conversations(file)
        turns = {one["metadata"]["dia_id"] for one in talk.messages}
        assert len(turns) == len(normalise(talk.messages)) >= 100
        assert all(set(question.evidence) <= turns for question in talk.questions)
