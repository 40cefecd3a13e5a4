"""A text that an embedder refuses: it is cut or set aside, and the others get their vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from episodica import MemorySystem

DIMENSION = 8


class Limited:
    """An embedder that takes texts up to a length, and refuses some words in any length."""

    model = "limited"

    def __init__(self, longest: int, refused: str = "\0") -> None:
        self.longest = longest
        self.refused = refused
        self.calls = 0
        self.is_down = False

    def __call__(self, texts: list[str]) -> np.ndarray:
        self.calls += 1
        if self.is_down or any(len(one) > self.longest or self.refused in one for one in texts):
            raise ValueError("too long")
        rows = [[one.count(letter) + 0.1 for letter in "aeioulyn"] for one in texts]
        return np.array(rows, dtype=np.float32)


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


def vectors(memory: MemorySystem) -> tuple[int, int]:
    stats = memory.stats("ann")
    return stats["messages"], stats["pending_vectors"]


@pytest.mark.parametrize("longest", [3_000, 30_000])
def test_a_long_text_does_not_keep_the_others_from_their_vectors(store: Path, longest: int) -> None:
    embedder = Limited(longest)
    with MemorySystem(store, embedding=embedder) as memory:
        memory.add_messages("ann", said("I moved to Lyon. " * 6_000))
        memory.add_messages("ann", said(*(f"Note {number}" for number in range(20))))
        memory.flush("ann")
        memory.wait("ann", timeout=30)
        memory.retry_pending("ann")
        assert vectors(memory) == (21, 0)
        assert memory.search("ann", "Note 7", method="vector").degraded == ()
        assert embedder.calls < 80


def test_a_text_that_is_refused_in_any_length_is_set_aside(store: Path) -> None:
    embedder = Limited(100_000, refused="FORBIDDEN")
    with MemorySystem(store, embedding=embedder) as memory:
        memory.add_messages("ann", said("FORBIDDEN " * 300, *(f"Note {n}" for n in range(5))))
        memory.wait("ann", timeout=30)
        memory.retry_pending("ann")
        assert vectors(memory) == (6, 0)
        found = memory.search("ann", "Note 3", kinds=["message"], method="vector")
        assert "FORBIDDEN" not in found[0].content


def test_an_outage_sets_nothing_aside(store: Path) -> None:
    embedder = Limited(100_000)
    with MemorySystem(store, embedding=embedder) as memory:
        memory.add_messages("ann", said("I live in Lyon."))
        embedder.is_down = True
        memory.add_messages("ann", said("I moved to Lyon. " * 300, "Note 1"))
        assert vectors(memory) == (3, 2)
        embedder.is_down = False
        memory.retry_pending("ann")
        assert vectors(memory) == (3, 0)
