"""Many users in one store: memory, disk, and the cost of a search of a user not in memory.

    python -m evaluation.speed.crowd USERS FOLDER

A process of its own, as memory of others would be counted, too. Prints one line of JSON; the caller
removes the folder.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from episodica import MemorySystem
from evaluation.speed.process import child, disk_megabytes, resident
from evaluation.speed.rows import Row
from evaluation.speed.stores import cache_folder
from evaluation.speed.talk import Talk
from evaluation.speed.timing import times

EACH = 100
# Users share conversations, fifty different ones.
CONVERSATIONS = 50
# Users that are asked.
ASKED = 1_000
# Bytes of the disk that stay free: then no more users are added, and the rows say how many there
# are.
LEFT_FREE = 4e9
QUESTION = "What did they buy in May?"


def many_users(users: int) -> tuple[int, list[Row]]:
    """The number of users that fitted, and their rows under the default memory budget."""
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        figures = child("evaluation.speed.crowd", str(users), folder)
    filled, cold, warm, evicted, disk = (
        figures[key] for key in ("filled", "cold", "warm", "evicted", "disk")
    )
    users = figures["users"]
    rows = [
        Row(
            "users_resident",
            f"highest resident memory, {users:,} users of {EACH} messages",
            figures["peak"],
            "MB",
            filled,
        ),
        Row(
            "users_resident_anonymous",
            "the process's own (RssAnon) when all was added",
            filled["anonymous"],
            "MB",
        ),
        Row(
            "users_resident_file",
            "pages of files (RssFile) when all was added",
            filled["file"],
            "MB",
        ),
        Row("users_open", "users in memory then", figures["open_users"], ""),
        Row(
            "users_cold",
            "first search of a user who is not in memory, p50",
            cold["p50"],
            "ms",
            cold,
            cold["cpu_p50"],
        ),
        Row("users_cold_p99", "the same, p99", cold["p99"], "ms", cpu=cold["cpu_p99"]),
        Row(
            "users_warm",
            "second search of the same users, p50",
            warm["p50"],
            "ms",
            warm,
            warm["cpu_p50"],
        ),
        Row("users_ingest", "adding the messages, a user at a time", figures["rate"], "/s"),
        Row("users_disk", "on disk", disk, "MB", {"each_kilobytes": 1000 * disk / users}),
    ]
    if evicted:
        rows.insert(
            6,
            Row(
                "users_evicted",
                "first search of a user for whom another has to go, p50",
                evicted["p50"],
                "ms",
                evicted,
                evicted["cpu_p50"],
            ),
        )
    return users, rows


def main() -> None:
    """The command."""
    wanted, folder = int(sys.argv[1]), Path(sys.argv[2])
    talk = Talk(seed=3).messages(EACH * CONVERSATIONS)
    names: list[str] = []
    with MemorySystem(folder) as memory:
        started = time.perf_counter()
        for number in range(wanted):
            if number % 100 == 0 and shutil.disk_usage(folder).free < LEFT_FREE:
                break
            names.append(f"user-{number}")
            start = number % CONVERSATIONS * EACH
            memory.add_messages(names[-1], talk[start : start + EACH])
        rate = len(names) * EACH / (time.perf_counter() - started)
        filled = resident()
        opened = memory.stats()["open_users"]
        # Whoever was not used for longest is no longer in memory.
        longest = names[: min(ASKED, len(names) - opened)]
        evicted = (
            times(lambda user: memory.search(user, QUESTION), longest).to_dict()
            if longest
            else None
        )
    asked = random.Random(len(names)).sample(names, min(len(names), ASKED))
    # Opened anew, nobody is in memory.
    with MemorySystem(folder) as memory:
        memory.search("nobody", QUESTION)
        cold = times(lambda user: memory.search(user, QUESTION), asked)
        warm = times(lambda user: memory.search(user, QUESTION), asked)
        figures = {
            "users": len(names),
            "rate": rate,
            "filled": filled.to_dict(),
            "peak": resident().peak,
            "open_users": opened,
            "evicted": evicted,
            "cold": cold.to_dict(),
            "warm": warm.to_dict(),
            "disk": disk_megabytes(folder),
        }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
