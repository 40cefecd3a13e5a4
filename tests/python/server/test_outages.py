"""Streams and uploads: what ends them, what they outlive, and what they leave."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from episodica import StoreUnavailableError, transfer
from episodica.aio import AsyncMemorySystem
from episodica.server.keys import KeyRing
from episodica.server.scratch import scratch
from episodica.server.settings import ServerSettings

from .conftest import SAID, Client, Served, opened

ALICE = "/v1/users/alice"
# Followers wake after 15 seconds without a change; an event must not wait for that.
SECONDS = 8.0


class Followed:
    """A stream read from the application itself: the client's transport would wait for its end."""

    def __init__(self, client: Any, **headers: str) -> None:
        self._parts: asyncio.Queue[bytes] = asyncio.Queue()
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/v1/events",
            "raw_path": b"/v1/events",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        self._asked = False
        self.task = asyncio.create_task(client.app(scope, self._receive, self._send))

    async def _receive(self) -> Any:
        if self._asked:
            await asyncio.Event().wait()
        self._asked = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.body":
            await self._parts.put(message["body"])

    async def until(self, word: bytes) -> None:
        async with asyncio.timeout(SECONDS):
            while word not in await self._parts.get():
                pass


@contextlib.asynccontextmanager
async def following(client: Any, **headers: str) -> AsyncIterator[Followed]:
    followed = Followed(client, **headers)
    try:
        await followed.until(b": follow")
        yield followed
    finally:
        followed.task.cancel()
        await asyncio.wait([followed.task])


async def test_the_stream_of_a_revoked_key_ends(store: Path) -> None:
    ring = KeyRing(ServerSettings(store=str(store)).keys_path)
    # Events of all users need `admin`.
    key, known = ring.create(scopes=["read", "admin"])
    async with (
        opened(ServerSettings(store=str(store))) as client,
        following(client, authorization=f"Bearer {key}") as followed,
    ):
        ring.revoke(known.id)
        async with asyncio.timeout(SECONDS):
            await followed.task


async def test_a_stream_without_a_key_ends_when_keys_are_needed(store: Path) -> None:
    async with (
        opened(ServerSettings(store=str(store))) as client,
        following(client, host="localhost") as followed,
    ):
        KeyRing(ServerSettings(store=str(store)).keys_path).create()
        async with asyncio.timeout(SECONDS):
            await followed.task


async def test_events_go_on_after_an_outage(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    events, called = AsyncMemorySystem.events, asyncio.Event()

    async def failing(*_: Any, **__: Any) -> Any:
        called.set()
        raise StoreUnavailableError("the database does not answer")

    async with following(client, host="localhost") as followed:
        monkeypatch.setattr(AsyncMemorySystem, "events", failing)
        async with asyncio.timeout(SECONDS):
            await called.wait()
        monkeypatch.setattr(AsyncMemorySystem, "events", events)
        await client.json("POST", f"{ALICE}/messages", 201, json={"messages": SAID})
        await followed.until(b"event: MESSAGE")


def archive(content: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("conversations.json", content)
    return file.getvalue()


async def test_an_archive_is_no_larger_than_a_body_when_it_is_unpacked(store: Path) -> None:
    said = [{"role": "user", "content": f"{n} " + 30_000 * "x"} for n in range(100)]
    body = archive(json.dumps([{"messages": said}]))
    assert len(body) < 50_000
    async with opened(ServerSettings(store=str(store), max_body_bytes=1 << 20)) as client:
        headers = {"Content-Type": "application/octet-stream"}
        refused = await client.json("POST", f"{ALICE}/import", 413, content=body, headers=headers)
        assert "unpacked" in refused["detail"]
        assert (await client.get(f"{ALICE}/messages")).json()["items"] == []


async def test_an_import_has_no_more_messages_than_it_may(store: Path) -> None:
    lines = "\n".join(json.dumps({"role": "user", "content": f"note {n}"}) for n in range(101))
    async with opened(ServerSettings(store=str(store), max_import=100)) as client:
        headers = {"Content-Type": "application/x-ndjson"}
        path = f"{ALICE}/import"
        await client.json("POST", path, 413, content=lines, headers=headers)
        fewer = lines.rpartition("\n")[0]
        added = await client.json("POST", path, content=fewer, headers=headers)
        assert added["messages"] == 100


async def test_an_export_has_no_file_that_a_killed_process_could_leave(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.json("POST", f"{ALICE}/messages", 201, json={"messages": SAID})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    write, seen = transfer._write, []

    def watched(file: Any, record: Any) -> None:
        write(file, record)
        seen.append(list((tmp_path / "temporary").rglob("*")))

    monkeypatch.setattr(transfer, "_write", watched)
    assert "Paris" in (await client.get(f"{ALICE}/export")).text
    assert seen == [[], []]


async def test_folders_that_a_killed_process_left_are_removed(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = []
    for prefix in ("episodica-import-", "episodica-metrics-"):
        with scratch(prefix) as made:
            # As it is after SIGKILL, which runs no clean-up.
            left.append(Path(shutil.copytree(made, f"{made}x")))
            (left[-1] / "import.jsonl").write_text("secret")
    (tmp_path / "episodica-import-link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / ".in-use").touch()
    with scratch("episodica-import-") as used:
        (used / "import.jsonl").write_text("read just now")
        async with opened(ServerSettings(store=str(store))):
            assert not any(folder.exists() for folder in left)
            assert (used / "import.jsonl").exists()
            assert (tmp_path / "elsewhere" / ".in-use").exists()


def test_a_killed_service_leaves_no_folder_for_long(
    serve: Callable[..., Served], tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    first = serve("--workers", "2", env={"TMPDIR": str(temporary)})
    [left] = temporary.glob("episodica-metrics-*")
    first.kill()
    assert left.exists()
    serve("--workers", "2", env={"TMPDIR": str(temporary)})
    assert not left.exists()
    assert len(list(temporary.glob("episodica-metrics-*"))) == 1
