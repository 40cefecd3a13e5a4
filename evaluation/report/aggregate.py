"""Sums a run up: every figure with its interval, overall and by category, under each gold key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from evaluation.common import ledger
from evaluation.common.calibration import summarise
from evaluation.common.dataset import ANSWERABLE, KEYS, Dataset
from evaluation.common.intervals import estimate, paired
from evaluation.common.journal import read_json, read_rows
from evaluation.common.retrieval import metric_names
from evaluation.common.scoring import ABSTENTION_METRICS, ANSWER_METRICS

OVERALL = "overall"
# The memory's name: the system that the others are compared with.
SUBJECT = "episodica"


def aggregate(dataset: Dataset, out: Path, rows: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Everything that the report shows, as plain JSON types."""
    systems = {name: _system(out / name, searched) for name, searched in rows.items()}
    return {
        "manifest": read_json(out / "manifest.json"),
        "dataset": dataset.name,
        "counts": _counts(dataset),
        "problems": [
            {"question": one.question, "what": one.what, "value": one.value}
            for one in dataset.problems
        ],
        "systems": systems,
        "comparisons": _comparisons(rows, {name: scored_rows(out / name) for name in rows}),
        "calibration": summarise(out / "calibration.jsonl"),
    }


def _counts(dataset: Dataset) -> dict[str, Any]:
    questions = dataset.questions
    return {
        "conversations": len(dataset.conversations),
        "messages": sum(len(one.messages) for one in dataset.conversations),
        "questions": len(questions),
        "corrected": sum(1 for one in questions if one.correction),
        "by_category": {
            name: sum(1 for one in questions if one.category == name)
            for name in _categories(questions)
        },
        "without_evidence": sum(
            1
            for one in questions
            if one.kind == ANSWERABLE
            and not (one.gold["corrected"].messages or one.gold["corrected"].sessions)
        ),
    }


def _categories(rows: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(sorted(one.category for one in rows)))


