"""What a search finds that names no kinds: moments, and stated facts."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from episodica import Hit, MemorySystem

START = datetime(2024, 3, 1, 9, tzinfo=UTC)
TALK = (
    ("Ann", "I keep two goats behind the old mill, Flora and Bruno."),
    ("Ben", "Do they give milk?"),
    ("Ann", "Only Flora. I make cheese of the milk every Sunday."),
    ("Ben", "My sister is allergic to goat cheese."),
)


def said(*lines: tuple[str, str], day: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "role": "user",
            "name": name,
            "content": text,
            "timestamp": START + timedelta(days=day, minutes=number),
            "session_id": f"day {day}",
            "message_id": f"{day}/{number}",
        }
        for number, (name, text) in enumerate(lines)
    ]


@pytest.fixture
def goats(memory: MemorySystem) -> MemorySystem:
    memory.add_messages("ann", said(*TALK))
    other = (("Ben", "The tram was late again."), ("Ann", "It always is on Mondays."))
    memory.add_messages("ann", said(*other, day=3))
    memory.flush("ann")
    memory.wait("ann")
    return memory


def test_ten_hits_are_ten_messages_each_with_its_episode_and_its_claims(
    goats: MemorySystem,
) -> None:
    hits = goats.search("ann", "What do the goats give?")
    asked = goats.search("ann", "What do the goats give?", kinds=["message"])
    assert [(hit.kind, hit.id, hit.score) for hit in hits] == [
        ("message", hit.id, hit.score) for hit in asked
    ]
    for hit in (*hits, *asked):
        [message] = hit.messages
        assert message == hit.record
        assert hit.episode is not None
        assert hit.episode == goats.get("ann", hit.episode.episode_id)
        assert message in hit.episode.original_messages
        for claim in hit.claims:
            assert message.message_id in claim.source_messages
            assert goats.get("ann", claim.memory_id) == claim
    known = {fact.memory_id for fact in goats.semantic_memories("ann")}
    assert known
    assert {claim.memory_id for hit in hits for claim in hit.claims} == known
    first = [hit for hit in hits if hit.id.startswith("0/")]
    assert len(first) == len(TALK)
    assert len({id(hit.episode) for hit in first}) == 1, "one object for one episode"
    for hit in hits:
        assert Hit.from_dict(hit.to_dict()) == hit
        assert pickle.loads(pickle.dumps(hit)) == hit


def test_a_message_without_an_episode_is_found_without_one(goats: MemorySystem) -> None:
    goats.add_messages("ann", said(("Ann", "Bruno the goat ran away."), day=9))
    [hit] = [hit for hit in goats.search("ann", "Which goat ran away?") if hit.id == "9/0"]
    assert (hit.episode, hit.claims) == (None, ())
    assert Hit.from_dict(hit.to_dict()) == hit
    goats.flush("ann")
    goats.wait("ann")
    [hit] = [hit for hit in goats.search("ann", "Which goat ran away?") if hit.id == "9/0"]
    assert hit.episode is not None
    assert [one.message_id for one in hit.episode.original_messages] == ["9/0"]


def test_stated_facts_take_their_places_and_quoted_ones_only_on_request(
    goats: MemorySystem,
) -> None:
    stated = goats.remember("ann", "Ann sells goat cheese at the market in Brod.")
    question = "Where does Ann sell goat cheese?"
    hits = goats.search("ann", question)
    assert [hit.id for hit in hits if hit.kind == "semantic"] == [stated.memory_id]
    [hit] = [hit for hit in hits if hit.id == stated.memory_id]
    assert (hit.episode, hit.claims) == (None, ())
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert not any(stated in hit.claims for hit in hits), "it quotes no message"
    known = {fact.memory_id for fact in goats.semantic_memories("ann")}
    assert len(known) > 1
    # Each of these asks for facts.
    asked: Any
    for asked in ({"kinds": ["semantic"]}, {"min_importance": 0.0}, {"top_k": {"semantic": 50}}):
        found = goats.search("ann", question, **asked)
        assert {hit.id for hit in found} == known, asked
    both = goats.search("ann", question, kinds=["message", "semantic"], top_k=50)
    assert {hit.id for hit in both.semantic} == known
    correction = goats.update("ann", next(iter(known - {stated.memory_id})), "Bruno eats hats.")
    assert correction.memory_id in {hit.id for hit in goats.search("ann", "What does Bruno eat?")}


def test_what_is_deleted_or_archived_is_no_claim_and_no_moment(goats: MemorySystem) -> None:
    hits = goats.search("ann", "What do the goats give?")
    claim = next(claim for hit in hits for claim in hit.claims)
    goats.delete("ann", claim.memory_id)
    hits = goats.search("ann", "What do the goats give?")
    assert claim.memory_id not in {one.memory_id for hit in hits for one in hit.claims}
    other = next(claim for hit in hits for claim in hit.claims)
    goats.archive("ann", other.memory_id)
    hits = goats.search("ann", "What do the goats give?")
    assert other.memory_id not in {one.memory_id for hit in hits for one in hit.claims}
    episode = next(hit.episode for hit in hits if hit.id == "0/0")
    assert episode is not None
    goats.archive("ann", episode.episode_id)
    hits = goats.search("ann", "What do the goats give?")
    assert not [hit for hit in hits if hit.id.startswith("0/")]


def test_the_moments_of_a_context_are_its_hits(goats: MemorySystem) -> None:
    context = goats.context("ann", "What do the goats give?", max_tokens=200)
    assert {hit.kind for hit in context.hits} == {"message"}
    assert all(hit.episode for hit in context.hits)


def test_moments_survive_a_restart_from_a_snapshot(store: Any) -> None:
    found = []
    for _ in range(2):
        with MemorySystem(store, snapshot_threshold=1) as memory:
            memory.add_messages("ann", said(*TALK))
            memory.flush("ann")
            memory.wait("ann")
            memory.remember("ann", "Ann sells goat cheese at the market in Brod.")
            found.append(list(memory.search("ann", "Where does Ann sell goat cheese?")))
    assert found[0] == found[1]
    assert "semantic" in {hit.kind for hit in found[0]}
    assert any(hit.claims for hit in found[0])
