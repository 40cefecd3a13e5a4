"""Stated values of one attribute: the one that is told last holds, whatever the days."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from episodica import MemorySystem

HOMES = {"2020-03-01": "Paris", "2023-06-01": "Lyon", "2025-03-01": "Turin"}


def current(memory: MemorySystem) -> list[str]:
    return [fact.value for fact in memory.semantic_memories("nina")]


@pytest.mark.parametrize("order", list(itertools.permutations(HOMES)), ids=" ".join)
def test_one_value_holds_in_whatever_order_they_are_told(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    with MemorySystem(tmp_path / "store") as memory:
        for since in order:
            text = f"Nina lives in {HOMES[since]}."
            memory.remember("nina", text, attribute="home", value=HOMES[since], valid_from=since)
        assert current(memory) == [HOMES[order[-1]]]
    with MemorySystem(tmp_path / "store") as memory:
        assert current(memory) == [HOMES[order[-1]]], "from the log alone"


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_the_last_of_several_values_from_one_day_holds(tmp_path: Path, count: int) -> None:
    with MemorySystem(tmp_path / "store") as memory:
        memory.remember("nina", "home 0", attribute="home", value="0", valid_from="2024-01-01")
        told = [
            memory.remember(
                "nina", f"home {at}", attribute="home", value=str(at), valid_from="2025-03-01"
            )
            for at in range(1, count + 1)
        ]
        assert current(memory) == [str(count)]
        memory.delete("nina", told[-1].memory_id)
        assert current(memory) == [str(count - 1)], "the one before holds again"
