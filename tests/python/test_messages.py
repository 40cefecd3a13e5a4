"""Incoming messages: every form that is accepted, and the errors for other forms."""

from __future__ import annotations

import json
import re
from collections import UserDict
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any

import pytest

from episodica import InvalidInputError, MemorySystem, Message
from episodica.inputs.messages import normalise

BASE = {"role": "user", "content": "hi"}


def one(**changes: Any) -> dict[str, Any]:
    return normalise([{**BASE, **changes}])[0]


def test_a_full_message() -> None:
    full = {
        "role": "user",
        "name": "Älice",
        "content": "I moved to Lyon.",
        "timestamp": "2024-03-11T09:30:00+01:00",
        "session_id": "s1",
        "agent_id": "coach",
        "metadata": {"channel": "sms", "n": [1, 2.5, None, True]},
        "message_id": "m1",
        "edited_at": "2024-03-11T09:40:00+01:00",
    }
    done = normalise([full])[0]
    assert json.loads(done.pop("metadata")) == full.pop("metadata")
    assert done == full


def test_a_short_message_has_every_key() -> None:
    absent = dict.fromkeys(
        ("name", "timestamp", "session_id", "agent_id", "metadata", "message_id", "edited_at")
    )
    assert normalise([BASE]) == [{**BASE, **absent}]


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("2024-03-11T09:30:00+01:00", "2024-03-11T09:30:00+01:00"),
        ("2024-03-11T09:30:00Z", "2024-03-11T09:30:00+00:00"),
        ("2024-03-11 09:30", "2024-03-11T09:30:00+00:00"),
        (" 2024-03-11 ", "2024-03-11T00:00:00+00:00"),
        ("0001-01-01T00:00:00+00:00", "0001-01-01T00:00:00+00:00"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999+00:00"),
        (datetime(2024, 3, 11, 9, 30), "2024-03-11T09:30:00+00:00"),
        (
            datetime(2024, 3, 11, 9, 30, tzinfo=timezone(timedelta(hours=-5))),
            "2024-03-11T09:30:00-05:00",
        ),
        (
            datetime(2024, 3, 11, 9, 30, tzinfo=timezone(timedelta(seconds=1, microseconds=5))),
            "2024-03-11T09:29:58.999995+00:00",
        ),
        (date(2024, 3, 11), "2024-03-11T00:00:00+00:00"),
        (0, "1970-01-01T00:00:00+00:00"),
        (-1.5, "1969-12-31T23:59:58.500000+00:00"),
        (1710149400, "2024-03-11T09:30:00+00:00"),
        ("1710149400", "2024-03-11T09:30:00+00:00"),
        (" 1710149400.5 ", "2024-03-11T09:30:00.500000+00:00"),
        (1710149400500, "2024-03-11T09:30:00.500000+00:00"),
        ("1710149400500", "2024-03-11T09:30:00.500000+00:00"),
        (1710149400500000, "2024-03-11T09:30:00.500000+00:00"),
        (1710149400500000000, "2024-03-11T09:30:00.500000+00:00"),
        ("20240311", "2024-03-11T00:00:00+00:00"),
    ],
)
def test_timestamps(given: Any, written: str) -> None:
    assert one(timestamp=given)["timestamp"] == written


