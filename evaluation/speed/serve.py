"""Speed of the HTTP service with one and two workers, next to the same calls in process.

The clients run in threads of this process, so on a small machine they compete with the service.
The processor's time per call does not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from episodica import MemorySystem

USER = "alice"
TOPICS = ("the flat", "her job", "the dog", "a marathon", "cooking", "her sister", "Lisbon")
Call = Callable[[int], Any]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--messages", type=int, default=2_000, help="messages in the store")
    parser.add_argument("--requests", type=int, default=400, help="requests of each kind")
    parser.add_argument("--clients", type=int, default=8, help="clients at the same time")
    parser.add_argument("--connections", type=int, default=1_000, help="idle connections")


def run(args: argparse.Namespace) -> int:
    """Measures and prints a table in Markdown."""
    with tempfile.TemporaryDirectory(prefix="episodica-bench-") as folder:
        store = Path(folder, "store")
        rows = []
        with MemorySystem(store) as memory:
            memory.add_messages(USER, [message(n) for n in range(args.messages)])
            memory.flush(USER)
            memory.wait(USER)
            calls: dict[str, Call] = {
                "add": lambda n: memory.add_messages(USER, [message(n, "in process")]),
                "search": lambda n: memory.search(USER, question(n)),
                "context": lambda n: memory.context(USER, question(n)),
            }
            rows += measured("in process", calls, args, time.process_time)
            started = time.perf_counter()
            memory.add_messages("bob", long_messages("in process"))
            within = time.perf_counter() - started
        for workers in (2, 1):
            with service(store, Path(folder, "log"), workers) as (port, process):
                local = Connections(port)
                calls = {
                    "add": lambda n, to=local: to.post(
                        "messages", {"messages": [message(n, "served")]}
                    ),
                    "search": lambda n, to=local: to.post("search", {"query": question(n)}),
                    "context": lambda n, to=local: to.post("context", {"query": question(n)}),
                }
                pids = working(process.pid, workers)
                name = "1 worker" if workers == 1 else f"{workers} workers"
                rows += measured(name, calls, args, lambda pids=pids: sum(map(spent, pids)))
                memory_of = ", ".join(f"{resident(pid):.0f} MB" for pid in pids)
                print(f"* Memory with {name}: {memory_of}.")
                if workers == 1:
                    keep_alive(port, args, calls["search"], process.pid)
                    stalled(port, args, calls["search"])
                    large(port, within)
    print(f"* Load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n")
    head = "| calls | clients | requests/s | p50 ms | p99 ms | processor ms |"
    print("\n".join([head, "|---|---|---|---|---|---|", *rows]))
    return 0


def message(n: int, mark: str = "note") -> dict[str, Any]:
    """A message."""
    text = f"{mark} {n}: we talked about {TOPICS[n % len(TOPICS)]} and decided on plan {n % 97}."
    return {
        "role": "user",
        "name": "Alice",
        "content": text,
        "timestamp": 1_700_000_000 + 90 * n,
        "message_id": f"{mark}-{n}-{time.monotonic_ns()}",
    }


def question(n: int) -> str:
    """A question."""
    return f"What did Alice decide about {TOPICS[n % len(TOPICS)]}?"


def measured(
    name: str,
    calls: dict[str, Call],
    args: argparse.Namespace,
    processor: Callable[[], float],
) -> Iterator[str]:
    """A row for each call, alone and with several clients."""
    for operation, call in calls.items():
        for clients in (1, args.clients):
            warm(call, clients)
            before = processor()
            seconds, total = timed(call, args.requests, clients)
            each = (processor() - before) / len(seconds) * 1_000
            yield (
                f"| {operation}, {name} | {clients} | {len(seconds) / total:,.0f} "
                f"| {percentile(seconds, 50):.1f} | {percentile(seconds, 99):.1f} | {each:.1f} |"
            )


def warm(call: Call, clients: int) -> None:
    """Some calls that are not measured."""
    with ThreadPoolExecutor(clients) as threads:
        list(threads.map(call, range(2 * clients)))


def timed(call: Call, requests: int, clients: int) -> tuple[list[float], float]:
    """Milliseconds of each call, and seconds of all."""

    def one(n: int) -> float:
        started = time.perf_counter()
        call(n)
        return (time.perf_counter() - started) * 1_000

    with ThreadPoolExecutor(clients) as threads:
        started = time.perf_counter()
        seconds = list(threads.map(one, range(requests)))
        return seconds, time.perf_counter() - started


def percentile(values: list[float], share: int) -> float:
    """The value below which a share of them lies."""
    return statistics.quantiles(values, n=100)[share - 1]


class Connections:
    """A connection per thread, kept alive."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._own = threading.local()

    def post(self, name: str, body: dict[str, Any]) -> Any:
        """Sends a request and reads its answer."""
        if not hasattr(self._own, "connection"):
            self._own.connection = connection(self._port)
        return ask(self._own.connection, name, body)


