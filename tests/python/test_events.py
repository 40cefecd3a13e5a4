"""What learning answers: ``events()`` and ``wait(report=True)``."""

from __future__ import annotations

from typing import Any

import pytest

from episodica import InvalidInputError, MemorySystem


def learn(memory: MemorySystem, user: str, *said: tuple[str, str]) -> None:
    for timestamp, content in said:
        memory.add_messages(
            user,
            [{"role": "user", "name": "Alice", "content": content, "timestamp": timestamp}],
        )
        memory.flush(user)


def test_a_fact_that_ends_another_names_it_and_its_proof(memory: MemorySystem) -> None:
    learn(
        memory,
        "al",
        ("2024-01-05T10:00:00Z", "I live in Paris, in a small flat."),
        ("2024-02-05T10:00:00Z", "I moved to Lyon last Friday."),
    )
    report = memory.wait("al", report=True)
    assert report
    added, superseded = report.events
    assert (added.change, superseded.change) == ("ADD", "SUPERSEDE")
    assert "Paris" in added.statement
    assert superseded.previous == added.statement
    assert superseded.previous_id == added.id
    new = memory.get("al", superseded.id)
    assert new is not None
    assert superseded.statement == new.content
    said = [memory.get("al", id) for id in superseded.evidence]
    assert [getattr(one, "content", None) for one in said] == ["I moved to Lyon last Friday."]
    assert memory.wait("al", report=True, since=report.cursor).events == ()


def test_what_is_said_again_is_a_merge_or_ignored(memory: MemorySystem) -> None:
    learn(memory, "al", ("2024-01-05T10:00:00Z", "I live in Paris, in a small flat."))
    cursor = memory.wait("al", report=True).cursor
    learn(memory, "al", ("2024-03-05T10:00:00Z", "I live in Paris, in a small flat."))
    (again,) = memory.wait("al", report=True, since=cursor).events
    assert again.change in ("MERGE", "IGNORE")
    assert again.previous == "Alice lives in Paris, in a small flat."
    assert again.reason


def test_corrections_and_stated_facts_are_reported(memory: MemorySystem) -> None:
    fact = memory.remember("al", "I live in Paris.")
    memory.remember("al", "I live in Paris.")
    memory.update("al", fact.memory_id, "Al lives in Nice.")
    memory.delete("al", fact.memory_id)
    changes = [(one.change, one.statement) for one in memory.events()]
    assert changes == [("DELETE", "")], "a deletion takes the texts along"
    memory.remember("bo", "I live in Rome.")
    memory.remember("bo", "I live in Rome.")
    stated, again = memory.events(user_id="bo")
    assert stated.change == "ADD"
    assert again.change in ("IGNORE", "MERGE")


def test_cursors_continue_and_say_what_is_lost(memory: MemorySystem, store: Any) -> None:
    latest = memory.events("latest").cursor
    learn(memory, "al", ("2024-01-05T10:00:00Z", "I live in Paris."))
    first = memory.events(latest, limit=1)
    assert [one.change for one in first] == ["MESSAGE"]
    assert [one.change for one in memory.events(first.cursor)] == ["EPISODE", "ADD"]
    assert [one.cursor for one in first] == [first.cursor]
    memory.close()
    with MemorySystem(store) as again:
        assert not again.events(first.cursor).complete
        with pytest.raises(InvalidInputError, match="not a cursor: `x`"):
            again.events("x")


def test_ids_of_messages_come_back_in_their_order(memory: MemorySystem) -> None:
    said = [{"role": "user", "content": text, "message_id": text} for text in ("a", "b")]
    assert memory.add_messages("al", said).message_ids == ("a", "b")
    again = memory.add_messages("al", [*said, {"role": "user", "content": "c"}])
    assert again.message_ids[:2] == ("a", "b")
    assert memory.get("al", again.message_ids[2]) is not None
    assert (again.messages_added, again.duplicates) == (1, 2)


async def test_the_asynchronous_memory_reports_too(memory: MemorySystem, store: Any) -> None:
    from episodica import AsyncMemorySystem

    memory.close()
    async with AsyncMemorySystem(store) as again:
        await again.remember("al", "I live in Paris.")
        report = await again.wait("al", report=True)
        assert [one.change for one in report.events] == ["ADD"]
        assert await again.wait("al") is True