def _system(folder: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    build = list({row["key"]: row for row in read_rows(folder / "build.jsonl")}.values())
    answers = list({row["key"]: row for row in read_rows(folder / "answers.jsonl")}.values())
    marks = list({row["key"]: row for row in read_rows(folder / "judgements.jsonl")}.values())
    scored = scored_rows(folder)
    return {
        "retrieval": {
            key: _tables(rows, metric_names(), lambda row, key=key: row["scores"].get(key, {}))
            for key in KEYS
        },
        "answers": _answers(scored),
        "abstention": _tables(
            [row for row in scored if row["kind"] != ANSWERABLE],
            ABSTENTION_METRICS,
            lambda row: row,
        ),
        "ledger": ledger.summary(build, rows, answers, marks),
        "failures": _failures(rows, scored, marks),
        "degraded": sorted({leg for row in rows for leg in row.get("degraded", ())}),
        "curve": _curve(rows),
    }


def _tables(
    rows: list[dict[str, Any]],
    names: Iterable[str],
    scores_of: Callable[[dict[str, Any]], dict[str, Any]],
) -> dict[str, dict[str, Any]]:
    """``{metric: {overall | category: estimate}}``; metrics that no row has are left out."""
    tables: dict[str, dict[str, Any]] = {}
    for name in names:
        values = [
            (row["category_name"], scores_of(row)[name])
            for row in rows
            if scores_of(row).get(name) is not None
        ]
        if values:
            groups = {OVERALL: [value for _, value in values]}
            for category in sorted({category for category, _ in values}):
                groups[category] = [value for one, value in values if one == category]
            tables[name] = {
                group: estimate(of_group).to_dict() for group, of_group in groups.items()
            }
    return tables


def _answers(scored: list[dict[str, Any]]) -> dict[str, Any]:
    answerable = [row for row in scored if row["kind"] == ANSWERABLE]
    original, corrected = KEYS
    return {
        original: _tables(answerable, ANSWER_METRICS, lambda row: row),
        corrected: _tables(answerable, ANSWER_METRICS, lambda row: row["corrected"]),
        "abstained": _tables(answerable, ("abstained",), lambda row: row),
        "judge_spread": _spread(answerable),
    }


def _spread(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A judge's spread: its mean in each run, and the share of questions its runs disagree on."""
    found: dict[str, Any] = {}
    for judge in ("strict", "lenient"):
        runs = [row["judge_runs"][judge] for row in rows if row["judge_runs"].get(judge)]
        if runs:
            count = min(map(len, runs))
            found[judge] = {
                "run_means": [
                    round(sum(one[run] for one in runs) / len(runs), 6) for run in range(count)
                ],
                "disagreement": round(sum(len(set(one)) > 1 for one in runs) / len(runs), 6),
                "questions": len(runs),
            }
    return found


def _failures(
    rows: list[dict[str, Any]], scored: list[dict[str, Any]], marks: list[dict[str, Any]]
) -> list[dict[str, str]]:
    found = [(row["key"], row["failure"]) for row in rows if row["failure"]]
    known = set(found)
    found += [
        (row["key"], row["failure"])
        for row in scored
        if row["failure"] and (row["key"], row["failure"]) not in known
    ]
    found += [(row["key"], row["choice_failure"]) for row in scored if row.get("choice_failure")]
    found += [
        (row["question"], row.get("failure") or row["unreadable"])
        for row in marks
        if row.get("failure") or row.get("unreadable")
    ]
    return [{"question": question, "what": what} for question, what in found]


def _curve(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean tokens and mean coverage at each budget: what a token of context buys."""
    points = []
    for budget in sorted(
        {name for row in rows for name in row.get("tokens", {})},
        key=lambda name: (not name.isdigit(), name.zfill(9)),
    ):
        metric = f"message_coverage@{budget}"
        kept = [
            row
            for row in rows
            if metric in row["scores"].get("corrected", {}) and budget in row.get("tokens", {})
        ]
        if kept:
            covered = estimate([row["scores"]["corrected"][metric] for row in kept]).to_dict()
            points.append(
                {
                    "budget": budget,
                    "tokens": round(sum(row["tokens"][budget] for row in kept) / len(kept), 1),
                    **covered,
                }
            )
    return points


def scored_rows(folder: Path) -> list[dict[str, Any]]:
    """The scored answers of a system, answerable questions first; none without answers."""
    rows: list[dict[str, Any]] = []
    for name in ("metrics.json", "abstention.json"):
        if (folder / name).exists():
            rows += [row for part in read_json(folder / name).values() for row in part]
    return rows


def _comparisons(
    rows: dict[str, list[dict[str, Any]]], scored: dict[str, list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """The memory minus each other system, over the questions that both have a score for."""
    if SUBJECT not in rows:
        return []
    found = []
    for other in rows:
        if other != SUBJECT:
            found += compare(
                other,
                rows[other],
                SUBJECT,
                rows[SUBJECT],
                lambda row: row["scores"].get("corrected", {}),
                metric_names(),
            )
            found += compare(
                other,
                scored[other],
                SUBJECT,
                scored[SUBJECT],
                lambda row: row.get("corrected") or row,
                (*ANSWER_METRICS, *ABSTENTION_METRICS),
            )
    return found


def compare(
    first: str,
    first_rows: list[dict[str, Any]],
    second: str,
    second_rows: list[dict[str, Any]],
    scores_of: Callable[[dict[str, Any]], dict[str, Any]],
    names: Iterable[str],
) -> list[dict[str, Any]]:
    """Paired differences ``second - first``, each with its interval, wins and losses."""
    mine = {row["key"]: scores_of(row) for row in second_rows}
    found = []
    for name in names:
        pairs = [
            (scores[name], mine[row["key"]][name])
            for row in first_rows
            if row["key"] in mine
            and (scores := scores_of(row)).get(name) is not None
            and mine[row["key"]].get(name) is not None
        ]
        if pairs:
            difference = paired([a for a, _ in pairs], [b for _, b in pairs]).to_dict()
            better, worse = sum(b > a for a, b in pairs), sum(b < a for a, b in pairs)
            found.append(
                {
                    "metric": name,
                    "first": first,
                    "second": second,
                    **difference,
                    "better": better,
                    "worse": worse,
                }
            )
    return found
