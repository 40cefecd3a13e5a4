"""Why a record does not come as an answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from episodica import InvalidInputError, MemorySystem, explaining

START = datetime(2024, 3, 1, 9, tzinfo=UTC)
QUESTION = "Which lamp is in the lighthouse?"


@pytest.fixture
def asked(memory: MemorySystem) -> MemorySystem:
    said = [f"Lamp {number} of the lighthouse is lit." for number in range(70)]
    said += ["The ferry left at nine.", "An oil lamp burns in the lighthouse of Kap Nord."]
    memory.add_messages(
        "ann",
        [
            {
                "role": "user",
                "name": "Ann",
                "content": text,
                "timestamp": START + timedelta(days=number),
                "session_id": f"day {number}",
                "message_id": f"m{number}",
            }
            for number, text in enumerate(said)
        ],
    )
    memory.flush("ann")
    memory.wait("ann")
    return memory


def test_a_hit_that_came_has_no_reasons(asked: MemorySystem) -> None:
    [best] = asked.search("ann", QUESTION, 1, kinds=["message"], explain=True)
    standing = asked.explain("ann", QUESTION, best.id, kinds=["message"])
    assert (standing.found, standing.in_context, standing.reasons) == (True, True, ())
    assert (standing.rank, standing.score, standing.before) == (1, best.score, ())
    assert standing.explanation == best.explanation
    assert asked.explain("ann", QUESTION, best.uri, kinds=["message"]).id == best.id


def test_bounds_are_named(asked: MemorySystem) -> None:
    order = [hit.id for hit in asked.search("ann", QUESTION, 70, kinds=["message"])]
    standing = asked.explain("ann", QUESTION, order[40], top_k=5, max_tokens=60, kinds=["message"])
    assert (standing.found, standing.in_context, standing.rank) == (False, False, 41)
    assert standing.reasons == (
        "top_k=5: its place among the hits is 41",
        "max_tokens=60: better lines fill the context",
    )
    assert [hit.id for hit in standing.before] == order[:3]
    assert "left out: top_k=5" in str(standing)
    best = standing.before[0]
    said = f"{best.messages[0].speaker}: {best.content}"
    assert f"before it: {best.score:.4f}  {said[:20]}" in str(standing)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"session_id": "day 3"}, "session_id"),
        ({"since": "2024-05-01"}, "since"),
        ({"until": "2024-02-01"}, "until"),
        ({"where": {"room": 1}}, "where"),
        ({"agent_id": "bot"}, "agent_id"),
        ({"threshold": 1.0}, "threshold"),
    ],
)
def test_filters_are_named(asked: MemorySystem, options: Any, named: str) -> None:
    standing = asked.explain("ann", QUESTION, "m10", kinds=["message"], **options)
    assert not standing.found
    assert [reason.partition("=")[0] for reason in standing.reasons] == [named]
    # Without the filter it has a rank.
    assert standing.rank


@pytest.mark.parametrize(
    "options",
    [
        {"since": "2024-03-05"},
        {"since": "2024-03-11"},
        {"until": "2024-03-11"},
        {"session_id": "day 10"},
        {"since": "2024-03-11", "until": "2024-03-11", "session_id": "day 10"},
    ],
)
def test_a_record_below_the_ranked_ones_is_not_said_to_be_filtered(
    asked: MemorySystem, monkeypatch: pytest.MonkeyPatch, options: Any
) -> None:
    monkeypatch.setattr(explaining, "_DEEPEST", 5)
    order = [hit.id for hit in asked.search("ann", QUESTION, 70, kinds=["message"])]
    assert "m10" not in order[:5]
    standing = asked.explain("ann", QUESTION, "m10", top_k=5, kinds=["message"], **options)
    assert not any(reason.partition("=")[0] in options for reason in standing.reasons)
    late = {**options, "since": "2024-03-12", "until": None}
    left_out = asked.explain("ann", QUESTION, "m10", kinds=["message"], **late)
    assert "since='2024-03-12': leaves it out" in left_out.reasons


def test_what_does_not_bear_on_the_question_is_said(asked: MemorySystem) -> None:
    standing = asked.explain("ann", QUESTION, "m70", top_k=1000, kinds=["message"])
    assert standing.found
    assert not standing.in_context
    assert standing.reasons == ("context: it does not bear on the question",)


def test_kinds_and_ends_are_named(asked: MemorySystem) -> None:
    old = asked.remember("ann", "The lighthouse has a gas lamp.")
    asked.close_fact("ann", old.memory_id)
    ended = asked.explain("ann", QUESTION, old.memory_id)
    assert any("outdated" in reason for reason in ended.reasons), ended.reasons
    fact = asked.remember("ann", "The lighthouse has an oil lamp.")
    left_out = asked.explain("ann", QUESTION, fact.memory_id, kinds="message")
    assert left_out.reasons == ("kinds: does not ask for 'semantic'",)
    episode = next(iter(asked.episodes("ann")))
    shown = asked.explain("ann", QUESTION, episode.episode_id)
    assert any(reason.startswith("kinds: episodes come with") for reason in shown.reasons)


def test_unknown_ids_are_refused(asked: MemorySystem) -> None:
    asked.delete("ann", "m3")
    for name in ("m3", "nothing"):
        with pytest.raises(InvalidInputError, match="has no record"):
            asked.explain("ann", QUESTION, name)
    with pytest.raises(InvalidInputError):
        asked.explain("ann", "", "m4")
