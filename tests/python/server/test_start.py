"""The start of the service: its messages, its redirects, and a service that only reads."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from episodica import MemorySystem
from episodica.server.settings import ServerSettings

from .conftest import SAID, Client, Served, opened

ALICE = "/v1/users/alice"
READ_ONLY = {"EPISODICA_SERVER_READ_ONLY": "true"}


@pytest.mark.parametrize(
    "command", [("serve",), ("serve", "--workers", "2"), ("ui", "--no-browser")]
)
def test_a_busy_port_is_one_sentence(cli: Callable[..., Any], command: tuple[str, ...]) -> None:
    MemorySystem("s").close()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = cli(*command, "--port", str(port), "--store", "s")
    assert done.returncode == 1
    assert f"port {port} of 127.0.0.1 is in use" in done.stderr
    assert "--port" in done.stderr
    assert "startup" not in done.stderr
    assert "Traceback" not in done.stderr


def test_the_start_says_where_the_service_is_and_who_may_ask(
    serve: Callable[..., Served], cli: Callable[..., Any], store: Path
) -> None:
    served = serve()
    first = served.log.read_text().splitlines()[0]
    assert f"serving on {served.url}, the explorer is at {served.url}/ui/" in first
    assert "no key: programs on this machine only" in first
    assert served.stop() == 0
    made = cli("keys", "create", "--store", store).stdout.strip()
    again = serve("--workers", "2")
    text = again.log.read_text()
    assert "1 key, `episodica keys list` shows them" in text
    assert len(re.findall("serving on", text)) == 1
    assert made not in text
    assert made.split("_", 2)[2] not in text


async def test_the_root_leads_to_the_explorer_or_says_where_things_are(client: Client) -> None:
    answer = await client.get("/", headers={"Accept": "text/html,application/xhtml+xml"})
    assert (answer.status_code, answer.headers["location"]) == (307, "ui/")
    told = await client.json("GET", "/")
    assert told["name"] == "episodica"
    for name in ("explorer", "openapi", "health"):
        assert (await client.get(f"/{told[name]}")).status_code == 200


def written(folder: Path) -> Iterator[tuple[Path, bytes]]:
    return ((path, path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file())


async def test_a_service_that_only_reads_writes_nothing(store: Path) -> None:
    with MemorySystem(store) as memory:
        memory.add_messages("alice", SAID)
        memory.flush("alice")
        fact = memory.semantic_memories("alice")[0].memory_id
    before = dict(written(store))
    settings = ServerSettings.load({"store": str(store)}, READ_ONLY)
    async with opened(settings) as client:
        assert (await client.json("GET", "/ready"))["status"] == "ready"
        assert (await client.json("GET", "/v1/key"))["scopes"] == ["read", "admin"]
        body = {"query": "Where does Alice live?"}
        found = await client.json("POST", f"{ALICE}/search", json=body)
        assert "Paris" in found["hits"][0]["content"]
        await client.json("POST", f"{ALICE}/context", json=body)
        await client.json("POST", "/search", json={**body, "user_id": "alice"})
        for path in ("messages", "facts", "profile", "stats", "sessions", "export"):
            assert (await client.get(f"{ALICE}/{path}")).status_code == 200, path
        assert (await client.get("/metrics")).status_code == 200
        said = {"messages": SAID}
        for method, path, sent in (
            ("POST", f"{ALICE}/messages", said),
            ("POST", f"{ALICE}/flush", None),
            ("POST", f"{ALICE}/facts", {"statement": "I live in Rome."}),
            ("PATCH", f"{ALICE}/facts/{fact}", {"content": "x"}),
            ("DELETE", f"{ALICE}/facts/{fact}", None),
            ("DELETE", ALICE, None),
            ("POST", "/memories", {**said, "user_id": "alice"}),
            ("DELETE", "/memories?user_id=alice", None),
        ):
            told = await client.json(method, path, 403, json=sent)
            assert told["kind"] == "read_only", path
            assert "--read-only" in told["hint"]
    assert dict(written(store)) == before


def test_serve_reads_a_store_that_cannot_be_written(
    serve: Callable[..., Served], store: Path
) -> None:
    with MemorySystem(store) as memory:
        memory.add_messages("alice", SAID)
    folders = [store, *(path for path in store.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o500)
    try:
        served = serve("--read-only", "--workers", "2")
        listed = httpx.get(f"{served.url}{ALICE}/messages", timeout=30).json()
        assert listed["total"] == 2
        assert "read-only" in served.log.read_text()
        assert served.stop() == 0
    finally:
        for path in folders:
            path.chmod(0o700)


def test_a_store_that_is_not_there_is_not_made_by_a_reader(
    cli: Callable[..., Any], tmp_path: Path
) -> None:
    done = cli("serve", "--read-only", "--store", "nowhere", "--port", "0")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "nowhere").exists()
