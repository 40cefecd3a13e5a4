"""Many users in one store: memory, disk, and the cost of a search of a user not in memory.

    python -m evaluation.speed.crowd USERS FOLDER

Runs in a process of its own, so that no other memory is counted. Prints one line of JSON; the
caller removes the folder.
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
from evaluation.speed.searching import median
from evaluation.speed.stores import cache_folder
from evaluation.speed.talk import Talk
from evaluation.speed.timing import times

EACH = 100
# The number of different conversations, which the users share.
CONVERSATIONS = 50
# The number of users that are searched.
ASKED = 1_000
# Bytes of the disk that must stay free. When they are reached, no more users are added, and the
# rows give the number of users.
LEFT_FREE = 4e9
QUESTION = "What did they buy in May?"


def many_users(users: int) -> tuple[int, list[Row]]:
    """Returns the number of users that fitted, and their rows with the default memory budget."""
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        made = child("evaluation.speed.crowd", str(users), folder)
    return made["users"], [Row(**row) for row in made["rows"]]


def main(wanted: int, folder: Path) -> None:
    """The command."""
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
        # The users not used for longest are no longer in memory.
        longest = names[: min(ASKED, len(names) - opened)]
        evicted = times(lambda user: memory.search(user, QUESTION), longest)
    asked = random.Random(len(names)).sample(names, min(len(names), ASKED))
    # After the new opening no user is in memory.
    with MemorySystem(folder) as memory:
        memory.search("nobody", QUESTION)
        cold, warm = (times(lambda user: memory.search(user, QUESTION), asked) for _ in range(2))
    peak, disk, count = resident().peak, disk_megabytes(folder), len(names)
    highest = f"highest resident memory, {count:,} users of {EACH} messages"
    rows = [
        Row("users_resident", highest, peak, "MB", filled.to_dict()),
        Row("users_resident_anonymous", "RssAnon when all was added", filled.anonymous, "MB"),
        Row("users_resident_file", "RssFile when all was added", filled.file, "MB"),
        Row("users_open", "users in memory then", opened, ""),
        median("users_cold", "first search of a user who is not in memory, p50", cold),
        Row("users_cold_p99", "the same, p99", cold.p99, "ms", cpu=cold.cpu_p99),
        median("users_warm", "second search of the same users, p50", warm),
        Row("users_ingest", "adding the messages, a user at a time", rate, "/s"),
        Row("users_disk", "on disk", disk, "MB", {"each_kilobytes": 1000 * disk / count}),
    ]
    if longest:
        name = "first search of a user for whom another has to go, p50"
        rows.insert(6, median("users_evicted", name, evicted))
    print(json.dumps({"users": count, "rows": [row.to_dict() for row in rows]}))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
