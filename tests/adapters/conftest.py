"""Tests of the adapters with the real frameworks; `make test-adapters` runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from episodica import MemorySystem


@pytest.fixture(autouse=True)
def _isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the developer's settings or writes outside its own directory."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("EPISODICA_", "OPENAI_", "ANTHROPIC_", "LANGCHAIN_", "LANGSMITH_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def memory(store: Path) -> Iterator[MemorySystem]:
    with MemorySystem(store) as opened:
        yield opened


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], None]:
    """Runs the program of a page in docs/adapters: it prints what the page shows."""

    def run(name: str) -> None:
        folder = Path(__file__).parents[2] / "docs" / "adapters"
        ran = subprocess.run(
            [sys.executable, folder / f"example_{name}.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=280,  # importing a framework takes its time
            check=False,
        )
        page = (folder / f"{name}.md").read_text(encoding="utf-8")
        shown = re.search(r"```text\n(.*?)```", page, re.DOTALL)
        assert ran.returncode == 0, ran.stderr
        assert shown is not None
        assert ran.stdout == shown[1]

    return run


@pytest.fixture
def on_disk(store: Path) -> Callable[[str], bool]:
    """Whether a word is in any file of the store."""

    def look(word: str) -> bool:
        files = (path for path in store.rglob("*") if path.is_file())
        return any(word.encode() in path.read_bytes() for path in files)

    return look
