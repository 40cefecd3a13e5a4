"""The benchmark of speed: that it measures all it should. No test asserts a time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from evaluation.__main__ import main
from evaluation.speed import Talk, quantile


def test_a_tiny_run_measures_everything(
    tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "performance.md"
    page.write_text((root / "docs" / "performance.md").read_text("utf-8"), encoding="utf-8")
    small = ("--sizes", "60,0.1k", "--runs", "1", "--embedding", "static")
    assert main(["speed", *small, "--page", str(page)]) == 0
    printed, filled = capsys.readouterr().out, page.read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in printed.splitlines() if line.startswith("| ")]
    assert rows[0][1:] == ["60", "0.1k |"]
    assert len(rows) == 13
    assert all(re.match(r"[\d,.]+ (ms|MB|/s)", cell) for row in rows[2:] for cell in row[1:])
    assert all(line in filled for line in printed.splitlines())


def test_the_page_has_a_place_for_each_block(root: Path) -> None:
    page = (root / "docs" / "performance.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"<!-- measured: (\w+) -->", page)) == ["figures", "machine"]
    assert page.count("<!-- end -->") == 2


def test_quantiles_are_values_that_were_measured() -> None:
    values = [float(value) for value in range(100, -1, -1)]
    assert [quantile(values, share) for share in (0.0, 0.5, 0.99, 1.0)] == [0, 50, 99, 100]
    assert quantile([3.0], 0.99) == 3.0


def test_talk_is_the_same_for_the_same_seed() -> None:
    one, other = Talk(seed=1), Talk(seed=1)
    messages = one.messages(120)
    assert messages == other.messages(120) != Talk(seed=2).messages(120)
    assert one.question(messages[3]) == other.question(messages[3])
    assert one.messages(60) == other.messages(60)
    assert len({message["message_id"] for message in messages}) == 120
    assert len({message["session_id"] for message in messages}) == 12
    assert len({message["content"] for message in messages}) > 100
