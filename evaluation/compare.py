"""Compares two runs question by question: paired differences, and what changed most.

    python -m evaluation compare RUNS/before RUNS/after --out RUNS/comparison

A difference of two means with overlapping intervals may still be certain, as both runs answer the
same questions: look here for that.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from evaluation.common.journal import read_json, read_rows
from evaluation.common.retrieval import metric_names
from evaluation.common.scoring import ABSTENTION_METRICS, ANSWER_METRICS
from evaluation.report import html, markdown
from evaluation.report.aggregate import SUBJECT, compare, scored_rows
from evaluation.report.tables import Table, differences

CHANGED = 20
CHANGE_METRIC = "message_ndcg@10"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("before", type=Path, help="folder of a run")
    parser.add_argument("after", type=Path, help="folder of another run over the same data")
    parser.add_argument(
        "--system", default=SUBJECT, help="system of both runs (default: %(default)s)"
    )
    parser.add_argument(
        "--key",
        default="corrected",
        choices=("original", "corrected"),
        help="gold key (default: %(default)s)",
    )
    parser.add_argument("--out", type=Path, help="folder for the pages (default: the second run's)")


def run(args: argparse.Namespace) -> int:
    """Compares, prints, and writes ``comparison.html`` and ``comparison.md``."""
    try:
        tables = compared(args.before, args.after, args.system, args.key)
    except (OSError, ValueError) as error:
        print(f"error: {error}")
        return 1
    out = args.out or args.after
    out.mkdir(parents=True, exist_ok=True)
    title = f"{args.system}: {args.after.name} minus {args.before.name}"
    text = "\n\n".join([f"# {title}", *map(markdown.table, tables)]) + "\n"
    (out / "comparison.md").write_text(text, encoding="utf-8")
    (out / "comparison.html").write_text(
        html.page(title, [f"<h1>{html.escape(title)}</h1>", *map(html.table, tables)]),
        encoding="utf-8",
    )
    print(text)
    return 0


def compared(
    before: Path, after: Path, system: str = SUBJECT, key: str = "corrected"
) -> list[Table]:
    """The tables of a comparison.

    Raises
    ------
    ValueError
        When the runs are over different data, or share no question.
    """
    first, second = (read_json(run / "manifest.json") for run in (before, after))
    if first["data"] != second["data"]:
        raise ValueError("the runs are over different data: their checksums differ")
    rows = [
        list({row["key"]: row for row in read_rows(run / system / "search.jsonl")}.values())
        for run in (before, after)
    ]
    scored = [scored_rows(run / system) for run in (before, after)]
    retrieval = compare(
        "before", rows[0], "after", rows[1], lambda row: row["scores"].get(key, {}), metric_names()
    )
    if not retrieval:
        raise ValueError(f"both runs must have searched the same questions with `{system}`")
    answers = compare(
        "before",
        scored[0],
        "after",
        scored[1],
        _answer_scores(key),
        (*ANSWER_METRICS, *ABSTENTION_METRICS),
    )
    made = [
        Table("What differs", ("what", "before", "after"), _settings(first, second)),
        differences(f"Retrieval, {key} evidence", retrieval),
        differences(f"Answers, {key} answers", answers),
        _changed(rows[0], rows[1], key),
    ]
    return [one for one in made if one.rows]


def _answer_scores(key: str) -> Any:
    return lambda row: row["corrected"] if key == "corrected" and "corrected" in row else row


def _settings(first: dict[str, Any], second: dict[str, Any]) -> list[tuple[str, ...]]:
    names = ("episodica", "settings", "systems", "models", "prompts", "platform")
    mine, theirs = (
        {key: value for name in names for key, value in _flat(name, one.get(name)).items()}
        for one in (first, second)
    )
    changed = [
        entry for entry in dict.fromkeys([*mine, *theirs]) if mine.get(entry) != theirs.get(entry)
    ]
    return [
        (entry, str(mine.get(entry, "n/a")), str(theirs.get(entry, "n/a"))) for entry in changed
    ]


def _flat(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {
            key: one
            for part, inner in value.items()
            for key, one in _flat(f"{name}.{part}", inner).items()
        }
    return {name: value}


def _changed(first: list[dict[str, Any]], second: list[dict[str, Any]], key: str) -> Table:
    before = {row["key"]: row["scores"].get(key, {}).get(CHANGE_METRIC) for row in first}
    pairs = [
        (row, before[row["key"]], row["scores"].get(key, {}).get(CHANGE_METRIC))
        for row in second
        if row["key"] in before
    ]
    moved = [(row, a, b) for row, a, b in pairs if a is not None and b is not None and a != b]
    moved.sort(key=lambda one: -abs(one[2] - one[1]))
    rows = [
        (row["key"], f"{a:.3f}", f"{b:.3f}", row["category_name"], row["question"])
        for row, a, b in moved[:CHANGED]
    ]
    return Table(
        f"Questions that changed most, by {CHANGE_METRIC}",
        ("question", "before", "after", "category", "what"),
        rows,
    )