@pytest.mark.parametrize(
    ("given", "text", "hint"),
    [
        ("yesterday", "message 0: `timestamp` is not an ISO 8601 date: `yesterday`", "write dates"),
        ("", "message 0: `timestamp` is not an ISO 8601 date: ``", "write dates"),
        ("2024-02-30", "is not an ISO 8601 date", "write dates"),
        ("\ud800", "is not an ISO 8601 date", "write dates"),
        ("0001-01-01T00:00:00+02:00", "is outside the years 1 to 9999", None),
        ("9999-12-31T23:59:59-02:00", "is outside the years 1 to 9999", None),
        (float("nan"), "is outside the years 1 to 9999: `nan`", "write dates"),
        (float("inf"), "is outside the years 1 to 9999: `inf`", "write dates"),
        (10**400, "is outside the years 1 to 9999: `1000", "write dates"),
        pytest.param(
            10**5000,
            "is outside the years 1 to 9999: `a number of thousands",
            "write dates",
            id="5000 digits",
        ),
        ("1" * 24, f"is not an ISO 8601 date: `{'1' * 24}`", "write dates"),
        ("111111111111", "is not an ISO 8601 date", "write dates"),
        ("11111111", "is not an ISO 8601 date", "write dates"),
        ("1" * 5000, "is not an ISO 8601 date", "write dates"),
        (True, "must be a date, not `bool`", "write dates"),
        ([], "must be a date, not `list`", "write dates"),
    ],
)
def test_bad_timestamps(given: Any, text: str, hint: str | None) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(text)) as caught:
        one(timestamp=given)
    assert hint is None or hint in str(caught.value.hint)


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        (b"hello", "messages must be a list of mappings, not `bytes`"),
        (None, "messages must be a list of mappings, not `NoneType`"),
        (7, "messages must be a list of mappings, not `int`"),
        ([BASE, "hello"], "message 1: must be a mapping, not `str`"),
        ([BASE, BASE, BASE, {"role": "user"}], "message 3: `content` is missing"),
        ([{"content": "hi"}], "message 0: `role` is missing"),
        ([{**BASE, "role": None}], "message 0: `role` is missing"),
        ([{**BASE, "role": {}}], "message 0: `role` must be a str, not `dict`"),
        ([{**BASE, "role": 1}], "message 0: `role` must be a str, not `int`"),
        ([{**BASE, "role": " "}], "message 0: `role` is empty"),
        ([{**BASE, "content": None}], "message 0: `content` must be a str, not `None`"),
        (
            [{**BASE, "content": b"hi"}],
            "message 0: `content` must be a str or a list of parts, not `bytes`",
        ),
        ([{**BASE, "content": ""}], "message 0: `content` is empty"),
        ([{**BASE, "content": " \n\t"}], "message 0: `content` is empty"),
        ([{**BASE, "content": []}], "message 0: `content` is empty"),
        (
            [{**BASE, "content": "ab\ud800"}],
            "message 0: `content` holds a lone surrogate at character 2: `U+D800`",
        ),
        (
            [{**BASE, "name": "\udfff"}],
            "message 0: `name` holds a lone surrogate at character 0: `U+DFFF`",
        ),
        ([{**BASE, "role": "\udfff"}], "message 0: `role` holds a lone surrogate"),
        ([{**BASE, "name": 5}], "message 0: `name` must be a str, not `int`"),
        ([{**BASE, "session_id": 5}], "message 0: `session_id` must be a str, not `int`"),
        ([{**BASE, "message_id": 5}], "message 0: `message_id` must be a str, not `int`"),
        (
            [{**BASE, "metadata": {"a": [1, {"b": float("nan")}]}}],
            "message 0: metadata.a[1].b is not JSON: `nan`",
        ),
        ([{**BASE, "metadata": float("inf")}], "message 0: metadata is not JSON: `inf`"),
        (
            [{**BASE, "metadata": {"when": datetime(2024, 1, 1)}}],
            "message 0: metadata.when is not a JSON type: `datetime`",
        ),
        ([{**BASE, "metadata": {1: 2}}], "message 0: metadata has a key that is not a str: `1`"),
        ([{**BASE, "metadata": {"a": "\ud800"}}], "message 0: metadata holds a lone surrogate"),
        ([{**BASE, "metadata": {1, 2}}], "message 0: metadata is not a JSON type: `set`"),
        ([{**BASE, "timestmap": 5}], "message 0: unknown key: `timestmap`"),
        ([{**BASE, "sesion_id": "s"}], "message 0: unknown key: `sesion_id`"),
        ([{**BASE, "nmae": "Ann"}], "message 0: unknown key: `nmae`"),
        ([{"role": "user", "content": [{"txt": "a"}]}], "message 0: content part 0 has no `type`"),
        (
            [{"role": "user", "content": [{"type": "text", "text": 3}]}],
            "message 0: `text` of content part 0 must be a str, not `int`",
        ),
    ],
)
def test_ugly_messages(messages: Any, text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        normalise(messages)
    assert str(caught.value).startswith(text)


def test_deep_and_circular_metadata() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(InvalidInputError, match="nested too deeply"):
        one(metadata=circle)
    assert one(metadata={"a": {"b": [[[]]]}})["metadata"] == '{"a":{"b":[[[]]]}}'


@pytest.mark.parametrize(
    "content", ["\0", "a\0b\x1b[31m", "‮", "👩‍👩‍👧", "x" * 1_000_000, "\U0001d4b3"]
)
def test_every_character_is_kept(content: str) -> None:
    assert one(content=content)["content"] == content


def test_hints_help() -> None:
    with pytest.raises(InvalidInputError) as caught:
        one(timestmap=5)
    assert (
        caught.value.hint == "did you mean `timestamp`? what belongs to no key goes into `metadata`"
    )


def test_foreign_keys_of_chat_apis_are_left_out() -> None:
    assert one(tool_calls=None, refusal=None, id="x", audio=None, usage={"tokens": 3}) == one(
        message_id="x"
    )


def test_content_parts_become_text() -> None:
    parts = [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "data:..."}},
        {"type": "input_audio", "input_audio": {}},
        {"type": "input_text", "text": "there"},
        "plain",
    ]
    assert one(content=parts)["content"] == "Look:\n[image]\n[audio]\nthere\nplain"


