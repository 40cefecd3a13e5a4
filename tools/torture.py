"""Sums up the counts of the torture tests; fails if a part is missing or anything was lost.

Every part of the torture appends one JSON line to a file: ``{"part": "kills", "kills": 200,
"losses": 0}``. A part whose test fails appends nothing.

    python tools/torture.py COUNTS          prints the counts
    python tools/torture.py COUNTS --page   also writes them into the table of SECURITY.md
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "SECURITY.md"
# All parts with their descriptions, so that a part that did not run is noticed.
ATTACKS = {
    "answers": "Compare answers from logs, snapshots and rebuilt indexes in any order of arrival",
    "bits": "Flip a bit of a log",
    "caches": "Change a snapshot or vectors, recompute the checksums, then use the store",
    "coroutines": "64 coroutines add, search, flush and are cancelled",
    "deletion": "Let every single operation of a deletion fail",
    "deletion_audit": "Delete records, sessions and users at random, then look for their words",
    "engines": "Write with three engines in turns and compare each with a newly opened one",
    "expressions": "Try every expression on texts that are made from its own parts",
    "faults": "Let every single operation of a write fail, or cut the power after it",
    "formats": "Put long repeated texts into files of every format that is read",
    "handles": "Write 200 users with 64 file handles, or with `max_open_files=5`",
    "histories": "Delete from histories whose model repeats all it sees, then look for words",
    "http": "Kill the workers of a service while clients add, repeat and delete over HTTP",
    "in_place": "Compare searches after deletions and edits with those of a newly opened store",
    "interrupts": "Press Ctrl-C in every call at six moments",
    "kills": "Kill the process while it writes",
    "linear": "Give every call inputs of sizes n, 4n and 16n and compare the processor time",
    "model": "Compare random operations, with failures and kills, with a simple model of the store",
    "mutations": "Feed changed files, answers and texts to every reader",
    "nodes": "Kill, stop and cut off four machines on one database, and kill its server",
    "nodes_pooled": "Do the same through PgBouncer in transaction mode",
    "processes": "Kill and stop eight processes that write, delete and read one store",
    "readers": "Flip bits of every kind of cache and search",
    "threads": "64 threads add, search, delete and flush on 200 users",
    "unsaid": "Delete from random histories and compare with stores that never had those messages",
    "users": "Open more users than the memory budget has room for",
}
# Counts that must be 0.
FAULTS = ("losses", "leaks", "panics", "crashes", "differences", "later_than_1_s", "superlinear")
TABLE = re.compile(r"(## Attacks\n\n).*?(?=\n## |\Z)", re.DOTALL)


def main(path: str, *options: str) -> int:
    """Prints the sums; returns 0 if all parts ran and nothing was lost."""
    file = Path(path)
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    rows = [json.loads(line) for line in lines]
    total: Counter[str] = Counter()
    for row in sorted(rows, key=lambda row: row["part"]):
        counted = {name: number for name, number in row.items() if name != "part"}
        total.update(counted)
        print(
            f"{row['part']:<14}",
            ", ".join(f"{number:,} {name}" for name, number in counted.items()),
        )
    print(
        f"{'together':<14}",
        ", ".join(f"{number:,} {name}" for name, number in total.items() if name != "losses"),
    )
    print(f"losses = {total['losses']}")
    missing = [part for part in ATTACKS if part not in {row["part"] for row in rows}]
    if missing:
        print("not finished:", ", ".join(missing), file=sys.stderr)
    elif "--page" in options:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(TABLE.sub(lambda found: found[1] + table(rows), page), encoding="utf-8")
    return 1 if missing or total["losses"] else 0


def table(rows: list[dict[str, Any]]) -> str:
    """The counts as a Markdown table: attack, part, count, result."""
    scale = os.environ.get("TORTURE_SCALE", "1")
    day = datetime.now(UTC).date().isoformat()
    text = f"Counts of `TORTURE_SCALE={scale} make torture` on {day}; 1 is the long form.\n"
    text += "`make test` runs the tests of input, quotation and display in full.\n\n"
    text += "| attack | part | count | result |\n|---|---|---|---|\n"
    for part, attack in ATTACKS.items():
        counted: Counter[str] = Counter()
        for row in rows:
            if row["part"] == part:
                counted.update({name: n for name, n in row.items() if name != "part"})
        results = [name for name in counted if name in FAULTS and not made(part, name)]
        text += f"| {attack} | `{part}` | {words(counted, results, False)} |"
        text += f" {words(counted, results, True) or 'no failure'} |\n"
    return text


def made(part: str, name: str) -> bool:
    """True if this count of a part is a number of attacks, not a result."""
    return (part, name) == ("faults", "crashes")


def words(counted: Counter[str], results: list[str], wanted: bool) -> str:
    return ", ".join(
        f"{number:,} {name.replace('_', ' ')}"
        for name, number in counted.items()
        if (name in results) == wanted
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
