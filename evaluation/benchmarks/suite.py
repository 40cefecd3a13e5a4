"""Speed and scale: every budget beside its measured value, and what a user would pick instead, in one run.

    python -m evaluation.benchmarks.suite [--sizes 1k,10k,100k] [--users 2000] [--out target/bench/results]

Sizes are messages of one user; 100k comes with some 10,000 episodes and 20,000 statements, which is what the budgets are for. Stores
are built once and kept. Writes ``speed.json`` and ``speed.md``; Times of a shared
machine are noise: read medians, ratios within the run, and processor time.
"""

from __future__ import annotations

import argparse
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import episodica
from evaluation.benchmarks import budgets, rivals
from evaluation.benchmarks.budgets import Row
from evaluation.benchmarks.stores import cache_folder, settled

FULL = 100_000


def size(text: str) -> int:
    """``100k`` as a number."""
    units = {"k": 1_000, "m": 1_000_000}
    return int(float(text[:-1]) * units[text[-1].lower()]) if text[-1].lower() in units else int(text)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=os.environ.get("SIZES", "1k,10k,100k"), help="messages of one user")
    parser.add_argument("--users", default=os.environ.get("USERS", "2k"), help="users with 100 messages each")
    parser.add_argument("--skip", default=os.environ.get("SKIP", ""), help="parts to leave out: rivals, users, ingest")
    parser.add_argument("--out", type=Path, default=None)
    arguments = parser.parse_args()
    out = arguments.out or cache_folder() / "results"
    out.mkdir(parents=True, exist_ok=True)
    skipped = set(arguments.skip.split(","))
    result: dict[str, Any] = {
        "version": episodica.__version__,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": budgets.machine(),
        "sizes": {},
    }
    for count in [size(text) for text in arguments.sizes.split(",")]:
        result["sizes"][count] = measure(count, skipped)
        save(out, result)
    if "users" not in skipped:
        result["users"] = [show(row) for row in budgets.many_users(size(arguments.users))]
    save(out, result)
    print(f"\nwritten to {out}")


def measure(count: int, skipped: set[str]) -> dict[str, Any]:
    """All rows of one size."""
    full = count == FULL
    counts = settled(count)["counts"]
    statements = counts["semantic_memories"] + counts["superseded"]
    print(f"\n{count:,} messages, {counts['episodes']:,} episodes, {statements:,} statements")
    rows = [show(row) for row in budgets.searching(count, full)]
    rows += [show(row) for row in budgets.writing(count, full)]
    if "ingest" not in skipped:
        rows += [show(row) for row in budgets.searching_while_ingesting(count)]
        if count >= FULL:
            rows += [show(row) for row in budgets.ingesting(count)]
    others = []
    if "rivals" not in skipped and count <= FULL:
        for name, does, measured, reason in rivals.measured(count, 100):
            figures = measured.to_dict() if measured else {}
            others.append({"name": name, "does": does, "reason": reason, **figures})
            print(f"  {name:24} {figures['p50']:10.3f} ms   {does}" if measured else f"  {name:24} {reason}", flush=True)
    return {"counts": counts, "rows": [row.to_dict() for row in rows], "rivals": others}


def show(row: Row) -> Row:
    """Prints a row as soon as it is known."""
    mark = {True: "met", False: "NOT MET", None: ""}[row.met]
    budget = "" if row.budget is None else f"{'<=' if row.most else '>='} {row.budget:,.0f}"
    cpu = f"(processor {row.detail['cpu_p50']:.3f} ms)" if "cpu_p50" in row.detail else ""
    print(f"  {row.name:58} {row.value:12,.3f} {row.unit:10} {budget:>9}  {mark:8} {cpu}", flush=True)
    return row


def save(out: Path, result: dict[str, Any]) -> None:
    """Figures and table."""
    plain = json.loads(json.dumps(result, default=lambda row: row.to_dict()))
    (out / "speed.json").write_text(json.dumps(plain, indent=1), encoding="utf-8")
    (out / "speed.md").write_text(markdown(plain), encoding="utf-8")


def markdown(result: dict[str, Any]) -> str:
    """The tables."""
    lines = [f"episodica {result['version']}, {result['when']}, {result['machine']['processor']}, {result['machine']['cores']} cores", ""]
    for count, part in result["sizes"].items():
        lines += [f"## {int(count):,} messages", "", "| measured | value | processor | budget | |", "|---|---|---|---|---|"]
        lines += [_line(row) for row in part["rows"]]
        ours = next((row["value"] for row in part["rows"] if row["name"].startswith("hybrid search, episodes + facts, p50")), None)
        if part["rivals"]:
            lines += ["", "| in its place | p50 ms | middle half | against our whole hybrid search | does |", "|---|---|---|---|---|"]
        for other in part["rivals"]:
            if other["reason"]:
                lines.append(f"| {other['name']} | - | | | {other['reason']} |")
            else:
                ratio = f"{other['p50'] / ours:.2f} x" if ours else ""
                lines.append(
                    f"| {other['name']} | {other['p50']:.3f} | {other['p25']:.3f}-{other['p75']:.3f} | {ratio} | {other['does']} |"
                )
        lines.append("")
    if result.get("users"):
        lines += [
            "## Many users",
            "",
            "| measured | value | processor | budget | |",
            "|---|---|---|---|---|",
            *map(_line, result["users"]),
            "",
        ]
    return "\n".join(lines)


def _line(row: dict[str, Any]) -> str:
    budget = "" if row["budget"] is None else f"{'≤' if row['most'] else '≥'} {row['budget']:,.0f} {row['unit']}"
    met = {True: "met", False: "**not met**", None: ""}[row["met"]]
    cpu = row["detail"].get("cpu_p50")
    return f"| {row['name']} | {row['value']:,.2f} {row['unit']} | {'' if cpu is None else f'{cpu:.2f} ms'} | {budget} | {met} |"


if __name__ == "__main__":
    main()