def test_tool_calls_stand_for_missing_content() -> None:
    calls = [{"type": "function", "function": {"name": "lookup", "arguments": '{"city": "Lyon"}'}}]
    assert one(content=None, tool_calls=calls)["content"] == '[tool call: lookup({"city": "Lyon"})]'


def test_empty_optional_texts_count_as_absent() -> None:
    done = one(name="", session_id="", message_id="")
    assert (done["name"], done["session_id"], done["message_id"]) == (None, None, None)


def test_any_iterable_of_any_mapping() -> None:
    assert len(normalise(dict(BASE) for _ in range(3))) == 3
    assert normalise((UserDict(BASE), MappingProxyType(BASE))) == normalise([BASE, BASE])
    assert normalise([]) == []


def test_an_error_of_the_callers_iterable_passes_as_it_is() -> None:
    def failing() -> Iterator[dict[str, str]]:
        yield dict(BASE)
        raise InvalidInputError("the source is broken")

    with pytest.raises(InvalidInputError, match=r"^the source is broken$"):
        normalise(failing())


@pytest.mark.parametrize(
    "date",
    ["2024-02-30T00:00:00+00:00", "2024-01-01T25:00:00+00:00", "2024-13-01T00:00:00.000000+01:00"],
)
def test_dates_that_only_look_right_are_refused_by_position(date: str) -> None:
    with pytest.raises(InvalidInputError, match=r"^message 1: `timestamp` is not an ISO 8601 date"):
        normalise([BASE, {**BASE, "timestamp": date}])


def test_messages_of_another_memory_can_be_added() -> None:
    message = Message("m1", "user", "hi", datetime(2024, 1, 1, tzinfo=UTC), "Ann", "s", {"a": 1}, 9)
    done = normalise([message])[0]
    assert (done["message_id"], done["timestamp"], done["metadata"]) == (
        "m1",
        "2024-01-01T00:00:00+00:00",
        '{"a":1}',
    )


def test_one_bad_message_adds_none(memory: MemorySystem) -> None:
    with pytest.raises(InvalidInputError, match="message 1: `content` is missing"):
        memory.add_messages("alice", [BASE, {"role": "user"}])
    assert list(memory.messages("alice")) == []


@pytest.mark.parametrize("content", ["", " \n", [], [{"type": "text", "text": ""}], None])
@pytest.mark.parametrize("role", ["user", "assistant", "customer"])
def test_empty_messages_are_left_out_of_a_list(
    memory: MemorySystem, content: Any, role: str
) -> None:
    said = [{"role": role, "content": content}, BASE, {"role": role, "content": content}]
    added = memory.add_messages("alice", said)
    assert (added.messages_added, added.skipped) == (1, 2)
    assert [one.content for one in memory.messages("alice")] == [BASE["content"]]
