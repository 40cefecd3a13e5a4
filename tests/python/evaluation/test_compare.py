"""Two runs side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from evaluation.__main__ import main


def run(talk: Path, out: Path, *more: str) -> Path:
    arguments = ["--data", str(talk), "--out", str(out), "--systems", "episodica", *more]
    assert main(["locomo", "run", *arguments]) == 0
    return out


def test_differences_are_paired(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = run(talk, tmp_path / "before")
    after = run(talk, tmp_path / "after", "--method", "bm25")
    # In the second run, a question loses its evidence from the ranking.
    journal = after / "episodica" / "search.jsonl"
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    for row in rows:
        if row["scores"]:
            row["scores"]["corrected"]["message_recall@50"] = float(row["key"] != "t-1/0")
    journal.write_text("".join(json.dumps(row) + "\n" for row in rows))
    capsys.readouterr()
    assert main(["compare", str(before), str(after)]) == 0
    said = capsys.readouterr().out
    # One of three questions fell from 1 to 0.
    assert "| message_recall@50 | -0.3333 [-1.000, +0.000] ≈ | 0 : 1 | 3 |" in said
    assert "| systems.episodica.method | hybrid | bm25 |" in said
    assert (after / "comparison.html").read_text().startswith("<!doctype html>")


def test_runs_over_different_data_are_refused(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = run(talk, tmp_path / "before")
    talk.write_text(talk.read_text().replace("cello", "viola"))
    after = run(talk, tmp_path / "after")
    assert main(["compare", str(before), str(after)]) == 1
    assert "different data" in capsys.readouterr().out
