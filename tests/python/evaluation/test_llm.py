"""Answers, judges and calibration against a scripted endpoint, with scores worked out by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from evaluation.__main__ import main
from evaluation.common.answering import abstains, chosen
from evaluation.common.calibration import date_off_by_one, specific, vague
from evaluation.common.chat import ChatClient, ChatError
from evaluation.common.judging import verdict

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
    """Answers three questions, fails at the fourth, knows the trap.

    The strict judge changes its mind once.
    """
    question = field(prompt, "Question")
    run = body["seed"]
    if "Reply with (a) or (b)" in prompt:
        return 200, "(a)" if "(a) Not mentioned" in prompt else "(b)"
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
    arguments = options(talk, tmp_path / "run", server.url, "--workers", "3")
    assert main(["locomo", "run", *arguments]) == 0
    return (
        json.loads((tmp_path / "run" / "scores.json").read_text()),
        tmp_path / "run",
        server,
        arguments,
    )


def test_scores_by_hand(scored: tuple[dict[str, Any], Path, Any, list[str]]) -> None:
    system = scored[0]["systems"]["full-context"]

    def mean(key: str, metric: str) -> float:
        return system["answers"][key][metric]["overall"]["mean"]

    # Questions 1 to 4 under the original key; the fourth failed.
    # F1, multiset: {red, cello} for {cello} 2/3; two of three words of the date 2/3; 0; 0.
    assert mean("original", "f1_multiset") == pytest.approx((2 / 3 + 2 / 3) / 4, abs=1e-6)
    assert mean("corrected", "f1_multiset") == pytest.approx((2 / 3 + 1) / 4, abs=1e-6)
    # F1, set: {a, red, cello} for {a, cello} 4/5.
    assert mean("original", "f1_score") == pytest.approx((4 / 5 + 2 / 3) / 4, abs=1e-6)
    assert mean("corrected", "f1_score") == pytest.approx((4 / 5 + 1) / 4, abs=1e-6)
    # BLEU-1: two of three words; two of three; 0; 0.
    assert mean("original", "bleu_score") == pytest.approx((2 / 3 + 2 / 3) / 4, abs=1e-6)
    # The strict judge: 2 of 3 runs; 0 under the original date, 1 under the corrected one; 0; 0.
    assert mean("original", "llm_score_strict") == pytest.approx(2 / 3 / 4, abs=1e-6)
    assert mean("corrected", "llm_score_strict") == pytest.approx((2 / 3 + 1) / 4, abs=1e-6)
    assert mean("corrected", "llm_score") == pytest.approx(2 / 4, abs=1e-6)
    assert system["answers"]["corrected"]["llm_score"]["overall"]["low"] == pytest.approx(
        0.150036, abs=1e-5
    )
    spread = system["answers"]["judge_spread"]["strict"]
    assert spread == {
        "run_means": [0.333333, 0.0, 0.333333],
        "disagreement": pytest.approx(1 / 3, abs=1e-6),
        "questions": 3,
    }


def test_it_knows_what_it_does_not_know(
    scored: tuple[dict[str, Any], Path, Any, list[str]],
) -> None:
    table = scored[0]["systems"]["full-context"]["abstention"]
    assert {name: one["overall"]["mean"] for name, one in table.items()} == {
        "knows_not_choice": 1.0,
        "knows_not_rule": 1.0,
        "knows_not_judge": 1.0,
    }


def test_failures_and_unreadable_verdicts_are_listed(
    scored: tuple[dict[str, Any], Path, Any, list[str]],
) -> None:
    listed = [
        (one["question"], one["what"]) for one in scored[0]["systems"]["full-context"]["failures"]
    ]
    assert listed == [
        ("t-1/3", "answer: HTTP status 400"),
        ("t-1/2", "judge: unreadable verdict `Hm.`"),
    ]


def test_files_have_the_shape_that_other_scorers_read(
    scored: tuple[dict[str, Any], Path, Any, list[str]],
) -> None:
    folder = scored[1] / "full-context"
    rows = json.loads((folder / "metrics.json").read_text())["0"]
    assert len(rows) == 4
    assert {
        "question",
        "answer",
        "response",
        "category",
        "bleu_score",
        "f1_score",
        "llm_score",
    } <= set(rows[0])
    assert [row["category"] for row in rows] == ["4", "2", "1", "3"]
    result = json.loads((folder / "results.json").read_text())["0"][0]
    assert (result["response"], result["model"], result["prompt_tokens"]) == (
        "a red cello",
        "scripted-1",
        100,
    )
    assert result["prompt_version"].startswith("answer/1/")
    assert "I bought a cello yesterday." in result["context"]


def test_the_ledger_counts_every_call(scored: tuple[dict[str, Any], Path, Any, list[str]]) -> None:
    book = scored[0]["systems"]["full-context"]["ledger"]
    # Four answers and one choice came back; the fifth question failed without tokens.
    assert (book["answer"]["items"], book["answer"]["prompt_tokens"]) == (6, 500)
    # Two judges, three runs: one key for two questions, two keys for the corrected one; three runs
    # for the abstention.
    assert (book["judge"]["items"], book["judge"]["completion_tokens"]) == (
        2 * 3 * 4 + 3,
        2 * (2 * 3 * 4 + 3),
    )


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
    assert main(["locomo", "run", *arguments]) == 0
    assert [
        field(call["messages"][0]["content"], "Question") for call in server.calls[before:]
    ] == ["Would Tomas enjoy boats?"]
    assert (
        json.loads((out / "scores.json").read_text())["systems"]["full-context"]["answers"]
        == summary["systems"]["full-context"]["answers"]
    )


def test_recall_stands_apart_from_answers(
    scored: tuple[dict[str, Any], Path, Any, list[str]],
) -> None:
    page = (scored[1] / "report.html").read_text()
    for part in page.split("<table")[1:]:
        table = part.partition("</table>")[0]
        assert not ("recall" in table and "llm_score" in table and "Manifest" not in table)


def test_a_killed_run_goes_on(talk: Path, tmp_path: Path, serve: Callable[..., Any]) -> None:
    arrived, released = threading.Event(), threading.Event()

    def slow(prompt: str, body: dict[str, Any]) -> tuple[int, str]:
        if "Where does Tomas live?" in prompt and not released.is_set():
            arrived.set()
            released.wait(30)
        return endpoint(prompt, body)

    server = serve(slow)
    arguments = options(talk, tmp_path / "run", server.url)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "evaluation", "locomo", "run", *arguments]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        assert arrived.wait(30)
    finally:
        process.kill()
        process.wait(10)
        released.set()
    assert main(["locomo", "run", *arguments]) == 0
    asked = [
        field(call["messages"][0]["content"], "Question")
        for call in server.calls
        if "Answer:" in call["messages"][0]["content"][-10:]
    ]
    assert [asked.count(question) for question in list(ANSWERS)[:3]] == [1, 1, 2]
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())["systems"]["full-context"][
        "answers"
    ]
    assert scores["corrected"]["f1_multiset"]["overall"]["mean"] == pytest.approx(
        (2 / 3 + 1) / 4, abs=1e-6
    )


def test_the_client_retries_what_may_pass(serve: Callable[..., Any]) -> None:
    statuses = iter([503, 429, 200])
    server = serve(lambda prompt, body: (next(statuses), "fine"))
    server.headers = {"Retry-After": "7"}
    waits: list[float] = []
    client = ChatClient(server.url, "m", "a-key", pause=waits.append)
    reply = client.ask("hello", run=4)
    assert (reply.text, reply.model, reply.calls) == ("fine", "scripted-1", 3)
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
    with pytest.raises(ChatError, match="URLError after 3 attempts"):
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
    ("text", "expected"),
    [("(a)", "a"), ("B.", "b"), ("(a) or (b)", None), ("I choose (b)", "b"), ("a cello", None)],
)
def test_choices(text: str, expected: str | None) -> None:
    assert chosen(text) == expected


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
    row = {
        "key": "1",
        "question": "What did Ines buy?",
        "category": 4,
        "category_name": "single-hop",
        "gold": {"original": {"answer": "cello"}},
    }
    assert "cello" not in vague(row)
    assert (
        specific(
            row, [{"category": 4, "answer": "the red cello"}, {"category": 4, "answer": "Ghent"}]
        )
        == "Ghent"
    )
    assert specific(row, [{"category": 2, "answer": "Ghent"}]) is None


def test_fewer_than_three_judge_runs_are_refused(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(
            [
                "locomo",
                "run",
                *options(talk, tmp_path / "run", "http://127.0.0.1:9/v1", "--judge-runs", "1"),
            ]
        )
    assert "at least 3" in capsys.readouterr().err


def test_a_key_in_the_settings_is_refused(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ended in the manifest."""
    settings = json.dumps(
        {"llm": {"model": "m", "fallback": {"model": "n", "api_key": "sk-published"}}}
    )
    with pytest.raises(SystemExit):
        main(
            [
                "locomo",
                "run",
                *options(talk, tmp_path / "run", "http://127.0.0.1:9/v1", "--config", settings),
            ]
        )
    told = capsys.readouterr().err
    assert "api_key would be published" in told
    assert "sk-published" not in told
