"""Exports of many files: one that is broken or cut off stops none of the others."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from episodica import InvalidInputError
from episodica.readers import read_conversations


def slack(number: int, text: str) -> dict[str, Any]:
    return {"type": "message", "user": "U1", "text": text, "ts": f"174082320{number}.1"}


USERS = json.dumps([{"id": "U1", "name": "ida", "profile": {"real_name": "Ida Holm"}}])
DAY = json.dumps([slack(1, "The ferry is late."), slack(2, "Über Nacht kam Schnee.")])
NEXT = json.dumps([slack(3, "It sails again.")], ensure_ascii=False)
DISCORD = json.dumps(
    [{"ID": 1, "Timestamp": "2025-03-01 10:00:00", "Contents": "I moved to Lund."},
     {"ID": 2, "Timestamp": "2025-03-01 10:01:00", "Contents": "And I keep bees."}]
)  # fmt: skip


def opencode(kind: str, number: int) -> str:
    own: dict[str, Any] = {"id": f"{kind}{number}", "time": {"created": 1740823200000 + number}}
    parts = {"type": "text", "text": f"Question {number} about the build."}
    return json.dumps(own | ({"role": "user"} if kind == "msg" else parts))


def written(tmp_path: Path, files: Mapping[str, str | bytes], is_zip: bool) -> Path:
    path = tmp_path / ("export.zip" if is_zip else "export")
    data = {name: one.encode() if isinstance(one, str) else one for name, one in files.items()}
    if is_zip:
        with zipfile.ZipFile(path, "w") as archive:
            for name, one in data.items():
                archive.writestr(name, one)
    else:
        for name, one in data.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(one)
    return path


def read(path: Path) -> tuple[list[str], list[str]]:
    """What was said, and what was left out."""
    talks = read_conversations(path)
    said = [one["content"] for talk in talks for one in talk.messages]
    return said, [str(one) for talk in talks for one in talk.left_out if one.is_fault]


SLACK = {"users.json": USERS, "general/2025-03-01.json": DAY, "general/2025-03-02.json": NEXT}
PACKAGE = {
    "messages/c12345678/channel.json": '{"id": "12345678", "name": "oslo"}',
    "messages/c12345678/messages.json": DISCORD,
    "messages/c87654321/channel.json": '{"id": "87654321", "name": "lund"}',
    "messages/c87654321/messages.json": DISCORD.replace("bees", "goats"),
}
STORAGE = {
    f"storage/{folder}/{name}{number}.json": opencode(kind, number)
    for number in (1, 2)
    for kind, folder, name in (("msg", "message/s1", "msg"), ("prt", f"part/msg{number}", "prt"))
}


@pytest.mark.parametrize("is_zip", [True, False])
@pytest.mark.parametrize(
    ("files", "name", "kept"),
    [
        (SLACK, "general/2025-03-01.json", ["It sails again."]),
        (PACKAGE, "messages/c12345678/messages.json", ["I moved to Lund.", "And I keep goats."]),
        (STORAGE, "storage/part/msg1/prt1.json", ["Question 2 about the build."]),
        (STORAGE, "storage/message/s1/msg1.json", ["Question 2 about the build."]),
    ],
    ids=["slack", "discord", "opencode part", "opencode message"],
)
@pytest.mark.parametrize("broken", ["{broken", "", b"\xff\xfe\xfa"])
def test_a_broken_file_is_named_and_the_others_are_read(
    tmp_path: Path,
    files: dict[str, str],
    name: str,
    kept: list[str],
    broken: str | bytes,
    is_zip: bool,
) -> None:
    said, left = read(written(tmp_path, {**files, name: broken}, is_zip))
    assert said == kept
    assert [one.partition(":")[0] for one in left] == [name]


@pytest.mark.parametrize("is_zip", [True, False])
@pytest.mark.parametrize("cut", [5, 60, 68])
def test_a_file_that_is_cut_off_keeps_its_whole_messages(
    tmp_path: Path, cut: int, is_zip: bool
) -> None:
    name = "general/2025-03-01.json"
    day = DAY.encode().decode("unicode_escape").encode()[:-cut]  # perhaps within a letter
    said, left = read(written(tmp_path, {**SLACK, name: day}, is_zip))
    assert said == ["The ferry is late.", "It sails again."]
    assert left == [f"{name}, line 1: not valid JSON; the rest of the file is not read"]


def test_without_its_list_of_users_a_workspace_is_read(tmp_path: Path) -> None:
    said, left = read(written(tmp_path, {**SLACK, "users.json": "["}, True))
    assert len(said) == 3
    assert left == ["users.json: line 1: not valid JSON"]


def test_a_workspace_of_broken_files_is_an_error(tmp_path: Path) -> None:
    files = {"users.json": USERS, "general/2025-03-01.json": "{broken"}
    with pytest.raises(InvalidInputError, match=r"general/2025-03-01\.json: line 1: not valid"):
        read_conversations(written(tmp_path, files, True))


def test_rows_of_a_table_that_are_none_are_named(tmp_path: Path) -> None:
    name = "messages/c12345678/messages.csv"
    table = "ID,Timestamp,Contents\n1,2025-03-01 10:00:00,Hello\n2,2025-03-01 10:01:00,a,b,c\n"
    files = {one: text for one, text in PACKAGE.items() if "c12345678/messages" not in one}
    said, left = read(written(tmp_path, {**files, name: table}, True))
    assert "Hello" in said
    assert left == [f"{name}, line 3: the row has 5 cells, the head 3"]
