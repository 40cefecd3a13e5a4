"""LoCoMo without an LLM: reading, scoring, resuming, reporting."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from evaluation.__main__ import main
from evaluation.common.baselines import Bm25, FullContext, Random
from evaluation.common.dataset import Question
from evaluation.common.journal import Journal
from evaluation.locomo.data import load, session_date

import episodica
from episodica import count_tokens


def run(data: Path, out: Path, *more: str) -> int:
    return main(["locomo", "run", "--data", str(data), "--out", str(out), *more])


def test_bad_evidence_is_read_as_far_as_possible_and_listed(talk: Path) -> None:
    dataset = load(talk)
    where = dataset.questions[2].gold["original"]
    assert where.messages == ("D2:1", "D2:2")
    assert where.sessions == ("session_2",)
    assert [(one.question, one.what, one.value) for one in dataset.problems] == [
        ("t-1/2", "malformed evidence id, read as D2:1, D2:2", "D2:1; D2:2"),
        ("t-1/2", "evidence id that no turn has", "D9:9"),
        ("t-1/2", "malformed evidence id, not readable", "D:1:1"),
        ("t-1/3", "no evidence: retrieval not scored", "(none cited)"),
    ]


def test_both_keys_are_kept(talk: Path) -> None:
    when = load(talk).questions[1]
    assert (when.gold["original"].answer, when.gold["original"].messages) == (
        "5 March 2024",
        ("D1:2",),
    )
    assert (when.gold["corrected"].answer, when.gold["corrected"].messages) == (
        "4 March 2024",
        ("D1:1",),
    )
    assert when.correction == "TEMPORAL_ERROR"
    assert [one.category for one in load(talk).questions] == [
        "single-hop",
        "temporal",
        "multi-hop",
        "open-domain",
        "adversarial",
    ]


def test_messages_are_dated_attributed_and_captioned(talk: Path) -> None:
    third = load(talk).conversations[0].messages[2]
    assert third["content"] == "Look at it. [Image: a red cello on a chair]"
    assert third["timestamp"] == "2024-03-05T19:12:10+00:00"
    assert (third["name"], third["role"], third["session_id"], third["message_id"]) == (
        "Ines",
        "user",
        "session_1",
        "D1:3",
    )
    assert session_date("12:05 am on 1 May, 2023").hour == 0
    with pytest.raises(ValueError, match="date is not like"):
        session_date("yesterday")


def test_a_folder_is_read_as_one_dataset(talk: Path) -> None:
    assert [one.user for one in load(talk.parent).conversations] == ["t-1"]
    assert sorted(load(talk.parent).checksums) == ["talk.json", "talk_corrections.json"]
    with pytest.raises(FileNotFoundError):
        load(talk.parent / "nowhere")


def test_baselines(talk: Path) -> None:
    conversation = load(talk).conversations[0]
    # Only two turns hold a stem of the question, and one of them both.
    question = replace(conversation.questions[0], text="rowing in Ghent")
    assert Bm25().retrieve(conversation, question, 2).messages == ["D2:2", "D2:1"]
    assert Random().ranked(conversation, "q") == Random().ranked(conversation, "q")
    everything = FullContext().context(conversation, "q", 1)
    assert len(everything.inside) == 5
    assert everything.tokens == count_tokens(everything.text)
    for budget in (1, 20, 40, 80):
        packed = Bm25().context(conversation, question, budget)
        assert count_tokens(packed.text) == packed.tokens <= budget


def test_run_writes_every_file_and_equal_figures_again(talk: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run(talk, out) == 0
    scores = json.loads((out / "scores.json").read_text())
    table = scores["systems"]["episodica"]["retrieval"]
    # Three questions have evidence that exists; all five messages are among the first 50.
    assert table["corrected"]["message_recall@50"]["overall"] == {
        "mean": 1.0,
        "low": 0.438503,
        "high": 1.0,
        "n": 3,
    }
    assert (
        scores["systems"]["full-context"]["retrieval"]["corrected"]["message_coverage@everything"][
            "overall"
        ]["mean"]
        == 1.0
    )
    assert "message_recall@5" not in scores["systems"]["full-context"]["retrieval"]["corrected"]
    assert len(scores["problems"]) == 4
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["episodica"] == episodica.__version__
    assert str(tmp_path) not in json.dumps(manifest)
    rows = json.loads((out / "episodica" / "results.json").read_text())
    assert list(rows) == ["0"]
    assert {"question", "answer", "category", "evidence", "response", "memories"} <= set(
        rows["0"][0]
    )
    assert run(talk, out) == 0
    assert json.loads((out / "scores.json").read_text()) == scores


def test_the_report_is_one_file_without_network(talk: Path, tmp_path: Path) -> None:
    assert run(talk, tmp_path / "run", "--systems", "episodica,bm25") == 0
    page = (tmp_path / "run" / "report.html").read_text()
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", page))
    assert {address for address in addresses if "://www.w3.org/" not in address} == set()
    assert "<script" not in page
    assert "message_recall@10" in page
    assert "I bought a cello yesterday." in page
    assert "## Retrieval" in (tmp_path / "run" / "report.md").read_text()
    plots = tmp_path / "run" / "plots"
    assert ET.parse(plots / "recall_over_k.svg").getroot().tag.endswith("svg")
    assert (plots / "recall_over_k.png").read_bytes().startswith(b"\x89PNG")


def test_a_stopped_search_goes_on(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert run(talk, out, "--systems", "episodica") == 0
    journal = out / "episodica" / "search.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:2]) + lines[2][:40])
    capsys.readouterr()
    assert run(talk, out, "--systems", "episodica") == 0
    assert "5/5" in (said := capsys.readouterr().err)
    assert "2 of them from an earlier run" in said
    assert [json.loads(line)["key"] for line in journal.read_text().splitlines()] == [
        f"t-1/{n}" for n in range(5)
    ]


def test_runs_of_two_configurations_never_mix(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert run(talk, out, "--systems", "bm25") == 0
    with pytest.raises(SystemExit, match="another `settings`"):
        run(talk, out, "--systems", "bm25", "--config", '{"rrf_k": 10}')
    assert run(talk, out, "--systems", "bm25", "--budget", "900") == 1
    assert "choose another --out" in capsys.readouterr().out


def test_a_failed_search_counts_as_wrong_and_is_listed(
    talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evaluation.common.systems import Episodica

    whole = Episodica.retrieve

    def broken(self: Episodica, conversation: object, question: Question, k: int) -> object:
        if question.text == "What did Ines buy?":
            raise episodica.InternalError("no luck")
        return whole(self, conversation, question, k)  # type: ignore[arg-type]

    monkeypatch.setattr(Episodica, "retrieve", broken)
    assert run(talk, tmp_path / "run", "--systems", "episodica") == 0
    system = json.loads((tmp_path / "run" / "scores.json").read_text())["systems"]["episodica"]
    assert system["failures"] == [{"question": "t-1/0", "what": "InternalError: no luck"}]
    assert system["retrieval"]["corrected"]["message_recall@50"]["overall"][
        "mean"
    ] == pytest.approx(2 / 3, abs=1e-6)


def test_the_scripts_run_one_by_one(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ["--data", str(talk), "--out", str(tmp_path / "run")]
    with pytest.raises(SystemExit, match="run add first"):
        main(["locomo", "search", *base, "--systems", "episodica"])
    assert main(["locomo", "add", *base]) == 0
    assert main(["locomo", "search", *base, "--systems", "episodica"]) == 0
    assert main(["locomo", "evals", *base]) == 0
    assert main(["locomo", "scores", *base]) == 0
    assert "Retrieval, corrected evidence" in capsys.readouterr().out


def test_a_torn_line_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"key": "a"}\n{"key": "b"')
    with Journal(path) as journal:
        assert [row["key"] for row in journal.rows()] == ["a"]
        journal.append({"key": "c"})
    assert path.read_text() == '{"key": "a"}\n{"key": "c"}\n'