def connection(port: int) -> http.client.HTTPConnection:
    """A connection without delays of small packets."""
    made = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    made.connect()
    made.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def ask(over: http.client.HTTPConnection, name: str, body: dict[str, Any], user: str = USER) -> Any:
    """One request."""
    data = json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    over.request("POST", f"/v1/users/{user}/{name}", data, headers)
    answer = over.getresponse()
    text = answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"{answer.status}: {text[:200]!r}")
    return json.loads(text)


@contextmanager
def service(store: Path, log: Path, workers: int) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The service in a process of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "episodica", "serve", "--store", str(store)]
    env = {**os.environ, "EPISODICA_SERVER_RATE_PER_MINUTE": "0"}
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*command, "--port", str(port), "--workers", str(workers)],
            stdout=file,
            stderr=file,
            env=env,
        )
    try:
        for _ in range(600):
            try:
                connection(port).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port, process
    finally:
        process.terminate()
        process.wait(60)


def working(pid: int, workers: int) -> list[int]:
    """The processes that answer: of several workers the children."""
    if workers == 1:
        return [pid]
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    commands = {int(one): Path(f"/proc/{one}/cmdline").read_bytes() for one in children}
    return [one for one, command in commands.items() if b"spawn_main" in command]


def spent(pid: int) -> float:
    """Seconds of the processor that a process took."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> float:
    """Megabytes of memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1_024
    raise RuntimeError("no such process")


def keep_alive(port: int, args: argparse.Namespace, search: Call, pid: int) -> None:
    """Many connections that are open and mostly idle."""
    with ExitStack() as stack:
        opened = [connection(port) for _ in range(args.connections)]
        for one in opened:
            stack.callback(one.close)
        for one in opened:
            one.request("GET", f"/v1/users/{USER}/stats")
        failed = sum(one.getresponse().status != 200 for one in opened)
        seconds, total = timed(search, args.requests, args.clients)
        print(
            f"* {args.connections:,} clients keep their connection: {failed} requests failed; "
            f"beside them {len(seconds) / total:,.0f} searches/s, p99 "
            f"{percentile(seconds, 99):.1f} ms, {resident(pid):.0f} MB."
        )


def stalled(port: int, args: argparse.Namespace, search: Call) -> None:
    """Clients that send half a body and stop."""
    head = f"POST /v1/users/{USER}/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n"
    with ExitStack() as stack:
        for _ in range(20):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            one.sendall(f"{head}Content-Type: application/json\r\n\r\n{{".encode())
        seconds, total = timed(search, args.requests, args.clients)
        print(
            f"* 20 clients stall in the middle of a body: {len(seconds) / total:,.0f} searches/s, "
            f"p99 {percentile(seconds, 99):.1f} ms."
        )


def large(port: int, within: float) -> None:
    """A body of ten megabytes."""
    body = {"messages": long_messages("served")}
    size = len(json.dumps(body)) / 1e6
    started = time.perf_counter()
    over = connection(port)
    ask(over, "messages", body, "carol")
    over.close()
    took = time.perf_counter() - started
    print(
        f"* A body of {size:.0f} MB, 2,000 messages of 5 KB: {took:.1f} s; "
        f"in process {within:.1f} s."
    )


def long_messages(mark: str) -> list[dict[str, Any]]:
    """Ten megabytes of talk."""
    return [
        {"role": "user", "content": f"{mark} {n} " + "a plan for the flat " * 250}
        for n in range(2_000)
    ]
