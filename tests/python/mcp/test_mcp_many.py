"""Eight clients, each with a server process of its own, write one store while these are killed."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from mcp_server import Process, command

from episodica import MemorySystem

from .test_mcp_transports import messages

CLIENTS = 8
NOTES = 8


def several_processes_write() -> bool:
    """Whether this release lets a second process open a store for writing."""
    program = "import sys\nfrom episodica import MemorySystem\nMemorySystem(sys.argv[1]).close()\n"
    with tempfile.TemporaryDirectory() as folder, MemorySystem(folder):
        done = subprocess.run(
            [sys.executable, "-c", program, folder], capture_output=True, timeout=60, check=False
        )
    return done.returncode == 0


def write(store: Path, name: int, acknowledged: set[str], failures: list[str]) -> None:
    """Stores notes one by one; starts the server again whenever it was killed, and repeats."""
    chance = random.Random(name)
    server: Process | None = None
    try:
        for n in range(NOTES):
            id = f"c{name}-{n}"
            for _ in range(5):
                try:
                    if server is None:
                        server = Process(command(store))
                        server.handshake()
                    if chance.random() < 0.25:
                        delay = chance.random() * 0.02
                        threading.Timer(delay, server.popen.kill).start()
                    call = {"content": f"Note {id}.", "message_id": id}
                    answer = server.ask(n + 1, "tools/call", name="remember", arguments=call)
                    counts = answer["result"]["structuredContent"]
                    assert counts["messages_added"] + counts["known_already"] == 1
                    acknowledged.add(id)
                    break
                except (ValueError, OSError):
                    assert server is not None
                    server.popen.kill()
                    server.popen.communicate()
                    server = None
            else:
                failures.append(id)
    finally:
        if server is not None:
            server.popen.kill()
            server.popen.communicate()


@pytest.mark.timeout(120)
def test_eight_clients_under_kills_lose_nothing(store: Path) -> None:
    if not several_processes_write():
        pytest.skip("one process writes a store in this release")
    acknowledged: list[set[str]] = [set() for _ in range(CLIENTS)]
    failures: list[str] = []
    threads = [
        threading.Thread(target=write, args=(store, name, acknowledged[name], failures))
        for name in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    wanted = sorted(f"c{name}-{n}" for name in range(CLIENTS) for n in range(NOTES))
    assert sorted(id for one in acknowledged for id in one) == wanted
    assert messages(store) == wanted
