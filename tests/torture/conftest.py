"""Fixtures of the torture tests: their length, and the counts that they report.

`make test` runs these tests in their short form. `make torture` sets ``TORTURE_SCALE`` (1.0 = the
long form) and ``TORTURE_COUNTS``, a file to which every part appends its counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the developer's settings or writes outside its own directory."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("EPISODICA_", "OPENAI_")) and not name.startswith("EPISODICA_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def rounds() -> Callable[[int, int], int]:
    """``rounds(short, long)``: the number of rounds."""
    scale = os.environ.get("TORTURE_SCALE")
    return lambda short, long: short if scale is None else max(short, int(long * float(scale)))


@pytest.fixture
def counts() -> Callable[..., None]:
    """``counts("part", kills=5, losses=0)`` writes the counts of a part.

    A part that fails writes nothing, and `make torture` fails if the line of a part is missing.
    """

    def note(part: str, **numbers: int) -> None:
        place = os.environ.get("TORTURE_COUNTS")
        if place:
            with Path(place).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"part": part, **numbers}) + "\n")

    return note
