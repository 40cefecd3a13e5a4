"""What the user decided about a fact holds after its message is edited."""

from __future__ import annotations

import pytest

from episodica import MemorySystem, SemanticMemory

BEFORE = "I work as a nurse at St. Josef in Bonn. I am allergic to peanuts."
# A comma more, and another sentence before: the words stand elsewhere in the message.
AFTER = (
    "I work as a nurse at St Josef in Bonn. I am allergic to peanuts.",
    "I have two brothers called Tom and Ben. I work as a nurse at St. Josef in Bonn. "
    "I am allergic to peanuts.",
)


def facts(memory: MemorySystem) -> dict[str, str]:
    found = memory.semantic_memories("nina", include_superseded=True, include_archived=True)
    return {one.content: one.memory_id for one in found}


def say(memory: MemorySystem, text: str) -> None:
    message = {"role": "user", "name": "Nina", "content": text, "message_id": "m1"}
    memory.add_messages("nina", [{**message, "timestamp": "2026-03-02T10:00:00Z"}])
    memory.flush("nina")


def one_of(memory: MemorySystem, word: str) -> str:
    (found,) = [own for text, own in facts(memory).items() if word in text]
    return found


def fact_of(memory: MemorySystem, word: str) -> SemanticMemory:
    fact = memory.get("nina", one_of(memory, word))
    assert isinstance(fact, SemanticMemory)
    return fact


@pytest.mark.parametrize("after", AFTER)
def test_a_deleted_fact_stays_away(memory: MemorySystem, after: str) -> None:
    say(memory, BEFORE)
    memory.delete("nina", one_of(memory, "nurse"))
    say(memory, after)
    assert not [text for text in facts(memory) if "nurse" in text]
    assert one_of(memory, "peanuts")


@pytest.mark.parametrize("after", AFTER)
def test_a_closed_fact_stays_closed(memory: MemorySystem, after: str) -> None:
    say(memory, BEFORE)
    memory.close_fact("nina", one_of(memory, "nurse"))
    say(memory, after)
    assert not fact_of(memory, "nurse").is_current


@pytest.mark.parametrize("after", AFTER)
def test_an_archived_fact_stays_archived(memory: MemorySystem, after: str) -> None:
    say(memory, BEFORE)
    memory.archive("nina", one_of(memory, "nurse"))
    say(memory, after)
    assert fact_of(memory, "nurse").archived_at is not None


@pytest.mark.parametrize("after", AFTER)
def test_a_reworded_fact_stands_alone(memory: MemorySystem, after: str) -> None:
    say(memory, BEFORE)
    memory.update("nina", one_of(memory, "nurse"), "Nina works as a doctor.")
    say(memory, after)
    assert not [text for text in facts(memory) if "nurse" in text]
    assert one_of(memory, "doctor")


def test_other_words_are_another_fact(memory: MemorySystem) -> None:
    say(memory, BEFORE)
    memory.delete("nina", one_of(memory, "nurse"))
    say(memory, BEFORE.replace("nurse", "doctor"))
    assert one_of(memory, "doctor")


def test_a_relative_date_of_an_edit_on_another_day_is_open(memory: MemorySystem) -> None:
    said = {"role": "user", "name": "Nina", "message_id": "m1"}
    said["timestamp"] = "2026-03-11T10:00:00Z"
    memory.add_messages("nina", [{**said, "content": "I moved to Bonn last week, I think."}])
    for day, shown in ((11, "yesterday [10 March 2026]"), (20, "yesterday")):
        text = f"I moved to {'Bonn' if day < 20 else 'Kiel'} yesterday."
        edit = {**said, "content": text, "edited_at": f"2026-03-{day}T12:00:00Z"}
        memory.add_messages("nina", [edit])
        memory.flush("nina")
        context = memory.context("nina", "Where did I move?").text
        assert f"{shown}." in context
