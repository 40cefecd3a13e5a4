"""From answers and judgements to ``metrics.json``: word scores and judge means per question."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from .answering import abstains
from .dataset import ANSWERABLE, KEYS
from .journal import write_json
from .judging import JUDGES, gold_keys, labels
from .text_scores import bleu1, f1_multiset, f1_set

ANSWER_METRICS = ("f1_multiset", "f1_score", "bleu_score", "llm_score_strict", "llm_score")
ABSTENTION_METRICS = ("knows_not_choice", "knows_not_rule", "knows_not_judge")


def score_answers(
    rows: list[dict[str, Any]],
    answers: dict[str, dict[str, Any]],
    judgements: dict[str, dict[str, Any]],
) -> list[dict[str, Any]]:
    """One row a question. A question without an answer scores 0 everywhere and says why."""
    marks = labels(judgements)
    return [
        (_answerable if row["kind"] == ANSWERABLE else _unanswerable)(
            row, answers, marks, bool(judgements)
        )
        for row in rows
    ]


def _common(row: dict[str, Any], answers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    given = answers.get(row["key"], {})
    failure = (
        row["failure"] or given.get("failure") or (None if given else "answer: none was given")
    )
    return {
        "key": row["key"],
        "conversation": row["conversation"],
        "question": row["question"],
        "answer": row["answer"],
        "response": given.get("response", ""),
        "category": str(row["category"]),
        "category_name": row["category_name"],
        "kind": row["kind"],
        "failure": failure,
    }


def _mean(marks: list[float] | None, judged: bool, failure: str | None) -> float | None:
    """The mean of the runs: ``None`` without a judge, 0 for a failed answer or judgement."""
    if not judged:
        return None
    return statistics.fmean(marks) if marks and not failure else 0.0


def _answerable(row: dict[str, Any], answers: Any, marks: Any, judged: bool) -> dict[str, Any]:
    made = _common(row, answers)
    scored = {}
    for key in KEYS:
        gold = row["gold"][key]["answer"]
        # An unchanged answer was marked once, under the original key.
        marked = key if key in gold_keys(row) else KEYS[0]
        runs = {name: marks.get((row["key"], name, marked)) for name in JUDGES}
        scored[key] = {
            "bleu_score": 0.0 if made["failure"] else bleu1(made["response"], gold),
            "f1_score": 0.0 if made["failure"] else f1_set(made["response"], gold),
            "f1_multiset": 0.0 if made["failure"] else f1_multiset(made["response"], gold),
            "llm_score": _mean(runs["lenient"], judged, made["failure"]),
            "llm_score_strict": _mean(runs["strict"], judged, made["failure"]),
            "judge_runs": runs,
        }
    return {
        **made,
        **scored[KEYS[0]],
        "corrected": {"answer": row["gold"][KEYS[1]]["answer"], **scored[KEYS[1]]},
        "abstained": float(abstains(made["response"])),
    }


def _unanswerable(row: dict[str, Any], answers: Any, marks: Any, judged: bool) -> dict[str, Any]:
    made = _common(row, answers)
    choice = answers.get(f"{row['key']}#choice")
    return {
        **made,
        "trap": row["trap"],
        "knows_not_rule": 0.0 if made["failure"] else float(abstains(made["response"])),
        "knows_not_judge": _mean(
            marks.get((row["key"], "abstention", KEYS[0])), judged, made["failure"]
        ),
        "knows_not_choice": choice.get("knows_not_choice", 0.0) if choice else None,
        "choice_failure": choice.get("failure") if choice else None,
    }


def write_metrics(folder: Path, scored: list[dict[str, Any]]) -> None:
    """Writes ``metrics.json`` (answerable questions, usual shape) and ``abstention.json``."""
    for name, wanted in (("metrics.json", True), ("abstention.json", False)):
        by_conversation: dict[str, list[dict[str, Any]]] = {}
        for row in scored:
            if (row["kind"] == ANSWERABLE) is wanted:
                by_conversation.setdefault(str(row["conversation"]), []).append(row)
        write_json(folder / name, by_conversation)
