"""The server in a process of its own: both transports, both versions of the protocol, its end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_server import ACCEPT, ATTEMPTS_SECONDS, command, http, open_session, process, ring_of

from episodica import MemorySystem

TOOLS = ["remember", "search", "context", "fetch", "timeline", "changes"]
TOOLS += ["end_session", "forget", "status"]
MODES = {"auto": "2026-07-28", "legacy": "2025-11-25"}


def by_stdio(store: Path) -> StdioServerParameters:
    program, *arguments = command(store)
    return StdioServerParameters(command=program, args=arguments, env=dict(os.environ))


async def told(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def walk(client: Client) -> None:
    """Calls every tool once."""
    assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
    assert await told(client, "remember", content="I moved to Lyon.", message_id="m1")
    [hit] = (await told(client, "search", query="Lyon", kinds=["message"]))["results"]
    assert "I moved to Lyon." in (await told(client, "fetch", id=hit["id"]))["text"]
    assert "I moved to Lyon." in (await told(client, "context", query="Lyon"))["text"]
    said = [{"role": "user", "content": "The ferry leaves at six.", "message_id": "m2"}]
    assert (await told(client, "remember", messages=said))["buffered"] == 1
    assert (await told(client, "timeline"))["buffered"] == 1
    assert (await told(client, "end_session"))["buffered"] == 0
    assert (await told(client, "changes"))["results"] == []
    assert len((await told(client, "timeline"))["results"]) == 2
    assert (await told(client, "forget", query="Lyon"))["candidates"]
    assert (await told(client, "status"))["messages"] == 2
    assert (await client.read_resource("episodica://alice/profile")).contents
    failed = await client.call_tool("search", {"qurey": "x"})
    assert failed.is_error


@pytest.mark.parametrize("mode", MODES)
async def test_stdio(store: Path, mode: str) -> None:
    async with Client(by_stdio(store), mode=mode) as client:  # type: ignore[arg-type]
        assert client.protocol_version == MODES[mode]
        await walk(client)


def messages(store: Path) -> list[str]:
    with MemorySystem(store) as memory:
        assert memory.verify().errors == 0
        return sorted(one.message_id for one in memory.messages("alice"))


@pytest.mark.parametrize("end", ["eof", signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_end_of_a_server_loses_nothing_acknowledged(store: Path, end: Any) -> None:
    with process(command(store)) as server:
        server.handshake()
        for n in range(1, 21):
            server.remember(n)
        if end == "eof":
            status, out, error = server.end()
        else:
            server.popen.send_signal(end)
            status, out, error = server.ended()
        assert status == (-signal.SIGKILL if end == signal.SIGKILL else 0), error
        assert (out, error) == ("", "")
    assert messages(store) == sorted(f"m{n}" for n in range(1, 21))


def test_standard_output_has_only_the_protocol(store: Path, tmp_path: Path) -> None:
    """Malformed lines are answered, and warnings of other libraries go to standard error."""
    with process(command(store)) as server:
        server.handshake()
        assert server.popen.stdin is not None
        assert server.popen.stdout is not None
        for rubbish in ("no json", "[]", '{"jsonrpc": "2.0"}', '"\\ud800"', "{" * 5_000, "\x00"):
            server.popen.stdin.write(rubbish + "\n")
        server.popen.stdin.flush()
        server.popen.stdin.write('{"jsonrpc": "2.0", "id": 7, "method": "tools/list"}\n')
        server.popen.stdin.flush()
        answers = []
        while not answers or answers[-1].get("id") != 7:
            answers.append(json.loads(server.popen.stdout.readline()))
        assert all(one["jsonrpc"] == "2.0" for one in answers)
        unknown = server.ask(8, "tools/call", name="rm", arguments={})
        assert "no such tool" in unknown["error"]["message"]
        server.remember(10)
        _, out, error = server.end()
        assert out == ""
        assert "Traceback" not in error
    assert messages(store) == ["m10"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_whose_client_neither_writes_nor_reads(
    store: Path, number: signal.Signals
) -> None:
    with process(command(store)) as server:
        server.handshake()
        server.remember(1)
        assert server.popen.stdin is not None
        # More answers than the pipe holds, so that the server waits while it writes.
        asking = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        server.popen.stdin.write(30 * f"{asking}\n")
        server.popen.stdin.flush()
        time.sleep(0.5)
        server.popen.send_signal(number)
        assert server.popen.wait(ATTEMPTS_SECONDS) == 0
    assert messages(store) == ["m1"]


def test_every_line_is_answered_with_its_id(store: Path) -> None:
    def lines() -> Iterator[tuple[str, object]]:
        call = {"jsonrpc": "2.0", "method": "tools/call"}
        half = {"name": "search", "arguments": {"query": "\ud800"}}
        yield json.dumps({**call, "id": 41, "params": half}), 41
        yield json.dumps({**call, "id": "a", "params": half}), "a"
        yield '{"jsonrpc": "2.0", "id": 42, "method": ', 42
        yield '{"jsonrpc": "2.0", "id": 43, "params": ' + "[" * 100_000, 43
        yield "no json", None
        yield '{"id": {}}', None

    with process(command(store)) as server:
        server.handshake()
        assert server.popen.stdin is not None
        assert server.popen.stdout is not None
        for line, known in lines():
            server.popen.stdin.write(f"{line}\n")
            server.popen.stdin.flush()
            answer = json.loads(server.popen.stdout.readline())
            assert (answer["jsonrpc"], answer["id"]) == ("2.0", known)
            assert answer["error"]["message"]
        server.remember(10)
        assert server.end()[:2] == (0, "")


def test_errors_of_the_start_go_to_standard_error(store: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    bad = command(tmp_path / "file")
    nobody = [part for part in command(store) if part not in ("--user", "alice")]
    for arguments, word in (
        (bad, "error"),
        (nobody, "whose memory?"),
        (command(store, "--max-tokens", "5"), "max-tokens is not in 200 to 10,000"),
        (command(store, "--transport", "http", "--host", "0.0.0.0"), "without keys"),
        (command(store, "--transport", "http", "--port", "99999"), "port is not in 0 to 65535"),
    ):
        with process(arguments) as server:
            status, out, error = server.end()
            assert (status, out) == (1, ""), arguments
            assert word in error
            assert "Traceback" not in error


@pytest.mark.parametrize("mode", MODES)
async def test_http(store: Path, mode: str) -> None:
    with http(store) as (server, address):
        async with Client(address, mode=mode) as client:  # type: ignore[arg-type]
            assert client.protocol_version == MODES[mode]
            await walk(client)
        server.popen.send_signal(signal.SIGTERM)
        status, out, error = server.end()
        assert (status, out, error) == (0, "", "")
    assert messages(store) == ["m1", "m2"]


@pytest.mark.parametrize("mode", MODES)
async def test_several_clients_over_http_at_once(store: Path, mode: str) -> None:
    async def write(address: str, name: str) -> None:
        async with Client(address, mode=mode) as client:  # type: ignore[arg-type]
            for n in range(10):
                await told(client, "remember", content=f"{name} says {n}.", message_id=f"{name}{n}")

    with http(store) as (server, address):
        await asyncio.gather(*(write(address, f"c{n}-") for n in range(6)))
        server.popen.send_signal(signal.SIGTERM)
        assert server.end()[0] == 0
    assert messages(store) == sorted(f"c{c}-{n}" for c in range(6) for n in range(10))


async def test_sigterm_under_load_loses_nothing_acknowledged(store: Path) -> None:
    acknowledged: list[str] = []
    loaded = asyncio.Event()

    async def write(address: str, name: str) -> None:
        with contextlib.suppress(Exception):
            async with Client(address) as client:
                for n in range(10_000):
                    await told(client, "remember", content=f"Note {n}.", message_id=f"{name}{n}")
                    acknowledged.append(f"{name}{n}")
                    if len(acknowledged) == 60:
                        loaded.set()

    with http(store) as (server, address):
        writers = [asyncio.create_task(write(address, f"c{n}-")) for n in range(4)]
        await loaded.wait()
        server.popen.send_signal(signal.SIGTERM)
        status, out, error = await asyncio.to_thread(server.end)
        assert (status, out) == (0, ""), error
        for writer in writers:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)
    assert len(acknowledged) >= 60
    assert set(acknowledged) <= set(messages(store))


@contextlib.asynccontextmanager
async def keyed(address: str, key: str, mode: str = "auto") -> AsyncIterator[Client]:
    """A client that sends a key."""
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers) as web,
        Client(streamable_http_client(address, http_client=web), mode=mode) as client,  # type: ignore[arg-type]
    ):
        yield client


@pytest.mark.parametrize("mode", MODES)
async def test_a_key_says_whose_memory_it_is_and_what_it_may(store: Path, mode: str) -> None:
    ring = ring_of(store)
    alice, _ = ring.create(user="alice", scopes=["read", "write", "erase"])
    bob, _ = ring.create(user="bob", scopes=["read", "write"])
    reader, known = ring.create(user="alice", scopes=["read"])
    with http(store, user=None) as (_, address):
        async with keyed(address, alice, mode) as client:
            assert client.protocol_version == MODES[mode]
            await walk(client)
        async with keyed(address, bob, mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == [one for one in TOOLS if one != "forget"]
            assert (await told(client, "status"))["user"] == "bob"
            assert (await told(client, "status"))["messages"] == 0
            with pytest.raises(MCPError, match="no such resource"):
                await client.read_resource("episodica://alice/profile")
            assert (await told(client, "forget", query="Lyon"))["candidates"] == []
            with pytest.raises(MCPError, match="lacks the scope `erase`"):
                await client.call_tool("forget", {"confirm_ids": ["m1"]})
        async with keyed(address, reader, mode) as client:
            assert (await told(client, "status"))["messages"] == 2
            with pytest.raises(MCPError, match="lacks the scope `write`"):
                await client.call_tool("remember", {"content": "x"})
            ring.revoke(known.id)
            with pytest.raises(MCPError, match="unknown or was revoked"):
                await client.call_tool("status", {})
    assert messages(store) == ["m1", "m2"]


async def test_requests_without_a_right_key_are_refused(store: Path) -> None:
    ring = ring_of(store)
    everybody, _ = ring.create()
    alice, _ = ring.create(user="alice", scopes=["read"], rate_per_minute=60)
    admin, _ = ring.create(scopes=["admin"])
    other, _ = ring.create(user="alice", tenant="acme")
    writing = {"name": "remember", "arguments": {"content": "x"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": writing}
    unknown = 'Bearer error="invalid_token"'
    lacking = 'Bearer error="insufficient_scope"'
    cases: list[tuple[dict[str, str], int, str]] = [
        ({}, 401, "Bearer"),
        ({"Authorization": everybody}, 401, "Bearer"),
        ({"Authorization": "Basic x"}, 401, "Bearer"),
        ({"Authorization": "Bearer epi_x_y"}, 401, unknown),
        ({"Authorization": f"Bearer {everybody}x"}, 401, unknown),
        ({"Authorization": f"Bearer {everybody}"}, 403, lacking),
        ({"Authorization": f"Bearer {other}"}, 403, lacking),
        ({"Authorization": f"Bearer {admin}"}, 403, lacking),
        ({"Authorization": f"Bearer {alice}"}, 403, f'{lacking}, scope="write"'),
    ]
    accept = {"Accept": "application/json, text/event-stream"}
    with http(store, user=None) as (_, address):
        async with httpx2.AsyncClient() as web:
            for given, status, challenge in cases:
                refused = await web.post(address, json=call, headers={**accept, **given})
                assert refused.status_code == status, given
                assert refused.headers["WWW-Authenticate"] == challenge
                assert refused.json()["error"]["message"]
                assert everybody not in refused.text
            limited = []
            for _ in range(20):
                given = {"Authorization": f"Bearer {alice}"}
                limited.append(await web.post(address, json=call, headers={**accept, **given}))
            assert {one.status_code for one in limited} == {403, 429}
            waits = [one.headers["Retry-After"] for one in limited if one.status_code == 429]
            assert all(int(seconds) >= 1 for seconds in waits)
    assert messages(store) == []


async def test_a_key_for_everybody_reaches_the_user_of_the_process(store: Path) -> None:
    ring = ring_of(store)
    everybody, _ = ring.create()
    bob, _ = ring.create(user="bob")
    with http(store) as (_, address):
        async with keyed(address, everybody) as client:
            assert (await told(client, "status"))["user"] == "alice"
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {bob}"}) as web:
            refused = await web.post(address, json={})
            assert refused.status_code == 403


@pytest.mark.parametrize("end", ["revoked", signal.SIGTERM])
async def test_a_stream_ends_with_its_key_and_with_the_server(store: Path, end: Any) -> None:
    ring = ring_of(store)
    alice, known = ring.create(user="alice")
    headers = {**ACCEPT, "Authorization": f"Bearer {alice}"}
    with http(store, user=None) as (server, address):
        async with httpx2.AsyncClient(headers=headers, timeout=10) as web:
            session = await open_session(web, address)
            async with web.stream("GET", address, headers=session) as stream:
                assert stream.status_code == 200
                reading = asyncio.ensure_future(stream.aread())
                await asyncio.sleep(0.5)
                assert not reading.done()
                if end == "revoked":
                    ring.revoke(known.id)
                else:
                    server.popen.send_signal(end)
                async with asyncio.timeout(5):
                    await reading
        if end != "revoked":
            assert server.ended() == (0, "", "")


async def test_other_hosts_and_origins_are_refused(store: Path) -> None:
    """A page in a browser can't reach the server by a host name that resolves to this machine."""
    with http(store) as (_, address):
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        async with httpx2.AsyncClient() as web:
            for headers in (
                {"Host": "evil.example"},
                {"Host": "["},
                {"Origin": "http://evil.example"},
                {"Origin": "null"},
            ):
                refused = await web.post(address, json=ping, headers=headers)
                assert refused.status_code == 403


async def test_rubbish_over_http_is_refused(store: Path) -> None:
    deep = [b"[" * 1_000_000, b'{"params":' * 100_000]
    calls = [b'{"method":"tools/call"}', b'[{"method":1}]', b'{"method":"tools/call","params":[]}']
    accept = {"Accept": "application/json, text/event-stream"}
    with http(store) as (_, address):
        async with httpx2.AsyncClient(timeout=30) as web:
            for body in (*deep, *calls, b"", b"null", b"\xff", b"x" * 5_000_000):
                for version in ("2025-11-25", "2026-07-28"):
                    headers = {**accept, "Mcp-Protocol-Version": version}
                    answer = await web.post(address, content=body, headers=headers)
                    assert 400 <= answer.status_code < 500, body[:20]
        async with Client(address) as client:
            assert (await told(client, "status"))["messages"] == 0


def test_a_server_starts_quickly(store: Path) -> None:
    """Clients give up after some seconds; and a client that sends nothing is no error."""
    begun = time.perf_counter()
    with process(command(store)) as server:
        server.handshake()
        taken = time.perf_counter() - begun
        assert server.end()[0] == 0
    assert taken < 10
