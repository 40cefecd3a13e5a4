"""The benchmarks of speed: that they measure all they should, and say it right.

No test asserts a time.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from evaluation.__main__ import main
from evaluation.speed import report
from evaluation.speed.process import disk_megabytes, environment, resident
from evaluation.speed.rows import (
    BUDGETS,
    CROWD,
    FULL,
    MILLION,
    SIZES,
    USERS,
    judged,
    plain,
    short,
    shown,
    size,
)
from evaluation.speed.talk import Talk
from evaluation.speed.timing import Times, quantile, times
from evaluation.speed.writing import sessions


@pytest.mark.timeout(300)
def test_a_tiny_run_measures_everything(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "out"
    small = ("--sizes", "200", "--users", "20", "--runs", "8")
    main(["speed", "suite", *small, "--out", str(out)])

    result = json.loads((out / "speed.json").read_text(encoding="utf-8"))
    assert list(result[SIZES]) == ["200"]
    assert result[SIZES]["200"]["counts"]["messages"] == 200
    assert result[SIZES]["200"]["counts"]["episodes"] > 10
    assert [one["key"] for one in result["budgets"]] == [budget.key for budget in BUDGETS]
    # `ingest_kept` compares the last tenth of the batches with the first: one batch has no tenths.
    assert [one["key"] for one in result["budgets"] if one["value"] is None] == ["ingest_kept"]
    due = {one["key"] for one in result["budgets"] if one["met"] is not None}
    assert due == {budget.key for budget in BUDGETS if budget.due is None}
    recall = next(row for row in result[SIZES]["200"]["rows"] if row["key"] == "recall")
    assert recall["value"] == 1.0, "an index that compares all vectors finds the nearest"
    episode = next(row for row in result[SIZES]["200"]["rows"] if row["key"] == "episode")
    assert episode["detail"]["syncs"] == 3, "messages, episodes and facts are three logs"

    table = (out / "speed.md").read_text(encoding="utf-8")
    assert table.index("## Budgets") < table.index("## Details")
    for budget in BUDGETS:
        assert f"| {budget.name} | {budget.bound().replace(' ', report.HARD_SPACE)} |" in table

    page = tmp_path / "performance.md"
    page.write_text(
        (root / "docs" / "performance.md").read_text(encoding="utf-8"), encoding="utf-8"
    )
    main(["speed", "report", str(out / "speed.json"), str(page)])
    filled = page.read_text(encoding="utf-8")
    assert report.figures(result) in filled
    main(["speed", "report", str(out / "speed.json"), str(page)])
    assert page.read_text(encoding="utf-8") == filled, "filling twice is filling once"


@pytest.mark.timeout(120)
def test_a_writer_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "evaluation.speed.processes", str(tmp_path / "store"), "user"]
    pipe = subprocess.PIPE
    # A parent that is killed closes the pipe, and says no more.
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment()) as writer:
        said, _ = writer.communicate(b"go\n", timeout=60)
    assert said == b'{"ready": true}\n'
    assert writer.returncode == 0


def test_the_page_has_a_place_for_each_block(root: Path) -> None:
    page = (root / "docs" / "performance.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"<!-- measured: (\w+) -->", page)) == sorted(report.BLOCKS)
    assert page.count("<!-- end -->") == len(report.BLOCKS)


def test_numbers_keep_the_digits_that_they_have() -> None:
    assert [plain(value) for value in (1.8, 2, 0.95, 20_000)] == ["1.8", "2", "0.95", "20,000"]
    assert [shown(value) for value in (0.0, 0.03579, 1.8, 12.345, 149.7, 20_123.4, 1_030)] == [
        "0",
        "0.0358",
        "1.80",
        "12.3",
        "150",
        "20,123",
        "1,030",
    ]
    assert [size(text) for text in ("200", "1k", "1.5K", "1m")] == [200, 1_000, 1_500, 1_000_000]
    assert [short(count) for count in (20, 999, 1_000, 1_500, 100_000, 1_000_000)] == [
        "20",
        "999",
        "1k",
        "1.5k",
        "100k",
        "1m",
    ]
    assert [
        next(budget for budget in BUDGETS if budget.key == key).bound()
        for key in ("threads", "million_recall", "resident")
    ] == ["≥ 1.8 x", "≥ 0.95", "≤ 250 MB"]


def test_quantiles_are_values_that_were_measured() -> None:
    values = [float(value) for value in range(100, -1, -1)]
    assert [quantile(values, share) for share in (0.0, 0.25, 0.5, 0.99, 1.0)] == [
        0,
        25,
        50,
        99,
        100,
    ]
    assert quantile([3.0], 0.99) == 3.0
    measured = Times([1.0, 2.0, 9.0], [0.5, 1.0, 1.5])
    assert measured.to_dict() == {
        "p50": 2.0,
        "p99": 9.0,
        "p25": 1.0,
        "p75": 9.0,
        "cpu_p50": 1.0,
        "cpu_p99": 1.5,
        "runs": 3,
    }


def test_each_input_is_timed_once() -> None:
    seen: list[str] = []
    measured = times(seen.append, ["a", "b", "c"])
    assert seen == ["a", "b", "c"]
    assert len(measured.walls) == len(measured.cpus) == 3


def test_talk_is_the_same_for_the_same_seed() -> None:
    assert Talk(seed=1).messages(120) == Talk(seed=1).messages(120)
    assert Talk(seed=1).messages(120) != Talk(seed=2).messages(120)
    one, other = Talk(seed=1), Talk(seed=1)
    asked = one.questions(one.messages(60), 10)
    assert asked == other.questions(other.messages(60), 10)
    assert len(asked) == 10
    # Asking for messages doesn't change what is said next.
    assert Talk(seed=1).messages(120) == (talker := Talk(seed=1)).messages(120)
    assert one.messages(60) == other.messages(60)
    assert len({message["message_id"] for message in talker.messages(500)}) == 500


def test_sessions_to_store_are_whole_and_new() -> None:
    found = sessions(12, seed=77)
    assert len(found) == 12
    assert all(len({message["session_id"] for message in session}) == 1 for session in found)
    assert found[0][0]["timestamp"] > Talk(seed=1).messages(2_000)[-1]["timestamp"], (
        "they come after what a store holds"
    )
    assert len({message["message_id"] for session in found for message in session}) == sum(
        map(len, found)
    )


def test_memory_of_a_process_is_read_in_its_parts() -> None:
    status = (
        "Name:\tx\nVmHWM:\t    3000 kB\nVmRSS:\t    2000 kB\n"
        "RssAnon:\t    1500 kB\nRssFile:\t     500 kB\nRssShmem:\t       0 kB\n"
    )
    assert resident(status).to_dict() == {
        "total": 2.048,
        "anonymous": 1.536,
        "file": 0.512,
        "peak": 3.072,
    }
    assert resident().peak >= resident().anonymous > 0


def test_what_is_on_disk_is_counted_in_blocks(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100_000)
    assert 0.1 <= disk_megabytes(tmp_path) < 0.2


def result_of(**parts: Any) -> dict[str, Any]:
    return {SIZES: {}, **parts}


def row(key: str, value: float) -> dict[str, Any]:
    return {"key": key, "name": key, "value": value, "unit": "ms", "cpu": value / 2, "detail": {}}


def verdict(result: dict[str, Any], key: str) -> dict[str, Any]:
    return next(one for one in judged(result) if one["key"] == key)


def test_a_budget_is_judged_at_the_size_for_which_it_is() -> None:
    sizes = {
        "1000": {"rows": [row("search", 9.0), row("episode", 5.0)]},
        str(FULL): {"rows": [row("search", 1.5), row("episode", 2.0)]},
    }
    result = result_of(sizes=sizes, users={"count": 20, "rows": [row("users_cold", 4.0)]})
    search = verdict(result, "search_p50")
    assert (search["value"], search["at"], search["met"]) == (1.5, FULL, True)
    assert verdict(result, "episode_p50")["met"] is True
    anywhere = verdict(result, "episode_any_size")
    assert (anywhere["value"], anywhere["at"], anywhere["met"]) == (5.0, 1_000, False)
    cold = verdict(result, "users_cold")
    assert (cold["value"], cold["at"], cold["met"], cold["due"]) == (4.0, 20, None, CROWD)
    assert verdict(result, "million_search") == {**verdict(result_of(), "million_search")}
    assert verdict(result, "million_search")["due"] == MILLION


def test_a_share_must_not_be_below_its_budget() -> None:
    met = [
        verdict(
            result_of(sizes={str(MILLION): {"rows": [row("recall", value)]}}), "million_recall"
        )["met"]
        for value in (0.94, 0.95)
    ]
    assert met == [False, True]


def test_at_full_size_every_budget_is_due() -> None:
    sizes = {
        str(count): {"rows": [row(budget.row, 1.0) for budget in BUDGETS if budget.part == SIZES]}
        for count in (FULL, MILLION)
    }
    once = {"count": 0, "rows": [row(budget.row, 1.0) for budget in BUDGETS]}
    users = {
        "count": CROWD,
        "rows": [row(budget.row, 1.0) for budget in BUDGETS if budget.part == USERS],
    }
    assert all(one["met"] is not None for one in judged({SIZES: sizes, "once": once, USERS: users}))
