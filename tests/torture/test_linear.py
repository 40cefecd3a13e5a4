"""Cost grows with the size of the input: n, 4n and 16n of many shapes, in processor time.

For four times the input, a linear call takes four times as long, and a quadratic one sixteen times.
A curve fails if the exponent of its last step is above ``STEEPEST``, in the best of several
measurements, since noise only makes a measurement longer. Short calls are not judged. Texts are
repeated pieces and pairs of pieces, so that each scanner meets beginnings without ends.
"""

from __future__ import annotations

import gc
import itertools
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from growth import PIECES, STEEPEST
from shapes import TALKS, TEXTS, repeated, talk

from episodica import InvalidInputError, MemorySystem

STEPS = (1, 4, 16)
STEEP = 4.0**STEEPEST
# A call with less processor time than `JUDGED` is not judged; a time below `LEAST` counts as
# `LEAST`.
JUDGED, LEAST = 0.1, 0.01
ATTEMPTS = 4
# Snapshots are written in the background, and would count for the call measured meanwhile.
SETTINGS: dict[str, Any] = {"snapshot_threshold": 10_000_000}
Seconds = dict[str, float]
# Measures an input of one size: seconds by the name of the call.
Measure = Callable[[int], Seconds]


class Clock:
    """The processor's time of calls by name."""

    def __init__(self) -> None:
        self.seconds: Seconds = {}

    def __call__(self, name: str, act: Callable[[], object]) -> None:
        gc.collect()
        started = time.process_time()
        act()
        self.seconds[name] = time.process_time() - started


def steepness(times: list[float]) -> float:
    before, last = times[-2:]
    return last / max(before, LEAST) if last >= JUDGED else 0.0


def curves(shape: str, size: int, measure: Measure) -> Iterator[tuple[float, str]]:
    """The steepness of each call, and its description."""
    best: dict[str, list[float]] = {}
    for _ in range(ATTEMPTS):
        rows = [measure(size * step) for step in STEPS]
        for name in rows[0]:
            times = [row[name] for row in rows]
            best[name] = [min(pair) for pair in zip(best.get(name, times), times, strict=True)]
        if all(steepness(times) <= STEEP for times in best.values()):
            break
    for name, times in best.items():
        shown = ", ".join(f"{seconds:.3f}" for seconds in times)
        yield steepness(times), f"{name} of {shape} ({size}, x4, x16): {shown} s"


def of_text(memory: MemorySystem, place: Path, user: str, text: str) -> Seconds:
    clock = Clock()
    message = {"role": "user", "content": text, "message_id": "m", "timestamp": 1.7e9}
    file = place / f"{user}.json"
    file.write_text(json.dumps([message]), encoding="utf-8")
    clock("add_messages", lambda: memory.add_messages(user, [message]))
    clock("flush", lambda: memory.flush(user))
    clock("search", lambda: memory.search(user, "the island", kinds=("message",)))
    clock("context", lambda: memory.context(user, "the island", max_tokens=1_000_000))
    clock("remember", lambda: memory.remember(f"{user}r", text))
    clock("import", lambda: memory.import_(file, f"{user}i"))
    return clock.seconds


def of_talk(place: Path, messages: list[dict[str, Any]]) -> Seconds:
    clock = Clock()
    with MemorySystem(place, **SETTINGS) as memory:
        clock("add_messages", lambda: memory.add_messages("ann", messages))
        clock("flush", lambda: memory.flush("ann"))
        clock("search", lambda: memory.search("ann", "kingfisher in Town7", top_k=100))
        # So few tokens that the context has to choose at every size.
        clock("context", lambda: memory.context("ann", "Where do I live?", max_tokens=2_000))
        clock("messages", lambda: list(memory.messages("ann")))
        clock("delete", lambda: memory.delete("ann", "7"))
        clock("rebuild_indices", lambda: memory.rebuild_indices("ann"))
        clock("export", lambda: memory.export("ann", place / "export"))
    with MemorySystem(place, **SETTINGS) as memory:
        clock("open", lambda: memory.load_user_data_and_indices("ann"))
        clock("import", lambda: memory.import_(place / "export", "bob"))
        clock("delete_user_data", lambda: memory.delete_user_data("ann"))
    return clock.seconds


