"""Several processes on one store: adding, following, searching while others write, a killed one.

    python -m evaluation.speed.processes STORE USER

is one of the writers. It prints when it is ready, adds single messages between two lines of
standard input, and prints their number and processor time. It ends when its input ends, which also
happens if its parent is killed.
"""

from __future__ import annotations

import json
import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from evaluation.speed.process import child, environment
from evaluation.speed.rows import Row
from evaluation.speed.searching import against_idle
from evaluation.speed.stores import USER, Store
from evaluation.speed.timing import milliseconds, times

WRITERS = 8
SECONDS = 3.0
FOLLOWED = 50
WARM_UP = 50


def sharing(store: Store, runs: int) -> Iterator[Row]:
    """The cost of sharing a store with other processes."""
    from episodica import MemorySystem

    with store.copied() as path:
        yield from _adding(path)
        with MemorySystem(path) as memory:
            yield from _following(memory, path, store)
            yield from _beside_writers(memory, path, store, runs)
    with store.copied() as path:
        yield _killed(path, store)


def _adding(path: Path) -> Iterator[Row]:
    """The rate of eight writers with users of their own against that of one."""
    alone = _added(path, 1)
    together = _added(path, WRITERS)
    cores = os.cpu_count() or 1
    # The best possible ratio, if only the processors limited it.
    bound = cores / together["cpu_each"] / alone["rate"]
    yield Row(
        "writers",
        "additions of eight processes, users of their own, against one",
        together["rate"] / alone["rate"],
        "x",
        {"alone": alone, "together": together, "bound": bound},
    )
    yield Row(
        "writers_bound", "as many as the processors' time would allow, against one", bound, "x"
    )


def _added(path: Path, count: int) -> dict[str, float]:
    with _writing(path, *(f"writer{number}" for number in range(count))) as writers:
        for writer in writers:
            writer.go()
        time.sleep(SECONDS)
        for writer in writers:
            writer.go()
        said = [writer.end() for writer in writers]
    added = sum(one["added"] for one in said)
    return {
        "rate": sum(one["added"] / one["seconds"] for one in said),
        "cpu_each": sum(one["cpu"] for one in said) / added,
    }


def _following(memory: Any, path: Path, store: Store) -> Iterator[Row]:
    """Searches after another process has added a message to the same user, and without that."""
    same, after = [], []
    with _writing(path, USER) as (writer,):
        for question in store.questions[:FOLLOWED]:
            search = partial(memory.search, USER, question)
            search()
            same.append(milliseconds(search))
            writer.one()
            after.append(milliseconds(search))
    yield Row(
        "followed",
        "a search after another process has added a message, beyond one without, p50",
        statistics.median(after) - statistics.median(same),
        "ms",
        {"after": after, "same": same},
    )


def _beside_writers(memory: Any, path: Path, store: Store, runs: int) -> Iterator[Row]:
    """The tail of search times while seven processes add messages to users of their own."""
    questions = store.questions[:runs]
    search = partial(memory.search, USER)
    idle = times(search, questions, time.thread_time)
    with _writing(path, *(f"w{number}" for number in range(WRITERS - 1))) as writers:
        for writer in writers:
            writer.go()
        busy = times(search, questions, time.thread_time)
    yield from against_idle("tail_writers", "beside seven writing processes", busy, idle, {})


def _killed(path: Path, store: Store) -> Row:
    """Opening after SIGKILL, with a snapshot and lines written since the snapshot."""
    opened = []
    for _ in range(3):
        with _writing(path, USER) as (writer,):
            for _ in range(20):
                writer.one()
        opened.append(child("evaluation.speed.fresh", str(path), store.questions[0]))
    return Row(
        "killed_open",
        "opening after a process was killed, to the first answer",
        statistics.median(one["answered"] for one in opened),
        "ms",
        {"runs": [one["answered"] for one in opened]},
        statistics.median(one["cpu"] for one in opened),
    )


@contextmanager
def _writing(path: Path, *users: str) -> Iterator[list[Writer]]:
    """A writer for each user, killed at the end."""
    writers: list[Writer] = []
    try:
        writers.extend(Writer(path, user) for user in users)
        yield writers
    finally:
        for writer in writers:
            writer.kill()


class Writer:
    """A process that adds messages to a user."""

    def __init__(self, path: Path, user: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "evaluation.speed.processes", str(path), user],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        self._heard()

    def _heard(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        said: dict[str, Any] = json.loads(self._process.stdout.readline())
        return said

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def go(self) -> None:
        """Starts or stops the additions."""
        self._tell("go")

    def one(self) -> None:
        """Adds one message, and waits for it."""
        self._tell("one")
        self._heard()

    def end(self) -> dict[str, Any]:
        """Returns the counts of the additions."""
        self._tell("end")
        return self._heard()

    def kill(self) -> None:
        """Kills the process."""
        self._process.kill()
        self._process.communicate()


def main(path: str, user: str) -> None:
    """A writer."""
    from episodica import MemorySystem

    added, spent, seconds = 0, 0.0, 0.0

    def add(memory: MemorySystem) -> None:
        nonlocal added, spent
        worked = time.process_time()
        memory.add_messages(user, [{"role": "user", "content": f"Note {added}: all is well."}])
        spent += time.process_time() - worked
        added += 1

    def say(**figures: Any) -> None:
        print(json.dumps(figures), flush=True)

    with MemorySystem(path) as memory:
        # The first messages compile expressions and read tables.
        for _ in range(WARM_UP):
            add(memory)
        say(ready=True)
        added, spent = 0, 0.0
        while line := sys.stdin.readline():
            if line == "go\n":
                began = time.perf_counter()
                while not select.select([sys.stdin], [], [], 0)[0]:
                    add(memory)
                seconds += time.perf_counter() - began
                sys.stdin.readline()
            elif line == "one\n":
                add(memory)
                say(added=added)
            else:
                say(added=added, cpu=spent, seconds=seconds)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
