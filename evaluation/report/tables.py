"""The report's tables, apart from how they are written: HTML and Markdown show the same figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evaluation.common.calibration import KINDS
from evaluation.common.scoring import ABSTENTION_METRICS, ANSWER_METRICS

from .aggregate import OVERALL

# What the first table shows of the many retrieval metrics; `scores.json` has all of them.
HEADLINE = (
    "message_recall@5",
    "message_recall@10",
    "message_recall@20",
    "message_recall@50",
    "message_ndcg@10",
    "message_mrr@50",
    "episode_recall@5",
    "session_recall@5",
    "message_coverage@500",
    "message_coverage@1000",
    "message_coverage@2000",
    "message_coverage@3000",
    "message_coverage@everything",
    "answer_token_recall@400",
    "answer_token_recall@2000",
    "answer_token_recall@everything",
)
# Stands where a system cannot have a figure.
NONE = "n/a"
BY_CATEGORY = ("message_recall@10", "message_coverage@2000")


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its heading; ``note`` stands below it."""

    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str = ""


def cell(estimate: dict[str, Any] | None) -> str:
    """A figure with its interval, or a mark that there is none."""
    if not estimate or estimate["mean"] is None:
        return NONE
    return f"{estimate['mean']:.4f} [{estimate['low']:.3f}, {estimate['high']:.3f}]"


def retrieval(summary: dict[str, Any], key: str) -> Table:
    """The systems side by side."""
    systems = summary["systems"]
    rows = []
    for metric in HEADLINE:
        cells = [
            cell(one["retrieval"][key].get(metric, {}).get(OVERALL)) for one in systems.values()
        ]
        if set(cells) != {NONE}:
            rows.append((metric, *cells))
    n = next(
        (
            one["retrieval"][key][HEADLINE[1]][OVERALL]["n"]
            for one in systems.values()
            if HEADLINE[1] in one["retrieval"][key]
        ),
        0,
    )
    return Table(
        f"Retrieval, {_against(summary, key, 'evidence')}",
        ("metric", *systems),
        rows,
        f"{n} questions with evidence; 95 % intervals in brackets.",
    )


def _against(summary: dict[str, Any], key: str, what: str) -> str:
    """What the figures are measured against.

    Without corrections both keys are the published one.
    """
    return f"{key} {what}" if summary["counts"]["corrected"] else f"{what} as published"


def by_category(
    summary: dict[str, Any], key: str, metrics: tuple[str, ...] = BY_CATEGORY
) -> list[Table]:
    """One table a metric: categories down, systems across."""
    found = {name: one["retrieval"][key] for name, one in summary["systems"].items()}
    made = [
        _groups(f"{metric} by category, {_against(summary, key, 'evidence')}", metric, found)
        for metric in metrics
    ]
    return [one for one in made if one.rows]


def answers(summary: dict[str, Any], key: str) -> list[Table]:
    """Answer scores: overall, then the strict judge (or F1) by category."""
    tables = {
        name: one["answers"].get(key, {})
        for name, one in summary["systems"].items()
        if one["answers"].get(key)
    }
    if not tables:
        return []
    rows = [
        (metric, *(cell(one.get(metric, {}).get(OVERALL)) for one in tables.values()))
        for metric in ANSWER_METRICS
    ]
    made = [
        Table(
            f"Answers, {_against(summary, key, 'answers')}",
            ("metric", *tables),
            [row for row in rows if set(row[1:]) != {NONE}],
        )
    ]
    metrics = ("llm_score_strict", "llm_score", "f1_multiset")
    made += [
        _groups(f"{metric} by category, {_against(summary, key, 'answers')}", metric, tables)
        for metric in metrics
    ]
    return [one for one in made if one.rows]


def _groups(title: str, metric: str, tables: dict[str, dict[str, Any]]) -> Table:
    groups = list(
        dict.fromkeys(group for table in tables.values() for group in table.get(metric, {}))
    )
    rows = []
    for group in [
        *(one for one in groups if one != OVERALL),
        *(one for one in groups if one == OVERALL),
    ]:
        estimates = [table.get(metric, {}).get(group) for table in tables.values()]
        n = next(one["n"] for one in estimates if one)
        rows.append((group, str(n), *map(cell, estimates)))
    return Table(title, ("category", "n", *tables), rows)


def abstention(summary: dict[str, Any]) -> list[Table]:
    """Does it know what it doesn't know, and does it answer what it could."""
    systems = {name: one for name, one in summary["systems"].items() if one["abstention"]}
    if not systems:
        return []
    rows = [
        (
            metric,
            *(cell(one["abstention"].get(metric, {}).get(OVERALL)) for one in systems.values()),
        )
        for metric in ABSTENTION_METRICS
    ]
    rows.append(
        (
            "abstained though the answer exists",
            *(
                cell(one["answers"]["abstained"].get("abstained", {}).get(OVERALL))
                for one in systems.values()
            ),
        )
    )
    note = (
        "The first rows should be high and the last one low: "
        "a system that always abstains is right in the former and useless."
    )
    return [
        Table(
            "Knows what it doesn't know",
            ("metric", *systems),
            [row for row in rows if set(row[1:]) != {NONE}],
            note,
        )
    ]


