"""Chat histories go in as APIs and frameworks have them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from episodica import InvalidInputError, MemorySystem
from episodica.inputs.messages import normalise


def content(message: Any) -> str:
    return str(normalise([message])[0]["content"])


LOOKUP = '[tool call: lookup({"city": "Lyon"})]'


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            {
                "role": "assistant",
                "content": None,
                "function_call": {"name": "lookup", "arguments": '{"city": "Lyon"}'},
            },
            LOOKUP,
        ),
        (
            {
                "role": "assistant",
                "content": "Let me look.",
                "tool_calls": [
                    {"type": "function", "function": {"name": "lookup", "arguments": "{}"}}
                ],
            },
            "Let me look.\n[tool call: lookup({})]",
        ),
        ({"role": "assistant", "content": None, "refusal": "I can't."}, "I can't."),
        (
            {"role": "assistant", "content": None, "audio": {"id": "a", "transcript": "Hello."}},
            "Hello.",
        ),
        ({"role": "tool", "tool_call_id": "t", "content": "18 degrees"}, "18 degrees"),
        (
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Let me look."},
                    {"type": "tool_use", "id": "t", "name": "lookup", "input": {"city": "Lyon"}},
                ],
            },
            f"Let me look.\n{LOOKUP}",
        ),
        (
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": "18 degrees"}],
            },
            "18 degrees",
        ),
        (
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t",
                        "content": [
                            {"type": "text", "text": "18 degrees"},
                            {"type": "image", "source": {}},
                        ],
                    }
                ],
            },
            "18 degrees\n[image]",
        ),
        ({"role": "model", "parts": [{"text": "Hello"}, {"text": "there"}]}, "Hello\nthere"),
        (
            {
                "role": "model",
                "parts": [{"functionCall": {"name": "lookup", "args": {"city": "Lyon"}}}],
            },
            LOOKUP,
        ),
        (
            {
                "role": "user",
                "parts": [
                    {"function_response": {"name": "lookup", "response": {"degrees": 18}}},
                    {"inline_data": {"mime_type": "image/png", "data": "..."}},
                ],
            },
            '{"degrees": 18}\n[image]',
        ),
    ],
)
def test_messages_of_chat_apis(message: dict[str, Any], text: str) -> None:
    assert content(message) == text


def test_a_message_that_says_nothing_is_left_out() -> None:
    silent = {"role": "assistant", "content": None, "tool_calls": []}
    assert normalise([{"role": "user", "content": "hi"}, silent])[0]["content"] == "hi"
    assert normalise([silent, {**silent, "tool_calls": None, "refusal": None}]) == []


def test_roles_of_gemini_and_langchain_become_the_usual_ones() -> None:
    roles = [
        normalise([{**message, "content": "hi"}])[0]["role"]
        for message in ({"role": "model"}, {"type": "human"}, {"type": "ai"}, {"role": "critic"})
    ]
    assert roles == ["assistant", "user", "assistant", "critic"]


@dataclass
class Said:
    role: str
    content: str
    created_at: float


class HumanMessage:
    """Formed like LangChain's."""

    type = "human"
    name = None
    id = "run-7"
    additional_kwargs: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, text: str) -> None:
        self.content = text


def test_objects_with_the_attributes_of_a_message() -> None:
    function = SimpleNamespace(name="lookup", arguments='{"city": "Lyon"}')
    objects = [
        Said("user", "hi", 1710149400),
        HumanMessage("hi"),
        SimpleNamespace(
            role="assistant", content=None, tool_calls=[SimpleNamespace(function=function)]
        ),
        SimpleNamespace(role="user", content=[SimpleNamespace(type="text", text="Look:")]),
    ]
    dated, named, called, parts = normalise(objects)
    assert dated["timestamp"] == "2024-03-11T09:30:00+00:00"
    assert (named["role"], named["content"], named["message_id"]) == ("user", "hi", "run-7")
    assert (called["content"], parts["content"]) == (LOOKUP, "Look:")
    with pytest.raises(InvalidInputError, match="message 0: must be a mapping, not `object`"):
        normalise([object()])


def test_a_data_frame_is_a_list_of_messages() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "role": ["user", "assistant"],
            "content": ["hi", "hello"],
            "timestamp": [pandas.Timestamp("2024-03-11T09:30:00Z"), pandas.NaT],
            "name": ["Ann", float("nan")],
        }
    )
    first, second = normalise(frame)
    assert (first["name"], second["name"]) == ("Ann", None)
    assert first["timestamp"] == "2024-03-11T09:30:00+00:00"
    assert second["timestamp"] == "2024-03-11T09:30:00.000001+00:00"
    message = {"role": "user", "content": "hi", "timestamp": pandas.NaT}
    with pytest.raises(InvalidInputError, match="message 0: `timestamp` is missing: `NaT`"):
        normalise([message])


def test_created_at_and_id_are_understood() -> None:
    message = {"role": "user", "content": "hi", "created_at": 1710149400, "id": "msg_1"}
    done = normalise([message])[0]
    assert (done["timestamp"], done["message_id"]) == ("2024-03-11T09:30:00+00:00", "msg_1")
    both = {**message, "timestamp": "2024-01-01", "message_id": "own"}
    done = normalise([both])[0]
    assert (done["timestamp"], done["message_id"]) == ("2024-01-01T00:00:00+00:00", "own")


def test_missing_times_come_from_the_neighbours() -> None:
    times = [None, "2024-03-11T09:30:00+01:00", None, None, "2024-03-12T00:00:00Z"]
    made = normalise([{"role": "user", "content": "ok", "timestamp": time} for time in times])
    assert [one["timestamp"] for one in made] == [
        "2024-03-11T09:29:59.999999+01:00",
        "2024-03-11T09:30:00+01:00",
        "2024-03-11T09:30:00.000001+01:00",
        "2024-03-11T09:30:00.000002+01:00",
        "2024-03-12T00:00:00+00:00",
    ]
    assert normalise([{"role": "user", "content": "ok"}])[0]["timestamp"] is None


def test_the_same_talk_added_twice_is_added_once(memory: MemorySystem) -> None:
    talk = [
        {"role": "user", "content": "Is it ready?", "timestamp": "2024-03-11T09:30:00Z"},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "ok"},
        {"role": "user", "content": "ok"},
    ]
    first = memory.add_messages("alice", talk, session_id="s1")
    assert (first.messages_added, first.duplicates) == (4, 0)
    again = memory.add_messages("alice", talk, session_id="s1")
    assert (again.messages_added, again.duplicates) == (0, 4)
    grown = memory.add_messages(
        "alice", [*talk, {"role": "user", "content": "Good."}], session_id="s1"
    )
    assert (grown.messages_added, grown.duplicates) == (1, 4)
    elsewhere = memory.add_messages("alice", talk, session_id="s2")
    assert elsewhere.messages_added == 4


def test_undated_messages_are_new_each_time(memory: MemorySystem) -> None:
    message = {"role": "user", "content": "ok"}
    assert memory.add_messages("alice", [message, message]).messages_added == 2
    assert memory.add_messages("alice", [message]).messages_added == 1


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"role": "user", "content": "x", "nmae": "y" * 10**6}, "unknown key: `nmae`"),
        ({"role": "user", "content": "x", "timestamp": "z" * 10**6}, "`timestamp` is not an ISO"),
        ({"role": "user", "content": [{"type": 5}]}, "content part 0 has no `type`"),
    ],
)
def test_error_texts_are_short(message: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(text)) as caught:
        normalise([{"role": "user", "content": "fine"}, message])
    assert str(caught.value).startswith("message 1: ")
    assert len(str(caught.value)) < 300