def of_question(memory: MemorySystem, question: str) -> Seconds:
    clock = Clock()
    clock("search", lambda: memory.search("ann", question))
    clock("context", lambda: memory.context("ann", question))
    return clock.seconds


def of_arguments(memory: MemorySystem, place: Path, size: int) -> Seconds:
    clock, ids = Clock(), [f"unknown{number}" for number in range(size)]
    many = {f"key{number}": number for number in range(size)}
    message = {"role": "user", "content": "Hello there.", "timestamp": 1.7e9}

    def refused(act: Callable[[], object]) -> None:
        with suppress(InvalidInputError):
            act()

    clock("where $in", lambda: memory.search("ann", "bridge", where={"n": {"$in": ids}}))
    clock(
        "where $or",
        lambda: memory.search("ann", "bridge", where={"$or": [{"n": one} for one in ids]}),
    )
    clock("delete of ids", lambda: refused(lambda: memory.delete("ann", ids)))
    clock("metadata", lambda: memory.add_messages("bob", [{**message, "metadata": many}]))
    clock(
        "unknown keys", lambda: refused(lambda: memory.add_messages("bob", [{**message, **many}]))
    )
    (place / f"{size}.json").write_text(
        json.dumps([{**message, "message_id": f"i{one}"} for one in ids]), encoding="utf-8"
    )
    clock("import", lambda: memory.import_(place / f"{size}.json", f"user{size}"))
    return clock.seconds


def pairs(count: int) -> dict[str, Callable[[int], str]]:
    """Texts of two pieces in turn; others are chosen only if there are other pieces."""
    chosen = random.Random(11).sample(list(itertools.product(PIECES, PIECES)), count)
    return {f"{one + other!a} in turn": repeated(one + other) for one, other in chosen}


@pytest.mark.timeout(3_600)
def test_the_cost_of_every_shape_grows_no_faster_than_its_size(
    tmp_path: Path, rounds: Callable[[int, int], int], counts: Callable[..., None]
) -> None:
    # The long form runs every shape, the short form some of them.
    every, size = max(1, 40 // rounds(1, 40)), rounds(2_000, 16_000)
    # Blank text is refused.
    known = {**TEXTS, **pairs(rounds(2, 80))}
    texts = [name for name, text in TEXTS.items() if text(8).strip()][::every]
    texts += [name for name in sorted(known.keys() - TEXTS.keys()) if known[name](8).strip()]
    talks = list(TALKS)[:: min(every, 11)]
    users = (f"u{number}" for number in itertools.count())
    found: list[tuple[float, str]] = []
    with MemorySystem(tmp_path / "texts", **SETTINGS) as memory:

        def long_one(text: str) -> Seconds:
            return of_text(memory, tmp_path, next(users), text)

        # The first use unpacks tables.
        long_one("I live in Paris. " * 20)
        for name in texts:
            found += curves(name, size, lambda n, text=known[name]: long_one(text(n)))
    for name in talks:
        said = TALKS[name]
        found += curves(
            name, rounds(50, 250), lambda n, said=said: of_talk(tmp_path / next(users), said(n))
        )
    with MemorySystem(tmp_path / "asked", **SETTINGS) as memory:
        memory.add_messages("ann", [{**one, "metadata": {"n": "7"}} for one in talk(300)])
        memory.flush("ann")
        for name in texts:
            shape = f"a question of {name}"
            found += curves(shape, 2_000, lambda n, text=known[name]: of_question(memory, text(n)))
        found += curves("arguments", 500, lambda n: of_arguments(memory, tmp_path, n))
    found.sort(reverse=True)
    for steep, words in found[:10]:
        print(f"{steep:5.1f} times as long for 4 times as much: {words}")
    wrong = [words for steep, words in found if steep > STEEP]
    shapes = 2 * len(texts) + len(talks) + 1
    counts("linear", shapes=shapes, curves=len(found), superlinear=len(wrong))
    assert not wrong, wrong
