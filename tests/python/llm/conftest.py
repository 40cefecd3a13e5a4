"""Scripted servers, and memories that use them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llm_checks import config
from model_server import ModelServer, Script

from episodica import MemorySystem


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModelServer]]:
    """Starts model servers, and stops them at the end of the test."""
    monkeypatch.setenv("no_proxy", "*")
    started: list[ModelServer] = []

    def start(script: Script | None = None, most: int = 2_000) -> ModelServer:
        started.append(ModelServer(script, most))
        return started[-1]

    yield start
    for server in started:
        server.close()


@pytest.fixture
def server(serve: Callable[..., ModelServer]) -> ModelServer:
    return serve()


@pytest.fixture
def open_memory(store: Path) -> Iterator[Callable[..., MemorySystem]]:
    """Opens memories over the test's store, and closes them before the servers stop."""
    opened: list[MemorySystem] = []

    def start(
        server: ModelServer | None = None,
        llm: Any = None,
        path: Path | None = None,
        **settings: Any,
    ) -> MemorySystem:
        made = config(server) if server is not None and llm is None else llm
        opened.append(MemorySystem(path or store, llm=made, **settings))
        return opened[-1]

    yield start
    for memory in opened:
        memory.close(timeout=0)
