"""Who may ask, how much, and what is refused."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from episodica import (
    ConfigError,
    CorruptStoreError,
    DeleteReport,
    InvalidInputError,
    MemorySystem,
    StoreIOError,
    StoreRolledBackError,
    StoreUnavailableError,
)
from episodica.server.keys import KeyRing
from episodica.server.limits import Shared
from episodica.server.settings import ServerSettings

from .conftest import SAID, Client, opened

ALICE = "/v1/users/alice"


@pytest.fixture
def settings(store: Path) -> ServerSettings:
    return ServerSettings(store=str(store))


@pytest.fixture
def ring(settings: ServerSettings) -> KeyRing:
    return KeyRing(settings.keys_path)


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def test_only_a_hash_of_a_key_is_on_disk(ring: KeyRing) -> None:
    text, key = ring.create(user="alice", scopes=["read"], name="phone")
    secret = text.split("_", 2)[2]
    written = ring.path.read_text()
    assert secret not in written
    assert stat.S_IMODE(ring.path.stat().st_mode) == 0o600
    assert ring.find(text) == key
    for wrong in (text[:-1], f"{text}x", text.replace("epi_", "x_"), "", "epi__", "epi_é_x"):
        assert ring.find(wrong) is None
    other = KeyRing(ring.path)
    other.revoke(key.id)
    assert ring.find(text) is None, "another process revoked it"
    assert ring.all()[0].revoked_at


@pytest.mark.parametrize(
    "wrong",
    [
        {"scopes": ["reed"]},
        {"scopes": []},
        {"user": ""},
        {"tenant": ""},
        {"rate_per_minute": 0},
        {"user": "al", "scopes": ["admin"]},
    ],
)
def test_wrong_keys_are_not_made(ring: KeyRing, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        ring.create(**wrong)
    assert not ring


def test_a_damaged_file_of_keys_opens_nothing(ring: KeyRing) -> None:
    text, _ = ring.create()
    ring.path.write_text("[{}]")
    with pytest.raises(ConfigError, match="not a file of keys"):
        ring.find(text)
    ring.path.unlink()
    assert ring, "a vanished file does not open the service to everybody"


async def test_a_key_opens_what_it_is_bound_to(settings: ServerSettings, ring: KeyRing) -> None:
    reader, _ = ring.create(user="alice", scopes=["read"])
    writer, _ = ring.create(user="alice", scopes=["write"])
    eraser, _ = ring.create(scopes=["erase"])
    admin, _ = ring.create(scopes=["admin"])
    everybody = {"reader": reader, "writer": writer, "eraser": eraser, "admin": admin}
    body = {"query": "x"}
    wanted: list[tuple[str, str, Any, set[str]]] = [
        ("GET", f"{ALICE}/stats", None, {"reader"}),
        ("GET", "/v1/users/bob/stats", None, set()),
        ("POST", f"{ALICE}/search", body, {"reader"}),
        ("POST", f"{ALICE}/messages", {"messages": SAID}, {"writer"}),
        ("POST", "/v1/users/bob/messages", {"messages": SAID}, set()),
        ("POST", f"{ALICE}/flush", {}, {"writer"}),
        ("DELETE", ALICE, None, {"eraser"}),
        ("GET", "/v1/users", None, {"admin"}),
        ("GET", "/memories?user_id=alice", None, {"reader"}),
        ("GET", "/memories?user_id=bob", None, set()),
        ("POST", "/search", {"query": "x", "user_id": "bob"}, set()),
        ("POST", "/search", {"query": "x", "user_id": "alice"}, {"reader"}),
    ]
    async with opened(settings) as client:
        for method, path, sent, allowed in wanted:
            await client.json(method, path, 401, json=sent)
            await client.json(method, path, 401, json=sent, headers=bearer("epi_x_y"))
            await client.json(method, path, 401, json=sent, headers={"Authorization": "Basic x"})
            for name, text in everybody.items():
                answer = await client.request(method, path, json=sent, headers=bearer(text))
                expected = answer.is_success if name in allowed else answer.status_code == 403
                assert expected, (method, path, name, answer.status_code)
        other = await client.get("/v1/events?user=bob", headers=bearer(reader))
        assert other.status_code == 403
        for path in ("/health", "/ready", "/version", "/metrics"):
            assert (await client.get(path)).status_code == 200, "needs no key"


async def test_a_tenant_comes_from_the_key(settings: ServerSettings, ring: KeyRing) -> None:
    text, _ = ring.create(tenant="acme", scopes=["read", "write", "admin"])
    local = ServerSettings(store=settings.store, tenant="acme")
    async with opened(local) as client:
        headers = {**bearer(text), "X-Tenant": "default", "Tenant": "default"}
        await client.json(
            "POST", f"{ALICE}/messages", 201, json={"messages": SAID}, headers=headers
        )
        body = {"messages": SAID}
        path = f"{ALICE}/messages?tenant=default"
        await client.json("POST", path, 400, json=body, headers=headers)
        users = await client.json("GET", "/v1/users", headers=headers)
        assert users["users"] == ["alice"]
        body = {"messages": SAID, "tenant": "default"}
        await client.json("POST", f"{ALICE}/messages", 400, json=body, headers=headers)
    assert (Path(settings.store) / "tenants" / "acme").is_dir()
    assert not list((Path(settings.store) / "messages").glob("alice*"))


async def test_each_key_has_its_own_limit(settings: ServerSettings, ring: KeyRing) -> None:
    slow, _ = ring.create(rate_per_minute=6)
    fast, _ = ring.create()
    async with opened(settings) as client:
        await client.json("GET", f"{ALICE}/stats", headers=bearer(slow))
        answer = await client.get(f"{ALICE}/stats", headers=bearer(slow))
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["retry-after"]) <= 11
        await client.json("GET", f"{ALICE}/stats", headers=bearer(fast))


def test_a_bucket_fills_again() -> None:
    limiter = Shared()
    waits = [limiter.take("k", 60, 0.0) for _ in range(11)]
    assert waits[:10] == [0.0] * 10
    assert waits[10] == pytest.approx(1.0)
    assert limiter.take("k", 60, 1.0) == 0.0
    assert limiter.take("k", 0, 1.0) == 0.0


def test_counts_of_a_killed_worker_are_forgotten(tmp_path: Path) -> None:
    script = (
        "import os, pathlib, signal, sys\n"
        "from episodica.server.limits import Shared\n"
        "shared = Shared(pathlib.Path(sys.argv[1]))\n"
        "shared.add('streams', 7)\n"
        "assert shared.total('streams') == 9\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    shared = Shared(tmp_path)
    shared.add("streams", 2)
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], timeout=30)
        assert done.returncode == -signal.SIGKILL
        assert shared.total("streams") == 2


def test_a_key_ends_by_itself(settings: ServerSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = KeyRing(settings.keys_path)
    text, key = ring.create(expires="2h")
    other, _ = ring.create(expires="2100-01-31")
    assert ring.find(text) is not None
    assert ring.find(other) is not None
    version = ring.version()
    monkeypatch.setattr("episodica.server.keys._now", lambda: "2099-01-01T00:00:00+00:00")
    assert ring.find(text) is None
    assert not ring.holds(key.id)
    assert ring.find(other) is not None
    assert ring.version() != version
    for bad in ("", "soon", "2h ago", "1999-01-01", "0d", "999999d" * 2):
        with pytest.raises(InvalidInputError, match=r"ended already|not an end"):
            ring.create(expires=bad)


def test_the_last_use_of_a_key_is_known(settings: ServerSettings, cli: Any, store: Path) -> None:
    ring = KeyRing(settings.keys_path)
    text, key = ring.create()
    assert ring.last_used_at(key.id) is None
    assert ring.find(f"{text}x") is None
    assert ring.last_used_at(key.id) is None
    assert ring.find(text) is not None
    used = KeyRing(settings.keys_path).last_used_at(key.id)
    assert used is not None
    [listed] = json.loads(cli("keys", "list", "--json", "--store", store).stdout)
    assert listed["last_used_at"] == used
    assert listed["expires_at"] is None


async def test_deletions_and_changes_of_keys_are_noted_without_a_text(
    settings: ServerSettings, cli: Any, store: Path
) -> None:
    ring = KeyRing(settings.keys_path)
    key, known = ring.create(scopes=["read", "write", "erase"])
    async with opened(settings) as client:
        options: Any = {"headers": bearer(key)}
        said = [{"role": "user", "content": f"secret {n}", "message_id": f"m{n}"} for n in range(5)]
        await client.json("POST", f"{ALICE}/messages", 201, json={"messages": said}, **options)
        await client.json("DELETE", f"{ALICE}/messages/m0?dry_run=true", **options)
        await client.json("DELETE", f"{ALICE}/messages/m0", **options)
        await client.json("DELETE", f"{ALICE}/messages?since=1990-01-01", **options)
        await client.json("DELETE", "/memories?user_id=alice", **options)
        await client.json("DELETE", ALICE, **options)
    with MemorySystem(store) as memory:
        memory.add_messages("alice", [{"role": "user", "content": "secret again"}])
    done = cli("delete", "alice", "--yes", "--store", store)
    assert done.returncode == 0, done.stderr
    ring.revoke(known.id)
    text = ring.audit.path.read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    assert [one["event"] for one in lines] == ["key created", *5 * ["delete"], "key revoked"]
    assert [one.get("what") for one in lines[1:-1]] == [
        "message",
        "messages",
        "user",
        "user",
        "user",
    ]
    assert [one["messages"] for one in lines[1:-1]] == [1, 4, 0, 0, 1]
    assert {one["who"] for one in lines[1:5]} == {known.id}
    assert lines[5]["who"] == lines[0]["who"] == "command line"
    assert all(word not in text for word in ("secret", "alice", "m0", key))
    assert stat.S_IMODE(ring.audit.path.stat().st_mode) == 0o600


def test_a_database_without_keys_has_no_audit_log_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def noted(settings: ServerSettings) -> list[str]:
        ring = KeyRing(settings.keys_path, settings.needs_keys_for_audit)
        ring.audit.deleted("command line", "default", "alice", "user", DeleteReport())
        return sorted(file.name for file in tmp_path.iterdir() if file.suffix != ".lock")

    database = ServerSettings(store="postgresql://localhost/memories")
    assert noted(database) == []
    KeyRing(database.keys_path).create()
    assert noted(database) == ["episodica.audit.jsonl", "episodica.keys.json"]
    (tmp_path / "episodica.keys.json").unlink()
    (tmp_path / "episodica.audit.jsonl").unlink()
    assert noted(ServerSettings(store="memories")) == ["memories.audit.jsonl"]


async def test_pages_of_other_sites_are_refused_without_keys(client: Client) -> None:
    for headers in (
        {"Host": "evil.example"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ):
        await client.json("GET", f"{ALICE}/stats", 403, headers=headers)
    for headers in ({"Host": "localhost:8077"}, {"Origin": "http://127.0.0.1:8077"}):
        await client.json("GET", f"{ALICE}/stats", headers=headers)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://localhost:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_pages_of_other_ports_write_nothing_without_keys(
    client: Client, headers: dict[str, str]
) -> None:
    await client.json("POST", f"{ALICE}/messages", 201, json={"messages": SAID})
    kind = {"Content-Type": "application/x-ndjson"}
    line = '{"role": "user", "content": "I was here."}'
    await client.json("POST", f"{ALICE}/import", 403, content=line, headers={**headers, **kind})
    # A browser sends these requests without asking the service first.
    await client.json("POST", f"{ALICE}/flush", 403, headers=headers)
    await client.json("DELETE", ALICE, 403, headers=headers)
    assert (await client.json("GET", f"{ALICE}/stats"))["messages"] == 2
    own = {"Origin": "http://127.0.0.1", "Sec-Fetch-Site": "same-origin"}
    await client.json("POST", f"{ALICE}/flush", headers=own)


async def test_plain_text_is_no_import(client: Client) -> None:
    line = '{"role": "user", "content": "I was here."}'
    for media in ("text/plain", "text/plain;charset=UTF-8", "multipart/form-data", ""):
        headers = {"Content-Type": media}
        await client.json("POST", f"{ALICE}/import", 415, content=line, headers=headers)


@pytest.mark.parametrize("path", ["/health", "/ready", "/metrics", "/openapi.json", "/ui/", "/"])
async def test_no_route_answers_to_a_name_of_another_site(
    client: Client, ring: KeyRing, path: str
) -> None:
    evil = {"Host": "rebound.example"}
    await client.json("GET", path, 403, headers=evil)
    assert (await client.get(path)).status_code == 200
    # With keys any host name is served: it may be that of a proxy.
    ring.create()
    assert (await client.get(path, headers=evil)).status_code == 200


async def test_failures_name_no_file_of_the_server(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = "/srv/secret/messages/alice-smith_messages.jsonl"
    memory = await client.app.state.service.memories.of("default")  # type: ignore[attr-defined]
    for error, status in (
        (StoreIOError(f"cannot read: `{path}`", path=path, hint=f"look at {path}"), 503),
        (CorruptStoreError(f"damaged: `{path}`"), 500),
        (OSError(28, "no space", path), 500),
    ):

        def fail(*_: object, error: Exception = error, **__: object) -> None:
            raise error

        with monkeypatch.context() as broken:
            broken.setattr(type(memory._memory), "stats", fail)
            told = await client.json("GET", f"{ALICE}/stats", status)
        for text in (str(told), caplog.text):
            assert "/srv" not in text
            assert "alice-smith" not in text
    assert "cannot read" in caplog.text


async def test_an_outage_of_the_database_says_when_to_try_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = await client.app.state.service.memories.of("default")  # type: ignore[attr-defined]
    for kind in (StoreUnavailableError, StoreRolledBackError):

        def fail(*_: object, kind: Any = kind, **__: object) -> None:
            raise kind("the database does not answer")

        with monkeypatch.context() as away:
            for name in ("stats", "events", "add_messages"):
                away.setattr(type(memory._memory), name, fail)
            body = {"messages": SAID}
            answer = await client.post(f"{ALICE}/messages", json=body)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
            assert (await client.get("/metrics")).status_code == 200


async def test_bodies_have_limits(store: Path) -> None:
    settings = ServerSettings(store=str(store), max_body_bytes=2_000, max_nesting=8, max_batch=3)
    async with opened(settings) as client:
        path = f"{ALICE}/messages"
        said = {"role": "user", "content": "x" * 3_000}
        await client.json("POST", path, 413, json={"messages": [said]})

        async def parts() -> Any:
            for _ in range(30):
                yield b" " * 100

        kind = {"Content-Type": "application/json"}
        await client.json("POST", path, 413, content=parts(), headers=kind)
        small = {"role": "user", "content": "x"}
        await client.json("POST", path, 413, json={"messages": [small] * 4})
        deep = "[" * 9 + "]" * 9
        text = f'{{"messages": [{{"role": "user", "content": "x", "metadata": {deep}}}]}}'
        await client.json("POST", path, 400, content=text, headers=kind)
        brackets = {"role": "user", "content": '[[[[[[[[[[["\\'}
        await client.json("POST", path, 201, json={"messages": [brackets]})
        await client.json("POST", path, 415, content="{}", headers={"Content-Type": "text/plain"})
        for wrong in ("{", "[]", '{"messages": 1}', '{"messages": [1]}', "\xff", "null", '"x"'):
            await client.json("POST", path, 400, content=wrong.encode("latin-1"), headers=kind)


async def test_a_body_that_does_not_arrive_is_given_up(store: Path) -> None:
    async with opened(ServerSettings(store=str(store), body_timeout_seconds=0.1)) as client:

        async def slow() -> Any:
            yield b"{"
            await asyncio.sleep(5)

        kind = {"Content-Type": "application/json"}
        await client.json("POST", f"{ALICE}/messages", 408, content=slow(), headers=kind)


async def test_too_many_requests_at_once_are_told_to_come_back(store: Path) -> None:
    settings = ServerSettings(store=str(store), max_concurrency=1, max_waiting=1)
    async with opened(settings) as client:
        body = {"messages": SAID}
        answers = await asyncio.gather(
            *(client.post(f"/v1/users/u{n}/messages", json=body) for n in range(20))
        )
        codes = [one.status_code for one in answers]
        assert set(codes) == {201, 503}
        assert all(one.headers["retry-after"] for one in answers if one.status_code == 503)
        await client.json("POST", f"{ALICE}/messages", 201, json=body)


async def test_requests_wait_for_their_turn(store: Path) -> None:
    async with opened(ServerSettings(store=str(store), max_concurrency=1)) as client:
        body = {"messages": SAID}
        answers = await asyncio.gather(
            *(client.post(f"/v1/users/u{n}/messages", json=body) for n in range(20))
        )
        assert {one.status_code for one in answers} == {201}


async def test_large_bodies_have_a_limit_together(store: Path) -> None:
    async with opened(ServerSettings(store=str(store), max_buffered_bytes=100)) as client:
        long = {**SAID[0], "content": "I live in Paris. " * 5_000}
        await client.json("POST", f"{ALICE}/messages", 503, json={"messages": [long]})
        # Short ones need no room, so that questions are answered.
        await client.json("POST", f"{ALICE}/messages", 201, json={"messages": SAID})
        await client.json("POST", f"{ALICE}/search", json={"query": "x"})


async def test_the_access_log_names_nobody(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "episodica.access")
    await client.json("POST", f"{ALICE}/messages", 201, json={"messages": SAID})
    await client.get(f"{ALICE}/nothing?secret=Paris")
    await client.json("POST", f"{ALICE}/search", 400, json={"query": "", "x": "Paris"})
    lines = [json.loads(one.message) for one in caplog.records if one.name == "episodica.access"]
    assert [one["status"] for one in lines] == [201, 404, 400]
    assert lines[0]["operation"] == "add_messages"
    assert len(lines[0]["user"]) == 16
    told = caplog.text.lower()
    assert "alice" not in told
    assert "paris" not in told


async def test_unknown_paths_and_methods_are_problems(client: Client) -> None:
    for path in ("/v1", "/v1/users//stats", "/docs", "/v1/users/a/b/stats"):
        await client.json("GET", path, 404)
    await client.json("PUT", f"{ALICE}/stats", 405)
    await client.json("GET", "/v1/users/%ff/stats", 400)


def test_the_service_refuses_other_machines_without_a_key(cli: Callable[..., Any]) -> None:
    done = cli("serve", "--host", "0.0.0.0", "--store", "s")
    assert done.returncode == 1
    assert "there is no key" in done.stderr


def test_keys_are_made_listed_and_revoked_on_the_command_line(cli: Callable[..., Any]) -> None:
    made = json.loads(cli("keys", "create", "--user", "al", "--scopes", "read", "--json").stdout)
    assert made["key"].startswith("epi_")
    listed = cli("keys", "list")
    assert made["id"] in listed.stdout
    assert made["key"] not in listed.stdout
    assert cli("keys", "revoke", made["id"]).returncode == 0
    assert json.loads(cli("keys", "list", "--json").stdout)[0]["revoked_at"]
    assert cli("keys", "revoke", "nobody").returncode == 1


def test_settings_come_from_arguments_then_environment_then_file(tmp_path: Path) -> None:
    file = tmp_path / "episodica.toml"
    file.write_text("buffer_size_max = 9\n[server]\nport = 1\nhost = '::1'\nmax_batch = 5\n")
    env = {"EPISODICA_SERVER_PORT": "2", "EPISODICA_SERVER_METRICS": "false"}
    told = ServerSettings.load({"config": str(file), "port": 3, "host": None}, env)
    assert (told.port, told.host, told.max_batch, told.metrics) == (3, "::1", 5, False)
    assert told.is_local
    assert ServerSettings.load({"config": str(file)}, env).port == 2
    with pytest.raises(ConfigError, match="PROT") as error:
        ServerSettings.load({}, {"EPISODICA_SERVER_PROT": "1"})
    assert "port" in str(error.value.hint).lower()
    with pytest.raises(ConfigError, match="must be a int"):
        ServerSettings.load({}, {"EPISODICA_SERVER_PORT": "x"})
    file.write_text("[server]\nport = 'x'\n")
    with pytest.raises(ConfigError, match="port"):
        ServerSettings.load({"config": str(file)}, {})
