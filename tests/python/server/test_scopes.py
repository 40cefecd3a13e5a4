"""Each key on every route: no answer contains what the key's scopes do not open."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from episodica import MemorySystem
from episodica.server.keys import KeyRing
from episodica.server.settings import ServerSettings

from .conftest import MOVED, SAID, Client, opened

ALICE = "/v1/users/alice"
# Words that only callers with `read` may get, and words only for callers who may list users.
WORDS = ("Paris", "flat", "How nice")
OTHERS = ("zoe-hidden", "Zurich")


@pytest.fixture
def known(store: Path) -> dict[str, str]:
    """A store with two users, and the ids of alice's first records."""
    with MemorySystem(store) as memory:
        memory.add_messages("alice", SAID, session_id="s1")
        zoe = {"role": "user", "name": "Zoe", "content": "I live in Zurich."}
        memory.add_messages("zoe-hidden", [zoe], session_id="s1")
        for user in ("alice", "zoe-hidden"):
            memory.flush(user)
        return {
            "messages": memory.messages("alice")[0].message_id,
            "episodes": memory.episodes("alice")[0].episode_id,
            "facts": memory.semantic_memories("alice")[0].memory_id,
        }


def bodies(method: str, path: str) -> Any:
    """A body that the route takes."""
    moved = {"messages": MOVED, "wait": "facts"}
    if method == "patch":
        return {"content": "Alice is well."}
    if method != "post":
        return None
    return {
        "/v1/users/{user}/messages": moved,
        "/v1/users/{user}/search": {"query": "Where does Alice live?"},
        "/v1/users/{user}/context": {"query": "Where does Alice live?"},
        "/v1/users/{user}/facts": {"statement": "I moved to Nice."},
        "/memories": {"messages": "I moved to Rome.", "user_id": "alice"},
        "/search": {"query": "Where does she live?", "user_id": "alice"},
    }.get(path, {})


def queries(path: str) -> list[str]:
    """The query strings of a route that are tried."""
    if path == "/memories":
        return ["?user_id=alice"]
    if path.startswith("/v1/fs"):
        uris = (
            *("cortex://", "cortex://user", "cortex://session", "cortex://session/s1"),
            *("cortex://agent", "cortex://user/alice", "episodica://", "episodica://default"),
        )
        depth = "" if path.endswith("read") else "&depth=4"
        return [f"?uri={quote(uri, safe='')}{depth}" for uri in uris]
    return [""]


async def walk(
    client: Client, known: dict[str, str], text: str, hidden: tuple[str, ...]
) -> dict[str, int]:
    """The status of each request, after looking for what its answer must not have."""
    headers = {"Authorization": f"Bearer {text}"}
    paths = (await client.json("GET", "/openapi.json"))["paths"]
    routes = [(method, path) for path, one in paths.items() for method in one]
    # Deletions come last, the deletion of the whole user at the very end.
    routes.sort(key=lambda one: (one[0] == "delete", one[1] in ("/memories", "/v1/users/{user}")))
    found: dict[str, int] = {}
    for method, path in routes:
        if path == "/v1/events":
            # The stream has no end. (A caller who may not follow is refused at once.)
            continue
        place = path.replace("{user}", "alice")
        for kind, one in known.items():
            place = place.replace(f"{kind}/{{id}}", f"{kind}/{one}")
        place = re.sub(r"\{id\}", f"YWxpY2U.{known['facts']}", place)
        for query in queries(path):
            answer = await client.request(
                method, place + query, json=bodies(method, path), headers=headers
            )
            found[f"{method} {path}{query}"] = answer.status_code
            assert answer.status_code < 500, (method, path, answer.text)
            told = [one for one in hidden if one in answer.text]
            assert told == [], (method, path + query, answer.text)
    return found


@pytest.mark.parametrize("scope", ["write", "erase", "admin"])
async def test_a_key_without_read_learns_nothing_that_is_stored(
    store: Path, known: dict[str, str], scope: str
) -> None:
    settings = ServerSettings(store=str(store))
    text, _ = KeyRing(settings.keys_path).create(scopes=[scope])
    async with opened(settings) as client:
        users = () if scope == "admin" else OTHERS[:1]
        ids = tuple(known.values())[1:] if scope == "erase" else ()
        hidden = (*WORDS, OTHERS[1], *users, *ids)
        found = await walk(client, known, text, hidden)
        assert sum(status < 300 for status in found.values()) > 5
        wanted = {"write": "post", "erase": "delete", "admin": "get"}[scope]
        done = [one for one, status in found.items() if status < 300 and "/v1/" in one]
        assert {one.split()[0] for one in done} <= {wanted, "get", "patch"}
        answer = await client.get("/v1/events", headers={"Authorization": f"Bearer {text}"})
        assert answer.status_code == 403


async def test_a_key_of_all_users_does_not_list_them_without_admin(
    store: Path, known: dict[str, str]
) -> None:
    settings = ServerSettings(store=str(store))
    text, _ = KeyRing(settings.keys_path).create(scopes=["read"])
    async with opened(settings) as client:
        found = await walk(client, known, text, OTHERS)
        refused = {one for one, status in found.items() if status == 403 and "/v1/fs" in one}
        assert len(refused) == 14
        headers = {"Authorization": f"Bearer {text}"}
        for path in ("/v1/events", "/v1/users", "/v1/store", f"{ALICE}?dry_run=true"):
            method = "DELETE" if "dry_run" in path else "GET"
            assert (await client.request(method, path, headers=headers)).status_code == 403
        assert (await client.get("/v1/fs", headers=headers)).status_code == 200


@pytest.mark.parametrize("scopes", [["write"], ["read", "write"]])
async def test_old_facts_and_titles_are_for_those_who_may_read(
    store: Path, known: dict[str, str], scopes: list[str]
) -> None:
    settings = ServerSettings(store=str(store))
    text, _ = KeyRing(settings.keys_path).create(user="alice", scopes=scopes)
    headers = {"Authorization": f"Bearer {text}", "Idempotency-Key": "k"}
    async with opened(settings) as client:
        told = ""
        body = {"messages": MOVED, "wait": "facts"}
        for _ in range(2):
            told += str(
                await client.json("POST", f"{ALICE}/messages", 201, json=body, headers=headers)
            )
        path = f"{ALICE}/episodes/{known['episodes']}"
        told += str(await client.json("PATCH", path, json={"content": "x"}, headers=headers))
        assert ("Paris" in told) == ("read" in scopes)


async def test_a_preview_needs_read(store: Path, known: dict[str, str]) -> None:
    settings = ServerSettings(store=str(store))
    ring = KeyRing(settings.keys_path)
    async with opened(settings) as client:
        for scopes, status in ((["erase"], 403), (["read"], 403), (["erase", "read"], 200)):
            text, _ = ring.create(scopes=scopes)
            headers = {"Authorization": f"Bearer {text}"}
            for path in (ALICE, f"{ALICE}/messages/{known['messages']}"):
                await client.json("DELETE", f"{path}?dry_run=true", status, headers=headers)
