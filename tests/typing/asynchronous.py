"""Typical code of users with an event loop, for mypy --strict and pyright. Checked, never run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import assert_type

from episodica import AsyncMemorySystem, AsyncRecords, Context, Episode, Message, SearchResults


async def answer(memory: AsyncMemorySystem, questions: list[str]) -> list[str]:
    found = await asyncio.gather(*(memory.search("alice", question) for question in questions))
    assert_type(found, list[SearchResults])
    async with asyncio.TaskGroup() as group:
        packed = group.create_task(memory.context("alice", questions[0], max_tokens=100))
    assert_type(packed.result(), Context)
    episodes = memory.episodes("alice", limit=3)
    assert_type(episodes, AsyncRecords[Episode])
    titles = [episode.title async for episode in episodes]
    speakers = [message.speaker async for message in memory.messages("alice")]
    first: Message = await anext(memory.messages("alice"))
    return [*titles, *speakers, first.content, *(hit.title for hits in found for hit in hits)]


async def main(path: Path) -> None:
    async with AsyncMemorySystem(path, buffer_size_max=10) as memory:
        assert_type(memory, AsyncMemorySystem)
        added = await memory.add_messages("alice", [{"role": "user", "content": "hi"}])
        assert_type(added.buffered, int)
        assert_type(await memory.users(), list[str])
        print(await answer(memory, ["hi"]))
        async with asyncio.timeout(1):
            await memory.wait("alice")
