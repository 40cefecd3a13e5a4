"""Many threads, tasks and processes on one store: no deadlock, lost update or mixed users."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from episodica import AsyncMemorySystem, LightweightSearchSystem, MemorySystem

WORKERS = 64
USERS = 200
# So small that users are closed and opened all the time.
BUDGET = {"memory_budget_bytes": 2_000_000}


def owned(user: str, worker: int, number: int) -> dict[str, object]:
    """A message that carries its owner."""
    content = f"<{user}> worker{worker} says number{number}, and that the weather was fine."
    return {
        "role": "user",
        "content": content,
        "timestamp": 1_700_000_000 + number,
        "message_id": f"{user}:{worker}:{number}",
    }


def check_hits(user: str, hits: object) -> None:
    for hit in hits:  # type: ignore[attr-defined]
        assert all(message.content.startswith(f"<{user}>") for message in hit.messages), (
            "a hit of another user"
        )


def check_store(
    store: Path, kept: set[tuple[str, int, int]], gone: set[tuple[str, int, int]]
) -> int:
    """Each acknowledged message must be there once, and no deleted one."""
    losses = 0
    with MemorySystem(store, **BUDGET) as memory:
        for user in memory.users():
            found = [tuple(message.message_id.split(":")) for message in memory.messages(user)]
            assert all(owner == user for owner, *_ in found), "a message of another user"
            assert len(found) == len(set(found)), "a message was added twice"
            there = {(user, int(worker), int(number)) for _, worker, number in found}
            losses += len({one for one in kept if one[0] == user} - there)
            assert not there & gone, "a deleted message is back"
        losses += len({one for one in kept if one[0] not in memory.users()})
        assert memory.verify().errors == 0
    return losses


def step(worker: int, number: int) -> tuple[str, str]:
    """The user of a step, and the operation besides adding."""
    place = (worker * 7_919 + number * 104_729) % 1_000_003
    kinds = ("search", "flush", "delete", "search", "context", "episodes", "search", "stats")
    return f"user{place % USERS}", kinds[place // USERS % len(kinds)]


def look(memory: MemorySystem, user: str, kind: str, message: dict[str, object]) -> None:
    """Reads the new message in one of several ways."""
    if kind == "search":
        check_hits(
            user,
            memory.search(user, str(message["content"]), kinds=("message", "episodic"), top_k=5),
        )
        assert memory.get(user, str(message["message_id"])) is not None, (
            "not read after it was written"
        )
    elif kind == "flush":
        assert all(episode.user_id == user for episode in memory.flush(user))
    elif kind == "context":
        check_hits(user, memory.context(user, "weather", max_tokens=200).hits)
    elif kind == "episodes":
        assert all(episode.user_id == user for episode in memory.episodes(user, limit=5))
    else:
        memory.stats()


@pytest.mark.timeout(300)
def test_threads(
    store: Path, rounds: Callable[[int, int], int], counts: Callable[..., None]
) -> None:
    kept: set[tuple[str, int, int]] = set()
    gone: set[tuple[str, int, int]] = set()
    failures: list[BaseException] = []
    end = time.monotonic() + rounds(3, 60)
    operations = [0] * WORKERS

    def work(worker: int) -> None:
        number = 0
        while time.monotonic() < end and not failures:
            user, kind = step(worker, number)
            message = owned(user, worker, number)
            added = memory.add_messages(user, [message])
            assert added.messages_added == 1
            one = (user, worker, number)
            kept.add(one)
            if kind == "delete":
                kept.discard(one)
                assert memory.delete(user, str(message["message_id"])).messages == 1
                gone.add(one)
            else:
                look(memory, user, kind, message)
            number += 1
            operations[worker] = 2 * number

    def guarded(worker: int) -> None:
        try:
            work(worker)
        except BaseException as error:  # noqa: BLE001 -- told by the main thread
            failures.append(error)

    with MemorySystem(store, **BUDGET) as memory:
        threads = [
            threading.Thread(target=guarded, args=(worker,), daemon=True)
            for worker in range(WORKERS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures[0]
    losses = check_store(store, kept, gone)
    counts("threads", operations=sum(operations), losses=losses)
    assert losses == 0


@pytest.mark.timeout(300)
async def test_coroutines(
    store: Path, rounds: Callable[[int, int], int], counts: Callable[..., None]
) -> None:
    kept: set[tuple[str, int, int]] = set()
    end = time.monotonic() + rounds(2, 60)
    operations = 0

    async def work(worker: int) -> None:
        nonlocal operations
        number = 0
        while time.monotonic() < end:
            user, kind = step(worker, number)
            assert (
                await memory.add_messages(user, [owned(user, worker, number)])
            ).messages_added == 1
            kept.add((user, worker, number))
            if kind == "flush":
                assert all(episode.user_id == user for episode in await memory.flush(user))
            elif kind == "delete":
                task = asyncio.create_task(memory.search(user, "weather"))
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            else:
                check_hits(
                    user, await memory.search(user, f"number{number}", kinds=("message",), top_k=5)
                )
            number += 1
            operations += 2

    async with AsyncMemorySystem(store, **BUDGET) as memory:
        await asyncio.gather(*map(work, range(WORKERS)))
    losses = check_store(store, kept, set())
    counts("coroutines", operations=operations, losses=losses)
    assert losses == 0


WRITER = """
import sys, time
from episodica import MemorySystem
with MemorySystem(sys.argv[1]) as memory:
    print("ready", flush=True)
    for number in range(100_000):
        message = {
            "role": "user",
            "content": f"number {number} and more",
            "message_id": str(number),
            "timestamp": 1_700_000_000 + 60 * number,
        }
        memory.add_messages("alice", [message])
        if number % 10 == 9:
            memory.flush("alice")
        time.sleep(0.01)
"""


@pytest.mark.timeout(300)
def test_a_second_process_reads_what_the_first_writes(
    store: Path, rounds: Callable[[int, int], int]
) -> None:
    command = [sys.executable, "-c", WRITER, str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            seen, refreshed = 0, 0
            with LightweightSearchSystem(store) as reader:
                while refreshed < rounds(15, 100):
                    messages = list(reader.messages("alice"))
                    assert [message.message_id for message in messages] == [
                        str(number) for number in range(len(messages))
                    ], "a gap"
                    assert len(messages) >= seen, "the view went back"
                    refreshed += len(messages) > seen
                    seen = len(messages)
                    inside = [
                        message.message_id
                        for episode in reader.episodes("alice")
                        for message in episode.original_messages
                    ]
                    assert len(inside) == len(set(inside))
                    if seen:
                        hits = reader.search(
                            "alice", f"number {seen - 1}", kinds=("message",), top_k=20
                        )
                        assert any(hit.id == str(seen - 1) for hit in hits), (
                            "a message that is listed isn't found"
                        )
        finally:
            writer.kill()
    with MemorySystem(store) as memory:
        assert len(list(memory.messages("alice"))) >= seen
