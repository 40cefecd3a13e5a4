"""Whether a fact holds now has one definition, for a record and for a hit."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from episodica import Hit, MemorySystem, SemanticMemory

NOW = datetime.now(UTC)
SOON, AGO = NOW + timedelta(days=30), NOW - timedelta(days=30)


def found(memory: MemorySystem) -> Hit:
    hits = memory.search(
        "ann", "Where is the parking permit kept?", kinds=["semantic"], include_superseded=True
    )
    return next(hit for hit in hits if "permit" in hit.content)


@pytest.mark.parametrize(("end", "holds"), [(SOON, True), (AGO, False), (None, True)])
def test_a_hit_holds_as_its_record_does(tmp_path: Path, end: datetime | None, holds: bool) -> None:
    with MemorySystem(tmp_path) as memory:
        text = "The parking permit is in the hall."
        fact = memory.remember("ann", text, valid_from=NOW - timedelta(days=60))
        assert isinstance(fact, SemanticMemory)
        if end is not None:
            memory.close_fact("ann", fact.memory_id, at=end)
        listed = memory.semantic_memories("ann", include_superseded=True)
        assert [one.is_current for one in listed] == [holds]
        hit = found(memory)
        assert hit.is_current is holds
        assert hit.record.is_current is holds  # type: ignore[union-attr]
        # A successor that begins later ends it later.
        for later in (replace(hit, superseded_by=("next",)), hit):
            assert later.is_current is holds


def test_one_that_ends_before_it_begins_never_holds(tmp_path: Path) -> None:
    with MemorySystem(tmp_path) as memory:
        memory.remember("ann", "The parking permit is in the hall.", kind="event")
        hit = found(memory)
        assert isinstance(hit.record, SemanticMemory)
        called_off = replace(hit.record, valid_from=SOON, valid_to=SOON)
        assert not called_off.is_current
        assert not replace(hit, record=called_off).is_current
