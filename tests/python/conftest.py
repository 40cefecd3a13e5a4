"""Fixtures: a store in the test's own directory, a memory in it, and a talk to put into it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn, cast

import pytest

from episodica import MemorySystem

TALK: list[dict[str, Any]] = [
    {
        "role": "user",
        "name": "Alice",
        "content": "I moved to Lyon last Friday.",
        "timestamp": "2024-03-11T09:30:00+01:00",
        "session_id": "s1",
        "metadata": {"channel": "sms"},
    },
    {
        "role": "assistant",
        "content": "How do you like it there?",
        "timestamp": "2024-03-11T09:30:20+01:00",
        "session_id": "s1",
        "metadata": {"channel": "app"},
    },
]


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the repository."""
    return Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the developer's settings or writes outside its own directory."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("EPISODICA_", "OPENAI_")) and not name.startswith("EPISODICA_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


class Database(str):
    """A store's address, for tests of the public API that run on either kind of store."""

    __slots__ = ()

    def _looks_at_files(self, *_: object) -> NoReturn:
        pytest.skip("looks at the files of a store")

    __truediv__ = exists = is_dir = iterdir = rglob = glob = mkdir = _looks_at_files
    parent = property(_looks_at_files)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a test's store is: a folder, or a schema of the server of `make test-postgres`."""
    if "EPISODICA_TEST_ON_POSTGRES" not in os.environ:
        return tmp_path / "store"
    monkeypatch.setenv("EPISODICA_CACHE", str(tmp_path / "caches"))
    server = os.environ["EPISODICA_TEST_POSTGRES"]
    return cast("Path", Database(f"{server}?schema=s{uuid.uuid4().hex[:20]}"))


@pytest.fixture
def memory(store: Path) -> Iterator[MemorySystem]:
    with MemorySystem(store) as opened:
        yield opened


def tells_homes(messages: list[dict[str, str]], **_: Any) -> str:
    """A model that states where Alice lives, and ends what it said about it before."""
    prompt = messages[1]["content"]
    known = re.findall(r"(?m)^(\d+) \| Alice \| home \|", prompt)
    said = re.findall(r"(?m)^(\d+) \| .*: (.*)$", prompt.rpartition("<material-")[2])
    facts = [
        {
            "kind": "personal_info",
            "importance": "high",
            "subject": "Alice",
            "attribute": "home",
            "when": "2024-02-02" if "moved" in text else "",
            "ends": " ".join(known) if "moved" in text else "",
            "messages": number,
            "quote": text.rstrip("."),
            "content": f"Alice lives in {'Lyon' if 'moved' in text else 'Paris'}.",
        }
        for number, text in said
        if "moved" in text or "live in" in text
    ]
    numbers = [int(number) for number, _ in said]
    text = {"title": "Where Alice lives", "narrative": "They talked."}
    talk = {"messages": numbers, "confidence": 0.9, **text}
    return json.dumps({"episodes": [talk], "facts": facts})


@pytest.fixture
def moved(memory: MemorySystem, store: Path) -> MemorySystem:
    """Alice lived in Paris and moved to Lyon, as a model states it."""
    fillers = [f"The weather is fine today, number {n}." for n in range(4)]
    said = ["I live in Paris, in a small flat.", *fillers, "I moved to Lyon last Friday.", *fillers]
    messages = [
        {
            "role": "user",
            "name": "Alice",
            "content": text,
            "timestamp": f"2024-0{1 + (n > 4)}-05T10:{n:02}:00+01:00",
            "session_id": f"s{n > 4}",
        }
        for n, text in enumerate(said)
    ]
    with MemorySystem(store, llm=tells_homes) as writer:
        for part in (messages[:5], messages[5:]):
            writer.add_messages("al", part)
            writer.flush("al")
            assert writer.wait("al", timeout=60)
    return memory


@pytest.fixture
def talk() -> list[dict[str, Any]]:
    return json.loads(json.dumps(TALK))


@pytest.fixture
def lyon(memory: MemorySystem, talk: list[dict[str, Any]]) -> MemorySystem:
    """A memory in which Alice's talk is an episode."""
    memory.add_messages("alice", talk)
    memory.flush("alice")
    memory.wait("alice")
    return memory


@pytest.fixture
def cli(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command line in a process of its own."""

    def run(
        *args: str | Path, env: dict[str, str] | None = None, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "episodica", *map(str, args)],
            env={**os.environ, "PYTHONIOENCODING": "utf-8", **(env or {})},
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    return run
