"""Stores on the server that ``make test-postgres`` has, and servers of a test's own.

Everything here is skipped where ``EPISODICA_TEST_POSTGRES`` names no server.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres import Server, reachable_folder, running

from episodica import MemorySystem

ADDRESS = os.environ.get("EPISODICA_TEST_POSTGRES", "")


@pytest.fixture(autouse=True)
def _caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory of its own for the caches."""
    if not ADDRESS:
        pytest.skip("EPISODICA_TEST_POSTGRES names no server")
    monkeypatch.setenv("EPISODICA_CACHE", str(tmp_path / "caches"))


@pytest.fixture
def address() -> str:
    """A store of its own on the server of all tests."""
    return f"{ADDRESS}?schema=p{uuid.uuid4().hex[:20]}"


@pytest.fixture
def memory(address: str) -> Iterator[MemorySystem]:
    with MemorySystem(address) as opened:
        yield opened


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the servers' user can reach."""
    with reachable_folder() as made:
        yield made


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    """A server of its own, for a test that breaks it."""
    with running(folder / "primary") as made:
        yield made
