"""Typical code of users, for mypy --strict and pyright.

Checked, never run; see tests/python/test_typing.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

from episodica import (
    AddResult,
    Context,
    DeleteReport,
    EmbeddingConfig,
    Episode,
    EpisodicaError,
    Explanation,
    Hit,
    InvalidInputError,
    LightweightSearchSystem,
    MemoryConfig,
    MemorySystem,
    Message,
    RebuildReport,
    Records,
    SearchResults,
    SemanticMemory,
    StoreLockedError,
    VerifyReport,
    count_tokens,
)


class Embedder:
    """An object that embeds, as sentence-transformers' models do."""

    model = "mine-v1"

    def __call__(self, texts: list[str]) -> NDArray[np.float32]:
        return np.zeros((len(texts), 8), np.float32)


def embed(texts: list[str]) -> NDArray[np.float32]:
    return np.ones((len(texts), 8), np.float32)


def open_in_all_ways(path: Path) -> None:
    MemorySystem()
    MemorySystem(path)
    MemorySystem(str(path), tenant="shop", buffer_size_max=10)
    MemorySystem(path, config=MemoryConfig(buffer_size_max=10))
    MemorySystem(path, embedding=embed)
    MemorySystem(path, embedding=Embedder())
    MemorySystem(path, embedding=EmbeddingConfig(path=path))
    MemorySystem(path, embedding="a/local/folder")
    LightweightSearchSystem(path).preload(["alice"])


def remember(memory: MemorySystem, history: list[dict[str, str]]) -> AddResult:
    memory.add_messages("alice", history)
    memory.add_messages(
        "alice",
        ({"role": "user", "content": line} for line in ["a", "b"]),
        session_id="s",
        progress=True,
    )
    memory.add_messages(
        "alice",
        list(memory.messages("bob")),
        progress=lambda step, done, total: print(step, done, total),
    )
    when = datetime(2024, 3, 11, tzinfo=UTC)
    added = memory.add_messages(
        "alice",
        [{"role": "user", "content": "hi", "timestamp": when, "metadata": {"n": [1, None]}}],
    )
    assert_type(added.messages_added, int)
    assert_type(added.episodes, tuple[str, ...])
    assert_type(memory.flush("alice"), list[Episode])
    assert_type(memory.flush_all_buffers(), dict[str, list[Episode]])
    assert_type(memory.wait("alice", timeout=1), bool)
    return added


def find(memory: MemorySystem | LightweightSearchSystem, question: str) -> str:
    hits = memory.search(
        "alice",
        question,
        top_k=5,
        kinds=["episodic", "message"],
        method="bm25",
        since="2024-01-01",
        until=datetime.now(UTC),
    )
    assert_type(hits, SearchResults)
    assert_type(hits[0], Hit)
    assert_type(hits[:2], SearchResults)
    assert_type(hits.episodic, tuple[Hit, ...])
    best = max(hits, key=lambda hit: hit.score, default=None)
    if best is not None:
        assert_type(best.explain(), Explanation)
        assert_type(best.scores.get("words"), float | None)
        match best.record:
            case Episode(title=title):
                print(title)
            case SemanticMemory() as fact:
                print(fact.content if fact.is_current else fact.valid_to)
            case Message(speaker=speaker):
                print(speaker)
    context = memory.context("alice", question, max_tokens=500)
    assert_type(context, Context)
    assert_type(context.messages, tuple[Message, ...])
    return context.text


def list_everything(memory: MemorySystem) -> Iterator[str]:
    listing = memory.episodes("alice", newest_first=True, limit=3)
    assert_type(listing, Records[Episode])
    for episode in listing:
        assert_type(episode, Episode)
        yield from (message.content for message in episode.original_messages)
    facts: Iterator[SemanticMemory] = memory.semantic_memories("alice", include_superseded=True)
    yield from (fact.content for fact in facts)
    yield from sorted(message.speaker for message in memory.messages("alice"))


def maintain(memory: MemorySystem) -> int:
    record = memory.get("alice", "id")
    assert_type(record, Message | Episode | SemanticMemory | None)
    assert_type(memory.delete("alice", "id"), DeleteReport)
    assert_type(memory.verify(progress=True), VerifyReport)
    assert_type(memory.rebuild_indices("alice"), RebuildReport)
    messages: int = memory.stats("alice")["messages"]
    problems = [f"{problem.path}:{problem.line}" for problem in memory.verify().problems]
    return messages + len(problems) + count_tokens("text")


def handle(memory: MemorySystem) -> str:
    try:
        memory.search("alice", "?")
    except StoreLockedError as error:
        return error.hint or str(error)
    except (InvalidInputError, ValueError):
        return ""
    except EpisodicaError as error:
        return f"{error.kind} {error.path}:{error.line}"
    return "found"


def use(path: Path) -> None:
    with MemorySystem(path) as memory:
        assert_type(memory, MemorySystem)
        remember(memory, [{"role": "user", "content": "hi"}])
        print(find(memory, "hi"), *list_everything(memory), maintain(memory), handle(memory))
