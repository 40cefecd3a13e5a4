"""Stated values of one attribute: the one that is told last holds, whatever the days."""

from __future__ import annotations

import itertools
import json
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


def test_a_statement_without_a_beginning_is_shown_without_one(memory: MemorySystem) -> None:
    """Once, what was remembered today was said to hold since today."""
    plain = memory.remember("eva", "Eva plays the cello.", kind="preference")
    dated = memory.remember("eva", "Eva grows quinces.", kind="goal", valid_from="2021-04-02")
    told = memory.remember("eva", "Eva is vegan.", kind="goal", metadata={"date": "2020-01-09"})
    assert [one.is_dated for one in (plain, dated, told)] == [False, True, True]
    profile = memory.profile("eva").to_markdown()
    assert "- Eva plays the cello.\n" in profile
    assert "- Eva grows quinces. (2021-04-02)\n" in profile
    question = "What does Eva play, and what does she grow?"
    text = memory.context("eva", question, kinds=["semantic"]).text
    assert text.startswith("# Facts\n- Eva plays the cello.\n")
    assert "# Facts, 2021\n- 2 Apr: Eva grows quinces." in text
    data = json.loads(memory.context("eva", question, kinds=["semantic"], format="json").text)
    assert {"fact": "Eva plays the cello."} in data["facts"]
    # A change keeps what was before, and says no day of it either.
    memory.remember("eva", "Eva lives in Bonn.", attribute="home", value="Bonn")
    memory.remember("eva", "Eva lives in Jena.", attribute="home", value="Jena")
    told_before = memory.profile("eva").to_markdown(history=True)
    assert "Eva lives in Jena. (before: Eva lives in Bonn.)" in told_before
    # Said again with a beginning, it has one.
    memory.remember("eva", "Eva plays the cello.", kind="preference", valid_from="2019-05-06")
    assert "cello. (since 2019-05-06)" in memory.profile("eva").to_markdown()


@pytest.mark.parametrize(
    ("fact", "heading"),
    [
        ("Eva spielt seit ihrer Kindheit Cello und wohnt am Fluss.", "# Fakten"),
        ("Eva joue du violoncelle depuis son enfance.", "# Faits"),
        ("Eva toca el violonchelo desde niña y vive junto al río.", "# Hechos"),
        ("伊娃从小就拉大提琴。", "# 事实"),
        ("Eva has played the cello since she was a child.", "# Facts"),
    ],
)
def test_facts_without_talk_have_a_heading_in_their_language(
    memory: MemorySystem, fact: str, heading: str
) -> None:
    memory.remember("eva", fact)
    assert memory.context("eva", "cello").text.splitlines()[0] == heading


def test_a_reworded_statement_states_the_value_in_its_place(memory: MemorySystem) -> None:
    home = {"attribute": "home"}
    first = memory.remember("ann", "I live in Paris.", value="Paris", **home)
    assert memory.update("ann", first.memory_id, "I live in Lyon.").value == "Lyon"
    again = memory.remember("ann", "I live in Paris.", value="Paris", **home)
    assert [one.memory_id for one in memory.profile("ann").facts] == [again.memory_id]
    other = memory.update("ann", again.memory_id, "Lyon is my town now.")
    assert other.value == "Lyon is my town now."
    same = memory.update("ann", again.memory_id, "lyon is my town now. Really.")
    assert same.value == "Lyon is my town now."


def test_the_same_words_about_another_project_are_another_fact(memory: MemorySystem) -> None:
    def tell(**metadata: str) -> str:
        return memory.remember("ann", "Use pnpm.", metadata=metadata).outcome

    assert [tell(project="api"), tell(project="web"), tell(project="api")] == [
        "added",
        "added",
        "repeats",
    ]
    for project in ("api", "web"):
        hits = memory.search("ann", "pnpm", where={"project": project})
        assert len(hits) == 1
    assert tell(project="api", path="/a") == "repeats"
