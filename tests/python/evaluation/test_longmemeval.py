"""LongMemEval end to end on a hand-written file with all question types."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from evaluation.__main__ import main
from evaluation.longmemeval.data import TYPES, load, session_date

SAMPLE = Path(__file__).parents[2] / "fixtures" / "longmemeval_sample.json"


def test_the_sample_has_all_types() -> None:
    dataset = load(SAMPLE)
    assert Counter(one.category for one in dataset.questions) == dict.fromkeys(TYPES, 2)
    assert Counter(one.kind for one in dataset.questions) == {"answerable": 10, "abstention": 2}
    assert not dataset.problems


def test_evidence_is_kept_by_turn_and_by_session() -> None:
    climbing = next(one for one in load(SAMPLE).conversations if one.user == "t-1")
    gold = climbing.questions[0].gold["original"]
    assert gold.messages == ("a_climb:0", "a_shoes:0")
    assert gold.sessions == ("a_climb", "a_shoes")
    assert climbing.questions[0].asked_at == "2023/06/05 (Mon) 10:00"
    assert [one["timestamp"] for one in climbing.messages] == sorted(
        one["timestamp"] for one in climbing.messages
    )
    assert (
        climbing.messages[1]["timestamp"]
        == "2023/04/06 20:30:05".replace("/", "-").replace(" ", "T") + "+00:00"
    )
    with pytest.raises(ValueError, match="date is not like"):
        session_date("20 May")


def test_what_is_wrong_with_a_file_is_listed(tmp_path: Path) -> None:
    entry = json.loads(SAMPLE.read_text())[0]
    entry["answer_session_ids"].append("nowhere")
    entry["haystack_session_ids"][0] = entry["haystack_session_ids"][1]
    entry["haystack_dates"][2] = "2024/01/01 (Mon) 00:00"
    entry["haystack_sessions"][0].append({"role": "user", "content": " "})
    path = tmp_path / "broken.json"
    path.write_text(json.dumps([entry]))
    dataset = load(path)
    assert [one.what for one in dataset.problems] == [
        "empty turn, not added",
        "evidence session that the history lacks",
        "session dated after the question, kept in the history",
    ]
    assert len({one["message_id"] for one in dataset.conversations[0].messages}) == len(
        dataset.conversations[0].messages
    )


def test_without_an_llm(tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert main(["longmemeval", "run", "--data", str(SAMPLE), "--out", str(out)]) == 0
    table = json.loads((out / "scores.json").read_text())["systems"]["episodica"]["retrieval"][
        "corrected"
    ]
    # Abstention questions have no evidence to find.
    assert table["session_recall@5"]["overall"] == {
        "mean": 1.0,
        "low": 0.722467,
        "high": 1.0,
        "n": 10,
    }
    assert set(table["message_recall@5"]) == {"overall", *TYPES}
    assert "LongMemEval" in (out / "report.html").read_text()


def test_with_an_llm(tmp_path: Path, serve: Callable[..., Any]) -> None:
    gold = {one.text: one.gold["original"].answer for one in load(SAMPLE).questions}
    used: Counter[str] = Counter()

    def endpoint(prompt: str, body: dict[str, Any]) -> tuple[int, str]:
        question = next(
            line.removeprefix("Question: ")
            for line in prompt.splitlines()
            if line.startswith("Question: ")
        )
        if "Answer to be marked" not in prompt:
            assert "Today is 2023/06/0" in prompt
            return 200, "Unknown." if "mosses" in question else gold[question]
        for mark in (
            "off by one",
            "latest state",
            "takes into account",
            "cannot be answered",
            "exact",
            "all the steps",
        ):
            used[mark] += mark in prompt
        given = next(line for line in prompt.splitlines() if line.startswith("Answer to be marked"))
        return 200, "CORRECT" if gold[question] in given or "Unknown" in given else "WRONG"

    server = serve(endpoint)
    models = [
        "--base-url",
        server.url,
        "--answer-model",
        "scripted",
        "--judge-model",
        "scripted",
        "--calibration",
        "4",
    ]
    out = tmp_path / "run"
    assert (
        main(
            [
                "longmemeval",
                "run",
                "--data",
                str(SAMPLE),
                "--out",
                str(out),
                "--systems",
                "episodica",
                "--workers",
                "4",
                *models,
            ],
        )
        == 0
    )
    system = json.loads((out / "scores.json").read_text())["systems"]["episodica"]
    assert system["answers"]["original"]["llm_score"]["overall"]["mean"] == 1.0
    assert set(system["answers"]["original"]["llm_score"]) == {"overall", *TYPES}
    # One of two abstains in so many words; the other gives the explanation, which the scripted
    # judge takes.
    assert system["abstention"]["knows_not_rule"]["overall"]["n"] == 2
    assert system["abstention"]["knows_not_judge"]["overall"]["mean"] == 1.0
    assert all(
        used[mark]
        for mark in (
            "off by one",
            "latest state",
            "takes into account",
            "cannot be answered",
            "all the steps",
        )
    )
    lines = [
        json.loads(line)
        for line in (out / "episodica" / "hypotheses.jsonl").read_text().splitlines()
    ]
    assert lines[0] == {"question_id": "s-user-1", "hypothesis": "A whippet"}
    assert len(lines) == 12
