"""Many users in one store: what they take in memory, and what opening one costs.

    python -m evaluation.benchmarks.crowd USERS FOLDER

A process of its own, as memory of others would be counted, too. Prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time

from episodica import MemorySystem
from evaluation.benchmarks.talk import Talk
from evaluation.benchmarks.timing import resident_megabytes, times

EACH = 100
# Users share conversations, fifty different ones.
CONVERSATIONS = 50


def main() -> None:
    """The command."""
    users, folder = int(sys.argv[1]), sys.argv[2]
    talk = Talk(seed=3).messages(EACH * CONVERSATIONS)
    with MemorySystem(folder) as memory:
        started = time.perf_counter()
        for number in range(users):
            start = number % CONVERSATIONS * EACH
            memory.add_messages(f"user-{number}", talk[start : start + EACH])
        rate = users * EACH / (time.perf_counter() - started)
        resident = resident_megabytes()
        opened = memory.stats()["open_users"]
        # The first ones are the longest unused, so those that were closed, if any were.
        cold = times(lambda user: memory.search(user, "What did they buy in May?"), [f"user-{number}" for number in range(min(users, 300))])
    print(json.dumps({"resident": resident, "ingestion": rate, "open_users": opened, "cold": cold.to_dict()}))


if __name__ == "__main__":
    main()
