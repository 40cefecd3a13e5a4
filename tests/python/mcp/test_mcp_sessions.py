"""Sessions and streams of the server over HTTP: whose they are, how many, and when they end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
from mcp_server import ACCEPT, INITIALIZE, http, open_session, ring_of

from episodica import AsyncMemorySystem
from episodica.mcp.service import server_for
from episodica.mcp.serving import guarded
from episodica.server.settings import ServerSettings


@contextlib.asynccontextmanager
async def in_process(
    store: Path, **limits: Any
) -> AsyncIterator[Callable[[str], httpx2.AsyncClient]]:
    """Makes clients with a key for a server in this process."""
    async with AsyncMemorySystem(store) as memory, contextlib.AsyncExitStack() as stack:
        server = server_for(memory, None)
        settings = ServerSettings(store=str(store), **limits)
        app, _ = guarded(server, "default", None, ring_of(store), True, settings)
        await stack.enter_async_context(server.session_manager.run())

        def client(key: str) -> httpx2.AsyncClient:
            headers = {**ACCEPT, "Authorization": f"Bearer {key}"}
            transport = httpx2.ASGITransport(app)
            return httpx2.AsyncClient(
                transport=transport, base_url="http://127.0.0.1", headers=headers
            )

        yield client


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def lives(web: httpx2.AsyncClient, session: dict[str, str]) -> bool:
    return (await web.post("/mcp", json=PING, headers=session)).status_code == 200


async def test_sessions_that_nobody_uses_end(store: Path) -> None:
    async with AsyncMemorySystem(store) as memory:
        server = server_for(memory, "alice")
        settings = ServerSettings(store=str(store))
        app, _ = guarded(
            server, "default", "alice", ring_of(store), True, settings, idle_seconds=0.2
        )
        async with (
            server.session_manager.run(),
            httpx2.AsyncClient(
                transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1", headers=ACCEPT
            ) as web,
        ):
            session = await open_session(web, "/mcp")
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            assert (await web.post("/mcp", json=ping, headers=session)).status_code == 200
            await asyncio.sleep(1)
            assert (await web.post("/mcp", json=ping, headers=session)).status_code == 404


async def test_a_key_has_a_share_of_the_sessions_and_its_oldest_make_room(store: Path) -> None:
    ring = ring_of(store)
    keys = [ring.create(user=name)[0] for name in ("alice", "bob", "eve")]
    async with in_process(store, max_sessions=8) as client:
        alice, bob, eve = map(client, keys)
        mine = await open_session(alice, "/mcp")
        others = [await open_session(eve, "/mcp") for _ in range(20)]
        assert await lives(alice, mine)
        assert [await lives(eve, one) for one in others] == [False] * 16 + [True] * 4
        # Two keys hold all sessions; a third finds room at the cost of the one with most.
        more = [await open_session(bob, "/mcp") for _ in range(4)]
        assert await lives(alice, mine)
        assert all([await lives(bob, one) for one in more])
        assert sum([await lives(eve, one) for one in others]) == 3


async def test_a_session_in_use_is_kept_before_one_that_is_not(store: Path) -> None:
    key, _ = ring_of(store).create(user="alice")
    async with in_process(store, max_sessions=4) as client:
        web = client(key)
        first, second = [await open_session(web, "/mcp") for _ in range(2)]
        assert await lives(web, first)
        third = await open_session(web, "/mcp")
        assert [await lives(web, one) for one in (first, second, third)] == [True, False, True]
        ended = await web.delete("/mcp", headers=first)
        assert ended.status_code == 200
        fourth = await open_session(web, "/mcp")
        assert [await lives(web, one) for one in (third, fourth)] == [True, True]


async def test_streams_have_a_limit_for_each_key(store: Path) -> None:
    ring = ring_of(store)
    keys = [ring.create(user=name)[0] for name in ("alice", "bob")]
    with http(store, user=None, EPISODICA_SERVER_MAX_STREAMS="4") as (_, address):
        async with contextlib.AsyncExitStack() as stack:
            statuses = []
            for key, count in zip(keys, (5, 2), strict=True):
                headers = {**ACCEPT, "Authorization": f"Bearer {key}"}
                web = await stack.enter_async_context(httpx2.AsyncClient(headers=headers))
                for _ in range(count):
                    session = await open_session(web, address)
                    stream = web.stream("GET", address, headers=session)
                    statuses.append((await stack.enter_async_context(stream)).status_code)
            assert statuses == [200, 200, 503, 503, 503, 200, 200]


async def test_a_session_belongs_to_the_key_that_opened_it(store: Path) -> None:
    ring = ring_of(store)
    alice, _ = ring.create(user="alice")
    bob, _ = ring.create(user="bob")
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    with http(store, user=None) as (_, address):
        async with httpx2.AsyncClient(headers=accept) as web:
            owner = {"Authorization": f"Bearer {alice}"}
            opened = await web.post(address, json=INITIALIZE, headers=owner)
            session = {"Mcp-Session-Id": opened.headers["Mcp-Session-Id"]}
            for key, status in ((bob, 404), (alice, 200)):
                headers = {**session, "Authorization": f"Bearer {key}"}
                answer = await web.post(address, json=ask, headers=headers)
                assert answer.status_code == status
