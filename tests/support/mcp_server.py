"""An MCP server in a process of its own, and what clients send to it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2

from episodica.server.keys import KeyRing
from episodica.server.settings import ServerSettings

ATTEMPTS_SECONDS = 20
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def command(store: Path, *options: str, user: str | None = "alice") -> list[str]:
    own = ["--store", str(store), *(("--user", user) if user else ())]
    return [sys.executable, "-W", "error", "-m", "episodica", "mcp", *own, *options]


class Process:
    """A server, and what it writes."""

    def __init__(self, arguments: list[str], **environment: str) -> None:
        self.popen = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
            text=True,
            encoding="utf-8",
        )

    def ask(self, id: int, method: str, **params: Any) -> Any:
        """Sends one request and reads one answer; anything else on the stream is an error."""
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        self.popen.stdin.write(json.dumps(request) + "\n")
        self.popen.stdin.flush()
        answer = json.loads(self.popen.stdout.readline())
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", id)
        return answer

    def handshake(self) -> None:
        assert self.popen.stdin is not None
        self.ask(0, "initialize", **INITIALIZE["params"])
        self.popen.stdin.write(json.dumps(INITIALIZED) + "\n")
        self.popen.stdin.flush()

    def remember(self, id: int) -> None:
        arguments = {"content": f"Note {id}.", "message_id": f"m{id}"}
        answer = self.ask(id, "tools/call", name="remember", arguments=arguments)
        assert answer["result"]["structuredContent"]["messages_added"] == 1

    def end(self) -> tuple[int, str, str]:
        """Ends its input; returns the exit status, the rest of standard output, and the errors."""
        out, error = self.popen.communicate(timeout=ATTEMPTS_SECONDS)
        return self.popen.returncode, out, error

    def ended(self) -> tuple[int, str, str]:
        """Like :meth:`end`, for a process that ends while its input stays open."""
        status = self.popen.wait(ATTEMPTS_SECONDS)
        assert self.popen.stdin is not None
        assert not self.popen.stdin.closed
        return (status, *self.popen.communicate(timeout=ATTEMPTS_SECONDS)[:2])


@contextlib.contextmanager
def process(arguments: list[str], **environment: str) -> Iterator[Process]:
    started = Process(arguments, **environment)
    try:
        yield started
    finally:
        started.popen.kill()
        started.popen.communicate()


@contextlib.contextmanager
def http(
    store: Path, user: str | None = "alice", **environment: str
) -> Iterator[tuple[Process, str]]:
    """A server on a free port, and its address."""
    arguments = command(store, "--transport", "http", "--port", "0", user=user)
    with process(arguments, **environment) as server:
        assert server.popen.stderr is not None
        line = server.popen.stderr.readline()
        assert line.startswith(f"serving {user or 'the users of the keys'} on http://"), line
        yield server, line.split()[-1]


def ring_of(store: Path) -> KeyRing:
    return KeyRing(ServerSettings(store=str(store)).keys_path)


async def open_session(web: httpx2.AsyncClient, address: str) -> dict[str, str]:
    """The header of a new session."""
    opened = await web.post(address, json=INITIALIZE)
    return {"Mcp-Session-Id": opened.headers["Mcp-Session-Id"]}
