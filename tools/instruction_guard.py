"""Counts the instructions of each kernel with callgrind, and compares with committed counts.

Times on shared machines vary too much for a comparison.

    python tools/instruction_guard.py [--write] PATH_TO_ONCE

The cost of a kernel is the difference between eleven runs and one, which leaves out the
preparation. The counts spread by some percent, since hash tables have random seeds, and change with
inlining: an unchanged kernel once took 14 % more after a change elsewhere. So a kernel may take
``TOLERANCE`` more than its baseline.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

BASELINE = Path(__file__).resolve().parents[1] / "benches" / "instructions.json"
TOLERANCE = 0.20
MORE = 10


def instructions(once: Path, kernel: str, count: int) -> int:
    """Instructions of the whole process, in one thread."""
    command = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        str(once),
        kernel,
        str(count),
    ]
    # The program has no FAISS in it. With one thread, rayon does not move work between threads.
    outcome = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "RAYON_NUM_THREADS": "1"},
    )
    found = re.search(r"Collected : (\d+)", outcome.stderr)
    if found is None:
        raise SystemExit(outcome.stderr)
    return int(found[1])


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("once", type=Path)
    parser.add_argument("--write", action="store_true", help="make these counts the baseline")
    arguments = parser.parse_args()
    kernels = subprocess.run(
        [arguments.once], check=True, capture_output=True, text=True
    ).stdout.split()
    baseline: dict[str, int] = (
        json.loads(BASELINE.read_text(encoding="utf-8")) if BASELINE.exists() else {}
    )
    counts: dict[str, int] = {}
    worse = []
    for kernel in kernels:
        counts[kernel] = (
            instructions(arguments.once, kernel, 1 + MORE) - instructions(arguments.once, kernel, 1)
        ) // MORE
        before = baseline.get(kernel)
        change = "" if before is None else f"{counts[kernel] / before - 1:+8.1%}"
        print(f"{kernel:18} {counts[kernel]:14,} instructions {change}", flush=True)
        if before is not None and counts[kernel] > before * (1 + TOLERANCE):
            worse.append(kernel)
    if arguments.write:
        BASELINE.write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")
    elif worse:
        print(
            f"more than {TOLERANCE:.0%} above the baseline: {', '.join(worse)}; if that is "
            "wanted: make bench-guard GUARD=--write"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