def judge_spread(summary: dict[str, Any]) -> list[Table]:
    """How far a judge's runs lie apart."""
    rows = [
        (
            name,
            judge,
            ", ".join(f"{mean:.4f}" for mean in one["run_means"]),
            f"{one['disagreement']:.4f}",
            str(one["questions"]),
        )
        for name, system in summary["systems"].items()
        for judge, one in system["answers"]["judge_spread"].items()
    ]
    return (
        [Table("Judge runs", ("system", "judge", "mean in each run", "runs disagree", "n"), rows)]
        if rows
        else []
    )


def calibration(summary: dict[str, Any]) -> list[Table]:
    """The rate of known answers that each judge accepts."""
    table = summary["calibration"]
    if not table:
        return []
    rows = [
        (
            kind,
            str(max(one[kind]["n"] for one in table.values())),
            *(cell(one[kind]) for one in table.values()),
        )
        for kind in KINDS
    ]
    note = (
        "The rate accepted of answers that are right, vague, specific but wrong, or off by a day "
        "or year. All but the first should be 0."
    )
    return [Table("Judge calibration", ("known answer", "n", *table), rows, note)]


def comparisons(summary: dict[str, Any]) -> list[Table]:
    """Paired differences of the memory and each other system: retrieval and answers apart."""
    answered = {*ANSWER_METRICS, *ABSTENTION_METRICS}
    made = []
    for level, of_answers in (("retrieval", False), ("answers", True)):
        for other in dict.fromkeys(one["first"] for one in summary["comparisons"]):
            picked = [
                one
                for one in summary["comparisons"]
                if one["first"] == other and (one["metric"] in answered) is of_answers
            ]
            if picked:
                made.append(
                    differences(
                        f"{picked[0]['second']} minus {other}, {level}, question by question",
                        picked,
                    )
                )
    return [one for one in made if one.rows]


def differences(title: str, rows: list[dict[str, Any]]) -> Table:
    """Paired differences as a table; those whose interval holds 0 are marked."""
    wanted = (*HEADLINE, *ANSWER_METRICS, *ABSTENTION_METRICS)
    shown = [
        (
            one["metric"],
            f"{one['mean']:+.4f} [{one['low']:+.3f}, {one['high']:+.3f}]"
            + (" ≈" if one["low"] <= 0 <= one["high"] else ""),
            f"{one['better']} : {one['worse']}",
            str(one["n"]),
        )
        for one in rows
        if one["metric"] in wanted
    ]
    return Table(
        title,
        ("metric", "difference", "better : worse", "n"),
        shown,
        "≈ marks intervals that hold 0: no difference was shown.",
    )


def costs(summary: dict[str, Any]) -> Table:
    """The ledger."""
    rows = []
    for name, one in summary["systems"].items():
        book = one["ledger"]
        for phase in ("build", "search", "answer", "judge"):
            entry = book[phase]
            if entry["items"]:
                rows.append(
                    (
                        name,
                        phase,
                        f"{entry['items']:,}",
                        f"{entry['prompt_tokens']:,}",
                        f"{entry['completion_tokens']:,}",
                        f"{entry['seconds']:,.1f}",
                        NONE
                        if entry["p50_ms"] is None
                        else f"{entry['p50_ms']:,.1f} / {entry['p95_ms']:,.1f}",
                        f"{book['search']['mean_context_tokens']:,.0f}"
                        if phase == "search" and book["search"]["mean_context_tokens"]
                        else "",
                    )
                )
    head = (
        "system",
        "phase",
        "items",
        "prompt tokens",
        "completion tokens",
        "seconds",
        "p50 / p95 ms",
        "mean context tokens",
    )
    note = (
        "Seconds are wall-clock on the machine of this run and depend on its load; "
        "items are conversations, questions, or calls."
    )
    return Table("Ledger: tokens and seconds", head, rows, note)


def problems(summary: dict[str, Any]) -> Table:
    """What is wrong with the data."""
    rows = [(one["question"], one["what"], one["value"]) for one in summary["problems"]]
    return Table("Problems in the data", ("question", "what", "as it stands in the file"), rows)


def failures(summary: dict[str, Any]) -> Table:
    """What failed; each counts as wrong."""
    rows = [
        (name, one["question"], one["what"])
        for name, system in summary["systems"].items()
        for one in system["failures"]
    ]
    return Table("Failures, counted as wrong", ("system", "question", "what"), rows)
