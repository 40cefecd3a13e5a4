"""Messages and facts dated ahead of the clock: stored with a note, and not current yet."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from episodica import MemorySystem


def test_a_stated_fact_holds_from_its_day_on(memory: MemorySystem) -> None:
    now = datetime.now(UTC)
    ahead, before = now + timedelta(days=400), now - timedelta(days=400)
    memory.remember("al", "I live in Paris.", valid_from=before)
    later = memory.remember("al", "I live in Lyon.", valid_from=ahead)
    assert not later.is_current
    assert (later.valid_to, later.superseded_by) == (None, None)
    assert "not yet" in repr(later)
    facts = {one.content: one for one in memory.semantic_memories("al", include_superseded=True)}
    assert facts["I live in Paris."].is_current
    assert facts["I live in Paris."].valid_to is None
    assert not facts["I live in Lyon."].is_current
    for hit in memory.search("al", "where do I live", include_superseded=True):
        assert hit.is_current is ("Lyon" not in hit.content)
    assert [line.content for line in memory.profile("al")] == ["I live in Paris."]


def test_messages_dated_ahead_of_the_clock_are_known_from_their_arrival(
    memory: MemorySystem,
) -> None:
    now = datetime.now(UTC)
    said = [
        ("I live in Paris.", now - timedelta(days=30)),
        ("I moved to Moscow.", now + timedelta(days=3)),
        ("I'm allergic to peanuts.", now + timedelta(hours=3)),
        ("I'm allergic to walnuts.", now + timedelta(hours=23)),
    ]
    for content, at in said:
        result = memory.add_messages(
            "al", [{"role": "user", "content": content, "timestamp": at.isoformat()}]
        )
        memory.flush("al")
        notes = [note for note in result.notes if "ahead of the clock" in note]
        assert len(notes) == ("Moscow" in content), content
    memory.wait("al")
    facts = list(memory.semantic_memories("al", include_superseded=True))
    assert len(facts) == len(said)
    assert all(fact.is_current and fact.valid_to is None for fact in facts)
    assert all(fact.valid_from <= datetime.now(UTC) for fact in facts)
    profile = memory.profile("al").to_markdown()
    assert "peanuts" in profile
    assert "walnuts" in profile


def test_an_ending_to_come_takes_effect_on_its_day(memory: MemorySystem) -> None:
    now = datetime.now(UTC)
    fact = memory.remember("al", "I rent plot 7.")
    closed = memory.close_fact("al", fact.memory_id, at=now + timedelta(days=9))
    assert closed.is_current
    assert closed.valid_to is not None
    assert [one.memory_id for one in memory.semantic_memories("al")] == [fact.memory_id]
    closed = memory.close_fact("al", fact.memory_id)
    assert not closed.is_current
    assert list(memory.semantic_memories("al")) == []
    assert memory.update("al", fact.memory_id, "I rent plot 8.").is_current  # type: ignore[union-attr]
