"""A chat that one phone exports with seconds and another without is one chat."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from episodica import MemorySystem

SECONDS = [
    "[12.03.26, 10:04:05] Ann: The lift is broken again.",
    "[12.03.26, 10:04:40] Ben: ok",
    "[12.03.26, 10:04:52] Ben: ok",
    "[12.03.26, 10:05:01] Ben: ok",
    "[12.03.26, 11:30:09] Ann: It works now.",
]


def minutes(lines: list[str]) -> list[str]:
    return [re.sub(r"^\[([^,]+), (\d\d:\d\d):\d\d\]", r"\1, \2 -", line) for line in lines]


@pytest.mark.parametrize("turned", [False, True])
def test_a_whatsapp_chat_with_and_without_seconds_is_one(tmp_path: Path, turned: bool) -> None:
    files = [tmp_path / "one.txt", tmp_path / "other.txt"]
    for file, lines in zip(files, (SECONDS, minutes(SECONDS)), strict=True):
        file.write_text("\n".join(lines))
    if turned:
        files.reverse()
    with MemorySystem(tmp_path / "store") as memory:
        reports = [memory.import_(file, "ann") for file in files]
        assert [(one.messages, one.known) for one in reports] == [(5, 0), (0, 5)]
        later = [*minutes(SECONDS), "12.03.26, 11:31 - Ben: Great, thanks."]
        files[0].write_text("\n".join(later))
        assert memory.import_(files[0], "ann").messages == 1
