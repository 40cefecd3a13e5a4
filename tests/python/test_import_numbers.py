"""Times as numbers: days written together are days, and no number becomes a time of 1970."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from episodica import MemorySystem
from episodica.inputs.messages import normalise
from episodica.readers import read_conversations

MARCH = "2025-03-03T00:00:00+00:00"


@pytest.mark.parametrize(
    ("given", "read"),
    [
        *((one, MARCH) for one in (20250303, 20250303.0, "20250303", " 20250303 ")),
        (20250303093015, "2025-03-03T09:30:15+00:00"),
        (202503030930, "2025-03-03T09:30:00+00:00"),
        # No such day: seconds since 1970, as before.
        (20251332, "1970-08-23T09:22:12+00:00"),
        (1741000000, "2025-03-03T11:06:40+00:00"),
        (1741000000000, "2025-03-03T11:06:40+00:00"),
        (2025030309, "2034-03-03T20:25:09+00:00"),
    ],
)
def test_a_number_may_write_a_day(given: Any, read: str) -> None:
    (made,) = normalise([{"role": "user", "content": "I sing.", "timestamp": given}])
    assert made["timestamp"] == read


@pytest.mark.parametrize("key", ["date", "createdAt", "timestamp"])
def test_a_day_in_metadata_is_one_too(key: str) -> None:
    (made,) = normalise([{"role": "user", "content": "I sing.", "metadata": {key: 20250303}}])
    assert made["timestamp"] == MARCH


def test_until_such_a_day_includes_it(memory: MemorySystem) -> None:
    said = {"role": "user", "content": "The ferry is late.", "timestamp": "2025-03-03T18:00:00Z"}
    memory.add_messages("ida", [said])
    memory.flush("ida")
    assert memory.search("ida", "ferry", since=20250303, until=20250303)
    assert not memory.search("ida", "ferry", until=20250302)


SECOND = 1741000060
SAID = ("One boat.", "Two boats.", "Three boats.")
EARLY = [0, -1, 86400, 86400.5, "86400", 86_400_000, 500_000_000, 20251332, True]


def csv(path: Path, *times: Any) -> Path:
    rows = [f"{when},Ida,{text}" for when, text in zip(times, SAID, strict=True)]
    path.write_text("\n".join(["time,name,text", *rows]) + "\n", encoding="utf-8")
    return path


def jsonl(path: Path, *times: Any) -> Path:
    rows = [
        json.dumps({"role": "user", "content": text, "timestamp": when})
        for when, text in zip(times, SAID, strict=True)
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("write", [csv, jsonl])
def test_files_with_days_as_numbers(memory: MemorySystem, tmp_path: Path, write: Any) -> None:
    report = memory.import_(write(tmp_path / "talk", 20250303, 20250304, 20250304), "ida")
    days = [one.timestamp.date().isoformat() for one in memory.messages("ida")]
    assert sorted(days) == ["2025-03-03", "2025-03-04", "2025-03-04"]
    assert not report.notes


@pytest.mark.parametrize("write", [csv, jsonl])
@pytest.mark.parametrize("when", EARLY)
def test_an_early_number_is_no_time_and_is_noted(
    memory: MemorySystem, tmp_path: Path, write: Any, when: Any
) -> None:
    if write is csv and when in (True, 86400, 86400.5, "86400"):
        return  # a word, and numbers that spreadsheets use for days
    report = memory.import_(write(tmp_path / "talk", 1741000000, when, SECOND), "ida")
    stored = list(memory.messages("ida"))
    assert {one.timestamp.date().isoformat() for one in stored} == {"2025-03-03"}
    assert len(stored) == 3
    line = 3 if write is csv else 2
    assert any(f"line {line}: the time is missing" in note for note in report.notes), report.notes


def test_a_file_of_early_numbers_has_the_day_of_the_file(tmp_path: Path) -> None:
    (talk,) = read_conversations(jsonl(tmp_path / "talk", 86400, 86401, 86402))
    assert talk.is_file_date
    assert len(talk.notes) == 3


@pytest.mark.parametrize("when", [-1, 86400, 1e6, 5e8, "86400"])
def test_a_turn_of_chatgpt_with_an_early_time_has_that_of_its_chat(
    memory: MemorySystem, tmp_path: Path, when: Any
) -> None:
    def node(at: int, time: Any) -> dict[str, Any]:
        message = {
            "id": f"m{at}",
            "author": {"role": "user"},
            "content": {"content_type": "text", "parts": [SAID[at]]},
            "create_time": time,
        }
        return {"message": message, "parent": f"n{at - 1}" if at else None}

    for name, times in (("some", [1741000000, when, SECOND]), ("all", [when, when, when])):
        chat = {
            "id": name,
            "title": "Boats",
            "create_time": 1741000000.5,
            "current_node": "n2",
            "mapping": {f"n{at}": node(at, time) for at, time in enumerate(times)},
        }
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps([chat]), encoding="utf-8")
        report = memory.import_(file, name)
        stored = list(memory.messages(name))
        assert len(stored) == 3
        assert {one.timestamp.date().isoformat() for one in stored} == {"2025-03-03"}
        assert any("message 1 of `Boats`" in note for note in report.notes), report.notes
