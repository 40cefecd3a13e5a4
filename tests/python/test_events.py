"""What happened to records: ``events()``, ``on_event()`` and ``wait(report=True)``."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from episodica import AsyncMemorySystem, InvalidInputError, LightweightSearchSystem, MemorySystem


def learn(memory: MemorySystem, user: str, *said: tuple[str, str]) -> None:
    for timestamp, content in said:
        memory.add_messages(
            user, [{"role": "user", "name": "Alice", "content": content, "timestamp": timestamp}]
        )
        memory.flush(user)


def test_a_fact_that_ends_another_names_it_and_its_proof(moved: MemorySystem) -> None:
    report = moved.wait("al", report=True)
    assert report
    added, superseded = (one for one in report.events if "lives in" in (one.statement or ""))
    assert (added.change, superseded.change) == ("ADD", "SUPERSEDE")
    assert "Paris" in added.statement
    assert superseded.previous == added.statement
    assert superseded.previous_id == added.id
    new = moved.get("al", superseded.id)
    assert new is not None
    assert superseded.statement == new.content
    said = [moved.get("al", id) for id in superseded.evidence]
    assert [getattr(one, "content", None) for one in said] == ["I moved to Lyon last Friday."]
    assert moved.wait("al", report=True, since=report.cursor).events == ()


def test_what_is_said_again_is_quoted_again_and_goes_with_its_message(memory: MemorySystem) -> None:
    days = [f"2024-01-{day:02}T10:00:00Z" for day in range(1, 6)]
    learn(memory, "al", *((day, "I live in Paris, in a small flat.") for day in days))
    memory.wait("al")
    said = [message.message_id for message in memory.messages("al")]
    quoted = [fact.source_messages for fact in memory.semantic_memories("al")]
    assert quoted == [(message,) for message in said]
    memory.delete("al", said[2])
    left = [fact.source_messages[0] for fact in memory.semantic_memories("al")]
    assert left == [*said[:2], *said[3:]]


def test_corrections_and_stated_facts_are_reported(memory: MemorySystem) -> None:
    fact = memory.remember("al", "I live in Paris.")
    assert memory.remember("al", "I live in Paris.").outcome == "repeats"
    memory.update("al", fact.memory_id, "Al lives in Nice.")
    changes = [(one.change, one.statement, one.previous) for one in memory.events()]
    assert changes == [
        ("ADD", "I live in Paris.", None),
        ("UPDATE", "Al lives in Nice.", "I live in Paris."),
    ]
    memory.delete("al", fact.memory_id)
    changes = [(one.change, one.statement, one.id) for one in memory.events()]
    assert changes == [("DELETE", "", fact.memory_id)], "a deletion takes the texts along"


def test_cursors_continue_across_restarts(memory: MemorySystem, store: Any) -> None:
    latest = memory.events("latest").cursor
    learn(memory, "al", ("2024-01-05T10:00:00Z", "I live in Paris."))
    first = memory.events(latest, limit=1)
    assert [one.change for one in first] == ["MESSAGE"]
    assert [one.change for one in memory.events(first.cursor)] == ["EPISODE", "ADD"]
    assert [one.cursor for one in first] == [first.cursor]
    everything = memory.events()
    memory.close()
    with MemorySystem(store) as again:
        assert again.events(first.cursor).complete
        assert [one.change for one in again.events(first.cursor)] == ["EPISODE", "ADD"]
        assert again.events() == everything
        assert len(again.events(everything.cursor)) == 0
        with pytest.raises(InvalidInputError, match="not a cursor: `x`"):
            again.events("x")


def test_each_event_comes_once_whatever_the_pages(memory: MemorySystem) -> None:
    for user in ("al", "bo", "张伟", "a/b"):
        for day in range(1, 4):
            learn(memory, user, (f"2024-01-0{day}T10:00:00Z", f"I bought {day} lamps in Lyon."))
        memory.close_session(user, "s")
    everything = list(memory.events())
    assert {one.user_id for one in everything} == {"al", "bo", "张伟", "a/b"}
    for limit in (1, 2, 7):
        found: list[Any] = []
        page = memory.events(limit=limit)
        while page:
            assert len(page) <= limit
            found += page
            page = memory.events(page.cursor, limit=limit)
        assert found == everything
    for at, event in enumerate(everything):
        assert list(memory.events(event.cursor)) == everything[at + 1 :]
    assert [one for one in everything if one.user_id == "bo"] == [
        replaced(one, everything) for one in memory.events(user_id="bo")
    ]


def replaced(event: Any, known: list[Any]) -> Any:
    """The event with its cursor in the stream of all users."""
    (same,) = [
        one
        for one in known
        if (one.user_id, one.id, one.change, one.at)
        == (event.user_id, event.id, event.change, event.at)
    ]
    return same


def test_a_closed_session_is_reported(memory: MemorySystem) -> None:
    memory.add_messages("al", [{"role": "user", "content": "Hello there."}], session_id="s1")
    memory.close_session("al", "s1")
    changes = [(one.change, one.id) for one in memory.events() if one.change == "SESSION"]
    assert changes == [("SESSION", "s1")]


def test_deletions_move_cursors_along(memory: MemorySystem, store: Any) -> None:
    for day in range(1, 8):
        learn(memory, "al", (f"2024-01-0{day}T10:00:00Z", f"I bought {day} zqlamps in Lyon."))
    before = list(memory.events(user_id="al"))
    ids = [one.message_id for one in memory.messages("al")]
    memory.delete("al", [ids[1], ids[2], ids[5]])
    learn(memory, "al", ("2024-02-01T10:00:00Z", "I sold all lamps in Paris."))
    with MemorySystem(store) as other:  # a system that has not read any event
        everything = list(other.events(user_id="al"))
        pages = other.events(user_id="al", limit=2)
        paged = list(pages)
        while pages:
            pages = other.events(pages.cursor, user_id="al", limit=2)
            paged += pages
        assert paged == everything
        for event in before:
            page = other.events(event.cursor, user_id="al")
            assert page.complete
            rest, seen = list(page), before[: before.index(event) + 1]
            told = {(one.change, one.id) for one in seen}
            assert rest == [
                replaced(one, rest) for one in everything if (one.change, one.id) not in told
            ], "each once, in order"
            gone = [one for one in rest if one.change == "DELETE"]
            assert sum(one.concerns(ids[1]) for one in gone) == 1
            assert not any(one.concerns(ids[0]) for one in gone)
            assert not any("2 zqlamps" in one.statement for one in rest)


def test_a_deleted_user_is_void_and_may_come_again(memory: MemorySystem) -> None:
    learn(memory, "al", ("2024-01-05T10:00:00Z", "I live in Paris."))
    learn(memory, "bo", ("2024-01-05T10:00:00Z", "I live in Rome."))
    cursor = memory.events().cursor
    memory.delete_user_data("al")
    page = memory.events(cursor)
    assert [(one.user_id, one.change, one.id) for one in page] == [("al", "DELETE", "")]
    assert len(memory.events(page.cursor)) == 0
    learn(memory, "al", ("2024-01-05T10:00:00Z", "I live in Nice."))
    for behind in (cursor, page.cursor):
        changes = [one.change for one in memory.events(behind)]
        assert changes[-3:] == ["MESSAGE", "EPISODE", "ADD"]
        assert changes[:-3] == (["DELETE"] if behind == cursor else [])


def test_another_process_sees_what_this_one_did(memory: MemorySystem, store: Any) -> None:
    cursor = memory.events("latest").cursor
    code = (
        "import sys; from episodica import MemorySystem\n"
        "with MemorySystem(sys.argv[1]) as memory: memory.remember('al', 'I live in Paris.')"
    )
    subprocess.run([sys.executable, "-c", code, str(store)], check=True, timeout=60)
    assert [one.change for one in memory.events(cursor)] == ["ADD"]
    with LightweightSearchSystem(store) as reader:
        assert [one.change for one in reader.events(cursor)] == ["ADD"]


def test_callbacks_get_each_event_and_hurt_nothing(memory: MemorySystem) -> None:
    seen: list[str] = []

    def note(event: Any) -> None:
        seen.append(event.change)
        assert memory.get(event.user_id, event.id) is not None
        if event.change == "MESSAGE":
            raise RuntimeError("not to be seen by anybody")

    subscription = memory.on_event(note)
    learn(memory, "al", ("2024-01-05T10:00:00Z", "I live in Paris."))
    until(lambda: subscription.delivered == 3)
    assert (seen, subscription.errors) == (["MESSAGE", "EPISODE", "ADD"], 1)
    assert len(memory.events(subscription.cursor)) == 0
    subscription.close()
    memory.remember("al", "I like tea.")
    assert (subscription.closed, subscription.delivered) == (True, 3)
    ended = memory.on_event(note, user_id="al")
    memory.close()
    until(lambda: ended.closed)
    with pytest.raises(InvalidInputError, match="callback must be a function, not `int`"):
        memory.on_event(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
@pytest.mark.parametrize("in_loop", [False, True])
def test_a_callback_that_wants_to_exit_ends_no_subscription(
    memory: MemorySystem, error: type[BaseException], in_loop: bool
) -> None:
    def note(_: Any) -> None:
        raise error("not now")

    async def note_later(_: Any) -> None:
        note(_)

    subscription = memory.on_event(note_later if in_loop else note)
    for n in range(3):
        memory.remember("al", f"I have {n + 2} cats.")
    until(lambda: subscription.errors == 3)
    assert (subscription.delivered, subscription.closed) == (3, False)


def test_a_stream_waits_for_more(memory: MemorySystem) -> None:
    stream = memory.events(follow=True)
    adding = threading.Timer(0.2, lambda: memory.remember("al", "I live in Paris."))
    adding.start()
    assert next(stream).statement == "I live in Paris."
    assert len(memory.events(stream.cursor)) == 0
    stream.close()
    assert list(stream) == []


async def test_a_stream_is_followed_in_an_event_loop(memory: MemorySystem, store: Any) -> None:
    memory.close()
    async with AsyncMemorySystem(store) as again:
        await again.remember("al", "I live in Paris.")
        changes = []
        async for event in await again.events(follow=True):
            changes.append(event.change)
            if len(changes) == 2:
                break
            await again.remember("al", "I like tea.")
        assert changes == ["ADD", "ADD"]


def test_looking_at_many_users_reads_only_what_changed(memory: MemorySystem, store: Any) -> None:
    for number in range(200):
        memory.add_messages(f"u{number}", [{"role": "user", "content": "Hello."}])
    memory.close()
    with MemorySystem(store) as again:
        cursor = again.events("latest").cursor
        assert again.stats().open_users == 0
        again.add_messages("u7", [{"role": "user", "content": "And hello again."}])
        page = again.events(cursor)
        assert [(one.user_id, one.change) for one in page] == [("u7", "MESSAGE")]
        assert page.events[0].cursor == page.cursor
        assert again.stats().open_users == 1
        assert len(again.events(limit=10_000)) == 201


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_ids_of_messages_come_back_in_their_order(memory: MemorySystem) -> None:
    said = [{"role": "user", "content": text, "message_id": text} for text in ("a", "b")]
    assert memory.add_messages("al", said).message_ids == ("a", "b")
    again = memory.add_messages("al", [*said, {"role": "user", "content": "c"}])
    assert again.message_ids[:2] == ("a", "b")
    assert memory.get("al", again.message_ids[2]) is not None
    assert (again.messages_added, again.duplicates) == (1, 2)


async def test_the_asynchronous_memory_reports_too(memory: MemorySystem, store: Any) -> None:
    memory.close()
    async with AsyncMemorySystem(store) as again:
        await again.remember("al", "I live in Paris.")
        report = await again.wait("al", report=True)
        assert [one.change for one in report.events] == ["ADD"]
        assert await again.wait("al") is True
