"""Sums up what the parts of the torture counted; fails if one is missing, or if anything was lost.

Every test of the torture appends one JSON line a part to a file: ``{"part": "kills", "kills": 200,
"losses": 0}``. A part whose test fails appends nothing.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

# Every part there is, so that one which did not run is noticed.
PARTS = (
    "answers",
    "bits",
    "caches",
    "coroutines",
    "deletion",
    "deletion_audit",
    "faults",
    "graphs",
    "interrupts",
    "kills",
    "model",
    "mutations",
    "readers",
    "threads",
    "users",
)


def main(path: str) -> int:
    """Prints the sums; 0 if all parts ran and nothing was lost."""
    file = Path(path)
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    rows = [json.loads(line) for line in lines]
    total: Counter[str] = Counter()
    for row in sorted(rows, key=lambda row: row["part"]):
        counted = {name: number for name, number in row.items() if name != "part"}
        total.update(counted)
        print(
            f"{row['part']:<12}",
            ", ".join(f"{number:,} {name}" for name, number in counted.items()),
        )
    print(
        f"{'together':<12}",
        ", ".join(f"{number:,} {name}" for name, number in total.items() if name != "losses"),
    )
    print(f"losses = {total['losses']}")
    missing = [part for part in PARTS if part not in {row["part"] for row in rows}]
    if missing:
        print("not finished:", ", ".join(missing), file=sys.stderr)
    return 1 if missing or total["losses"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
