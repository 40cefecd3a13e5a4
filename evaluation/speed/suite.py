"""Speed and scale: every performance target next to its measured value.

    python -m evaluation speed suite [--sizes 1k,10k,100k] [--users 2k] [--out target/bench/results]

Sizes are numbers of messages of one user. Most budgets are for the size 100k, which has some 10,000
episodes and 20,000 facts. Writes `speed.json` and `speed.md`. Times on a shared machine vary:
compare medians, ratios within the run, and processor times.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import episodica
from evaluation.speed import report
from evaluation.speed.crowd import many_users
from evaluation.speed.opening import TRIALS, opening
from evaluation.speed.process import disk_megabytes, machine
from evaluation.speed.processes import sharing
from evaluation.speed.rows import ONCE, SIZES, USERS, Row, judged, short, shown, size
from evaluation.speed.searching import searching
from evaluation.speed.stores import cache_folder, settled
from evaluation.speed.writing import EPISODES, building, one_episode, singles, tails

PARTS = ("users", "writing")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--sizes", default=os.environ.get("SIZES") or "1k,10k,100k", help="messages of one user"
    )
    parser.add_argument(
        "--users", default=os.environ.get("USERS") or "2k", help="users with 100 messages each"
    )
    parser.add_argument(
        "--skip", default=os.environ.get("SKIP", ""), help=f"parts to leave out: {', '.join(PARTS)}"
    )
    parser.add_argument(
        "--runs",
        type=int,
        default=1_000,
        help="searches for a 99th percentile; sets the number of other repetitions too",
    )
    parser.add_argument(
        "--reuse",
        action="store_true",
        help="use earlier stores of this engine, with the rates of their building",
    )
    parser.add_argument("--out", type=Path, help="folder for the results")


def run(options: argparse.Namespace) -> int:
    """The command."""
    skipped = set(filter(None, options.skip.split(",")))
    if skipped - set(PARTS):
        unknown = ", ".join(sorted(skipped - set(PARTS)))
        raise SystemExit(f"error: --skip takes {', '.join(PARTS)}, not `{unknown}`")
    out: Path = options.out or cache_folder() / "results"
    out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    result: dict[str, Any] = {
        "version": episodica.__version__,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "skipped": sorted(skipped),
        "reused": options.reuse,
        SIZES: {},
    }
    if "writing" not in skipped:
        title("single messages")
        result[ONCE] = {"count": 0, "rows": shown_rows(singles(options.runs // 4))}
    for count in sorted({size(text) for text in options.sizes.split(",")}):
        result[SIZES][str(count)] = measured(count, skipped, options)
        report.keep(out, finished(result, started))
    if "users" not in skipped:
        title(f"{options.users} users")
        users, rows = many_users(size(options.users))
        result[USERS] = {"count": users, "rows": shown_rows(rows)}
    report.write(out, finished(result, started))
    print("\n" + report.budgets(result))
    kept = ", ".join(
        f"{short(int(count))} {part['disk']:,.0f} MB" for count, part in result[SIZES].items()
    )
    print(
        f"\n{result['seconds'] / 60:.1f} minutes; stores kept in {cache_folder()}: "
        f"{kept}\nwritten to {out}"
    )
    return 0


def measured(count: int, skipped: set[str], options: argparse.Namespace) -> dict[str, Any]:
    """All figures of one size."""
    title(f"{count:,} messages")
    store = settled(count, options.reuse)
    counts = store.counts
    facts = counts["semantic_memories"] + counts["superseded"]
    print(
        f"  {counts['episodes']:,} episodes, {facts:,} facts, {disk_megabytes(store.path):,.0f} MB",
        flush=True,
    )
    rows = shown_rows(searching(store, options.runs))
    rows += shown_rows(
        opening(store.path, store.questions[0], max(1, min(TRIALS, options.runs // 4)))
    )
    if "writing" not in skipped:
        rows += shown_rows(one_episode(store, min(EPISODES, options.runs)))
        rows += shown_rows(building(store))
        rows += shown_rows(tails(store, options.runs))
        rows += shown_rows(sharing(store, options.runs))
    return {"counts": counts, "disk": disk_megabytes(store.path), "rows": rows}


def shown_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Prints each row as soon as it is known."""
    made = []
    for row in rows:
        made.append(row.to_dict())
        worked = "" if row.cpu is None else f"  (processor {shown(row.cpu)} ms)"
        print(f"  {row.name:72} {shown(row.value):>10} {row.unit}{worked}", flush=True)
    return made


def title(words: str) -> None:
    """Prints the title of the next part."""
    print(f"\n{words}", flush=True)


def finished(result: dict[str, Any], started: float) -> dict[str, Any]:
    """Adds the figures derived from the rows."""
    result["seconds"] = time.monotonic() - started
    result["budgets"] = judged(result)
    return result
