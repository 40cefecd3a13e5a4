"""Judges: a strict and a lenient one side by side, each asked several times.

What can't be read counts as wrong, and is listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .answering import told
from .chat import ChatClient, ChatError
from .dataset import ANSWERABLE, KEYS
from .journal import Journal
from .prompts import prompt
from .stages import in_parallel

JUDGES = ("strict", "lenient")
LEAST_RUNS = 3
Rules = Callable[[dict[str, Any], str], str]
"""The name of the prompt by which a judge marks a row."""


def locomo_rules(row: dict[str, Any], judge: str) -> str:
    """The judges' prompts where the dataset has no rules of its own."""
    return f"judge_{judge}" if row["kind"] == ANSWERABLE else "judge_abstention"


def verdict(text: str) -> bool | None:
    """The last CORRECT, WRONG or INCORRECT of a reply; ``None`` without one."""
    found = re.findall(r"\b(correct|wrong|incorrect)\b", text.lower())
    return found[-1] == "correct" if found else None


def judge(
    rows: Iterable[dict[str, Any]],
    answers: dict[str, dict[str, Any]],
    folder: Path,
    client: ChatClient,
    *,
    rules: Rules = locomo_rules,
    runs: int = LEAST_RUNS,
    workers: int = 4,
) -> dict[str, dict[str, Any]]:
    """Marks every answer ``runs`` times with every judge, against each differing gold answer."""
    if runs < LEAST_RUNS:
        raise ValueError(f"one judge run is a coin toss: at least {LEAST_RUNS}, not {runs}")
    tasks = []
    for row in rows:
        given = answers.get(row["key"], {})
        if row["failure"] or given.get("failure") or not given:
            continue  # wrong without being asked: there is no answer
        for judge_name in JUDGES if row["kind"] == ANSWERABLE else ("abstention",):
            tasks += [
                (row, given, judge_name, key, run) for key in gold_keys(row) for run in range(runs)
            ]
    return ask_judges(
        f"judge {folder.name}",
        tasks,
        folder / "judgements.jsonl",
        client,
        rules=rules,
        workers=workers,
    )


def ask_judges(
    label: str,
    tasks: list[tuple[Any, ...]],
    path: Path,
    client: ChatClient,
    *,
    rules: Rules,
    workers: int,
) -> dict[str, dict[str, Any]]:
    """Does the judgements that are not there yet; all judgements by key."""
    with Journal(path) as journal:
        missing = [task for task in tasks if _stale(journal.get(judgement_key(*task)), task)]

        def work(task: tuple[Any, ...]) -> None:
            journal.append(_judgement(task, client, rules))

        in_parallel(
            label, missing, work, workers=workers, total=len(tasks), done=len(tasks) - len(missing)
        )
        return {row["key"]: row for row in journal.rows()}


def gold_keys(row: dict[str, Any]) -> list[str]:
    """The keys to mark against: both only where they differ."""
    original, corrected = KEYS
    return (
        [original]
        if row["gold"][original]["answer"] == row["gold"][corrected]["answer"]
        else [original, corrected]
    )


def judgement_key(
    row: dict[str, Any], given: dict[str, Any], judge_name: str, key: str, run: int
) -> str:
    """Names one judgement."""
    suffix = f"/{given['wrongness']}" if "wrongness" in given else ""
    return f"{row['key']}/{judge_name}/{key}/{run}{suffix}"


def _stale(known: dict[str, Any] | None, task: tuple[Any, ...]) -> bool:
    """Whether a judgement is missing, failed, or of another answer than the present one."""
    return known is None or bool(known["failure"]) or known["response"] != task[1]["response"]


def _judgement(task: tuple[Any, ...], client: ChatClient, rules: Rules) -> dict[str, Any]:
    row, given, judge_name, key, run = task
    template = prompt(rules(row, judge_name))
    gold = row["gold"][key]["answer"] or f"tempting but wrong: {row['trap']}"
    base = {
        "key": judgement_key(*task),
        "question": row["key"],
        "judge": judge_name,
        "gold_key": key,
        "run": run,
        "response": given["response"],
        "prompt_version": template.stamp,
    }
    try:
        reply = client.ask(
            template.fill(question=row["question"], gold=gold, response=given["response"]), run=run
        )
    except ChatError as error:
        return {**base, "label": 0.0, "model": client.model, "failure": f"judge: {error}"}
    marked = verdict(reply.text)
    unreadable = None if marked is not None else f"judge: unreadable verdict `{reply.text[:60]}`"
    return {
        **base,
        "label": float(bool(marked)),
        "said": reply.text[:200],
        **told(reply),
        "failure": None,
        "unreadable": unreadable,
    }


def labels(judgements: dict[str, dict[str, Any]]) -> dict[tuple[str, str, str], list[float]]:
    """The labels by question, judge and gold key, in the order of the runs."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for row in sorted(judgements.values(), key=lambda one: one["run"]):
        found.setdefault((row["question"], row["judge"], row["gold_key"]), []).append(row["label"])
    return found
