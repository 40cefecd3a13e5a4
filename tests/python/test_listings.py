"""Listings as sequences: lengths, indexes, slices, a second iteration."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import pytest

from episodica import AsyncMemorySystem, ClosedError, MemorySystem, Message
from episodica.listings import PAGE, Records

COUNT = 2 * PAGE + 3


@pytest.fixture
def many(memory: MemorySystem) -> Records[Message]:
    """More messages than two pages, each a second after the other."""
    said = [
        {"role": "user", "content": f"text {number}", "timestamp": 1_700_000_000 + number}
        for number in range(COUNT)
    ]
    memory.add_messages("alice", said)
    return memory.messages("alice")


def numbers(messages: Any) -> list[int]:
    return [int(message.content.split()[1]) for message in messages]


def test_length_and_two_iterations(many: Records[Message]) -> None:
    assert isinstance(many, Sequence)
    assert len(many) == COUNT
    assert numbers(many) == numbers(many) == list(range(COUNT))
    assert numbers(reversed(many)) == list(range(COUNT))[::-1]
    assert numbers([next(many), next(many)]) == [0, 1]
    assert many[5] in many
    assert numbers(many) == list(range(COUNT))


@pytest.mark.parametrize(
    "place",
    [
        slice(None),
        slice(2, 5),
        slice(-3, None),
        slice(PAGE - 1, PAGE + 2),
        slice(None, None, -1),
        slice(10, 2, -3),
        slice(1, 20, 4),
        slice(20, 1, -1),
        slice(5, 5),
        slice(COUNT, None),
        slice(-10 * COUNT, 10 * COUNT, 200),
    ],
)
def test_slices_are_those_of_a_list(many: Records[Message], place: slice) -> None:
    assert numbers(many[place]) == list(range(COUNT))[place]


def test_indexes_are_those_of_a_list(many: Records[Message]) -> None:
    for place in (0, 1, PAGE, COUNT - 1, -1, -COUNT):
        assert numbers([many[place]]) == [list(range(COUNT))[place]]
    for place in (COUNT, -COUNT - 1, 10**30):
        with pytest.raises((IndexError, OverflowError)):
            many[place]
    with pytest.raises(TypeError):
        many["1"]  # type: ignore[call-overload]


def test_limits_orders_and_filters_count(memory: MemorySystem, many: Records[Message]) -> None:
    few = memory.messages("alice", limit=4, newest_first=True)
    assert (len(few), numbers(few), numbers(few[1:9])) == (
        4,
        [COUNT - 1, COUNT - 2, COUNT - 3, COUNT - 4],
        [COUNT - 2, COUNT - 3, COUNT - 4],
    )
    with pytest.raises(IndexError):
        few[4]
    part = memory.messages("alice", since=1_700_000_010, until=1_700_000_012)
    assert (len(part), numbers([part[-1]])) == (3, [12])
    assert len(memory.messages("nobody")) == 0
    assert not memory.messages("nobody")
    assert len(memory.messages("alice", limit=0)) == 0


def test_facts_count_as_they_are_listed(memory: MemorySystem) -> None:
    past = {"attribute": "home", "value": "Paris", "valid_from": "2020-01-01"}
    memory.remember("alice", "I live in Paris.", **past)
    memory.remember("alice", "I live in Lyon.", attribute="home", value="Lyon")
    assert len(memory.semantic_memories("alice")) == 1
    assert len(memory.semantic_memories("alice", include_superseded=True)) == 2
    assert len(memory.episodes("alice")) == 0


def test_a_listing_shows_what_was_added_meanwhile(
    memory: MemorySystem, many: Records[Message]
) -> None:
    memory.add_messages(
        "alice", [{"role": "user", "content": "text 999", "timestamp": 1_800_000_000}]
    )
    assert (len(many), numbers([many[-1]])) == (COUNT + 1, [999])


def test_a_listing_goes_on_where_it_was_whatever_comes_and_goes(
    memory: MemorySystem, many: Records[Message]
) -> None:
    pages = iter(many)
    first = list(islice(pages, PAGE))
    early = {"role": "user", "content": "text -1", "timestamp": 1_000_000_000}
    memory.add_messages("alice", [early])
    assert numbers([*first, *pages]) == list(range(COUNT))
    pages = iter(memory.messages("alice", newest_first=True))
    first = list(islice(pages, PAGE))
    memory.delete("alice", [message.message_id for message in first[-3:]])
    assert numbers([*first, *pages]) == list(range(-1, COUNT))[::-1]


def test_a_closed_memory_is_an_error(memory: MemorySystem, many: Records[Message]) -> None:
    memory.close()
    for use in (lambda: len(many), lambda: many[0], lambda: list(many)):
        with pytest.raises(ClosedError):
            use()


async def test_async_listings_are_read_once(store: Any) -> None:
    async with AsyncMemorySystem(store) as memory:
        await memory.add_messages("a", [{"role": "user", "content": f"text {n}"} for n in range(3)])
        listing = memory.messages("a")
        assert [one.content async for one in listing] == ["text 0", "text 1", "text 2"]
        assert [one.content async for one in listing] == []
