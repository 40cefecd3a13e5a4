"""Searches that compare only some of very many messages must still find the right ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from episodica import MemorySystem
from episodica.inputs.options import METHODS

USER = "ann"
# Above 2,048 messages only the most promising are scored in full, three for each hit.
COUNT = 2_500
# Between them, talk of the same few things over and over.
THINGS = (
    "kettle",
    "garden",
    "bridge",
    "ticket",
    "harbour",
    "lantern",
    "recipe",
    "window",
    "orchard",
)
RARE = {number: f"quillon{number:04}" for number in range(50, COUNT, 250)}


def _said(number: int) -> dict[str, object]:
    thing, other, third = (
        THINGS[place % len(THINGS)] for place in (number, number * 7 + 3, number // 11)
    )
    text = f"I saw the {thing} near the {other} and thought of the {third}, number {number}."
    if number in RARE:
        text += f" Somebody had painted it {RARE[number]}."
    year, month, day = 10 + number // 250, 1 + number // 42 % 12, 1 + number // 20 % 28
    return {
        "role": "user" if number % 2 else "assistant",
        "name": "Ann" if number % 2 else "Ben",
        "content": text,
        "message_id": f"m{number}",
        "session_id": f"s{number // 20}",
        "timestamp": f"20{year:02}-{month:02}-{day:02}T10:{number % 20:02}:00Z",
    }


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemorySystem]:
    folder: Path = tmp_path_factory.mktemp("many")
    with MemorySystem(folder) as memory:
        memory.add_messages(USER, [_said(number) for number in range(COUNT)])
        memory.flush(USER)
        yield memory


def test_a_word_said_once_is_found_first(memory: MemorySystem) -> None:
    for number, word in RARE.items():
        hits = memory.search(USER, f"What was painted {word}?", kinds=["message", "episodic"])
        assert hits.messages[0].id == f"m{number}"
        assert any(
            f"m{number}" in {message.message_id for message in hit.messages}
            for hit in hits.episodic
        )


def test_as_many_hits_come_as_are_asked_for(memory: MemorySystem) -> None:
    for top_k in (1, 10, 300, 800):
        hits = memory.search(
            USER, "Who saw the kettle near the harbour?", kinds=["message"], top_k=top_k
        )
        assert len({hit.id for hit in hits}) == top_k
        assert [hit.rank for hit in hits] == list(range(1, top_k + 1))
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)


def test_more_hits_begin_with_the_fewer(memory: MemorySystem) -> None:
    for kinds in (["message"], ["semantic"], ["episodic"], None):
        for query in (f"What was painted {RARE[50]}?", "Who saw the kettle near the harbour?"):
            many = memory.search(USER, query, kinds=kinds, top_k=800)
            for top_k in (1, 5, 20, 21, 150, 300):
                few = memory.search(USER, query, kinds=kinds, top_k=top_k)
                assert [hit.id for hit in few] == [hit.id for hit in many[:top_k]]


def test_a_filter_is_applied_before_the_best_are_chosen(memory: MemorySystem) -> None:
    hits = memory.search(USER, "Who saw the kettle?", kinds=["message"], top_k=50, session_id="s7")
    assert {hit.id for hit in hits} == {f"m{number}" for number in range(140, 160)}


def test_a_date_brings_its_day_among_candidates(memory: MemorySystem) -> None:
    said = _said(2_100)
    hits = memory.search(
        USER, f"What did they see on {str(said['timestamp'])[:10]}?", kinds=["message"], top_k=20
    )
    assert {hit.timestamp.date().isoformat() for hit in hits[:5]} == {str(said["timestamp"])[:10]}


def test_context_fills_a_large_budget(memory: MemorySystem) -> None:
    context = memory.context(USER, "Who saw the kettle near the harbour?", max_tokens=12_000)
    assert 10_000 <= context.token_count <= 12_000


def test_a_large_user_opens_from_a_snapshot_as_from_the_logs(tmp_path: Path) -> None:
    def answers() -> list[tuple[str, str, float]]:
        with MemorySystem(tmp_path) as memory:
            hits = [
                hit
                for word in RARE.values()
                for hit in memory.search(USER, f"What was painted {word}?", top_k=5)
            ]
            whole = [(hit.id, repr(hit), round(hit.score, 6)) for hit in hits]
            whole += [
                (message.message_id, repr(message), 0.0)
                for message in memory.messages(USER, limit=COUNT)
            ]
            return whole

    with MemorySystem(tmp_path) as memory:
        memory.add_messages(USER, [_said(number) for number in range(2_100)])
    segment = tmp_path / "segments" / f"{USER}.segment"
    assert b'"snapshot":{' in segment.read_bytes()
    first = answers()
    assert len(first) > 2_100
    segment.write_bytes(segment.read_bytes()[:-7])
    assert answers() == first
    segment.unlink()
    assert answers() == first
    with MemorySystem(tmp_path) as memory:
        memory.delete(USER, "m1")
        assert not segment.exists() or b'"snapshot":{' not in segment.read_bytes()
        assert memory.get(USER, "m1") is None


def test_what_was_superseded_takes_no_place_of_what_holds(tmp_path: Path) -> None:
    """Few of many facts are current: they are found, however many hits are asked for."""
    towns = ("Lyon", "Paris", "Oslo", "Rome", "Kyoto", "Lima")
    drinks = ("tea", "coffee", "juice", "water", "milk")
    things = ("kites", "chess", "ships", "opera", "pottery", "sailing", "cycling", "painting")
    said = [("Bob", f"I love {thing}.") for thing in things]
    for number in range(700):
        said += [("Ann", f"I moved to {towns[number % 6]} last week.")]
        said += [("Ann", f"My favourite drink is {drinks[number % 5]}.")]
    messages = [
        {
            "role": "user",
            "name": name,
            "content": content,
            "timestamp": 1.7e9 + 90_000 * number,
            "session_id": f"s{number}",
        }
        for number, (name, content) in enumerate(said)
    ]
    with MemorySystem(tmp_path) as memory:
        memory.add_messages("ann", messages)
        memory.flush("ann")
        for question in ("Where does Ann live?", "Who sails or paints?"):
            for method in METHODS:
                few, many = (
                    [
                        hit.id
                        for hit in memory.search(
                            "ann", question, top_k=top_k, kinds="semantic", method=method
                        )
                    ]
                    for top_k in (10, 1000)
                )
                assert few == many[:10], (question, method)
