"""The async class: the same signatures, the same results, an event loop that goes on."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest

from episodica import AsyncMemorySystem, ClosedError, InvalidInputError, MemorySystem

METHODS = [name for name, _ in inspect.getmembers(MemorySystem, inspect.isfunction) if not name.startswith("_")]
ITERATORS = {"episodes", "semantic_memories", "messages"}


@pytest.mark.parametrize("name", [*METHODS, "__init__"])
def test_signatures_are_those_of_the_sync_class(name: str) -> None:
    here, there = (inspect.signature(getattr(cls, name)) for cls in (AsyncMemorySystem, MemorySystem))
    assert here.parameters == there.parameters
    if name in ITERATORS:
        assert str(here.return_annotation) == f"Async{there.return_annotation}"
    else:
        assert here.return_annotation == there.return_annotation
        assert name == "__init__" or inspect.iscoroutinefunction(getattr(AsyncMemorySystem, name))


def test_nothing_public_is_missing() -> None:
    public = {name for name in dir(MemorySystem) if not name.startswith("_")}
    assert public == {name for name in dir(AsyncMemorySystem) if not name.startswith("_")}


async def test_end_to_end(store: Path, talk: list[dict[str, Any]]) -> None:
    async with AsyncMemorySystem(store) as memory:
        assert (await memory.add_messages("alice", talk)).messages_added == 2
        assert len(await memory.flush("alice")) == 1
        assert await memory.wait("alice")
        hits = await memory.search("alice", "Lyon", kinds=["message"])
        assert hits[0].content == "I moved to Lyon last Friday."
        assert (await memory.context("alice", "Lyon")).messages
        episodes = [episode async for episode in memory.episodes("alice")]
        assert await memory.get("alice", episodes[0].episode_id) == episodes[0]
        assert len([message async for message in memory.messages("alice")]) == 2
        assert [fact async for fact in memory.semantic_memories("alice", limit=0)] == []
        assert repr(memory).startswith("<AsyncMemorySystem ")
        with pytest.raises(InvalidInputError):
            await memory.search("alice", "")
    with pytest.raises(ClosedError):
        await memory.users()


async def test_many_searches_at_once(store: Path, talk: list[dict[str, Any]]) -> None:
    async with AsyncMemorySystem(store) as memory:
        await memory.add_messages("alice", talk)
        found = await asyncio.gather(*(memory.search("alice", "Lyon", kinds=["message"]) for _ in range(100)))
    assert all(hits[0].content == talk[0]["content"] for hits in found)
