"""A service in the test's process, and one in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from episodica.server.app import create_app
from episodica.server.explorer import OneTimeAddress
from episodica.server.settings import ServerSettings

SECONDS = 30.0


class Client(httpx.AsyncClient):
    """A client whose answers are checked: a failure has to be a problem."""

    async def json(self, method: str, path: str, status: int = 200, **options: Any) -> Any:
        answer = await self.request(method, path, **options)
        assert answer.status_code == status, answer.text
        if status >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["status"] == status
        return answer.json()


Open = Callable[..., Any]


@asynccontextmanager
async def opened(
    settings: ServerSettings, address: OneTimeAddress | None = None
) -> AsyncIterator[Client]:
    app = create_app(settings, address)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app.router.lifespan_context(app))
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        client = Client(transport=transport, base_url="http://127.0.0.1", timeout=SECONDS)
        await stack.enter_async_context(client)
        client.app = app  # type: ignore[attr-defined]
        yield client


@pytest.fixture
async def client(store: Path) -> AsyncIterator[Client]:
    async with opened(ServerSettings(store=str(store))) as one:
        yield one


@pytest.fixture
def serve(store: Path, tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Starts `episodica serve`, or another command, and ends it with the test."""
    running: list[Served] = []

    def start(*args: str, env: dict[str, str] | None = None, command: str = "serve") -> Served:
        log = tmp_path / f"server{len(running)}.log"
        served = Served(store, log, (command, *args), env or {})
        running.append(served)
        served.wait()
        return served

    yield start
    for one in running:
        one.kill()


class Served:
    """`episodica serve` in a process of its own."""

    def __init__(self, store: Path, log: Path, args: tuple[str, ...], env: dict[str, str]) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        name, *rest = args
        command = [sys.executable, "-m", "episodica", name, "--store", str(store)]
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [*command, "--port", str(self.port), *rest],
                stdout=file,
                stderr=file,
                env={**os.environ, **env},
                # With its workers it makes a group of processes of its own.
                start_new_session=True,
            )

    def wait(self) -> None:
        # Several processes start slowly on a busy machine.
        deadline = time.monotonic() + 3 * SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                httpx.get(f"{self.url}/health", timeout=5)
                return
            except httpx.TransportError:
                time.sleep(0.05)
        pytest.fail(f"the service did not start: {self.log.read_text()}")

    def stop(self) -> int:
        """Sends SIGTERM; returns the exit status."""
        self.process.terminate()
        return self.process.wait(SECONDS)

    def kill(self) -> None:
        """Sends SIGKILL, also to the workers, which would outlive the service."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(SECONDS)


SAID = [
    {
        "role": "user",
        "name": "Alice",
        "content": "I live in Paris, in a small flat.",
        "timestamp": "2024-01-05T10:00:00Z",
    },
    {"role": "assistant", "content": "How nice!", "timestamp": "2024-01-05T10:00:10Z"},
]
MOVED = [
    {
        "role": "user",
        "name": "Alice",
        "content": "I moved to Lyon last Friday.",
        "timestamp": "2024-03-11T09:30:00Z",
    }
]
