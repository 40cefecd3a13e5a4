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


def test_messages_dated_ahead_of_the_clock_are_noted_and_end_nothing(memory: MemorySystem) -> None:
    now = datetime.now(UTC)
    said = [
        ("I live in Paris.", now - timedelta(days=30)),
        ("I moved to Moscow.", now + timedelta(days=3)),
        ("It is a fine day.", now + timedelta(hours=3)),
    ]
    for content, at in said:
        result = memory.add_messages(
            "al", [{"role": "user", "content": content, "timestamp": at.isoformat()}]
        )
        memory.flush("al")
        notes = [note for note in result.notes if "ahead of the clock" in note]
        assert len(notes) == ("Moscow" in content), content
    memory.wait("al")
    current = [one.content for one in memory.semantic_memories("al") if one.is_current]
    assert any("Paris" in text for text in current)
    assert not any("Moscow" in text for text in current)
    for fact in memory.semantic_memories("al", include_superseded=True):
        assert fact.valid_to is None or fact.valid_from <= fact.valid_to <= datetime.now(UTC)
