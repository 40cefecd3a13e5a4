"""Requests that are sent again: done once, confirmed only if stored, answered without old texts."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from episodica import MemorySystem
from episodica.server.app import create_app
from episodica.server.idempotency import Repeatable
from episodica.server.keys import KeyRing
from episodica.server.settings import ServerSettings

from .conftest import MOVED, SAID, SECONDS, Client, opened

ALICE = "/v1/users/alice"
KEY = {"Idempotency-Key": "k1"}


def kept(store: Path) -> bytes:
    """All that the record of requests has in files."""
    return b"".join(file.read_bytes() for file in (store / "requests").iterdir())


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


async def test_a_repeated_request_says_so_when_its_user_was_deleted_elsewhere(
    client: Client, store: Path
) -> None:
    """A delayed repetition must not bring back what was deleted, a message or all of a user."""
    body = {"messages": MOVED, "wait": "facts"}
    first = await client.json("POST", f"{ALICE}/messages", 201, json=body, headers=KEY)
    stated = {"statement": "I live in Rome."}
    await client.json("POST", f"{ALICE}/facts", 201, json=stated, headers=KEY)
    with MemorySystem(store) as memory:
        ids = [one.episode_id for one in memory.episodes("alice")]
        ids += [one.memory_id for one in memory.semantic_memories("alice")]
        memory.delete_user_data("alice")
    for secret in (*ids, *first["message_ids"], "alice"):
        assert secret.encode() not in kept(store)
    async with another_worker(store) as worker:
        for one in (client, worker):
            await one.json("POST", f"{ALICE}/messages", 410, json=body, headers=KEY)
            await one.json("POST", f"{ALICE}/facts", 410, json=stated, headers=KEY)
    assert await stored(client) == []


@pytest.mark.parametrize(
    ("path", "wrong", "right"),
    [
        (
            "/messages",
            {"messages": [{"role": "user", "content": ""}]},
            {"messages": [{"role": "user", "content": "I live in Oslo."}]},
        ),
        ("/facts", {"statement": " "}, {"statement": "I live in Oslo."}),
        ("/facts", {"statement": "x", "kind": "no kind"}, {"statement": "I live in Oslo."}),
    ],
)
async def test_a_refused_request_leaves_its_key_to_the_corrected_one(
    path: str, wrong: Any, right: Any, client: Client, store: Path
) -> None:
    async with another_worker(store) as worker:
        for one in (client, worker):
            await one.json("POST", f"{ALICE}{path}", 400, json=wrong, headers=KEY)
        await worker.json("POST", f"{ALICE}{path}", 201, json=right, headers=KEY)
        await client.json("POST", f"{ALICE}{path}", 409, json=wrong, headers=KEY)
        again = await client.post(f"{ALICE}{path}", json=right, headers=KEY)
        assert again.headers["idempotent-replayed"] == "true"


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
    cut = asyncio.Event()
    once = Repeatable.sealed

    def sealed(self: Repeatable, outcome: bytes) -> bytes:
        if not cut.is_set():
            cut.set()
            raise OSError("cut")
        return once(self, outcome)

    monkeypatch.setattr(Repeatable, "sealed", sealed)
    await send(client, "I live in Oslo.", 500)
    assert (await send(client, "I live in Oslo."))["message_ids"]
    await send(client, "I live in Bern.", 409)
    assert await stored(client) == ["I live in Oslo."]


async def test_an_id_that_is_known_with_another_content_is_an_edit_or_a_conflict(
    client: Client,
) -> None:
    path = f"{ALICE}/messages"
    said = {"role": "user", "content": "I live in Oslo.", "message_id": "m1"}
    for _ in range(2):
        await client.json("POST", path, 201, json={"messages": [said]})
    other = [{**SAID[0]}, {**said, "content": "I live in Bern."}]
    refusing = {"messages": other, "duplicates": "error"}
    await client.json("POST", path, 409, json=refusing)
    assert await stored(client) == ["I live in Oslo."], "nothing of the request is stored"
    edited = await client.json("POST", path, 201, json={"messages": other})
    assert (edited["messages_added"], edited["edited"]) == (1, 1)
    assert "I live in Bern." in await stored(client)
    assert "I live in Oslo." not in await stored(client)


async def test_the_record_has_no_texts_and_is_the_owners(client: Client, store: Path) -> None:
    await send(client, "My password is tulip.", **{"Idempotency-Key": "tulip"})
    for secret in (b"tulip", b"alice", b"password", b"idem-"):
        assert secret not in kept(store)
    for path in (store / "requests").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600


def lock(path: Path) -> None:
    """The record of earlier builds, locked by a process that was stopped."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("CREATE TABLE requests (other)")
    database.execute("BEGIN EXCLUSIVE")
    OPEN.append(database)


OPEN: list[sqlite3.Connection] = []


@pytest.fixture
def broken() -> dict[str, Callable[[Path], object]]:
    """What may stand in the place of the record; nothing of it may be followed or waited for."""
    return {
        "garbage": lambda path: path.write_bytes(b"garbage\n" * 100),
        "empty": lambda path: path.write_bytes(b""),
        "folder": lambda path: path.mkdir(),
        "fifo": os.mkfifo,
        "link": lambda path: path.symlink_to(path.parents[1] / "elsewhere" / "kept"),
        "dangling link": lambda path: path.symlink_to(path.parents[1] / "elsewhere" / "no"),
        "link to a folder": lambda path: path.symlink_to(path.parents[1] / "elsewhere"),
        "read-only": lambda path: (path.write_bytes(b""), path.chmod(0o400)),
        "locked": lock,
    }


@pytest.mark.skipif(os.name == "nt", reason="no FIFO, no mode")
async def test_whatever_stands_in_the_place_of_the_record_is_left_or_replaced(
    broken: dict[str, Callable[[Path], object]], client: Client, store: Path
) -> None:
    elsewhere = store.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("kept")
    for number, breaks in enumerate(broken.values()):
        file = store / "requests"
        if file.is_dir() and not file.is_symlink():
            for inside in file.iterdir():
                inside.unlink()
            file.rmdir()
        else:
            file.unlink(missing_ok=True)
        breaks(file)
        key = {"Idempotency-Key": f"k{number}"}
        sent, again = [await send(client, f"I saw {number} herons.", **key) for _ in range(2)]
        assert sent["message_ids"] == again["message_ids"]
        await send(client, "something else", 409, **key)
        await client.json("DELETE", ALICE)
        assert await stored(client) == []
        assert [file.name for file in elsewhere.iterdir()] == ["kept"]
        assert (elsewhere / "kept").read_text() == "kept"
    while OPEN:
        OPEN.pop().close()


async def test_a_folder_with_files_in_its_place_is_named_and_holds_up_no_deletion(
    client: Client, store: Path
) -> None:
    await send(client, "I live in Oslo.")
    [file] = (store / "requests").iterdir()
    file.unlink()
    (file / "of somebody").mkdir(parents=True)
    told = await send(client, "I live in Bern.", 503, **{"Idempotency-Key": "k2"})
    assert "repeatable" in told["detail"]
    assert str(store) not in str(told)
    await client.json("DELETE", ALICE)
    assert await stored(client) == []
    with MemorySystem(store) as memory:
        [problem] = memory.verify().problems
    assert problem.path == str(file)
    assert "replaces" in problem.remedy
