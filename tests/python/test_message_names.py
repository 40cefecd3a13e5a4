"""One table for all callers: other programs' names for roles and for the parts of a message."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from episodica import InvalidInputError, MemorySystem
from episodica.inputs.messages import incoming, normalise

SAID = {"role": "user", "content": "hi"}
MOMENT = "2024-03-11T09:30:00+00:00"


def one(**more: Any) -> dict[str, Any]:
    return normalise([{**SAID, **more}])[0]


@pytest.mark.parametrize(
    "name",
    [
        *("createdAt", "created_at", "CreatedAt", "created-at", "created", "create_time", "ts"),
        *("date", "time", "datetime", "sent_at", "sentAt", "TIMESTAMP", "timestamp_ms", "when"),
        *("postedAt", "message date", "date_time", "receivedAt", "publishedAt", "unixTime"),
        *("event_time", "msgTime", "updated_at", "update_time", "localTime"),
    ],
)
def test_a_time_under_any_of_its_names_is_the_time(name: str) -> None:
    for value in ("2024-03-11T09:30:00Z", 1710149400, 1710149400000, datetime(2024, 3, 11, 9, 30)):
        assert one(**{name: value})["timestamp"] == MOMENT
    with pytest.raises(InvalidInputError, match="`timestamp` is not an ISO 8601 date: `soon`"):
        one(**{name: "soon"})


def test_day_and_clock_in_two_columns_are_one_time() -> None:
    assert one(date="2024-03-11", time="09:30")["timestamp"] == MOMENT
    assert one(Date="2024-03-11", Time="09:30:00Z")["timestamp"] == MOMENT
    assert one(date="2024-03-11")["timestamp"] == "2024-03-11T00:00:00+00:00"


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("name", ("speaker", "Author", "sender", "senderName", "from", "userName", "nickname")),
        ("session_id", ("sessionId", "conversation_id", "threadId", "CHAT_ID", "run_id", "room")),
        ("agent_id", ("agentId", "agent", "assistant_id")),
        ("message_id", ("messageId", "uuid", "id", "GUID", "client_msg_id")),
    ],
)
def test_speakers_sessions_and_ids_under_their_names(field: str, names: tuple[str, ...]) -> None:
    for name in names:
        done = incoming([{**SAID, name: "x7"}])
        assert (done.messages[0][field], done.notes()) == ("x7", ())


def test_ids_that_are_numbers_and_people_who_are_described() -> None:
    assert one(thread_id=7, id=8) | {"name": None} == one(session_id="7", message_id="8")
    assert one(author={"id": 5, "displayName": "Ann"})["name"] == "Ann"
    assert one(conversation={"id": "c1"})["session_id"] == "c1"
    flagged = incoming([{**SAID, "sent": True, "speaker": 5}])
    assert flagged.messages[0]["timestamp"] is None
    assert json.loads(flagged.messages[0]["metadata"]) == {"sent": True, "speaker": 5}


def test_the_best_of_several_names_wins_and_the_others_are_kept() -> None:
    done = incoming([{**SAID, "ts": "1", "createdAt": MOMENT, "run_id": "r", "thread_id": "t"}])
    assert (done.messages[0]["timestamp"], done.messages[0]["session_id"]) == (MOMENT, "t")
    assert json.loads(done.messages[0]["metadata"]) == {"ts": "1", "run_id": "r"}
    assert one(timestamp=MOMENT, created_at="2020-01-01")["timestamp"] == MOMENT
    assert one(updatedAt="2025-01-01", createdAt=MOMENT)["timestamp"] == MOMENT


def test_what_no_name_fits_goes_into_metadata_with_a_note(memory: MemorySystem) -> None:
    said = {**SAID, "mood": "glad", "metadata": {"n": 1}, "blob": b"x", "empty": None}
    added = memory.add_messages("ann", [said, {**SAID, "content": "bye", "mood": "sad"}])
    first, second = memory.messages("ann")
    assert first.metadata == {"n": 1, "mood": "glad", "blob": "b'x'"}
    assert second.metadata == {"mood": "sad"}
    assert added.notes == (
        "`mood` is no key of a message: kept in `metadata` of 2 messages",
        "`blob` is no key of a message: kept in `metadata` of 1 message",
    )
    assert "mood" in repr(added)
    assert memory.add_messages("ann", [SAID]).notes == ()


@pytest.mark.parametrize("metadata", ["a text", [1, 2], 7])
def test_metadata_of_any_json_keeps_its_value_beside_unknown_keys(metadata: Any) -> None:
    kept = json.loads(one(metadata=metadata, mood="glad")["metadata"])
    assert kept == {"metadata": metadata, "mood": "glad"}


@pytest.mark.parametrize(
    ("role", "words"),
    [
        ("user", ("USER", "Human", "customer", " user ", "HumanMessageChunk", "End-User")),
        ("assistant", ("AI", "model", "Bot", "AIMessageChunk", "ASSISTANT", "agent")),
        ("system", ("developer", "System", "SystemMessage")),
        ("tool", ("function", "ToolMessage", "observation")),
        ("critic", ("critic",)),
    ],
)
def test_roles_by_meaning(role: str, words: tuple[str, ...]) -> None:
    assert [normalise([{**SAID, "role": word}])[0]["role"] for word in words] == [role] * len(words)


def test_a_speaker_without_a_role_has_the_one_that_the_name_says() -> None:
    turns = [
        {"speaker": "Ann", "text": "I moved to Lyon."},
        {"from": "gpt", "value": "How nice."},
        {"sender": "human", "message": "Yes."},
        {"author": "Claude", "body": "Good."},
    ]
    assert [(one["role"], one["name"], one["content"]) for one in normalise(turns)] == [
        ("user", "Ann", "I moved to Lyon."),
        ("assistant", "gpt", "How nice."),
        ("user", None, "Yes."),
        ("assistant", "Claude", "Good."),
    ]


def test_a_text_or_a_single_message_is_a_list_of_one(memory: MemorySystem) -> None:
    memory.add_messages("ann", "I moved to Lyon.")
    memory.add_messages("ann", {"role": "assistant", "content": "How nice."})
    assert [(one.role, one.content) for one in memory.messages("ann")] == [
        ("user", "I moved to Lyon."),
        ("assistant", "How nice."),
    ]


def test_turns_without_words_are_skipped_and_counted(memory: MemorySystem) -> None:
    turns: list[Any] = [
        SAID,
        {"role": "assistant", "content": ""},
        {"role": "model", "parts": []},
        {"role": "assistant", "content": None},
        {"role": "tool", "tool_call_id": "c1", "content": " \n"},
        {"type": "AIMessage", "content": "", "invalid_tool_calls": [{"name": "x"}]},
        {"role": "assistant", "content": "hello"},
    ]
    added = memory.add_messages("ann", turns)
    assert (added.messages_added, added.skipped) == (2, 5)
    assert added.notes == ("5 messages without words: skipped",)
    assert [one.content for one in memory.messages("ann")] == ["hi", "hello"]
    for silent in ({"role": "user", "content": ""}, {"role": "assistant", "txt": "words"}):
        with pytest.raises(InvalidInputError, match=r"message 0: `content` is (empty|missing)"):
            memory.add_messages("ann", [silent])


THOUGHTS: list[dict[str, Any]] = [
    {"role": "assistant", "content": "<think>\nPRIVATE\n</think>\n\nGood idea."},
    {"role": "assistant", "content": "<thinking>PRIVATE</thinking>Good idea."},
    {"role": "assistant", "content": "PRIVATE\n</think>\n\nGood idea."},
    {"role": "assistant", "content": "Good idea.", "reasoning_content": "PRIVATE"},
    {"role": "assistant", "content": "Good idea.", "thinking": "PRIVATE"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "PRIVATE", "signature": "s"},
            {"type": "redacted_thinking", "data": "PRIVATE"},
            {"type": "text", "text": "Good idea."},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "PRIVATE"}]},
            {"type": "text", "text": "Good idea."},
        ],
    },
    {"role": "model", "parts": [{"text": "PRIVATE", "thought": True}, {"text": "Good idea."}]},
    {
        "role": "assistant",
        "content": [
            {"reasoningContent": {"reasoningText": {"text": "PRIVATE"}}},
            {"text": "Good idea."},
        ],
    },
    {
        "id": "a1",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {"type": "reasoning", "text": "PRIVATE"},
            {"type": "text", "text": "Good idea."},
        ],
    },
    {
        "kind": "response",
        "parts": [
            {"part_kind": "thinking", "content": "PRIVATE"},
            {"part_kind": "text", "content": "Good idea."},
        ],
    },
    {
        "role": "assistant",
        "blocks": [
            {"block_type": "thinking", "content": "PRIVATE"},
            {"block_type": "text", "text": "Good idea."},
        ],
    },
]


@pytest.mark.parametrize("message", THOUGHTS)
def test_thinking_is_left_out_and_counted(message: dict[str, Any]) -> None:
    done = incoming([message])
    assert [one["content"] for one in done.messages] == ["Good idea."]
    assert done.notes() == ("thinking of a model: left out of 1 message",)
    kept = incoming([message], keeps_thinking=True)
    assert kept.messages[0]["content"].endswith("Good idea.")
    assert kept.notes() == ()
    if "data" not in str(message):
        assert kept.messages[0]["content"].startswith("PRIVATE")


def test_one_setting_keeps_thinking(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPISODICA_KEEP_THINKING", "true")
    with MemorySystem(tmp_path / "kept") as memory:
        memory.add_messages("ann", [THOUGHTS[0]])
        assert memory.messages("ann")[0].content == "PRIVATE\nGood idea."
        assert memory.config.to_dict()["keep_thinking"] is True


@pytest.mark.parametrize(
    "text",
    [
        "The tag is <think>.",
        "<think> opens it and </think> closes it, I think.",
        "Write <b>bold</b>.",
        "It ends with `</think>`\nand a line.",
    ],
)
def test_a_talk_about_thinking_keeps_its_words(text: str) -> None:
    said = [{"role": "user", "content": text}, {"role": "assistant", "content": f"Yes: {text}"}]
    assert [one["content"] for one in normalise(said)] == [text, f"Yes: {text}"]
    assert normalise([{"role": "user", "content": f"<think>{text}</think>x"}])[0]["content"]


def test_an_answer_that_was_cut_while_the_model_thought_says_nothing() -> None:
    assert incoming([{"role": "assistant", "content": "<think>\nLet me see"}]).skipped == 1


def test_objects_give_their_attributes_under_the_same_names() -> None:
    said = SimpleNamespace(sender="Ann", text="hi", sentAt=datetime(2024, 3, 11, 9, 30, tzinfo=UTC))
    [done] = normalise([said])
    assert (done["role"], done["name"], done["content"]) == ("user", "Ann", "hi")
    assert done["timestamp"] == MOMENT


def test_rows_of_a_data_frame_have_the_same_names() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"Speaker": ["Ann", "bot"], "Text": ["hi", "hello"], "Date": ["2024-03-11", None]}
    )
    first, second = normalise(frame)
    assert (first["name"], first["role"], second["role"]) == ("Ann", "user", "assistant")
    assert first["timestamp"] == "2024-03-11T00:00:00+00:00"
    row = frame.iloc[0]
    assert normalise([row.to_dict()])[0]["content"] == "hi"


@pytest.mark.parametrize("key", ["rating", "model", "style", "emotion", "lang", "game", "state"])
def test_data_under_other_names_is_no_typing_error(key: str) -> None:
    assert json.loads(one(**{key: "x"})["metadata"]) == {key: "x"}


@pytest.mark.parametrize(
    "name", ["timestamp", "created_at", "createdAt", "date", "time", "sentAt", "ts", "Timestamp"]
)
def test_a_time_in_the_metadata_is_the_time(name: str) -> None:
    for value in ("2024-03-11T09:30:00Z", 1710149400, "1710149400", 1710149400000):
        read = incoming([{**SAID, "metadata": {name: value, "mood": "good"}}])
        assert read.messages[0]["timestamp"] == MOMENT
        assert json.loads(read.messages[0]["metadata"]) == {name: value, "mood": "good"}
        assert read.notes() == ()
    other = "2023-01-01T00:00:00+00:00"
    assert one(timestamp=other, metadata={name: MOMENT})["timestamp"] == other


def test_day_and_clock_in_the_metadata_are_one_time() -> None:
    assert one(metadata={"date": "2024-03-11", "time": "09:30"})["timestamp"] == MOMENT


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("timestamp", "soon"),
        ("date", "next week"),
        ("time", "09:30"),
        ("time", 3),
        ("created_at", [2024, 3, 11]),
        ("updated_at", "2024-03-11"),
    ],
)
def test_what_only_looks_like_a_time_in_the_metadata_is_named(name: str, value: Any) -> None:
    read = incoming([{**SAID, "metadata": {name: value}}] * 2)
    assert read.messages[0]["timestamp"] is None
    [note] = read.notes()
    assert f"`metadata.{name}` is not taken as the time of 2 messages" in note


@pytest.mark.parametrize(
    "metadata",
    [None, "text", [1], {"timestamp": None}, {"created": True}, {"day": "monday"}, {"mood": "9"}],
)
def test_other_metadata_is_no_time(metadata: Any) -> None:
    read = incoming([{**SAID, "metadata": metadata}])
    assert read.messages[0]["timestamp"] is None
    assert read.notes() == ()


def test_words_about_the_past_are_of_the_time_in_the_metadata(store: Path) -> None:
    with MemorySystem(store) as memory:
        said = {**SAID, "content": "I bought a bike yesterday."}
        memory.add_messages("al", [{**said, "metadata": {"timestamp": "2024-01-01T10:00:00Z"}}])
        memory.flush("al")
        [fact] = memory.semantic_memories("al")
        assert "31 December 2023" in fact.content
        fact = memory.remember("al", "I live in Rome.", metadata={"created_at": "2024-01-01"})
        assert fact.valid_from.year == 2024
