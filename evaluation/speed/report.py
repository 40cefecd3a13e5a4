"""Tables of a run: in the terminal, as `speed.md`, and in a page of the documentation.

    python -m evaluation speed report speed.json docs/performance.md

writes the figures between the page's comments `<!-- measured: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation.speed.rows import FULL, ONCE, SIZES, USERS, short, shown

Result = Mapping[str, Any]
HARD_SPACE = "\N{NO-BREAK SPACE}"
_BLOCK = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def keep(out: Path, result: Result) -> None:
    """Writes the results so far to `speed.json`."""
    (out / "speed.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def write(out: Path, result: Result) -> None:
    """Writes `speed.json` and `speed.md`."""
    keep(out, result)
    (out / "speed.md").write_text(markdown(result), encoding="utf-8")


def markdown(result: Result) -> str:
    """The whole report: budgets first, then their details."""
    parts = [
        f"# Speed of episodica {result['version']}",
        machine(result),
        "## Budgets",
        budgets(result),
        "## Details",
        details(result),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def machine(result: Result) -> str:
    """The machine and the date of the measurement."""
    one = result["machine"]
    reused = (
        " Stores, and the rates at which they grew, are those of an earlier run."
        if result["reused"]
        else ""
    )
    return (
        f"{one['processor']}, {one['cores']} cores, {one['gigabytes']} GB, {one['system']}, "
        f"Python {one['python']}; "
        f"{result['when'][:16].replace('T', ' ')} UTC, {result['seconds'] / 60:.1f} minutes; load "
        f"at the start {one['load'][0]}.{reused}"
    )


def budgets(result: Result) -> str:
    """Every budget and its measured value."""
    rows = [
        (one["name"], one["bound"].replace(" ", HARD_SPACE), _value(one), _verdict(one))
        for one in result["budgets"]
    ]
    return f"{table(('budget', 'limit', 'measured', ''), rows)}\n\n{tally(result)}."


def tally(result: Result) -> str:
    """The number of budgets that are met."""
    judged = [one["met"] for one in result["budgets"]]
    met, missed, later = (judged.count(answer) for answer in (True, False, None))
    return f"{met} met, {missed} not met, {later} not due at these sizes"


def _value(one: Mapping[str, Any]) -> str:
    if one["value"] is None:
        return "-"
    return f"{shown(one['value'])} {one['unit']}".rstrip().replace(" ", HARD_SPACE)


def _verdict(one: Mapping[str, Any]) -> str:
    if one["value"] is None:
        return "not measured"
    if one["met"] is None:
        return f"due at {short(one['due'])}, this is {short(one['at'])}"
    return "met" if one["met"] else "**not met**"


def details(result: Result) -> str:
    """All rows, with a column for each size."""
    parts = [figures(result, ())]
    for part, title in ((ONCE, "at any size"), (USERS, "many users")):
        if result.get(part):
            parts.append(
                table((title, "value"), [(row["name"], _cell(row)) for row in result[part]["rows"]])
            )
    return "\n\n".join(parts)


# The rows of `figures`.
_SHORT = (
    *("search", "search_messages", "search_messages_p99", "context", "episode"),
    *("ingest_batches", "cold_open", "killed_open", "resident", "followed", "recall"),
)


def figures(result: Result, keys: Sequence[str] = _SHORT) -> str:
    """The rows with these keys (all without keys), with a column for each size."""
    sizes: Mapping[str, Any] = result[SIZES]
    counts = [
        f"{short(int(count))}: {part['counts']['episodes']:,} episodes, "
        f"{part['counts']['semantic_memories'] + part['counts']['superseded']:,} facts, "
        f"{part['disk']:,.0f} MB on disk"
        for count, part in sizes.items()
    ]
    names: dict[str, str] = {}
    for part in sizes.values():
        for row in part["rows"]:
            if not keys or row["key"] in keys:
                names.setdefault(row["key"], row["name"])
    rows = []
    for key, name in names.items():
        cells = [
            next((row for row in part["rows"] if row["key"] == key), None)
            for part in sizes.values()
        ]
        rows.append((name, *map(_cell, cells)))
    head = ("measured, with processor time in brackets", *(short(int(count)) for count in sizes))
    listed = ["* " + "\n* ".join(counts)] if counts else []
    return "\n\n".join([*listed, table(head, rows)])


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    worked = "" if row["cpu"] is None else f" ({shown(row['cpu'])})"
    return f"{shown(row['value'])} {row['unit']}{worked}".strip().replace(" ", HARD_SPACE)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


BLOCKS: dict[str, Callable[[Result], str]] = {"machine": machine, "figures": figures}


def fill(page: Path, result: Result) -> None:
    """Writes the figures into the page and leaves its other text unchanged."""
    text = page.read_text(encoding="utf-8")
    filled = _BLOCK.sub(lambda one: f"{one[1]}{BLOCKS[one[2]](result)}\n{one[3]}", text)
    page.write_text(filled, encoding="utf-8")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("result", type=Path, help="`speed.json` of a run")
    parser.add_argument("page", type=Path, help="the page to fill")


def run(options: argparse.Namespace) -> int:
    """The command."""
    result = json.loads(options.result.read_text(encoding="utf-8"))
    if str(FULL) not in result[SIZES]:
        print(f"this run has no size {short(FULL)}, for which most budgets are")
    fill(options.page, result)
    return 0
