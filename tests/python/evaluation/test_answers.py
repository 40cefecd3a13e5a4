"""Answers, judges and calibration against a scripted endpoint, with scores worked out by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from evaluation.__main__ import main
from evaluation.answers import (
    ChatClient,
    ChatError,
    abstains,
    date_off_by_one,
    specific,
    vague,
    verdict,
)
from evaluation.datasets import load

ROOT = Path(__file__).parents[3]
ANSWERS = {
    "What did Ines buy?": "a red cello",
    "When did Ines buy the cello?": "4 March 2024",
    "Where does Tomas live?": "Bruges",
    "Which instrument does Ines' sister play?": "Not mentioned in the conversation",
}


def field(prompt: str, name: str) -> str:
    return next(
        line.removeprefix(f"{name}: ")
        for line in prompt.splitlines()
        if line.startswith(f"{name}: ")
    )


def endpoint(prompt: str, body: dict[str, Any]) -> tuple[int, str]:
    """Answers three questions, fails at the fourth, and says that the fifth has no answer.

    The strict judge changes its mind once.
    """
    question = field(prompt, "Question")
    run = body["seed"]
    if "Answer to be marked" not in prompt:
        return (200, ANSWERS[question]) if question in ANSWERS else (400, "no")
    given = field(prompt, "Answer to be marked")
    if "Why it cannot be answered" in prompt:
        return 200, "CORRECT" if given.startswith("Not mentioned") else "WRONG"
    gold = field(prompt, "Right answer")
    if given == "a red cello":
        return 200, "WRONG" if run == 2 and "Be generous" not in prompt else "CORRECT"
    if given == "Bruges" and "Be generous" in prompt and run == 3:
        return 200, "Hm."
    return 200, "CORRECT" if given == gold else "This is incorrect."


def options(talk: Path, out: Path, url: str, *more: str) -> list[str]:
    models = ["--base-url", url, "--answer-model", "scripted", "--judge-model", "scripted"]
    return ["--data", str(talk), "--out", str(out), "--systems", "full-context", *models, *more]


@pytest.fixture
def scored(
    talk: Path, tmp_path: Path, serve: Callable[..., Any]
) -> tuple[dict[str, Any], Path, Any, list[str]]:
    server = serve(endpoint)
    prices = ("--prices", '{"prompt": 0.5, "completion": 2}')
    arguments = options(talk, tmp_path / "run", server.url, "--workers", "3", *prices)
    assert main(["locomo", *arguments]) == 0
    return (
        json.loads((tmp_path / "run" / "scores.json").read_text()),
        tmp_path / "run",
        server,
        arguments,
    )


def test_scores_by_hand(scored: tuple[dict[str, Any], Path, Any, list[str]]) -> None:
    table = scored[0]["systems"]["full-context"]["answers"]
    means = {name: one["overall"]["mean"] for name, one in table.items()}
    # Questions 1 to 4, under the audited key; the fourth failed.
    # F1: {red, cello} for {cello} 2/3; the date; 0; 0.
    assert means["f1"] == pytest.approx((2 / 3 + 1) / 4, abs=1e-6)
    # The strict judge: 2 of 3 runs; 1; 0; 0. One verdict of the lenient judge could not be read.
    assert means["judge_strict"] == pytest.approx((2 / 3 + 1) / 4, abs=1e-6)
    assert means["judge_lenient"] == pytest.approx(2 / 4, abs=1e-6)
    assert (means["knows_not_rule"], means["knows_not_judge"], means["abstained"]) == (1, 1, 0)
    assert table["judge_lenient"]["overall"]["low"] == pytest.approx(0.150036, abs=1e-5)
    assert {"multi-hop", "temporal", "development", "held out"} <= set(table["f1"])


def test_failures_and_unreadable_verdicts_are_listed(
    scored: tuple[dict[str, Any], Path, Any, list[str]],
) -> None:
    assert scored[0]["systems"]["full-context"]["failures"] == [
        ["t-1/3", "answer: HTTP status 400"],
        ["t-1/2", "judge: unreadable verdict `Hm.`"],
    ]


def test_the_page_names_reader_judge_prompt_tokens_and_cost(
    scored: tuple[dict[str, Any], Path, Any, list[str]],
) -> None:
    page = (scored[1] / "table.md").read_text()
    for role in ("answer", "judge"):
        assert (
            f"{role}: {{'model': 'scripted', 'options': {{'temperature': 0, 'seed': 1}}}}" in page
        )
    assert "context: {'tokens': 2000, 'prompt': 'answer/1/" in page
    # Four answers came back; the fifth failed without tokens. Two judges, three runs, three
    # answers, and three runs for what is not said.
    book = scored[0]["systems"]["full-context"]["ledger"]
    assert (book["answers_prompt_tokens"], book["judgements_completion_tokens"]) == (400, 2 * 21)
    assert book["answers_dollars"] == pytest.approx((400 * 0.5 + 8 * 2) / 1e6, abs=1e-4)
    assert "answers 400 + 8 ($" in page
    assert "| judge_strict | 4 |" in page


def test_calibration_reports_what_each_judge_lets_pass(
    scored: tuple[dict[str, Any], Path, Any, list[str]],
) -> None:
    table = scored[0]["calibration"]["strict"]
    assert (table["right"]["mean"], table["right"]["n"]) == (1.0, 4)
    assert (table["vague"]["mean"], table["vague"]["n"]) == (0.0, 4)
    assert (table["date_off_by_one"]["mean"], table["date_off_by_one"]["n"]) == (0.0, 1)


def test_a_second_run_asks_only_what_failed(
    scored: tuple[dict[str, Any], Path, Any, list[str]],
) -> None:
    summary, out, server, arguments = scored
    before = len(server.calls)
    assert main(["locomo", *arguments]) == 0
    assert [
        field(call["messages"][0]["content"], "Question") for call in server.calls[before:]
    ] == ["Would Tomas enjoy boats?"]
    assert (
        json.loads((out / "scores.json").read_text())["systems"]["full-context"]["answers"]
        == summary["systems"]["full-context"]["answers"]
    )


def test_a_killed_run_goes_on(talk: Path, tmp_path: Path, serve: Callable[..., Any]) -> None:
    arrived, released = threading.Event(), threading.Event()

    def slow(prompt: str, body: dict[str, Any]) -> tuple[int, str]:
        if "Where does Tomas live?" in prompt and not released.is_set():
            arrived.set()
            released.wait(30)
        return endpoint(prompt, body)

    server = serve(slow)
    arguments = options(talk, tmp_path / "run", server.url, "--workers", "1")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "evaluation", "locomo", *arguments]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        assert arrived.wait(60)
    finally:
        process.kill()
        process.wait(10)
        released.set()
    assert main(["locomo", *arguments]) == 0
    asked = [
        field(call["messages"][0]["content"], "Question")
        for call in server.calls
        if "Answer:" in call["messages"][0]["content"][-10:]
    ]
    assert [asked.count(question) for question in list(ANSWERS)[:3]] == [1, 1, 2]
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())["systems"]["full-context"][
        "answers"
    ]
    assert scores["f1"]["overall"]["mean"] == pytest.approx((2 / 3 + 1) / 4, abs=1e-6)


def test_the_client_retries_what_may_pass(serve: Callable[..., Any]) -> None:
    statuses = iter([503, 429, 200])
    server = serve(lambda prompt, body: (next(statuses), "fine"))
    server.headers = {"Retry-After": "7"}
    waits: list[float] = []
    client = ChatClient(server.url, "m", "a-key", pause=waits.append)
    reply = client.ask("hello", run=4)
    assert (reply["text"], reply["model"], reply["calls"]) == ("fine", "scripted-1", 3)
    assert waits == [7.0, 7.0]
    assert [call["seed"] for call in server.calls] == [5, 5, 5]
    assert (server.calls[0]["path"], server.calls[0]["authorization"]) == (
        "/v1/chat/completions",
        "Bearer a-key",
    )
    assert "a-key" not in repr(client)


def test_the_client_gives_up(serve: Callable[..., Any]) -> None:
    server = serve(lambda prompt, body: (400 if prompt == "bad" else 500, "secret"))
    waits: list[float] = []
    client = ChatClient(server.url, "m", pause=waits.append)
    with pytest.raises(ChatError, match=r"^HTTP status 400$"):
        client.ask("bad")
    assert not waits
    with pytest.raises(ChatError, match=r"^HTTP status 500 after 3 attempts$"):
        client.ask("good")
    assert [round(wait) for wait in waits] == [1, 2]
    server.close()
    with pytest.raises(ChatError, match="ConnectError after 3 attempts"):
        client.ask("anyone there?")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CORRECT", True),
        ("wrong.", False),
        ("That is incorrect", False),
        ("Not WRONG at all: CORRECT", True),
        ("Hm", None),
        ("", None),
    ],
)
def test_verdicts(text: str, expected: bool | None) -> None:
    assert verdict(text) is expected


@pytest.mark.parametrize(
    "text",
    [
        "Not mentioned in the conversation",
        "I don't know.",
        "There is no information on it.",
        "It can't be determined",
    ],
)
def test_abstentions(text: str) -> None:
    assert abstains(text)


@pytest.mark.parametrize("text", ["a red cello", "No", "She did not buy it", ""])
def test_answers_are_no_abstentions(text: str) -> None:
    assert not abstains(text)


def test_known_wrong_answers() -> None:
    assert date_off_by_one("on 31 December 2023, at night") == "on 1 January 2024, at night"
    assert date_off_by_one("March 5, 2024") == "March 6, 2024"
    assert date_off_by_one("in 2022") == "in 2023"
    assert date_off_by_one("a cello") is None
    row = {"key": "1", "question": "What did Ines buy?", "category": "single-hop", "gold": "cello"}
    assert "cello" not in vague(row)
    others = [
        {"category": "single-hop", "gold": "the red cello"},
        {"category": "single-hop", "gold": "Ghent"},
    ]
    assert specific(row, others) == "Ghent"
    assert specific(row, [{"category": "temporal", "gold": "Ghent"}]) is None


def test_types_of_longmemeval_are_judged_by_their_own_rules(
    tmp_path: Path, serve: Callable[..., Any]
) -> None:
    sample = ROOT / "tests" / "fixtures" / "longmemeval_sample.json"
    gold = {one.text: one.answer for one in load("longmemeval", sample).questions}
    marks = ("off by one", "latest state", "takes into account", "cannot be answered")
    used: Counter[str] = Counter()

    def answers(prompt: str, body: dict[str, Any]) -> tuple[int, str]:
        question = field(prompt, "Question")
        if "Answer to be marked" not in prompt:
            assert "Today is 2023/06/0" in prompt
            return 200, "Unknown." if "mosses" in question else gold[question]
        used.update(mark for mark in marks if mark in prompt)
        given = next(line for line in prompt.splitlines() if line.startswith("Answer to be marked"))
        return 200, "CORRECT" if gold[question] in given or "Unknown" in given else "WRONG"

    out = tmp_path / "run"
    arguments = options(sample, out, serve(answers).url, "--calibration", "0", "--workers", "4")
    assert main(["longmemeval", *arguments]) == 0
    table = json.loads((out / "scores.json").read_text())["systems"]["full-context"]["answers"]
    assert table["judge_lenient"]["overall"]["mean"] == 1.0
    assert table["knows_not_judge"]["overall"] == table["knows_not_judge"]["overall"] | {"n": 2}
    assert set(used) == set(marks)
    lines = (out / "full-context" / "hypotheses.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {"question_id": "s-user-1", "hypothesis": "A whippet"}
    assert len(lines) == 12


def test_fewer_than_three_judge_runs_are_refused(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(
            [
                "locomo",
                *options(talk, tmp_path / "run", "http://127.0.0.1:9/v1", "--judge-runs", "1"),
            ]
        )
    assert "at least 3" in capsys.readouterr().err
