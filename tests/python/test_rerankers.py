"""A reranker orders the best hits of a search; one that fails leaves their order."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from episodica import (
    AsyncMemorySystem,
    ConfigError,
    LightweightSearchSystem,
    MemorySystem,
    SearchResults,
)

TALK = [
    ("Ann", "We bought a house in Lyon."),
    ("Ben", "The house needs a new roof."),
    ("Ann", "Our old house was sold in May."),
    ("Ben", "I prefer boats to any house."),
]


def fill(memory: MemorySystem) -> None:
    memory.add_messages(
        "u", [{"role": "user", "name": name, "content": text} for name, text in TALK]
    )


def texts(found: SearchResults) -> list[str]:
    return [hit.content for hit in found]


def prefer_boats(query: str, candidates: list[str]) -> list[float]:
    assert query == "house"
    return [10.0 if "boats" in text else -float(place) for place, text in enumerate(candidates)]


def test_a_reranker_decides_the_order_before_the_hits_are_cut(tmp_path: Path) -> None:
    with MemorySystem(tmp_path) as memory:
        fill(memory)
        plain = memory.search("u", "house", kinds=["message"])
    with MemorySystem(tmp_path, reranker=prefer_boats) as memory:
        found = memory.search("u", "house", kinds=["message"], top_k=2)
        there = memory.in_timezone("Asia/Tokyo").search("u", "house", top_k={"message": 1})
        empty = memory.search("nobody", "house")
    boats = "I prefer boats to any house."
    rest = [text for text in texts(plain) if text != boats]
    assert plain[0].content != boats
    assert texts(found) == [boats, rest[0]]
    assert [hit.rank for hit in found] == [1, 2]
    assert found[0].scores["rerank"] == 10.0
    assert 0 <= found[0].score <= 1
    assert texts(there) == [boats]
    assert (len(empty), empty.degraded) == (0, ())


def test_readers_and_coroutines_rerank_too(tmp_path: Path) -> None:
    async def ask() -> SearchResults:
        async with AsyncMemorySystem(tmp_path, reranker=prefer_boats) as memory:
            return await memory.search("u", "house", kinds=["message"], top_k=1)

    with MemorySystem(tmp_path) as memory:
        fill(memory)
    with LightweightSearchSystem(tmp_path, reranker=prefer_boats) as reader:
        assert texts(reader.search("u", "house", kinds=["message"], top_k=1)) == [
            "I prefer boats to any house."
        ]
    assert texts(asyncio.run(ask())) == ["I prefer boats to any house."]


@pytest.mark.parametrize(
    ("reranker", "note"),
    [
        (lambda _, candidates: [1.0], "reranker: ValueError: 1 scores for 4 texts"),
        (lambda _, candidates: [float("nan")] * 4, "reranker: ValueError: a score is not finite"),
        (lambda _, candidates: None, "reranker: TypeError: 'NoneType' object is not iterable"),
        (lambda _, candidates: 1 / 0, "reranker: ZeroDivisionError: division by zero"),
    ],
)
def test_a_reranker_that_fails_leaves_the_order(tmp_path: Path, reranker: Any, note: str) -> None:
    with MemorySystem(tmp_path) as memory:
        fill(memory)
        plain = memory.search("u", "house", kinds=["message"], top_k=3)
    with MemorySystem(tmp_path, reranker=reranker) as memory:
        found = memory.search("u", "house", kinds=["message"], top_k=3)
    assert texts(found) == texts(plain)
    assert found.degraded == (note,)


def test_wrong_rerankers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must be a callable, not `str`"):
        MemorySystem(tmp_path, reranker="http://localhost/rerank")  # type: ignore[arg-type]
