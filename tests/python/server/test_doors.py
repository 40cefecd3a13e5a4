"""Both doors, `serve` and `mcp` over HTTP, have the same locks: nobody takes what others need."""

from __future__ import annotations

import gzip
import json
import signal
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp_server import INITIALIZE

from episodica.server.keys import KeyRing
from episodica.server.settings import ServerSettings

from .conftest import SAID, Served

Serve = Callable[..., Served]
# A request that does not have to wait takes less, even on a busy machine.
QUICK = 10.0
MIB = 1 << 20
ACCEPT = {"Accept": "application/json, text/event-stream"}


@dataclass(frozen=True)
class Kind:
    """A door: its command, the path that takes a body, and a small request with one."""

    name: str
    arguments: tuple[str, ...]
    path: str
    body: dict[str, Any]

    @property
    def small(self) -> bytes:
        return json.dumps(self.body).encode()


KINDS = {
    "serve": Kind("serve", (), "/v1/users/alice/messages", {"messages": SAID}),
    "mcp": Kind("mcp", ("--transport", "http", "--user", "alice"), "/mcp", INITIALIZE),
}


class Opened:
    """A door that is open: raw connections to it, and whole requests."""

    def __init__(self, kind: Kind, served: Served, keys: list[str]) -> None:
        self.kind = kind
        self.served = served
        self.keys = keys

    def ask(self, key: str | None = None, body: bytes | None = None, **more: str) -> httpx.Response:
        headers = {"Content-Type": "application/json", **ACCEPT, **bearer(key), **more}
        content = self.kind.small if body is None else body
        url = f"{self.served.url}{self.kind.path}"
        return httpx.post(url, content=content, headers=headers, timeout=QUICK)

    def connect(self, stack: ExitStack) -> socket.socket:
        one = stack.enter_context(socket.socket())
        one.settimeout(QUICK)
        one.connect(("127.0.0.1", self.served.port))
        return one

    def begin(
        self,
        stack: ExitStack,
        length: int,
        sent: bytes = b"",
        key: str | None = None,
        method: str = "POST",
        path: str | None = None,
        **more: str,
    ) -> socket.socket:
        """Sends the head of a request, and a part of its body."""
        one = self.connect(stack)
        headers = {
            "Host": "localhost",
            "Content-Length": str(length),
            "Content-Type": "application/json",
            **ACCEPT,
            **bearer(key),
            **more,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"{method} {self.kind.path if path is None else path} HTTP/1.1\r\n{lines}\r\n"
        one.sendall(head.encode() + sent)
        return one


def bearer(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def answer_of(one: socket.socket) -> tuple[int, bytes]:
    """The status of an answer, and all bytes until the server closes the connection."""
    read = b""
    with suppress(ConnectionResetError):
        while piece := one.recv(1 << 16):
            read += piece
    assert read.startswith(b"HTTP/1.1 "), read
    return int(read.split(b" ", 2)[1]), read


def status_of(one: socket.socket) -> int:
    return int(one.recv(12, socket.MSG_WAITALL).split()[1])


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def door(kind: Kind, serve: Serve, store: Path) -> Callable[..., Opened]:
    """Opens a door with some keys of alice."""
    ring = KeyRing(ServerSettings(store=str(store)).keys_path)

    def start(keys: int = 2, arguments: tuple[str, ...] = (), **limits: float) -> Opened:
        made = [ring.create(user="alice")[0] for _ in range(keys)]
        env = {f"EPISODICA_SERVER_{name.upper()}": str(value) for name, value in limits.items()}
        served = serve(*kind.arguments, *arguments, command=kind.name, env=env)
        return Opened(kind, served, made)

    return start


def test_without_a_key_nothing_of_a_body_is_read(door: Callable[..., Opened]) -> None:
    opened = door(max_buffered_bytes=4 * MIB)
    [key, _] = opened.keys
    cases: list[tuple[str | None, dict[str, str]]] = [
        (None, {}),
        ("epi_x_y", {}),
        (f"{key}x", {}),
        (None, {"Authorization": key}),
        (None, {"Authorization": "Basic eDp5"}),
    ]
    with ExitStack() as stack:
        waiting = []
        for wrong, headers in cases * 4:
            sent = b"[" * 100_000
            waiting.append(opened.begin(stack, 16 * MIB, sent, wrong, **headers))
        # All but a byte of the body is announced, and yet each is answered, and closed.
        for one in waiting:
            status, read = answer_of(one)
            assert status == 401
            assert b"connection: close" in read.lower()
    assert opened.ask(key).is_success


@pytest.mark.parametrize("path", ["/nothing", "/health", "/metrics", "/v1/events", "/ui/"])
def test_where_no_body_is_taken_none_is_read(door: Callable[..., Opened], path: str) -> None:
    opened = door(max_buffered_bytes=4 * MIB)
    with ExitStack() as stack:
        for method in ("POST", "GET", "DELETE", "PUT"):
            for key in (None, opened.keys[0]):
                half = [
                    opened.begin(stack, 16 * MIB, b"x" * MIB, key, method, path) for _ in range(5)
                ]
                for one in half:
                    status, read = answer_of(one)
                    assert status in (200, 400, 401, 404, 405), (method, status)
                    assert b"connection: close" in read.lower()
        assert opened.ask(opened.keys[1]).is_success


def test_the_same_bodies_are_refused(door: Callable[..., Opened]) -> None:
    opened = door(max_body_bytes=MIB, body_timeout_seconds=1, max_nesting=8)
    [key, _] = opened.keys
    deep = b"[" * 9 + b"]" * 9
    hidden = b'{"a": "\\"' + b"[" * 50 + b'"}'
    cases: list[tuple[bytes, dict[str, str], int]] = [
        (deep, {}, 400),
        (b'["\\\\", ' + deep + b"]", {}, 400),
        (b'["' + deep, {}, 400),
        (json.dumps({"a": "Łódź"}).encode("utf-16"), {}, 400),
        (b"x" * (MIB + 1), {}, 413),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b"{}", {"Content-Type": "multipart/form-data; boundary=x"}, 415),
        (gzip.compress(b"{}"), {"Content-Encoding": "gzip"}, 415),
        (b"{}", {"Content-Encoding": "br"}, 415),
        (b"{}", {"Content-Encoding": "identity, gzip"}, 415),
        (hidden, {}, 400),
    ]
    for body, headers, status in cases:
        answer = opened.ask(key, body, **headers)
        assert answer.status_code == status, body[:40]
        said = answer.text
        assert ("nested" in said) == (body in (deep, cases[1][0])), said
        assert ("Content-Encoding" in said) == ("Content-Encoding" in headers), said
    with ExitStack() as stack:
        slow = opened.begin(stack, 100, b"{", key)
        both = opened.begin(
            stack, 4, b"2\r\n{}\r\n0\r\n\r\n", key, **{"Transfer-Encoding": "chunked"}
        )
        large = opened.begin(stack, MIB + 1, b"", key)
        assert answer_of(both)[0] == 400
        assert answer_of(large)[0] == 413
        assert answer_of(slow)[0] == 408
    assert opened.ask(key, **{"Content-Encoding": "Identity"}).is_success
    assert opened.ask(key).is_success


def test_a_client_that_sends_on_reads_why_it_was_refused(door: Callable[..., Opened]) -> None:
    opened = door(max_body_bytes=MIB)
    for key, size, status in (
        (None, 100, 401),
        (None, 3 * MIB, 401),
        (opened.keys[0], 3 * MIB, 413),
    ):
        assert opened.ask(key, b"x" * size).status_code == status


def test_one_key_can_not_take_the_room_of_all_bodies(door: Callable[..., Opened]) -> None:
    opened = door(max_buffered_bytes=8 * MIB)
    greedy, other = opened.keys
    whole = b'{"x": "' + b"y" * MIB + b'"}'
    with ExitStack() as stack:
        half = [opened.begin(stack, 2 * MIB, b" " * MIB, greedy) for _ in range(16)]
        # Beyond its share a key is told to wait, and the bodies in memory are no more than that.
        statuses: list[int] = []
        deadline = time.monotonic() + QUICK
        while len(statuses) < 12 and time.monotonic() < deadline:
            time.sleep(0.05)
            for one in half:
                one.setblocking(False)
                with suppress(BlockingIOError):
                    statuses.append(status_of(one))
                    half.remove(one)
        assert statuses == [503] * len(statuses)
        assert len(statuses) >= 12, "four of a megabyte are in memory"
        assert opened.ask(greedy, whole).status_code == 503
        assert opened.ask(greedy).is_success, "a small body needs no room"
        # It is no valid request, but it was read.
        assert opened.ask(other, whole).status_code == 400
        assert opened.ask(other).is_success


def test_rates_hold_for_keys_and_for_clients_without(door: Callable[..., Opened]) -> None:
    opened = door(rate_per_minute=60)
    one, other = opened.keys
    for wrong in (None, "epi_x_y"):
        statuses = [opened.ask(wrong).status_code for _ in range(14)]
        assert set(statuses) <= {401, 429}
        assert 429 in statuses
    answers = [opened.ask(one) for _ in range(30)]
    assert 429 in {answer.status_code for answer in answers}
    assert all(int(one.headers["retry-after"]) for one in answers if one.status_code == 429)
    assert opened.ask(other).is_success


def test_silent_connections_make_room(door: Callable[..., Opened]) -> None:
    opened = door(max_connections=16)
    [key, other] = opened.keys
    url = f"{opened.served.url}{opened.kind.path}"
    with ExitStack() as stack, httpx.Client(headers={**ACCEPT, **bearer(key)}) as client:
        silent = [opened.connect(stack) for _ in range(60)]
        for round_ in range(3):
            assert client.post(url, json=opened.kind.body, timeout=QUICK).is_success, round_
            silent += [opened.connect(stack) for _ in range(10)]
            assert opened.ask(other).is_success
            assert opened.ask(None).status_code == 401
        left = 0
        for one in silent:
            one.setblocking(False)
            try:
                left += bool(one.recv(1))
            except BlockingIOError:
                left += 1
            except ConnectionResetError:
                pass
        assert left <= 8, "clients without a key have half of the connections"


def test_with_few_open_files_silent_connections_stop_nobody(
    door: Callable[..., Opened], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("resource")
    (tmp_path / "sitecustomize.py").write_text(
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    opened = door()
    with ExitStack() as stack:
        for _ in range(400):
            opened.connect(stack)
        # Neither its connections nor its files run out.
        assert opened.ask(opened.keys[0]).is_success
        body = {**opened.kind.body, "messages": [{**SAID[0], "content": "I live in Rome."}]}
        assert opened.ask(opened.keys[1], json.dumps(body).encode()).is_success


GREEDY = """
import os, re, threading, time

def hold():
    while not os.path.exists(os.environ["HOLD_WHEN"]):
        time.sleep(0.02)
    # The interpreter can't do anything else meanwhile, and this takes years.
    re.match(r"(a+)+$", "a" * 60 + "b")

if "HOLD_WHEN" in os.environ:
    threading.Thread(target=hold, daemon=True).start()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_process_that_never_runs_python_again(
    kind: Kind, serve: Serve, tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "sitecustomize.py").write_text(GREEDY)
    trigger = tmp_path / "hold"
    served = serve(
        *kind.arguments,
        command=kind.name,
        env={
            "PYTHONPATH": str(tmp_path),
            "HOLD_WHEN": str(trigger),
            "EPISODICA_SERVER_SHUTDOWN_TIMEOUT_SECONDS": "0.2",
        },
    )
    trigger.touch()
    deadline = time.monotonic() + QUICK
    while time.monotonic() < deadline:
        try:
            httpx.get(f"{served.url}/health", timeout=0.3)
        except httpx.TransportError:
            break
    served.process.send_signal(number)
    assert served.process.wait(QUICK) == -signal.SIGKILL
    assert "did not end by itself" in served.log.read_text()


def test_keys_that_can_not_be_read_open_nothing(door: Callable[..., Opened], store: Path) -> None:
    opened = door()
    path = KeyRing(ServerSettings(store=str(store)).keys_path).path
    good = path.read_bytes()
    for content in (b"", b"{}", b"[1]", b"[[", b'[{"id": 1}]', b"\xff", b"[" * 100_000):
        path.write_bytes(content)
        for key in (None, *opened.keys):
            answer = opened.ask(key)
            assert answer.status_code == 503, content
            assert str(path) not in answer.text
    path.write_bytes(b"[]")
    assert {opened.ask(key).status_code for key in (None, *opened.keys)} == {401}
    path.write_bytes(good)
    assert opened.ask(opened.keys[0]).is_success
