"""A reader by hand: packs that give nothing away, and marks by arm."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from evaluation.__main__ import main
from evaluation.datasets import load
from evaluation.reader import NOT_ANSWERABLE, draw

FIXTURES = Path(__file__).parents[2] / "fixtures"


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def step(*arguments: object) -> int:
    return main(["reader", *map(str, arguments)])


def test_packs_are_read_judged_and_scored(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "packs"
    made = ("make", out, "locomo", "--data", talk, "--asked", 4, "--systems", "episodica,bm25")
    assert step(*made, "--arm", f"other={sys.executable}") == 0
    key = read(out / "key.json")
    packs = [row for number in range(2) for row in read(out / f"pack_{number}.json")]
    assert {row["id"] for row in packs} == set(key)
    assert all(set(row) == {"id", "question", "context"} for row in packs), "no arm, no answer"
    # Three categories with evidence and one that is not said, of three arms each.
    assert Counter(row["arm"] for row in key.values()) == {"episodica": 4, "bm25": 4, "other": 4}
    contexts = {row["id"]: row["context"] for row in packs}
    same = {(row["key"], row["arm"]): contexts[one] for one, row in key.items()}
    assert all(same[k, "other"] == same[k, "episodica"] for k in {k for k, _ in same})
    assert "NOT IN CONTEXT" in (out / "reader.md").read_text()

    assert step("judge", out) == 1, "there are no answers yet"
    answers = {one: {"answer": f"said {one}", "note": ""} for one in key}
    for number in range(2):
        part = {row["id"]: answers[row["id"]] for row in read(out / f"pack_{number}.json")}
        (out / f"answers_{number}.json").write_text(json.dumps(part))
    assert step("judge", out) == 0
    judged = read(out / "judge.json")
    assert all(set(row) == {"id", "question", "gold", "answer"} for row in judged)
    assert sum(row["gold"] == NOT_ANSWERABLE for row in judged) == 3
    assert [row["id"] for row in judged] != sorted(key), "in a drawn order"

    marks = {one: {"episodica": 1, "bm25": 0.5, "other": 1}[row["arm"]] for one, row in key.items()}
    unjudged = next(one for one, row in key.items() if row["arm"] == "other")
    (out / "verdicts.json").write_text(
        json.dumps({k: v for k, v in marks.items() if k != unjudged})
    )
    capsys.readouterr()
    assert step("score", out) == 0
    said = capsys.readouterr().out
    assert "| all | 4 | " in said
    assert "| bm25 minus episodica | 4 | -0.500 [-0.50, -0.50] |" in said or (
        "| episodica minus bm25 | 4 | +0.500 [+0.50, +0.50] |" in said
    )
    assert "1 of 12 contexts have no verdict and count as 0." in said
    (out / "verdicts_2.json").write_text(json.dumps(dict.fromkeys(key, 1)))
    assert step("score", out) == 0
    assert "Two judges agree in 64% of 11." in capsys.readouterr().out


def test_what_does_not_fit_is_refused(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "packs"
    made = ("make", out, "locomo", "--data", talk, "--systems", "bm25")
    assert step(*made, "--arm", "other=/bin/false") == 1
    assert "arm other failed" in capsys.readouterr().out
    assert step(*made) == 0
    assert step(*made) == 1
    assert "has packs already" in capsys.readouterr().out
    (out / "answers_0.json").write_text('{"q999": "a cello"}')
    assert step("judge", out) == 1
    assert "answers to no question of these packs: q999" in capsys.readouterr().out
    (out / "verdicts.json").write_text('{"q000": 0.7}')
    assert step("score", out) == 1
    assert "marks are 0, 0.5 or 1: q000" in capsys.readouterr().out


def test_each_category_has_its_share() -> None:
    questions = load("longmemeval", FIXTURES / "longmemeval_sample.json").questions
    drawn = draw(questions, 6, seed=1)
    assert len({one.category for one in drawn}) == 6
    assert drawn == draw(questions, 6, seed=1)
    assert len(draw(questions, 600, seed=1)) == len(questions)
