"""Requests that are sent again: done once, confirmed only if stored, answered without old texts."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from episodica import MemorySystem
from episodica.request_record import FILE, RequestRecord
from episodica.server.app import create_app
from episodica.server.keys import KeyRing
from episodica.server.settings import ServerSettings

from .conftest import MOVED, SAID, SECONDS, Client, opened

ALICE = "/v1/users/alice"
KEY = {"Idempotency-Key": "k1"}


def rows(store: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(store / FILE)) as database:
        return database.execute("SELECT * FROM requests").fetchall()


@asynccontextmanager
async def another_worker(store: Path) -> AsyncIterator[Client]:
    """A second service on the store, which shares only files with the first."""
    app = create_app(ServerSettings(store=str(store)))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with Client(transport=transport, base_url="http://127.0.0.1", timeout=SECONDS) as client:
        yield client
    await app.state.service.memories.close(SECONDS)


async def stored(client: Client, user: str = "alice") -> list[str]:
    listed = await client.json("GET", f"/v1/users/{user}/messages")
    return [one["content"] for one in listed["items"]]


async def send(client: Client, content: str, status: int = 201, **headers: str) -> Any:
    body = {"messages": [{"role": "user", "content": content}]}
    return await client.json(
        "POST", f"{ALICE}/messages", status, json=body, headers={**KEY, **headers}
    )


async def test_a_repeated_request_stores_once_and_has_the_same_ids(
    client: Client, store: Path
) -> None:
    body = {"messages": [{"role": "user", "content": "ok"}] * 2, "wait": "facts"}
    first = await client.json("POST", f"{ALICE}/messages", 201, json=body, headers=KEY)
    async with another_worker(store) as worker:
        for one in (client, worker):
            answer = await one.post(f"{ALICE}/messages", json=body, headers=KEY)
            assert answer.headers["idempotent-replayed"] == "true"
            again = answer.json()
            for name in ("message_ids", "messages_added", "duplicates", "episodes", "facts"):
                assert again[name] == first[name], name
    assert await stored(client) == ["ok", "ok"]


async def test_callers_with_the_same_key_keep_each_their_words(store: Path) -> None:
    settings = ServerSettings(store=str(store))
    ring = KeyRing(settings.keys_path)
    async with opened(settings) as client:
        for word in ("phone", "laptop"):
            text, _ = ring.create(user="alice", scopes=["read", "write"])
            client.headers["Authorization"] = f"Bearer {text}"
            added = await send(client, f"I bought a {word}.")
            assert (added["messages_added"], added["duplicates"]) == (1, 0)
        assert await stored(client) == ["I bought a phone.", "I bought a laptop."]


async def test_routes_and_users_with_the_same_key_do_not_meet(client: Client) -> None:
    await send(client, "I live in Oslo.")
    body = {"messages": [{"role": "user", "content": "I live in Bern."}]}
    await client.json("POST", "/v1/users/bo/messages", 201, json=body, headers=KEY)
    body = {"statement": "I like tea."}
    await client.json("POST", f"{ALICE}/facts", 201, json=body, headers=KEY)
    assert await stored(client, "bo") == ["I live in Bern."]


async def test_another_body_is_a_conflict_for_every_worker_and_after_a_restart(
    client: Client, store: Path
) -> None:
    first = await send(client, "I live in Oslo.")
    for _ in range(2):
        async with another_worker(store) as worker:
            await send(worker, "I live in Bern.", 409)
            await client.delete(f"{ALICE}/messages/{first['message_ids'][0]}")
            await send(worker, "I live in Bern.", 409)
    assert await stored(client) == []


async def test_a_repeated_request_says_so_when_its_message_was_deleted(
    client: Client, store: Path
) -> None:
    await client.json(
        "POST", f"{ALICE}/messages", 201, json={"messages": SAID, "wait": "facts"}, headers={}
    )
    body = {"messages": MOVED, "wait": "facts"}
    first = await client.json("POST", f"{ALICE}/messages", 201, json=body, headers=KEY)
    assert "Lyon" in first["events"][-1]["statement"]
    await client.json("DELETE", f"{ALICE}/messages/{first['message_ids'][0]}")
    async with another_worker(store) as worker:
        for one in (client, worker):
            told = await one.json("POST", f"{ALICE}/messages", 410, json=body, headers=KEY)
            assert "Paris" not in str(told)
            assert "Lyon" not in str(told)
    assert len(await stored(client)) == 2


async def test_a_repeated_request_after_the_user_was_deleted_elsewhere_is_stored(
    client: Client, store: Path
) -> None:
    await client.json("POST", f"{ALICE}/messages", 201, json={"messages": SAID, "wait": "facts"})
    body = {"messages": MOVED, "wait": "facts"}
    first = await client.json("POST", f"{ALICE}/messages", 201, json=body, headers=KEY)
    with MemorySystem(store) as memory:
        memory.delete_user_data("alice")
    assert rows(store) == []
    again = await client.json("POST", f"{ALICE}/messages", 201, json=body, headers=KEY)
    assert "Paris" not in str(again)
    assert again["message_ids"] == first["message_ids"]
    assert await stored(client) == [MOVED[0]["content"]], "what is confirmed is stored"


async def test_a_stated_fact_is_stated_once(client: Client, store: Path) -> None:
    body = {"statement": "I live in Rome."}
    first = await client.json("POST", f"{ALICE}/facts", 201, json=body, headers=KEY)
    async with another_worker(store) as worker:
        again = await worker.json("POST", f"{ALICE}/facts", 201, json=body, headers=KEY)
        assert again["id"] == first["id"]
        other = {"statement": "I live in Pisa."}
        await worker.json("POST", f"{ALICE}/facts", 409, json=other, headers=KEY)
        await client.json("DELETE", f"{ALICE}/facts/{first['id']}")
        told = await worker.json("POST", f"{ALICE}/facts", 410, json=body, headers=KEY)
    assert "Rome" not in str(told)


async def test_requests_at_the_same_time_are_one(client: Client, store: Path) -> None:
    async with another_worker(store) as worker:
        answers = await asyncio.gather(
            *(send(one, "I live in Oslo.") for one in (client, worker) * 10)
        )
    assert len({tuple(one["message_ids"]) for one in answers}) == 1
    assert await stored(client) == ["I live in Oslo."]


async def test_work_that_was_cut_off_is_done_when_it_is_sent_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = client.app.state.service.requests._record  # type: ignore[attr-defined]

    def fail(*_: object) -> None:
        raise OSError("cut")

    with monkeypatch.context() as cut:
        cut.setattr(type(record), "finish", fail)
        await send(client, "I live in Oslo.", 500)
    assert (await send(client, "I live in Oslo."))["message_ids"]
    await send(client, "I live in Bern.", 409)
    assert await stored(client) == ["I live in Oslo."]


async def test_an_id_that_is_known_with_another_content_is_a_conflict(client: Client) -> None:
    path = f"{ALICE}/messages"
    said = {"role": "user", "content": "I live in Oslo.", "message_id": "m1"}
    for _ in range(2):
        await client.json("POST", path, 201, json={"messages": [said]})
    other = [{**SAID[0]}, {**said, "content": "I live in Bern."}]
    await client.json("POST", path, 409, json={"messages": other})
    assert await stored(client) == ["I live in Oslo."], "nothing of the request is stored"


async def test_the_record_has_no_texts_and_is_the_owners(client: Client, store: Path) -> None:
    await send(client, "My password is tulip.", **{"Idempotency-Key": "tulip"})
    kept = (store / FILE).read_bytes()
    for secret in (b"tulip", b"alice", b"password"):
        assert secret not in kept
    assert (store / FILE).stat().st_mode & 0o777 == 0o600
    (store / FILE).write_bytes(b"no database" * 1000)
    await send(client, "x", 503)


def test_opening_the_record_again_keeps_its_lock(tmp_path: Path) -> None:
    """SQLite's locks belong to the process: closing a descriptor of the file drops them."""
    record = RequestRecord(tmp_path)
    record.claim(b"ann", b"first", b"body")
    other = (
        "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0.1).execute('BEGIN IMMEDIATE')"
    )
    with record._open() as database:
        database.execute("BEGIN IMMEDIATE")
        with record._open():
            pass
        command = [sys.executable, "-c", other, str(tmp_path / FILE)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "database is locked" in ended.stderr


async def test_a_record_that_another_process_holds_stops_only_repeatable_requests(
    store: Path,
) -> None:
    settings = ServerSettings(store=str(store), max_concurrency=8)
    async with opened(settings) as client:
        await send(client, "I live in Paris.")
        with closing(sqlite3.connect(store / FILE)) as database:
            database.execute("BEGIN EXCLUSIVE")
            waiting = [
                asyncio.create_task(send(client, f"Note {n}.", **{"Idempotency-Key": f"n{n}"}))
                for n in range(40)
            ]
            waiting += [asyncio.create_task(send(client, "I live in Paris.")) for _ in range(40)]
            await asyncio.sleep(0.3)
            async with asyncio.timeout(5):
                for _ in range(10):
                    found = await client.json("POST", f"{ALICE}/search", json={"query": "Paris"})
                    assert found["hits"]
                    body = {"messages": MOVED}
                    await client.json("POST", "/v1/users/bob/messages", 201, json=body)
            assert not any(one.done() for one in waiting)
            database.rollback()
        await asyncio.gather(*waiting)
        assert len(await stored(client)) == 41
