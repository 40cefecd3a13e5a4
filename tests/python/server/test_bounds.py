"""One client, one key or one hanging model can't take much from the others."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest
from loopback import Reply, Request
from model_server import ModelServer

from episodica import MemorySystem
from episodica.server.keys import KeyRing
from episodica.server.settings import ServerSettings

from .conftest import SAID, Served

Serve = Callable[..., Served]
ALICE = "/v1/users/alice"
# A request that does not have to wait takes less, even on a busy machine.
QUICK = 5.0


@pytest.fixture
def large(store: Path) -> tuple[str, str]:
    """A user whose records are larger than what connections hold, and two keys."""
    with MemorySystem(store) as memory:
        said = [{"role": "user", "content": f"note {n} " + 60_000 * "x"} for n in range(100)]
        memory.add_messages("alice", said)
    ring = KeyRing(ServerSettings(store=str(store)).keys_path)
    return ring.create()[0], ring.create()[0]


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def ask_unread(served: Served, path: str, key: str, stack: ExitStack) -> socket.socket:
    """Sends a request and reads nothing of the answer."""
    one = stack.enter_context(socket.socket())
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.connect(("127.0.0.1", served.port))
    one.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
    return one


def status_of(one: socket.socket) -> int:
    one.settimeout(QUICK)
    return int(one.recv(12, socket.MSG_WAITALL).split()[1])


def quick(url: str, **options: object) -> httpx.Response:
    return httpx.get(url, timeout=QUICK, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["export", "messages?limit=1000"])
def test_answers_that_nobody_reads_stop_no_other(
    serve: Serve, large: tuple[str, str], path: str
) -> None:
    reader, other = large
    served = serve(env={"EPISODICA_SERVER_MAX_BUFFERED_BYTES": str(32 << 20)})
    with ExitStack() as stack:
        unread = [ask_unread(served, f"{ALICE}/{path}", reader, stack) for _ in range(140)]
        statuses = [status_of(one) for one in unread]
        assert set(statuses) == {200, 503}
        # Half of the bytes, and half of the exports, are for other keys.
        assert 1 <= statuses.count(200) <= 8
        for place in (f"{ALICE}/stats", f"{ALICE}/{path}"):
            assert quick(f"{served.url}{place}", headers=bearer(other)).status_code == 200
        assert quick(f"{served.url}/health").status_code == 200
    deadline = time.monotonic() + QUICK
    while quick(f"{served.url}{ALICE}/{path}", headers=bearer(reader)).status_code != 200:
        assert time.monotonic() < deadline, "what a client left is given back"


def test_a_client_that_does_not_read_is_cut_off(serve: Serve, large: tuple[str, str]) -> None:
    served = serve(
        env={
            "EPISODICA_SERVER_SEND_TIMEOUT_SECONDS": "0.5",
            "EPISODICA_SERVER_BODY_TIMEOUT_SECONDS": "0.5",
        }
    )
    with ExitStack() as stack:
        unread = ask_unread(served, f"{ALICE}/messages?limit=1000", large[0], stack)
        half = stack.enter_context(socket.create_connection(("127.0.0.1", served.port)))
        half.sendall(b"GET /health HTTP/1.1\r\nHost:")
        unread.settimeout(4 * QUICK)
        # A busy machine takes its time before the answer begins.
        unread.recv(1, socket.MSG_PEEK)
        time.sleep(1.5)
        read = 0
        try:
            while piece := unread.recv(1 << 20):
                read += len(piece)
        except ConnectionResetError:
            pass
        assert read < 6_000_000, "the answer was cut"
        half.settimeout(QUICK)
        with suppress(ConnectionResetError):
            assert half.recv(1) == b"", "half a head is no request"


@pytest.fixture
def hanging() -> Iterator[ModelServer]:
    """A language model that never answers."""
    never = threading.Event()

    def script(request: Request) -> Reply | None:
        return None if request.path.endswith("/embeddings") else Reply({}, wait_for=never)

    model = ModelServer(script)
    yield model
    model.close()


@pytest.fixture
def config(tmp_path: Path, hanging: ModelServer) -> Path:
    file = tmp_path / "settings.toml"
    file.write_text(f'[llm]\nbase_url = "{hanging.url}"\nmodel = "m"\n')
    return file


def test_a_model_that_hangs_delays_neither_searches_nor_the_end(
    serve: Serve, config: Path, hanging: ModelServer
) -> None:
    served = serve("--config", str(config), env={"EPISODICA_SERVER_SHUTDOWN_TIMEOUT_SECONDS": "2"})

    def form(number: int) -> None:
        user = f"u{number}"
        messages = [{"role": "user", "content": f"note {number}"}]
        path, body = (
            (f"/v1/users/{user}/messages", {"messages": messages, "wait": "episodes"}),
            ("/memories", {"messages": messages, "user_id": user}),
            (f"/v1/users/{user}/flush", {}),
        )[number % 3]
        if number % 3 == 2:
            httpx.post(f"{served.url}/v1/users/{user}/messages", json={"messages": messages})
        with suppress(httpx.TransportError):
            httpx.post(f"{served.url}{path}", json=body, timeout=30)

    waiting = [threading.Thread(target=form, args=(n,), daemon=True) for n in range(42)]
    for one in waiting:
        one.start()
    deadline = time.monotonic() + 20
    while not hanging.requests and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    with httpx.Client(base_url=served.url, timeout=QUICK) as client:
        for number in range(3):
            # A user whose episodes wait for the model, and a user without pending work.
            for user in (f"u{number}", "alice"):
                added = client.post(f"/v1/users/{user}/messages", json={"messages": SAID})
                assert added.status_code == 201
                found = client.post(f"/v1/users/{user}/search", json={"query": "Paris"})
                assert "Paris" in found.json()["hits"][0]["content"]
            assert client.get("/health").json()["status"] in ("ok", "degraded")
            assert client.get("/ready").status_code == 200
    assert any(one.is_alive() for one in waiting), "the model still hangs"
    started = time.monotonic()
    assert served.stop() == 0, served.log.read_text()
    assert time.monotonic() - started < 4 * QUICK, "one deadline for the whole end"
    for one in waiting:
        one.join(5)


def test_requests_that_wait_for_a_model_are_bounded(serve: Serve, config: Path) -> None:
    served = serve("--config", str(config), env={"EPISODICA_SERVER_MAX_FORMING": "2"})
    body = {"messages": SAID, "wait": "episodes"}

    def form(number: int) -> None:
        with suppress(httpx.TransportError):
            httpx.post(f"{served.url}/v1/users/u{number}/messages", json=body, timeout=20)

    for number in range(2):
        threading.Thread(target=form, args=(number,), daemon=True).start()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        answer = httpx.post(f"{served.url}{ALICE}/flush", json={}, timeout=20)
        if answer.status_code == 503:
            break
        time.sleep(0.1)
    assert answer.headers["retry-after"]
    assert json.loads(answer.text)["kind"] == "busy"
    served.kill()


def test_a_body_of_two_lengths_ends_the_connection(serve: Serve) -> None:
    served = serve()
    head = f"POST {ALICE}/flush HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    inner = "DELETE /v1/users/alice HTTP/1.1\r\nHost: localhost\r\n\r\n"
    httpx.post(f"{served.url}{ALICE}/messages", json={"messages": SAID})
    with socket.create_connection(("127.0.0.1", served.port), timeout=QUICK) as one:
        lengths = "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
        one.sendall(f"{head}{lengths}2\r\n{{}}\r\n0\r\n\r\n{inner}".encode())
        answer = b""
        with suppress(ConnectionResetError):
            while piece := one.recv(4096):
                answer += piece
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert quick(f"{served.url}{ALICE}/stats").json()["messages"] == 2


def test_rate_limits_hold_for_all_workers_together(serve: Serve, large: tuple[str, str]) -> None:
    served = serve("--workers", "2", env={"EPISODICA_SERVER_RATE_PER_MINUTE": "60"})
    started = time.monotonic()
    place, key = f"{served.url}{ALICE}/stats", bearer(large[0])
    # Each request opens a connection, which either worker may take.
    statuses = [quick(place, headers=key).status_code for _ in range(40)]
    # Ten at once, and one each second since.
    assert 10 <= statuses.count(200) <= 11 + time.monotonic() - started
    assert quick(f"{served.url}{ALICE}/stats", headers=bearer(large[1])).status_code == 200
