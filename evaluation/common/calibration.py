"""What a judge lets pass: known right and wrong answers, marked with the same prompts."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from .chat import ChatClient
from .dataset import ANSWERABLE
from .intervals import wilson
from .journal import read_rows
from .judging import JUDGES, LEAST_RUNS, Rules, ask_judges, locomo_rules
from .text_scores import words

KINDS = ("right", "vague", "specific", "date_off_by_one")
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_MONTH = "|".join(_MONTHS)
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}}) ({_MONTH}),? (\d{{4}})\b", re.IGNORECASE)
_MONTH_FIRST = re.compile(rf"\b({_MONTH}) (\d{{1,2}}),? (\d{{4}})\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(19|20)\d\d\b")
_VAGUE = {
    "temporal": "Some time ago; they talked about it around then.",
    "": "It came up when they talked about {topic}, and it clearly mattered to them.",
}


def vague(row: dict[str, Any]) -> str:
    """An answer on the question's topic that says nothing."""
    topic = next((word for word in reversed(words(row["question"])) if len(word) > 4), "it")
    return _VAGUE["temporal" if "temporal" in row["category_name"] else ""].format(topic=topic)


def specific(row: dict[str, Any], others: list[dict[str, Any]]) -> str | None:
    """The answer to another question of the category that shares no word with this one's."""
    mine = {word for gold in row["gold"].values() for word in words(gold["answer"])}
    fitting = [
        one["answer"]
        for one in others
        if one["category"] == row["category"] and not mine & set(words(one["answer"]))
    ]
    return random.Random(f"specific/{row['key']}").choice(fitting) if fitting else None


def date_off_by_one(answer: str) -> str | None:
    """The answer with its first date a day later, or its first bare year a year later.

    ``None`` without either.
    """
    if found := _DAY_FIRST.search(answer):
        moved = _later(int(found[3]), found[2], int(found[1]))
        changed = moved and f"{moved.day} {_MONTHS[moved.month - 1]} {moved.year}"
    elif found := _MONTH_FIRST.search(answer):
        moved = _later(int(found[3]), found[1], int(found[2]))
        changed = moved and f"{_MONTHS[moved.month - 1]} {moved.day}, {moved.year}"
    elif found := _YEAR.search(answer):
        changed = str(int(found[0]) + 1)
    else:
        return None
    return answer[: found.start()] + changed + answer[found.end() :] if changed else None


def _later(year: int, month: str, day: int) -> date | None:
    try:
        return date(year, _MONTHS.index(month.capitalize()) + 1, day) + timedelta(days=1)
    except ValueError:
        return None


def calibrate(
    rows: list[dict[str, Any]],
    out: Path,
    client: ChatClient,
    *,
    rules: Rules = locomo_rules,
    questions: int = 40,
    runs: int = LEAST_RUNS,
    workers: int = 4,
) -> dict[str, Any]:
    """Marks known answers of a seeded sample of questions.

    The rate accepted should be near 1 for ``right``, and near 0 else.
    """
    asked = [
        row for row in rows if row["kind"] == ANSWERABLE and row["gold"]["corrected"]["answer"]
    ]
    sample = random.Random("calibration").sample(asked, min(questions, len(asked)))
    tasks = []
    for row in sample:
        for kind, text in _known_answers(row, asked):
            given = {"response": text, "wrongness": kind}
            tasks += [
                (row, given, judge_name, "corrected", run)
                for judge_name in JUDGES
                for run in range(runs)
            ]
    ask_judges(
        "calibrate judges", tasks, out / "calibration.jsonl", client, rules=rules, workers=workers
    )
    return summarise(out / "calibration.jsonl")


def _known_answers(row: dict[str, Any], others: list[dict[str, Any]]) -> Iterable[tuple[str, str]]:
    right = row["gold"]["corrected"]["answer"]
    made = (right, vague(row), specific(row, others), date_off_by_one(right))
    return [(kind, text) for kind, text in zip(KINDS, made, strict=True) if text]


def summarise(path: Path) -> dict[str, Any]:
    """The rate of answers accepted (by most runs), by judge and kind, with Wilson's interval."""
    marks: dict[tuple[str, str, str], list[float]] = {}
    for row in {row["key"]: row for row in read_rows(path)}.values():
        marks.setdefault((row["judge"], row["key"].rpartition("/")[2], row["question"]), []).append(
            row["label"]
        )
    table: dict[str, Any] = {}
    for judge_name in JUDGES:
        for kind in KINDS:
            accepted = [
                sum(runs) * 2 > len(runs)
                for (name, one, _), runs in marks.items()
                if (name, one) == (judge_name, kind)
            ]
            table.setdefault(judge_name, {})[kind] = wilson(sum(accepted), len(accepted)).to_dict()
    return table if marks else {}
