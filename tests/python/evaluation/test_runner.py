"""Whole runs of each set without a model: every file of a run, resuming, comparing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from evaluation.__main__ import main
from evaluation.datasets import Question
from evaluation.journal import Journal
from evaluation.runner import LANGUAGES
from evaluation.systems import Episodica

import episodica

FIXTURES = Path(__file__).parents[2] / "fixtures"
INVENTED = FIXTURES / "evaluation"
TALKS = FIXTURES / "conversations" / "small_talk.json"
FAST = ("--systems", "episodica,bm25,full-context")


def run(name: str, data: Path, out: Path, *more: str) -> int:
    return main([name, "--data", str(data), "--out", str(out), *more])


def scores(out: Path, system: str = "episodica") -> dict[str, Any]:
    summary = json.loads((out / "scores.json").read_text(encoding="utf-8"))
    return {name: one["overall"] for name, one in summary["systems"][system]["scores"].items()}


def test_locomo_writes_every_file_and_equal_figures_again(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert run("locomo", talk, out, *FAST) == 0
    # Three questions have evidence that exists; all five messages are among the first 20.
    about = {"mean": 1.0, "low": 0.438503, "high": 1.0, "n": 3}
    assert scores(out)["recall@20"] == about
    assert scores(out, "full-context")["coverage@all"]["mean"] == 1.0
    assert "recall@5" not in scores(out, "full-context")
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["episodica"] == episodica.__version__
    assert str(tmp_path) not in json.dumps(manifest)
    page = (out / "table.md").read_text()
    assert page == capsys.readouterr().out.removesuffix("\n")
    for title in ("Without a model", "Speed and cost", "Faults of the data (4)", "minus each"):
        assert title in page
    before = (out / "scores.json").read_text()
    assert run("locomo", talk, out, *FAST) == 0
    assert (out / "scores.json").read_text() == before
    assert run("locomo", talk, tmp_path / "other", *FAST, "--key", "published") == 0
    assert scores(tmp_path / "other")["recall@20"]["n"] == 3


def test_beam_measures_updates_and_what_the_chat_does_not_say(tmp_path: Path) -> None:
    out = tmp_path / "run"
    systems = ("--systems", "episodica,episodica:bm25,bm25,bm25-user")
    assert run("beam", INVENTED / "beam.json", out, *systems) == 0
    summary = json.loads((out / "scores.json").read_text())["systems"]
    assert summary["episodica"]["scores"]["ended"]["overall"]["n"] == 1
    assert {name: "ended" in one["scores"] for name, one in summary.items()} == {
        "episodica": True,
        "episodica:bm25": True,
        "bm25": False,
        "bm25-user": False,
    }, "only who has facts can end them"
    assert all("stale" in one["scores"] for one in summary.values())
    assert summary["episodica"]["auroc"]["n"] == 6
    # Half of the evidence of an answer about the sage is the assistant's.
    best = summary["bm25-user"]["scores"]["recall@20"]["instruction_following"]["mean"]
    assert best == 0.5


def test_gatemem_is_told_and_asked_turn_by_turn(tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run("gatemem", INVENTED, out, *FAST) == 0
    rows = [
        json.loads(line) for line in (out / "episodica" / "rows.jsonl").read_text().splitlines()
    ]
    by_key = {row["key"]: row["scores"] for row in rows}
    assert by_key["choir/0"]["parts@1000"] == 1.0, "the old mill: it was right at that turn"
    assert by_key["choir/2"]["parts@1000"] == 1.0
    assert by_key["bakery/4" if "bakery/4" in by_key else "bakery/0"]["parts@1000"] == 1.0
    # A message asked for a deletion; the benchmark has not deleted anything.
    assert by_key["choir/1"]["leak_deletion@1000"] == 1.0
    # Once the messages with the leak are deleted by their ids, nothing of it is left.
    assert scores(out)["left_after_delete"] == scores(out)["left_after_delete"] | {"mean": 0.0}
    assert scores(out, "full-context")["parts@all"]["mean"] == 1.0
    assert json.loads((out / "scores.json").read_text())["systems"]["bm25"]["auroc"] is None
    # A run that was stopped in a conversation begins that conversation anew.
    journal = out / "episodica" / "rows.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:1]))
    before = scores(out)
    assert run("gatemem", INVENTED, out, *FAST) == 0
    assert scores(out) == before


def test_locomo_plus_and_longmemeval(tmp_path: Path) -> None:
    cues = INVENTED / "locomo_plus.json"
    assert run("locomo-plus", cues, tmp_path / "plus", *FAST, "--talks", str(TALKS)) == 0
    assert scores(tmp_path / "plus")["any@10"]["n"] == 2
    sample = FIXTURES / "longmemeval_sample.json"
    assert run("longmemeval", sample, tmp_path / "long", *FAST) == 0
    # Abstention questions have no evidence to find.
    best = scores(tmp_path / "long")["session_recall@5"]
    assert best == {"mean": 1.0, "low": 0.722467, "high": 1.0, "n": 10}


def test_a_stopped_run_goes_on(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert run("locomo", talk, out, "--systems", "episodica") == 0
    journal = out / "episodica" / "rows.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:2]) + lines[2][:40])
    capsys.readouterr()
    assert run("locomo", talk, out, "--systems", "episodica") == 0
    assert "3/3" in (said := capsys.readouterr().err)
    assert "2 of an earlier run" in said
    keys = [json.loads(line)["key"] for line in journal.read_text().splitlines()]
    assert keys == [f"t-1/{n}" for n in range(5)]


def test_runs_of_two_configurations_never_mix(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert run("locomo", talk, out, "--systems", "bm25") == 0
    assert run("locomo", talk, out, "--systems", "bm25", "--config", '{"rrf_k": 10}') == 1
    assert "another `settings`" in capsys.readouterr().out
    assert run("locomo", talk, out, "--systems", "bm25", "--budgets", "900") == 1
    assert "choose another --out" in capsys.readouterr().out


def test_rows_of_another_build_are_refused(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    assert run("locomo", talk, out, "--systems", "bm25") == 0
    changed = tmp_path / "_native.abi3.so"
    changed.write_bytes(b"another build of the same version")
    monkeypatch.setattr("episodica._native.__file__", str(changed))
    capsys.readouterr()
    assert run("locomo", talk, out, "--systems", "bm25") == 1
    said = capsys.readouterr().out
    assert "another `engine`" in said
    assert "choose another --out, or delete this folder" in said
    assert run("locomo", talk, tmp_path / "other", "--systems", "bm25") == 0


def test_a_failed_search_counts_as_wrong_and_is_listed(
    talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Episodica.ask

    def broken(self: Episodica, conversation: Any, question: Question, said: int) -> Any:
        if question.text == "What did Ines buy?":
            raise episodica.InternalError("no luck")
        return whole(self, conversation, question, said)

    monkeypatch.setattr(Episodica, "ask", broken)
    out = tmp_path / "run"
    assert run("locomo", talk, out, "--systems", "episodica") == 0
    system = json.loads((out / "scores.json").read_text())["systems"]["episodica"]
    assert system["failures"] == [["t-1/0", "InternalError: no luck"]]
    assert scores(out)["recall@20"]["mean"] == pytest.approx(2 / 3, abs=1e-6)
    assert scores(out)["quoted@1000"]["mean"] <= 2 / 3 + 1e-6


def test_two_runs_are_compared_question_by_question(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, config in (
        ("before", "{}"),
        ("after", '{"message_weights": [0, 0, 1, 0, 0, 0, 0, 0]}'),
    ):
        more = ("--systems", "episodica", "--config", config)
        assert run("locomo", talk, tmp_path / name, *more) == 0
    capsys.readouterr()
    folders = [str(tmp_path / name) for name in ("before", "after")]
    assert main(["compare", *folders]) == 0
    said = capsys.readouterr().out
    assert "episodica: after minus before" in said
    assert "| recall@20 | 3 | +0.000 [+0.00, +0.00] ≈ | 0 : 0 |" in said
    assert (tmp_path / "after" / "comparison.md").read_text() == said.removesuffix("\n")
    assert main(["compare", folders[0], str(tmp_path / "nowhere")]) == 1
    assert main(["compare", *folders, "--system", "bm25"]) == 1
    assert "share no question" in capsys.readouterr().out


def test_what_cannot_be_read_ends_with_one_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"error: .*nowhere"):
        run("locomo", tmp_path / "nowhere", tmp_path / "run")
    with pytest.raises(SystemExit, match="has no conversation nobody"):
        run("languages", LANGUAGES, tmp_path / "run", "--only", "german,nobody")
    (tmp_path / "wrong.json").write_text('[{"sample_id": "x"}]')
    with pytest.raises(SystemExit, match=r"wrong.json is not read as locomo: KeyError"):
        run("locomo", tmp_path / "wrong.json", tmp_path / "run")


def test_unknown_systems_and_secrets_are_refused(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run("locomo", talk, tmp_path / "run", "--systems", "bm26")
    assert "unknown system `bm26`: there are episodica, " in capsys.readouterr().err
    settings = {"llm": {"model": "m", "fallback": {"model": "n", "api_key": "sk-published"}}}
    with pytest.raises(SystemExit):
        run("locomo", talk, tmp_path / "run", "--config", json.dumps(settings))
    told = capsys.readouterr().err
    assert "api_key would be published" in told
    assert "sk-published" not in told


def test_what_is_not_installed_is_left_out_with_a_line(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluation.runner.model_folder", lambda: None)
    assert run("locomo", talk, tmp_path / "run", "--systems", "bm25,dense,mem0,sum-user") == 0
    said = capsys.readouterr().out
    assert "dense is left out: pip install" in said
    assert "mem0 is left out: pip install" in said
    systems = json.loads((tmp_path / "run" / "scores.json").read_text())["systems"]
    assert list(systems) == ["bm25"]


def test_a_torn_line_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"key": "a"}\n{"key": "b"')
    with Journal(path) as journal:
        assert list(journal.rows()) == ["a"]
        journal.append({"key": "c"})
    assert path.read_text() == '{"key": "a"}\n{"key": "c"}\n'
