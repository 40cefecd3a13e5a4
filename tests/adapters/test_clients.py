"""The wrapped clients of the real SDKs, against a server on the loopback interface."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anthropic
import openai
import pytest

from episodica import MemorySystem
from episodica.adapters import Where
from episodica.adapters import anthropic as anthropic_adapter
from episodica.adapters import openai as openai_adapter

TEXT = "You live in Lyon."
COMPLETION = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": TEXT}}
    ],
}
RESPONSE = {
    "id": "r",
    "object": "response",
    "created_at": 1,
    "model": "m",
    "status": "completed",
    "parallel_tool_calls": False,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": TEXT, "annotations": []}],
        }
    ],
}
MESSAGE = {
    "id": "a",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": TEXT}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


def chunk(**delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return {**COMPLETION, "object": "chat.completion.chunk", "choices": [choice]}


STREAMS: dict[str, list[dict[str, Any]]] = {
    "/v1/chat/completions": [
        chunk(role="assistant", content=""),
        chunk(content="You live "),
        chunk(content="in Lyon."),
        {**chunk(), "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ],
    "/v1/responses": [
        {
            "type": "response.created",
            "sequence_number": 0,
            "response": {**RESPONSE, "status": "in_progress", "output": []},
        },
        {"type": "response.completed", "sequence_number": 1, "response": RESPONSE},
    ],
    "/v1/messages": [
        {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": TEXT}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 1},
        },
        {"type": "message_stop"},
    ],
}
WHOLE = {"/v1/chat/completions": COMPLETION, "/v1/responses": RESPONSE, "/v1/messages": MESSAGE}


class Handler(BaseHTTPRequestHandler):
    """Answers every call with the same words, streamed if that was asked for."""

    asked: list[dict[str, Any]]

    def do_POST(self) -> None:
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(call)
        if call.get("stream"):
            kind = "text/event-stream"
            events = [
                f"event: {event.get('type', 'chunk')}\ndata: {json.dumps(event)}\n\n"
                if "chat" not in self.path
                else f"data: {json.dumps(event)}\n\n"
                for event in STREAMS[self.path]
            ]
            done = ["data: [DONE]\n\n"] if "chat" in self.path else []
            body = "".join([*events, *done])
        else:
            kind, body = "application/json", json.dumps(WHOLE[self.path])
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    asked: list[dict[str, Any]] = []
    handler = type("Recording", (Handler,), {"asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_address[1]}", asked
        serving.shutdown()


@pytest.fixture
def told(memory: MemorySystem) -> MemorySystem:
    memory.add_messages("alice", [{"role": "user", "content": "I moved to Lyon."}])
    return memory


QUESTION: Any = [{"role": "user", "content": "Where do I live?"}]


def check(memory: MemorySystem, asked: list[dict[str, Any]], times: int) -> None:
    """Every call had a context, and every turn was remembered once."""
    assert len(asked) == times
    assert all("I moved to Lyon." in json.dumps(call) for call in asked)
    said = [message.content for message in memory.messages("alice")]
    assert said == ["I moved to Lyon.", *["Where do I live?", TEXT] * times]


def test_openai(told: MemorySystem, server: tuple[str, list[dict[str, Any]]]) -> None:
    url, asked = server
    plain = openai.OpenAI(base_url=f"{url}/v1", api_key="k")
    client = openai_adapter.wrap(plain, told, "alice")
    assert isinstance(client, openai.OpenAI)
    answer = client.chat.completions.create(model="m", messages=QUESTION)
    assert answer.choices[0].message.content == TEXT
    with client.chat.completions.create(model="m", messages=QUESTION, stream=True) as chunks:
        texts = [piece.choices[0].delta.content or "" for piece in chunks]
    assert "".join(texts) == TEXT
    assert client.responses.create(model="m", input="Where do I live?").output_text == TEXT
    events = list(client.responses.create(model="m", input=QUESTION, stream=True))
    assert events[-1].type == "response.completed"
    with client.responses.stream(model="m", input=QUESTION) as stream:
        assert stream.get_final_response().output_text == TEXT
    again = client.with_options(timeout=5)
    again.chat.completions.create(model="m", messages=QUESTION)
    check(told, asked, 6)


async def test_every_form_of_a_memory_serves(
    anywhere: Where, server: tuple[str, list[dict[str, Any]]]
) -> None:
    url, asked = server
    plain, other = openai.OpenAI(base_url=f"{url}/v1", api_key="k"), anthropic.Anthropic
    client = openai_adapter.wrap(plain, anywhere, "alice")
    client.responses.create(model="m", input="I moved to Lyon.")
    client.chat.completions.create(model="m", messages=QUESTION)
    third = anthropic_adapter.wrap(other(base_url=url, api_key="k"), anywhere, "alice")
    third.messages.create(model="m", max_tokens=9, messages=QUESTION)
    assert ["I moved to Lyon." in json.dumps(call) for call in asked[1:]] == [True, True]
    assert "<memory-" not in json.dumps(asked[0])


async def test_async_openai(told: MemorySystem, server: tuple[str, list[dict[str, Any]]]) -> None:
    url, asked = server
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k") as plain:
        client = openai_adapter.wrap(plain, told, "alice")
        answer = await client.chat.completions.create(model="m", messages=QUESTION)
        assert answer.choices[0].message.content == TEXT
        chunks = await client.chat.completions.create(model="m", messages=QUESTION, stream=True)
        texts = [piece.choices[0].delta.content or "" async for piece in chunks]
        assert "".join(texts) == TEXT
        await client.responses.create(model="m", input="Where do I live?")
        async with client.responses.stream(model="m", input=QUESTION) as stream:
            async for _ in stream:
                pass
    check(told, asked, 4)


def test_anthropic(told: MemorySystem, server: tuple[str, list[dict[str, Any]]]) -> None:
    url, asked = server
    plain = anthropic.Anthropic(base_url=url, api_key="k")
    client = anthropic_adapter.wrap(plain, told, "alice")
    assert isinstance(client, anthropic.Anthropic)
    call: Any = {"model": "m", "max_tokens": 9, "messages": QUESTION}
    assert client.messages.create(**call).content[0].text == TEXT
    events = list(client.messages.create(**call, system="Be short.", stream=True))
    assert events[-1].type == "message_stop"
    with client.messages.stream(**call) as stream:
        assert "".join(stream.text_stream) == TEXT
    check(told, asked, 3)


async def test_async_anthropic(
    told: MemorySystem, server: tuple[str, list[dict[str, Any]]]
) -> None:
    url, asked = server
    async with anthropic.AsyncAnthropic(base_url=url, api_key="k") as plain:
        client = anthropic_adapter.wrap(plain, told, "alice")
        call: Any = {"model": "m", "max_tokens": 9, "messages": QUESTION}
        assert (await client.messages.create(**call)).content[0].text == TEXT
        async with client.messages.stream(**call) as stream:
            assert (await stream.get_final_message()).content[0].text == TEXT
        assert [event.type async for event in await client.messages.create(**call, stream=True)]
    check(told, asked, 3)


def test_openais_helper_for_chats(
    told: MemorySystem, server: tuple[str, list[dict[str, Any]]]
) -> None:
    url, asked = server
    client = openai_adapter.wrap(openai.OpenAI(base_url=f"{url}/v1", api_key="k"), told, "alice")
    with client.chat.completions.stream(model="m", messages=QUESTION) as stream:
        assert list(stream)
    check(told, asked, 1)


def test_the_code_of_the_page(the_page: Callable[[str], None]) -> None:
    the_page("clients")
