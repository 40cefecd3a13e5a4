"""Chat histories go in as APIs and frameworks have them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from episodica import InvalidInputError, MemorySystem
from episodica.inputs.messages import incoming, normalise


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


WEATHER = {"city": "Lyon"}
CALL = '[tool call: weather({"city": "Lyon"})]'
SHOWN = list[tuple[str, str]]


def said(messages: list[Any]) -> SHOWN:
    return [(one["role"], one["content"]) for one in normalise(messages)]


def test_items_of_the_responses_api() -> None:
    items: list[dict[str, Any]] = [
        {"role": "user", "content": "Is it warm?"},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c1",
            "name": "weather",
            "arguments": '{"city": "Lyon"}',
        },
        {"type": "function_call_output", "call_id": "c1", "output": "12C"},
        {"type": "web_search_call", "id": "ws", "action": {"query": "Lyon"}, "status": "completed"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "sql", "input": "select 1"},
        {
            "type": "custom_tool_call_output",
            "call_id": "c2",
            "output": [{"type": "input_text", "text": "one row"}],
        },
        {"type": "item_reference", "id": "x"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "It is 12C.", "annotations": []}],
        },
    ]
    talk = [
        ("user", "Is it warm?"),
        ("assistant", CALL),
        ("tool", "12C"),
        ("assistant", '[tool call: web_search({"query": "Lyon"})]'),
        ("assistant", "[tool call: sql(select 1)]"),
        ("tool", "one row"),
        ("assistant", "It is 12C."),
    ]
    assert said(items) == talk
    assert said([SimpleNamespace(**item) for item in items]) == talk
    assert incoming(items).skipped == 2


def test_messages_of_the_ai_sdk() -> None:
    parts = [
        {"type": "step-start"},
        {
            "type": "tool-weather",
            "toolCallId": "t1",
            "state": "output-available",
            "input": WEATHER,
            "output": {"t": 12},
        },
        {"type": "dynamic-tool", "toolName": "weather", "toolCallId": "t2", "input": WEATHER},
        {"type": "text", "text": "It is 12C.", "state": "done"},
        {"type": "source-url", "sourceId": "s", "url": "https://x.example"},
        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"},
    ]
    moment = {"createdAt": 1710149400000}
    [interface] = normalise([{"id": "a1", "role": "assistant", "parts": parts, "metadata": moment}])
    assert interface["timestamp"] == "2024-03-11T09:30:00+00:00"
    assert interface["content"].split("\n") == [
        *(CALL, '{"t": 12}', CALL, "It is 12C.", "[source: https://x.example]", "[image]")
    ]
    called = {"toolCallId": "t", "toolName": "weather", "args": WEATHER, "result": "12C"}
    invoked = {"role": "assistant", "content": "", "toolInvocations": [called]}
    core = [
        {"role": "assistant", "content": [{"type": "tool-call", **called, "result": None}]},
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "t",
                    "toolName": "weather",
                    "output": {"type": "text", "value": "12C"},
                }
            ],
        },
    ]
    assert said([invoked, *core]) == [
        ("assistant", f"{CALL}\n12C"),
        ("assistant", CALL),
        ("tool", "12C"),
    ]


def test_messages_of_bedrock_gemini_and_the_tools_of_anthropic() -> None:
    turns: list[dict[str, Any]] = [
        {"role": "user", "content": [{"text": "Is it warm?"}, {"image": {"format": "png"}}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "weather"}}]},
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "t", "content": [{"json": {"t": 12}}]}}],
        },
        {"role": "model", "parts": [{"executableCode": {"language": "PYTHON", "code": "1+1"}}]},
        {"role": "model", "parts": [{"codeExecutionResult": {"output": "2"}}]},
        {
            "role": "assistant",
            "content": [
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "s",
                    "content": [
                        {
                            "type": "web_search_result",
                            "title": "Lyon",
                            "url": "https://x.example",
                            "encrypted_content": "QUJD",
                        }
                    ],
                },
                {"type": "text", "text": "Sunny."},
            ],
        },
    ]
    assert said(turns) == [
        ("user", "Is it warm?\n[image]"),
        ("assistant", "[tool call: weather()]"),
        ("tool", '{"t": 12}'),
        ("assistant", "[tool call: code(1+1)]"),
        ("assistant", "2"),
        ("assistant", "[source: Lyon https://x.example]\nSunny."),
    ]


def test_a_result_of_a_tool_is_not_the_words_of_the_user() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "I live in Moscow."}
    asked = {"type": "text", "text": "Where do I live?"}
    assert said([{"role": "user", "content": [result]}]) == [("tool", "I live in Moscow.")]
    both = [("tool", "I live in Moscow."), ("user", "Where do I live?")]
    assert said([{"role": "user", "content": [result, asked]}]) == both
    image = {"type": "image"}
    assert [role for role, _ in said([{"role": "user", "content": [result, image]}])] == ["tool"]


def test_dumps_of_langchain_and_pydantic_ai() -> None:
    dumped = [
        {"type": "human", "data": {"content": "Hi", "type": "human", "id": "1"}},
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "AIMessage"],
            "kwargs": {"content": "Hello", "type": "ai"},
        },
        {
            "kind": "request",
            "parts": [
                {"part_kind": "user-prompt", "content": "Hi", "timestamp": "2024-03-11T09:30:00Z"},
                {"part_kind": "tool-return", "tool_name": "w", "content": {"t": 12}},
            ],
        },
        {
            "kind": "response",
            "parts": [{"part_kind": "tool-call", "tool_name": "weather", "args": WEATHER}],
        },
    ]
    assert said(dumped) == [
        *(("user", "Hi"), ("assistant", "Hello"), ("user", "Hi"), ("tool", '{"t": 12}')),
        ("assistant", CALL),
    ]


def test_a_line_of_a_log_has_its_message_inside() -> None:
    line = {
        "type": "assistant",
        "uuid": "u1",
        "sessionId": "s1",
        "timestamp": "2024-03-11T09:30:00Z",
        "message": {
            "id": "msg_1",
            "message": {"id": "msg_1", "role": "assistant", "content": [{"text": "Hi"}]},
            "content": [{"type": "text", "text": "Hi"}],
        },
    }
    [done] = normalise([line])
    assert (done["role"], done["content"], done["message_id"]) == ("assistant", "Hi", "u1")
    assert (done["session_id"], done["timestamp"]) == ("s1", "2024-03-11T09:30:00+00:00")
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "x"}}
    assert incoming([choice]).notes() == ()


def test_pieces_of_a_stream_are_one_message() -> None:
    def chunk(text: str, given: str | None = "run-1") -> dict[str, Any]:
        return {"type": "AIMessageChunk", "content": text, "id": given}

    human = {"type": "HumanMessageChunk", "content": "Hi"}
    whole = {"type": "ai", "content": "Hello you", "id": "run-1"}
    talk = [("user", "Hi"), ("assistant", "Hello you")]
    assert said([human, chunk("Hello"), chunk(" you")]) == talk
    assert said([human, chunk("Hello"), chunk(" you", None)]) == talk
    assert said([human, chunk("Hello"), chunk(" you"), whole]) == talk
    assert said([human, chunk("Hello you"), chunk("Bye", "run-2")])[1:] == [
        ("assistant", "Hello you"),
        ("assistant", "Bye"),
    ]
    assert said([human, human]) == [("user", "Hi"), ("user", "Hi")]


SAYS = "I live in Rome. password=hunter2xyz"
MIXED: list[dict[str, Any]] = [
    {"content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text"}]}]},
    {"content": [{"type": "tool_result", "tool_use_id": "t", "content": SAYS}]},
    {"content": [{"toolResult": {"toolUseId": "t", "content": [{"text": SAYS}]}}]},
    {"parts": [{"functionResponse": {"name": "mail", "response": {"text": SAYS}}}]},
    {"content": [{"type": "tool-result", "toolCallId": "t", "output": SAYS}]},
]
MIXED[0]["content"][0]["content"][0]["text"] = SAYS


@pytest.mark.parametrize("message", MIXED)
@pytest.mark.parametrize("comes_first", [True, False])
def test_results_beside_words_of_the_user_are_a_tools(
    memory: MemorySystem, message: dict[str, Any], comes_first: bool
) -> None:
    [(key, [result])] = message.items()
    words = {"text": "I have a cat called Mo."} | ({"type": "text"} if "type" in result else {})
    both = [result, words] if comes_first else [words, result]
    said = {"role": "user", "name": "Ida", "id": "m7", key: both}
    for _ in range(2):
        memory.add_messages("ann", [{**said, "timestamp": "2026-02-03T10:00:00Z"}])
    memory.flush("ann")
    tool, person = memory.messages("ann")
    assert (tool.role, tool.name, tool.message_id) == ("tool", None, "m7-results")
    assert "Rome" in tool.content
    assert "hunter2" not in tool.content
    assert (person.role, person.name, person.message_id) == ("user", "Ida", "m7")
    assert person.content == "I have a cat called Mo."
    [fact] = memory.semantic_memories("ann")
    assert "Mo" in fact.content
