"""Many users in one store: what they take in memory and on disk, and what a search of one costs who is not in memory.

    python -m evaluation.benchmarks.crowd USERS FOLDER

A process of its own, as memory of others would be counted, too. Prints one line of JSON; the folder is left to the caller.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from episodica import MemorySystem
from evaluation.benchmarks.process import child, disk_megabytes, resident
from evaluation.benchmarks.rows import Row
from evaluation.benchmarks.stores import cache_folder
from evaluation.benchmarks.talk import Talk
from evaluation.benchmarks.timing import times

EACH = 100
# Users share conversations, fifty different ones.
CONVERSATIONS = 50
# Users that are asked.
ASKED = 1_000
QUESTION = "What did they buy in May?"


def many_users(users: int) -> Iterator[Row]:
    """Rows of that many users under the default budget of memory."""
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        figures = child("evaluation.benchmarks.crowd", str(users), folder)
    # The kernel keeps the highest of the whole run.
    highest = figures["reopened"]["peak"]
    detail = {key: figures[key] for key in ("filled", "reopened", "open_users")}
    yield Row("users_resident", f"highest resident memory, {users:,} users of {EACH} messages", highest, "MB", detail)
    yield Row("users_resident_anonymous", "of it the process's own, when all was added", figures["filled"]["anonymous"], "MB")
    yield Row("users_cold", "first search of a user who is not in memory, p50", figures["cold"]["p50"], "ms", figures["cold"])
    yield Row("users_cold_p99", "the same, p99", figures["cold"]["p99"], "ms")
    yield Row("users_warm", "second search of the same users, p50", figures["warm"]["p50"], "ms", figures["warm"])
    yield Row("users_ingest", "adding the messages, a user at a time", figures["rate"], "messages/s")
    yield Row("users_disk", "on disk", figures["disk"], "MB", {"each_kilobytes": 1000 * figures["disk"] / users})


def main() -> None:
    """The command."""
    users, folder = int(sys.argv[1]), Path(sys.argv[2])
    talk = Talk(seed=3).messages(EACH * CONVERSATIONS)
    names = [f"user-{number}" for number in range(users)]
    with MemorySystem(folder) as memory:
        started = time.perf_counter()
        for number, name in enumerate(names):
            start = number % CONVERSATIONS * EACH
            memory.add_messages(name, talk[start : start + EACH])
        rate = users * EACH / (time.perf_counter() - started)
        filled = resident()
        opened = memory.stats()["open_users"]
    asked = random.Random(users).sample(names, min(users, ASKED))
    # Opened anew, nobody is in memory.
    with MemorySystem(folder) as memory:
        memory.search("nobody", QUESTION)
        cold = times(lambda user: memory.search(user, QUESTION), asked)
        warm = times(lambda user: memory.search(user, QUESTION), asked)
        figures = {
            "rate": rate,
            "filled": filled.to_dict(),
            "reopened": resident().to_dict(),
            "open_users": opened,
            "cold": cold.to_dict(),
            "warm": warm.to_dict(),
            "disk": disk_megabytes(folder),
        }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
