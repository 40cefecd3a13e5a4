"""Streamed answers of wrapped clients: what is kept when they end early, and what is left out."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace as Object
from typing import Any

import pytest
from chat_clients import (
    AsyncResource,
    AsyncStream,
    Client,
    Resource,
    Stream,
    chat_client,
    chunks,
    said,
    user,
)

from episodica import MemorySystem
from episodica.adapters import anthropic, openai


def test_a_stream_that_ends_early_keeps_what_was_asked_and_what_arrived(
    memory: MemorySystem,
) -> None:
    client, _ = chat_client(
        *(Stream(chunks("In ", "Lyon")) for _ in range(4)),
        Stream([*chunks("In "), ConnectionError("down")]),
    )
    create = openai.wrap(client, memory, "alice").chat.completions.create

    def asked(text: str) -> Any:
        return create(messages=[user(text)], stream=True)

    def leave_by_an_error() -> None:
        for _ in asked("Left by an error?"):
            raise KeyError

    with asked("Closed?") as answer:
        next(answer)
    for _ in asked("Left?"):
        break
    with pytest.raises(KeyError):
        leave_by_an_error()
    dropped = asked("Never read?")
    del dropped
    gc.collect()
    with pytest.raises(ConnectionError):
        list(asked("Broken?"))
    gc.collect()
    part = ("assistant", "In ")
    assert said(memory) == [
        *(("user", "Closed?"), part, ("user", "Left?"), part),
        *(("user", "Left by an error?"), part, ("user", "Never read?")),
        *(("user", "Broken?"), part),
    ]


def test_what_is_asked_again_after_a_stream_broke_is_remembered_once(memory: MemorySystem) -> None:
    def broken() -> Stream:
        return Stream([*chunks("In "), ConnectionError("down")])

    client, _ = chat_client(broken(), Stream(chunks("In ", "Lyon.")), Stream(chunks("Lyon.")))
    create = openai.wrap(client, memory, "alice").chat.completions.create
    with pytest.raises(ConnectionError):
        list(create(messages=[user("Where?")], stream=True))
    for _ in range(2):
        list(create(messages=[user("Where?")], stream=True))
    assert said(memory) == [
        *(("user", "Where?"), ("assistant", "In "), ("assistant", "In Lyon.")),
        *(("user", "Where?"), ("assistant", "Lyon.")),
    ]


async def test_an_asynchronous_stream_that_ends_early_keeps_the_same(memory: MemorySystem) -> None:
    class Hanging(AsyncStream):
        async def __aiter__(self) -> AsyncIterator[Any]:
            for piece in self.pieces:
                if isinstance(piece, Exception):
                    raise piece
                yield piece
            await asyncio.sleep(60)

    client, _ = chat_client(
        Hanging(chunks("In ")),
        Hanging(chunks("In ")),
        Hanging([*chunks("In "), ConnectionError("down")]),
        kind=AsyncResource,
    )
    create = openai.wrap(client, memory, "alice").chat.completions.create

    arrived = asyncio.Event()

    async def read(text: str) -> None:
        async for _ in await create(messages=[user(text)], stream=True):
            arrived.set()

    async for _ in await create(messages=[user("Left?")], stream=True):
        break
    gc.collect()
    task = asyncio.create_task(read("Cancelled?"))
    async with asyncio.timeout(20):
        await arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ConnectionError):
        await read("Broken?")
    part = ("assistant", "In ")
    assert said(memory) == [
        *(("user", "Left?"), part, ("user", "Cancelled?"), part, ("user", "Broken?"), part)
    ]


def test_thinking_of_a_wrapped_model_is_left_out_unless_it_is_wanted(store: Path) -> None:
    def answers() -> list[Any]:
        message = Object(role="assistant", content="<think>hm</think>Yes.", tool_calls=None)
        delta = Object(content="Yes.", reasoning_content="hm", tool_calls=None)
        return [
            Object(choices=[Object(index=0, message=message)]),
            Stream([Object(choices=[Object(index=0, delta=delta)])]),
        ]

    for keeps, answer in ((False, "Yes."), (True, "hm\nYes.")):
        with MemorySystem(store / str(keeps), keep_thinking=keeps) as memory:
            client, _ = chat_client(*answers())
            create = openai.wrap(client, memory, "alice").chat.completions.create
            create(messages=[user("Ski?")])
            list(create(messages=[user("And you?")], stream=True))
            blocks = [Object(type="thinking", thinking="hm"), Object(type="text", text="Yes.")]
            claude: Any = Client(messages=Resource(Object(content=blocks)))
            anthropic.wrap(claude, memory, "alice").messages.create(messages=[user("Sure?")])
            assert [text for role, text in said(memory) if role == "assistant"] == [answer] * 3
