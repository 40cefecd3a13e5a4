"""The tree of layers over HTTP: what is there, what a key sees, and that nothing climbs out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from episodica.server.keys import KeyRing
from episodica.server.settings import ServerSettings

from .conftest import MOVED, SAID, Client, opened

HOME = "cortex://user/alice/personal_info"


@pytest.fixture
async def filled(store: Path) -> AsyncIterator[Client]:
    async with opened(ServerSettings(store=str(store))) as client:
        for user, session in (("alice", "s/1"), ("bob", "b")):
            for said in (SAID, MOVED):
                body = {"messages": said, "session_id": session, "wait": "facts"}
                await client.json("POST", f"/v1/users/{user}/messages", 201, json=body)
        yield client


async def listed(client: Client, uri: str, status: int = 200, **more: Any) -> Any:
    headers = more.pop("headers", None)
    return await client.json("GET", "/v1/fs", status, params={"uri": uri, **more}, headers=headers)


async def read(client: Client, uri: str, status: int = 200, **more: Any) -> Any:
    headers = more.pop("headers", None)
    return await client.json(
        "GET", "/v1/fs/read", status, params={"uri": uri, **more}, headers=headers
    )


async def test_folders_lead_to_texts_at_their_layers(filled: Client) -> None:
    top = await listed(filled, "cortex://")
    assert [one["name"] for one in top["entries"]] == ["session", "user", "agent", "resources"]
    fact, *_ = (await listed(filled, HOME))["entries"]
    assert (fact["kind"], "Paris" in fact["title"]) == ("fact", True)
    assert (await read(filled, fact["uri"]))["text"].count("Paris") >= 1
    assert (await read(filled, fact["record_uri"]))["text"].count("Paris") >= 1
    deep = await listed(filled, "cortex://session/s%2F1", depth=4)
    assert deep["complete"]
    months = deep["entries"][0]["entries"]
    assert [one["name"] for one in months] == ["2024-01", "2024-03"]
    (episode,) = months[0]["entries"][0]["entries"]
    texts = [(await read(filled, episode["uri"], layer=f"L{n}"))["text"] for n in range(3)]
    assert "I live in Paris, in a small flat." in texts[2]
    assert len(set(texts)) == 3
    profile = (await read(filled, "cortex://user/alice/profile.md"))["text"]
    assert profile.startswith("# Alice")


async def test_a_large_tree_ends_where_there_is_no_room(filled: Client) -> None:
    def count(entries: Any) -> int:
        return sum(1 + count(one.get("entries") or ()) for one in entries)

    whole = await listed(filled, "cortex://", depth=8)
    assert whole["complete"]
    for limit in (1, 5, 20):
        part = await listed(filled, "cortex://", depth=8, limit=limit)
        assert count(part["entries"]) == limit
        assert not part["complete"]
    await listed(filled, "cortex://", 400, depth=9)


OUTSIDE = [
    "",
    "/etc/passwd",
    "file:///etc/passwd",
    "cortex:/user",
    "cortex://user/../user",
    "cortex://user/./alice",
    "cortex://user//alice",
    "cortex://user/alice/../../..",
    "cortex://user/%ff",
    f"cortex://{'x' * 20_000}",
]
NOWHERE = [
    "cortex://user/%2e%2e/alice",
    "cortex://user/alice/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "cortex://user/alice/personal_info/%00",
    "cortex://user/nobody",
    "cortex://etc",
    "cortex://session/unknown",
    "episodica://other/alice",
    "episodica://default/nobody/message",
    "episodica://default/alice/message/unknown",
    "episodica://default/alice/secret",
]


async def test_nothing_climbs_out_of_the_tree(filled: Client) -> None:
    for uri in OUTSIDE:
        for ask in (listed, read):
            answer = await ask(filled, uri, 400)
            assert "not an address" in answer["detail"], uri
    for uri in NOWHERE:
        for ask in (listed, read):
            answer = await ask(filled, uri, 404)
            assert answer["detail"] == "there is no such place", uri
    await read(filled, HOME, 400, layer="L3")


async def test_a_key_sees_the_tree_of_its_user(filled: Client, store: Path) -> None:
    message = (await filled.json("GET", "/v1/users/bob/messages"))["items"][0]["id"]
    ring = KeyRing(ServerSettings(store=str(store)).keys_path)
    alice = {"Authorization": f"Bearer {ring.create(user='alice', scopes=['read'])[0]}"}
    writer = {"Authorization": f"Bearer {ring.create(user='alice', scopes=['write'])[0]}"}
    other = {"Authorization": f"Bearer {ring.create(tenant='acme', scopes=['read'])[0]}"}
    users = await listed(filled, "cortex://user", headers=alice)
    assert [one["name"] for one in users["entries"]] == ["alice"]
    sessions = await listed(filled, "cortex://session", headers=alice)
    assert [one["name"] for one in sessions["entries"]] == ["s%2F1"]
    for uri in (
        "cortex://user/bob",
        "cortex://user/bob/personal_info",
        "cortex://session/b/timeline",
        "episodica://default/bob",
        "episodica://default/bob/message",
        f"episodica://default/bob/message/{message}",
    ):
        for ask in (listed, read):
            await ask(filled, uri, 404, headers=alice)
            # A session may have several users: its tree needs `admin`, even for keys of all users.
            hidden = 403 if uri.startswith("cortex://session") else 404
            await ask(filled, uri, hidden, headers=other)
            await ask(filled, uri, 403, headers=writer)
            await ask(filled, uri, 401)
    assert (await listed(filled, HOME, headers=alice))["entries"]
    await listed(filled, "cortex://user", 403, headers=other)
