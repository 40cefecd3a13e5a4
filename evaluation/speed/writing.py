"""Storing one episode, adding many messages, and searching while messages are added."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from episodica import MemorySystem
from evaluation.speed.rows import MILLION, Row
from evaluation.speed.searching import WARM_UP, against_idle
from evaluation.speed.stores import BATCH, USER, Store, cache_folder
from evaluation.speed.talk import LATER, Talk, renamed
from evaluation.speed.timing import SyncProbe, Times, times

EPISODES = 40
_EPISODE = "storing one episode, synced, beyond the disk's own syncs, p50"
# Number of logs with one write and one sync for a session that ends: messages, episodes, facts
# (docs/format.md, "Promises").
_LOGS = 3
_CHUNK = 256


def one_episode(store: Store, count: int = EPISODES) -> Iterator[Row]:
    """The time of storing one episode, without the disk's sync of each log."""
    with store.copied() as path:
        told, synced = stored(path, count, seed=77)
    whole, less = told.to_dict(), told.p50 - _LOGS * synced.p50
    value = max(less, whole["cpu_p50"])
    detail = {"whole": whole, "sync": synced.to_dict(), "syncs": _LOGS}
    yield Row("episode", _EPISODE, value, "ms", detail, whole["cpu_p50"])
    yield Row("episode_whole", "the whole, p50", told.p50, "ms")
    yield Row("sync", "one sync of the disk, p50", synced.p50, "ms", synced.to_dict())


def sessions(count: int, seed: int) -> list[list[dict[str, Any]]]:
    """Sessions that no store holds yet, of some ten messages each."""
    conversation, found = Talk(seed, after=LATER), list[list[dict[str, Any]]]()
    while len(found) < count:
        by_session: dict[str, list[dict[str, Any]]] = {}
        for message in conversation.messages(200):
            by_session.setdefault(message["session_id"], []).append(renamed(message, f"{seed}"))
        # The last one is cut off in its middle.
        found += list(by_session.values())[:-1]
    return found[:count]


def stored(path: Path, count: int, seed: int, warm_up: int = 3) -> tuple[Times, Times]:
    """Times of storing a session as one episode, and of single syncs in between."""
    told, synced = Times(), Times()
    probe = SyncProbe(path.parent)
    try:
        with MemorySystem(path) as memory:
            memory.search(USER, "warm")
            coming = iter(sessions(warm_up + count, seed))

            def tell(_: str) -> None:
                memory.add_messages(USER, next(coming))
                memory.flush(USER)

            times(tell, [""] * warm_up)
            for _ in range(count):
                told.extend(times(tell, [""]))
                synced.extend(times(probe.append, [""] * 2))
    finally:
        probe.close()
    return told, synced


def building(store: Store) -> Iterator[Row]:
    """Rates at which the store was built."""
    rates = store.rates
    detail = {"rates": rates, "built": store.built, "batch": BATCH}
    yield Row(
        "ingest_batches",
        "adding messages in batches, median of batches",
        _middle(rates, "wall"),
        "/s",
        detail,
    )
    yield Row(
        "ingest_batches_cpu", "the same for a second of processor time", _middle(rates, "cpu"), "/s"
    )
    messages = store.counts["messages"]
    added = [
        rate["messages"] - before
        for rate, before in zip(rates, [0, *(one["messages"] for one in rates)], strict=False)
    ]
    whole = messages / sum(count / rate["wall"] for count, rate in zip(added, rates, strict=True))
    yield Row("ingest_whole", "the same over all of them", whole, "/s")
    if len(rates) >= 10:
        tenth = len(rates) // 10
        last, first = rates[-tenth:], rates[:tenth]
        # Processor time, since the machine's other load changes over the minutes of the build.
        kept = _middle(last, "cpu") / _middle(first, "cpu")
        wall = _middle(last, "wall") / _middle(first, "wall")
        name = "a million" if messages >= MILLION else f"{messages:,}"
        yield Row(
            "ingest_kept",
            f"rate of the last tenth of {name} messages against the first, by processor time",
            kept,
            "x",
            {"wall": wall},
        )


def _middle(rates: list[dict[str, float]], kind: str) -> float:
    return statistics.median(rate[kind] for rate in rates)


def singles(each: int, trials: int = 3) -> Iterator[Row]:
    """Rates of single additions from 16 threads, with ``each`` additions per thread."""
    for key, users in (("ingest_one_user", 1), ("ingest_many_users", 16)):
        rates = [_singles(users, each) for _ in range(trials)]
        whose = "one user" if users == 1 else f"{users} users"
        yield Row(
            key,
            f"adding single messages from 16 threads, {whose}",
            statistics.median(rates),
            "/s",
            {"trials": rates},
        )


def _singles(users: int, each: int, threads: int = 16) -> float:
    lists = [
        [renamed(message, f"{number}") for message in Talk(seed=100 + number).messages(each)]
        for number in range(threads)
    ]
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder, MemorySystem(folder) as memory:
        for user in range(users):
            memory.add_messages(f"user-{user}", [{"role": "user", "content": "Hello."}])

        def work(number: int) -> None:
            for message in lists[number]:
                memory.add_messages(f"user-{number % users}", [message])

        started = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(threads)))
        return threads * each / (time.perf_counter() - started)


def tails(store: Store, runs: int) -> Iterator[Row]:
    """The tail of search times while another thread adds messages, and without that."""
    questions = store.questions[WARM_UP : WARM_UP + runs]
    messages = Talk(seed=5, after=LATER).messages(10_000)
    for key, user, whose in (
        ("tail_other", "another", "another user's"),
        ("tail_same", USER, "the same user's"),
    ):
        with store.copied() as path, MemorySystem(path) as memory:
            search = partial(memory.search, USER)
            times(search, store.questions[:WARM_UP])
            # Measured alone before and after, as the store grows meanwhile.
            idle = times(search, questions, time.thread_time)
            with _adding(memory, user, messages) as added:
                busy = times(search, questions, time.thread_time)
            idle.extend(times(search, questions, time.thread_time))
        name = f"while {whose} messages are added"
        yield from against_idle(key, name, busy, idle, added)
        yield Row(f"{key}_p50", "the same, p50", busy.p50 / idle.p50, "x")


@contextmanager
def _adding(
    memory: MemorySystem, user: str, messages: list[dict[str, Any]]
) -> Iterator[dict[str, float]]:
    """Adds messages from another thread; counts them, and at the end their rate."""
    stop, added = threading.Event(), {"added": 0.0}

    def work() -> None:
        for again in itertools.count():
            for start in range(0, len(messages), _CHUNK):
                if stop.is_set():
                    return
                part = messages[start : start + _CHUNK]
                new = [renamed(message, f"again-{again}") for message in part]
                added["added"] += memory.add_messages(user, new).messages_added

    started, thread = time.perf_counter(), threading.Thread(target=work)
    thread.start()
    try:
        yield added
    finally:
        stop.set()
        thread.join()
        added["rate"] = added["added"] / (time.perf_counter() - started)
