"""The service in a process of its own: clients, events, telemetry, the end."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from loopback import Reply, Request
from model_server import ModelServer

from episodica import MemorySystem
from episodica.server.settings import ServerSettings
from episodica.server.telemetry.naming import hashed

from .conftest import MOVED, SAID, Client, Served, opened

Serve = Callable[..., Served]
ALICE = "/v1/users/alice"


def post(url: str, body: object, **headers: str) -> Any:
    """A client of the standard library."""
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def test_a_client_of_the_standard_library(serve: Serve) -> None:
    url = serve().url
    added = post(f"{url}{ALICE}/messages", {"messages": SAID, "wait": "facts"})
    assert added["messages_added"] == 2
    found = post(f"{url}{ALICE}/search", {"query": "where does Alice live?"})
    assert "Paris" in found["hits"][0]["content"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "service.sock"
    url = serve().url
    body = json.dumps({"messages": SAID})
    kind = "Content-Type: application/json"
    command = ["curl", "-sS", "--fail-with-body", "-H", kind, "-d", body, f"{url}{ALICE}/messages"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert json.loads(done.stdout)["messages_added"] == 2
    bad = [*command[:-1], f"{url}/v1/users/../../etc/passwd"]
    done = subprocess.run([*bad, "--path-as-is"], capture_output=True, text=True, timeout=30)
    assert json.loads(done.stdout)["status"] in (404, 405)
    assert not path.exists()


def test_paths_that_climb_are_not_found(serve: Serve) -> None:
    served = serve()
    for path in (
        "/v1/users/../../x",
        "/..%2f..%2fetc/passwd",
        "/v1/users/a/../../../x",
        "//x",
        "/%",
    ):
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
        connection.putrequest("GET", path, skip_accept_encoding=True)
        connection.endheaders()
        assert connection.getresponse().status == 404
        connection.close()


def events_of(url: str, last: str | None = None) -> Iterator[dict[str, str]]:
    """The server-sent events of a service."""
    headers = {} if last is None else {"Last-Event-ID": last}
    with httpx.stream("GET", f"{url}/v1/events", headers=headers, timeout=20) as answer:
        assert answer.status_code == 200, answer.read()
        event: dict[str, str] = {}
        for line in answer.iter_lines():
            name, _, value = line.partition(": ")
            if name in ("id", "event", "data"):
                event[name] = value
            elif not line and event:
                yield event
                event = {}


def test_events_resume_where_they_were_cut(serve: Serve) -> None:
    url = serve().url
    first = events_of(url)
    start = next(first)["id"]
    post(f"{url}{ALICE}/messages", {"messages": SAID, "wait": "facts"})
    seen = [next(first) for _ in range(3)]
    assert [one["event"] for one in seen] == ["MESSAGE", "MESSAGE", "EPISODE"]
    first.close()
    post(f"{url}{ALICE}/messages", {"messages": MOVED, "wait": "facts"})
    rest = events_of(url, seen[-1]["id"])
    next(rest)
    names = [next(rest)["event"] for _ in range(3)]
    assert names == ["MESSAGE", "EPISODE", "ADD"]
    rest.close()
    again = events_of(url, start)
    next(again)
    data = json.loads(next(again)["data"])
    assert (data["event"], data["user"]) == ("MESSAGE", "alice")
    again.close()
    assert httpx.get(f"{url}/v1/events", headers={"Last-Event-ID": "x"}).status_code == 400


def test_followers_miss_nothing_across_a_new_start(serve: Serve) -> None:
    served = serve()
    stream = events_of(served.url)
    cursor = next(stream)["id"]
    ended: list[object] = []
    reader = threading.Thread(target=lambda: ended.extend(stream))
    reader.start()
    post(f"{served.url}{ALICE}/messages", {"messages": SAID, "wait": "stored"})
    assert served.stop() == 0
    reader.join(20)
    assert not reader.is_alive(), "the stop ends streams"
    url = serve().url
    again = events_of(url, cursor)
    next(again)
    assert [next(again)["event"] for _ in range(2)] == ["MESSAGE", "MESSAGE"]
    again.close()
    unknown = events_of(url, "~0123456789abcdef")
    next(unknown)
    assert next(unknown)["event"] == "reset"
    unknown.close()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_is_acknowledged_survives_sigterm_under_load(
    serve: Serve, store: Path, workers: str
) -> None:
    served = serve("--workers", workers)
    acknowledged: list[str] = []
    refused: list[str] = []

    def add(number: int) -> None:
        with httpx.Client(base_url=served.url, timeout=20) as client:
            for n in range(10_000):
                text = f"client {number} note {n}"
                body = {"messages": [{"role": "user", "content": text}]}
                try:
                    answer = client.post(f"/v1/users/u{number % 3}/messages", json=body)
                except httpx.TransportError:
                    return
                (acknowledged if answer.status_code == 201 else refused).append(text)
                if answer.status_code != 201:
                    return

    clients = [threading.Thread(target=add, args=(n,)) for n in range(8)]
    for one in clients:
        one.start()
    time.sleep(1.5)
    assert served.stop() == 0, served.log.read_text()
    for one in clients:
        one.join(20)
    assert len(acknowledged) > 20
    with MemorySystem(store) as memory:
        stored = {one.content for user in memory.users() for one in memory.messages(user)}
    assert set(acknowledged) <= stored
    assert "Traceback" not in served.log.read_text()


def test_workers_find_what_others_acknowledged(serve: Serve) -> None:
    served = serve("--workers", "2")
    path = f"{served.url}{ALICE}/messages"
    for n in range(40):
        # Each request opens a connection, which either worker may take.
        body = {"messages": [{"role": "user", "content": f"note {n}"}]}
        assert httpx.post(path, json=body).status_code == 201
        listed = httpx.get(path, params={"limit": 100}).json()
        assert len(listed["items"]) == n + 1


def test_events_resume_at_any_worker_and_after_a_restart(serve: Serve) -> None:
    served = serve("--workers", "2")
    first = events_of(served.url)
    cursor = next(first)["id"]
    first.close()
    seen: list[str] = []
    for n in range(12):
        # Each request and each stream opens a connection, which either worker may take.
        said = [{"role": "user", "content": f"note {n}", "message_id": f"m{n}"}]
        post(f"{served.url}/v1/users/u{n % 3}/messages", {"messages": said})
        if n == 8:
            assert served.stop() == 0
            served = serve("--workers", "2")
        if n % 4 == 3:
            stream = events_of(served.url, cursor)
            next(stream)
            for one in (next(stream) for _ in range(4)):
                assert one["event"] == "MESSAGE"
                seen.append(json.loads(one["data"])["id"])
                cursor = one["id"]
            stream.close()
    assert sorted(seen) == sorted(f"m{n}" for n in range(12)), "each comes once"


def test_metrics_are_those_of_all_workers(serve: Serve) -> None:
    served = serve("--workers", "2")
    path = f"{served.url}{ALICE}/messages"
    with ThreadPoolExecutor(8) as threads:
        bodies = [{"messages": [{"role": "user", "content": f"note {n}"}]} for n in range(40)]
        done = list(threads.map(lambda body: httpx.post(path, json=body, timeout=30), bodies))
    assert {one.status_code for one in done} == {201}
    wanted = {
        'episodica_requests_total{operation="add_messages",status="201"} 40.0',
        'episodica_changes_total{change="MESSAGE"} 40.0',
    }
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        # Each request opens a connection, which either worker may take.
        texts = [httpx.get(f"{served.url}/metrics", timeout=30).text for _ in range(6)]
        if all(wanted <= set(text.splitlines()) for text in texts):
            break
        time.sleep(0.2)
    else:
        pytest.fail(texts[-1])
    assert re.search(r"^episodica_users_resident [12]\.0$", texts[-1], re.MULTILINE)
    assert served.stop() == 0


def test_a_key_works_across_the_process(serve: Serve, cli: Callable[..., Any], store: Path) -> None:
    served = serve()
    assert httpx.get(f"{served.url}{ALICE}/stats").status_code == 200
    done = cli("keys", "create", "--scopes", "read", "--store", store)
    key = {"Authorization": f"Bearer {done.stdout.strip()}"}
    assert httpx.get(f"{served.url}{ALICE}/stats").status_code == 401
    assert httpx.get(f"{served.url}{ALICE}/stats", headers=key).status_code == 200
    cli("keys", "revoke", done.stdout.split("_")[1], "--store", store)
    assert httpx.get(f"{served.url}{ALICE}/stats", headers=key).status_code == 401


def test_a_client_that_stalls_stops_nobody(serve: Serve) -> None:
    served = serve(env={"EPISODICA_SERVER_BODY_TIMEOUT_SECONDS": "60"})
    stalled = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(50)]
    head = f"POST {ALICE}/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
    for one in stalled:
        one.sendall(f"{head}Content-Type: application/json\r\n\r\n{{".encode())
    assert httpx.get(f"{served.url}{ALICE}/stats", timeout=30).status_code == 200
    for one in stalled:
        one.close()


async def test_metrics_count_and_name_nobody(client: Client) -> None:
    await client.json("POST", f"{ALICE}/messages", 201, json={"messages": SAID, "wait": "facts"})
    await client.json("POST", f"{ALICE}/messages", 201, json={"messages": MOVED, "wait": "facts"})
    await client.json("POST", f"{ALICE}/search", json={"query": "Lyon"})
    await client.json("POST", f"{ALICE}/search", 400, json={"query": ""})
    text = (await client.get("/metrics")).text
    for line in (
        'episodica_requests_total{operation="add_messages",status="201"} 2.0',
        'episodica_requests_total{operation="search",status="400"} 1.0',
        'episodica_request_seconds_count{operation="search"} 2.0',
        'episodica_changes_total{change="ADD"} 2.0',
        "episodica_conflicts_total 0.0",
        "episodica_searches 1.0",
        "episodica_pending_work 0.0",
        "episodica_users_resident 1.0",
    ):
        assert line in text, text
    assert "episodica_search_legs_total" in text
    assert "alice" not in text
    assert "Lyon" not in text


async def test_metrics_tell_what_models_cost_and_what_was_missing(
    store: Path, tmp_path: Path
) -> None:
    def script(request: Request) -> Reply | None:
        return Reply(status=400) if request.path.endswith("/embeddings") else None

    model = ModelServer(script)
    file = tmp_path / "settings.toml"
    file.write_text(
        f"search_timeout_seconds = 5\n"
        f'[llm]\nbase_url = "{model.url}"\nmodel = "m"\nmax_attempts = 1\n'
        f'[embedding]\nbase_url = "{model.url}"\nmodel = "e"\nmax_attempts = 1\n'
    )
    settings = ServerSettings.load(
        {"store": str(store), "config": str(file), "shutdown_timeout_seconds": 0.5}
    )
    try:
        async with opened(settings) as client:
            body = {"messages": SAID, "wait": "episodes"}
            await client.json("POST", f"{ALICE}/messages", 201, json=body)
            found = await client.json("POST", f"{ALICE}/search", json={"query": "Paris"})
            assert found["degraded"] == ["vector: cannot embed item `1`"]
            for _ in range(200):
                text = (await client.get("/metrics")).text
                if "episodica_model_calls" in text and 'outcome="answered"' in text:
                    break
                await asyncio.sleep(0.1)
    finally:
        model.close()
    values = dict(re.findall(r"^(episodica_\S+) (\S+)$", text, re.MULTILINE))
    assert values['episodica_degraded_total{leg="vector"}'] == "1.0"
    assert float(values["episodica_embedding_failures"]) >= 1
    for name in ("calls", "tokens"):
        counted = [one for key, one in values.items() if key.startswith(f"episodica_model_{name}")]
        assert sum(map(float, counted)) >= 1, text


async def test_followers_are_limited(store: Path) -> None:
    async with opened(ServerSettings(store=str(store), max_streams=0)) as client:
        await client.json("GET", "/v1/events", 503)


async def test_metrics_can_be_off(store: Path) -> None:
    async with opened(ServerSettings(store=str(store), metrics=False)) as client:
        await client.json("GET", f"{ALICE}/stats")
        await client.json("GET", "/metrics", 404)


async def test_spans_follow_the_conventions(store: Path) -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from episodica.server.telemetry.spans import Tracer

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    async with opened(ServerSettings(store=str(store))) as client:
        tracer = Tracer(enabled=True)
        tracer._tracer = provider.get_tracer("test")
        client.app.state.service.tracer = tracer  # type: ignore[attr-defined]
        await client.json("POST", f"{ALICE}/messages", 201, json={"messages": SAID})
        await client.json("POST", f"{ALICE}/search", json={"query": "Paris"})
        await client.json("DELETE", ALICE)
    spans = exporter.get_finished_spans()
    assert [one.name for one in spans] == ["upsert_memory", "search_memory", "delete_memory_store"]
    for one in spans:
        told = dict(one.attributes or {})
        assert told["gen_ai.operation.name"] == one.name
        assert told["gen_ai.memory.store.id"] == hashed("default", "alice")
        assert "alice" not in json.dumps(told)
        assert "Paris" not in json.dumps(told)
