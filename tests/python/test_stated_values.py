"""Stated values of one attribute: one holds at a time, whatever the order of their days."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from episodica import MemorySystem

HOMES = {"2020-03-01": "Paris", "2023-06-01": "Lyon", "2025-03-01": "Turin"}


def intervals(memory: MemorySystem) -> dict[str, tuple[str, str | None]]:
    """When each value holds, ended ones included."""
    facts = memory.semantic_memories("nina", include_superseded=True)
    day = lambda moment: moment and f"{moment:%Y-%m-%d}"  # noqa: E731
    return {fact.value: (day(fact.valid_from), day(fact.valid_to)) for fact in facts}


def current(memory: MemorySystem) -> list[str]:
    return [fact.value for fact in memory.semantic_memories("nina")]


@pytest.mark.parametrize("order", list(itertools.permutations(HOMES)), ids=" ".join)
def test_values_told_in_any_order_follow_their_days(tmp_path: Path, order: tuple[str, ...]) -> None:
    with MemorySystem(tmp_path / "store") as memory:
        for since in order:
            text = f"Nina lives in {HOMES[since]}."
            memory.remember("nina", text, attribute="home", value=HOMES[since], valid_from=since)
        assert current(memory) == ["Turin"]
        assert intervals(memory) == {
            "Paris": ("2020-03-01", "2023-06-01"),
            "Lyon": ("2023-06-01", "2025-03-01"),
            "Turin": ("2025-03-01", None),
        }
    with MemorySystem(tmp_path / "store") as memory:
        assert current(memory) == ["Turin"], "from the log alone"


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


def test_a_value_that_is_to_come_ends_when_another_is_stated(tmp_path: Path) -> None:
    with MemorySystem(tmp_path / "store") as memory:
        for value, since in (("Paris", "2024-01-01"), ("Lyon", "2199-01-01")):
            text = f"Nina lives in {value}."
            memory.remember("nina", text, attribute="home", value=value, valid_from=since)
        assert intervals(memory)["Paris"] == ("2024-01-01", "2199-01-01")
