"""A new process that opens a store and searches once.

    python -m evaluation.speed.fresh STORE QUESTION

Prints one line of JSON: the milliseconds for importing the package, the milliseconds from opening
to the first answer, and the memory that the process then uses.
"""

from __future__ import annotations

import json
import sys
import time

from evaluation.speed.process import resident

SEARCHES = 20


def main() -> None:
    """The command."""
    path, question = sys.argv[1:]
    started = time.perf_counter()
    from episodica import MemorySystem

    imported, worked = time.perf_counter(), time.process_time()
    empty = resident()
    with MemorySystem(path) as memory:
        memory.search("user", question)
        answered, worked = time.perf_counter(), time.process_time() - worked
        for number in range(SEARCHES):
            memory.search("user", f"{question} {number}", kinds=["episodic", "semantic", "message"])
        figures = {
            "imported": 1000 * (imported - started),
            "answered": 1000 * (answered - imported),
            "cpu": 1000 * worked,
            "empty": empty.to_dict(),
            "resident": resident().to_dict(),
        }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
