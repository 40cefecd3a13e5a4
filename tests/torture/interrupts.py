"""A process that interrupts its own calls, and prints how long each took to end.

``python interrupts.py STORE MESSAGES MEGABYTES [NAME ...]`` prints a JSON line per call: its name,
its seconds without interruption, the longest time from Ctrl-C to its end, and the most processor
time spent in between, which says more on a busy machine. Each call is interrupted at several
moments of its work, every time on a fresh copy of the store.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from episodica import MemorySystem, count_tokens

MOMENTS = (0.03, 0.2, 0.4, 0.6, 0.8, 0.95)
# A call as short as this need not be interrupted: it answers by ending.
SHORT_SECONDS = 0.05
# Without a snapshot, opening reads the logs.
SETTINGS = {"snapshot_threshold": 10_000_000}
Act = Callable[[MemorySystem], object]


def talk(count: int) -> list[dict[str, Any]]:
    return [
        {
            "role": "user",
            "name": "Ann",
            "content": f"Did you see kingfisher {n % 97} near bridge {n % 31} today? Number {n}.",
            "timestamp": 1_700_000_000 + 40 * n,
            "session_id": f"s{n // 40}",
            "message_id": str(n),
        }
        for n in range(count)
    ]


def long_text(megabytes: int) -> str:
    """Prose without repeated sentences, about so many megabytes of it."""
    lines = (f"On day {n} we rowed to island {n * 7 % 9973}. " for n in range(megabytes * 27_000))
    return "".join(lines)[: megabytes * 1_000_000]


def characters(count: int) -> str:
    return "".join(chr(0x4E00 + n % 20_000) for n in range(count))


class Calls:
    """The calls by name, each with the store that it needs."""

    def __init__(self, place: Path, messages: int, megabytes: int) -> None:
        self.place, self.messages = place, talk(messages)
        self.text = [{"role": "user", "content": long_text(megabytes), "message_id": "long"}]
        self.question = characters(32_000)

    def stores(self) -> None:
        """Fills one store with many messages, and another store with a long message."""
        with MemorySystem(self.place / "many", **SETTINGS) as memory:
            memory.add_messages("ann", self.messages)
        with MemorySystem(self.place / "long", **SETTINGS) as memory:
            memory.add_messages("ann", self.text)
        with MemorySystem(self.place / "none", **SETTINGS):
            pass

    def all(self) -> Iterator[tuple[str, str, Act | None, Act]]:
        """The name of each call, its store, the preparation and the call."""

        def load(memory: MemorySystem) -> object:
            return memory.load_user_data_and_indices("ann")

        def context(form: Any) -> Act:
            return lambda memory: memory.context(
                "ann", "Where is the kingfisher?", max_tokens=100_000, format=form
            )

        yield "add many messages", "none", None, lambda m: m.add_messages("ann", self.messages)
        yield "add a long message", "none", None, lambda m: m.add_messages("ann", self.text)
        yield "count_tokens", "none", None, lambda m: count_tokens(self.text[0]["content"])
        yield "open many", "many", None, load
        yield "open a long one", "long", None, load
        yield "search", "many", load, lambda m: m.search("ann", "the kingfisher", top_k=1000)
        yield "search for a long query", "many", load, lambda m: m.search("ann", self.question)
        yield "search in a long one", "long", load, lambda m: m.search("ann", "the island")
        yield (
            "explain",
            "many",
            load,
            lambda m: list(m.search("ann", "the kingfisher", top_k=1000, explain=True)),
        )
        for form in ("text", "json", "xml"):
            yield f"context as {form}", "many", load, context(form)
        yield "context of a long one", "long", load, lambda m: m.context("ann", "the island")
        yield (
            "context that holds a long one",
            "long",
            load,
            lambda m: m.context("ann", "the island", max_tokens=10_000_000),
        )
        yield "messages", "many", load, lambda m: list(m.messages("ann"))
        yield "episodes", "many", load, lambda m: list(m.episodes("ann"))
        yield "facts", "many", load, lambda m: list(m.semantic_memories("ann"))
        yield "verify", "many", None, lambda m: m.verify()
        yield "verify a long one", "long", None, lambda m: m.verify()
        yield "rebuild_indices", "many", load, lambda m: m.rebuild_indices("ann")
        yield "rebuild_indices of a long one", "long", load, lambda m: m.rebuild_indices("ann")
        yield "flush", "many", load, lambda m: m.flush("ann")
        yield "flush a long one", "long", load, lambda m: m.flush("ann")
        yield "delete a message", "many", load, lambda m: m.delete("ann", "17")
        yield "delete a long message", "long", load, lambda m: m.delete("ann", "long")
        yield "delete_user_data", "many", load, lambda m: m.delete_user_data("ann")
        yield "stats", "many", load, lambda m: m.stats("ann")
        yield "wait", "none", None, lambda m: m.wait(timeout=1.0)


@contextmanager
def opened(calls: Calls, store: str, before: Act | None) -> Iterator[MemorySystem]:
    copy = calls.place / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(calls.place / store, copy)
    with MemorySystem(copy, **SETTINGS) as memory:
        if before is not None:
            before(memory)
        yield memory


def seconds_alone(calls: Calls, store: str, before: Act | None, act: Act) -> float:
    with opened(calls, store, before) as memory:
        started = time.perf_counter()
        act(memory)
        return time.perf_counter() - started


def answer(
    calls: Calls, store: str, before: Act | None, act: Act, delay: float
) -> tuple[float, float]:
    """Seconds from Ctrl-C to the end of the call, by the clock and of the processor.

    Both are 0 if the call had ended before.
    """
    pressed: list[tuple[float, float]] = []

    def press() -> None:
        pressed.append((time.perf_counter(), time.process_time()))
        os.kill(os.getpid(), signal.SIGINT)

    with opened(calls, store, before) as memory:
        timer = threading.Timer(delay, press)
        try:
            timer.start()
            act(memory)
            # A later signal would hit another call.
            timer.cancel()
            timer.join()
        except KeyboardInterrupt:
            pass
        ended, worked = time.perf_counter(), time.process_time()
        with suppress(KeyboardInterrupt):
            time.sleep(0)
    if not pressed:
        return 0.0, 0.0
    [(at, spent)] = pressed
    return max(0.0, ended - at), max(0.0, worked - spent)


def main(place: Path, messages: int, megabytes: int, names: list[str]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    calls = Calls(place, messages, megabytes)
    calls.stores()
    for name, store, before, act in calls.all():
        if names and name not in names:
            continue
        alone = seconds_alone(calls, store, before, act)
        moments = MOMENTS if alone > SHORT_SECONDS else ()
        waits = [answer(calls, store, before, act, alone * moment) for moment in moments]
        row: dict[str, Any] = {
            "call": name,
            "seconds": alone,
            "answered": max((wait for wait, _ in waits), default=alone),
            "worked": max((worked for _, worked in waits), default=alone),
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
