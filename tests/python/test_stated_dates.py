"""Dates of facts that the application states: in their words, their sections, their beginnings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from episodica import MemorySystem

WEDNESDAY = "2026-03-04"


@pytest.mark.parametrize(
    ("statement", "stored"),
    [
        ("I start at the mill next Monday.", "I start at the mill next Monday [9 March 2026]."),
        (
            "Ich fange übermorgen in der Mühle an.",
            "Ich fange übermorgen [6. März 2026] in der Mühle an.",
        ),
        ("我明天去磨坊上班。", "我明天[2026年3月5日]去磨坊上班。"),
        ("I know the day already: tomorrow [5 March].", None),
        ("I bake bread.", None),
    ],
)
def test_relative_dates_get_their_days(
    memory: MemorySystem, statement: str, stored: str | None
) -> None:
    told = memory.remember("gus", statement, valid_from=WEDNESDAY)
    assert told.content == (stored or statement)
    again = memory.remember("gus", statement, valid_from=WEDNESDAY)
    assert (again.memory_id, again.outcome) == (told.memory_id, "repeats")


def test_the_subject_stands_before_the_statement_with_its_days(memory: MemorySystem) -> None:
    told = memory.remember("gus", "Starts tomorrow.", subject="Tobi", valid_from=WEDNESDAY)
    assert told.content == "Tobi: Starts tomorrow [5 March 2026]."


def test_days_count_from_now_if_nothing_says_when_it_was_stated(memory: MemorySystem) -> None:
    before = datetime.now(UTC).date()
    told = memory.remember("gus", "I moved here yesterday.").content
    days = [day - timedelta(1) for day in (before, datetime.now(UTC).date())]
    assert told in {f"I moved here yesterday [{day.day} {day:%B %Y}]." for day in days}


def test_a_beginning_that_the_words_name_is_not_the_day_of_the_statement(
    memory: MemorySystem,
) -> None:
    began = datetime.now(UTC).date() - timedelta(1)
    told = memory.remember("gus", "I have lived here since yesterday.", valid_from=began)
    if datetime.now(UTC).date() - timedelta(1) == began:
        assert f"yesterday [{began.day} {began:%B %Y}]" in told.content


@pytest.mark.parametrize(
    ("zone", "begins"),
    [("Asia/Tokyo", "2026-03-01T00:00:00+09:00"), (None, "2026-03-01T00:00:00+00:00")],
)
def test_a_bare_date_is_a_day_of_the_memorys_zone(
    tmp_path: Path, zone: str | None, begins: str
) -> None:
    with MemorySystem(tmp_path / "store", timezone=zone) as memory:
        fact = memory.remember("gus", "I live in Kyoto.", valid_from="2026-03-01")
        assert fact.valid_from.isoformat() == begins
        step: Any = {"steps": ["call"], "valid_from": "2026-03-01"}
        done = memory.remember_procedure("gus", "Book a table", **step)
        assert done.valid_from.isoformat() == begins


def test_plans_hold_since_no_day(memory: MemorySystem) -> None:
    for kind, text in (("goal", "Run a marathon."), ("event", "Wedding at the lake.")):
        memory.remember("gus", text, kind=kind, valid_from=WEDNESDAY)  # type: ignore[arg-type]
    memory.remember("gus", "I live in Lyon.", kind="personal_info", valid_from=WEDNESDAY)
    told = memory.profile("gus").to_markdown()
    assert "- Run a marathon. (2026-03-04)\n" in told
    assert "- Wedding at the lake. (2026-03-04)\n" in told
    assert "- I live in Lyon. (since 2026-03-04)\n" in told
    assert "（2026-03-04）" in memory.profile("gus", language="zh").to_markdown()


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("I live in Oslo.", "# Facts, 2099\n- from 1 May: I live in Oslo."),
        ("Ich wohne in Oslo am Hafen.", "# Fakten, 2099\n- ab 1. Mai: Ich wohne in Oslo am Hafen."),
        ("我住在奥斯陆。", "# 事实，2099年\n- 5月1日起: 我住在奥斯陆。"),
    ],
)
def test_a_context_marks_what_is_to_come(memory: MemorySystem, statement: str, line: str) -> None:
    memory.remember("gus", statement, kind="personal_info", valid_from="2099-05-01")
    packed = memory.context("gus", statement)
    assert packed.text == line
    # A context that comes back in a message is known again.
    said = {"role": "user", "content": f"{packed.text}\nThanks, I like tea."}
    memory.add_messages("gus", [said])
    memory.flush("gus")
    memory.wait("gus")
    assert all("Oslo" not in (fact.quote or "") for fact in memory.semantic_memories("gus"))


@pytest.mark.parametrize(
    "text",
    [
        "I work as a baker in the old mill.",
        "I hate coriander.",
        "My sister Ada lives in Rome.",
        "I'm allergic to hazelnuts.",
        "I want to run a marathon one day.",
        "The gate code is 7712.",
        "Meine Tochter Mia geht in die zweite Klasse.",
        "我对花生过敏。",
        "我在银行工作。",
    ],
)
def test_a_statement_stands_in_the_section_of_the_same_quotation(
    memory: MemorySystem, text: str
) -> None:
    memory.add_messages("gus", [{"role": "user", "content": text}])
    memory.flush("gus")
    memory.wait("gus")
    quoted = [fact.kind for fact in memory.semantic_memories("gus")]
    assert quoted == [memory.remember("ida", text).kind]


def test_a_statement_that_names_its_day_has_no_other_beginning(memory: MemorySystem) -> None:
    memory.remember("ida", "I have worked at the mill since yesterday.", valid_from="2025-10-02")
    bees = {"kind": "preference", "valid_from": "2025-10-02"}
    memory.remember("ida", "I keep bees.", **bees)
    text = memory.profile("ida").to_markdown()
    assert "since yesterday [1 October 2025]. (2025-10-02)" in text
    assert "I keep bees. (since 2025-10-02)" in text
