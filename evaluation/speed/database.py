"""A store in PostgreSQL next to the same store in a folder: adding and searching, by many clients.

    python tests/support/postgres.py python -m evaluation speed database

The server, its disk and the clients (threads of this process) share the machine. The address of the
server is in ``EPISODICA_TEST_POSTGRES``; the folder is next to the server's own folder.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from episodica import MemorySystem, _native
from evaluation.speed.timing import SyncProbe, milliseconds, quantile

CLIENTS = (1, 8, 32)
USER = "alice"
TOPICS = ("the flat", "her job", "the dog", "a marathon", "cooking", "her sister", "Lisbon")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--messages", type=int, default=4_000, help="messages of the searched user")
    parser.add_argument("--crowd", type=int, default=200, help="users with a hundred messages")
    parser.add_argument("--requests", type=int, default=1_500, help="requests of each kind")


def run(args: argparse.Namespace) -> int:
    """Measures and prints a table in Markdown."""
    server = os.environ.get("EPISODICA_TEST_POSTGRES")
    if not server:
        raise SystemExit("error: EPISODICA_TEST_POSTGRES names no server: `make bench-postgres`")
    with tempfile.TemporaryDirectory(prefix="episodica-bench-") as folder:
        os.environ["EPISODICA_CACHE"] = str(Path(folder, "caches"))
        database = f"{server}?schema=b{uuid.uuid4().hex[:20]}&pool_size={max(CLIENTS)}"
        places = {"folder": str(Path(folder, "store")), "database": database}
        print(f"* One sync of the disk: {sync_ms(Path(folder)):.2f} ms.")
        rows: list[str] = []
        for name, place in places.items():
            with MemorySystem(place) as memory:
                rows += measured(name, memory, args)
            for line in whole(name, place, args):
                print(line)
            print(f"* Kept of {args.crowd:,} users, {name}: {of_a_user(name, place, args)}.")
    print(f"* Load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n")
    head = "| calls | clients | calls/s | p50 ms | p99 ms |"
    print("\n".join([head, "|---|---|---|---|---|", *rows]))
    return 0


def of_a_user(name: str, place: str, args: argparse.Namespace) -> str:
    """The bytes that a user with a hundred messages takes, with episodes and facts."""

    def kept() -> int:
        if name == "database":
            return int(_native.database_state(place)["bytes"])
        return sum(file.stat().st_size for file in Path(place).rglob("*.jsonl"))

    with MemorySystem(place) as memory:
        before = kept()
        for user in range(args.crowd):
            memory.add_messages(f"c{user}", [message(n, "crowd") for n in range(100)])
            memory.flush(f"c{user}")
        memory.wait()
        return f"{(kept() - before) / args.crowd / 1_000:.0f} kB each"


def sync_ms(folder: Path) -> float:
    """The time of one sync of the disk, in milliseconds."""
    disk = SyncProbe(folder)
    taken = [milliseconds(lambda: disk.append("")) for _ in range(200)]
    disk.close()
    return quantile(taken, 0.5)


def measured(name: str, memory: MemorySystem, args: argparse.Namespace) -> Iterator[str]:
    """A row for each call and number of clients."""
    memory.add_messages(USER, [message(n) for n in range(args.messages)])
    memory.flush(USER)
    memory.wait()
    for clients in CLIENTS:
        # Either each client has a user of its own, or all clients share one user.
        calls: dict[str, Callable[[int], Any]] = {
            "add one message, users of their own": lambda n, of=clients: memory.add_messages(
                f"u{n % of}", [message(n, "own")]
            ),
            "add one message, one user": lambda n: memory.add_messages(
                "shared", [message(n, "shared")]
            ),
            "add ten messages, users of their own": lambda n, of=clients: memory.add_messages(
                f"t{n % of}", [message(10 * n + at, "ten") for at in range(10)]
            ),
            "search": lambda n: memory.search(USER, question(n)),
        }
        for operation, call in calls.items():
            timed(call, 2 * clients, clients)
            taken, seconds = timed(call, args.requests, clients)
            yield (
                f"| {operation}, {name} | {clients} | {len(taken) / seconds:,.0f} "
                f"| {quantile(taken, 0.5):.2f} | {quantile(taken, 0.99):.2f} |"
            )
        memory.wait()


def whole(name: str, place: str, args: argparse.Namespace) -> Iterator[str]:
    """The times of opening a store and of following another writer."""
    with MemorySystem(place) as here:
        first = milliseconds(lambda: here.search(USER, question(0)))
        yield f"* The first search among {args.messages:,} messages, {name}: {first:.0f} ms."
        # In a database another opening may be another machine, so it gets caches of its own.
        os.environ["EPISODICA_CACHE"] += "-2"
        with MemorySystem(place) as there:
            first = milliseconds(lambda: there.search(USER, question(0)))
            if name == "database":
                yield f"* The same on a machine without caches: {first:.0f} ms."
            same, after = [], []
            for n in range(100):
                same.append(milliseconds(lambda n=n: here.search(USER, question(n))))
                there.add_messages(USER, [message(n, "there")])
                after.append(milliseconds(lambda n=n: here.search(USER, question(n))))
            yield (
                f"* A search after another opening has added a message, {name}: "
                f"{quantile(after, 0.5):.2f} ms (without: {quantile(same, 0.5):.2f} ms)."
            )


def message(n: int, mark: str = "note") -> dict[str, Any]:
    """A message, another one with each call."""
    text = f"{mark} {n}: we talked about {TOPICS[n % len(TOPICS)]} and decided on plan {n % 97}."
    dated = {"timestamp": 1_700_000_000 + 90 * n, "message_id": f"{n}-{time.monotonic_ns()}"}
    return {"role": "user", "name": "Alice", "content": text, **dated}


def question(n: int) -> str:
    """A question."""
    return f"What did Alice decide about {TOPICS[n % len(TOPICS)]}?"


def timed(call: Callable[[int], Any], requests: int, clients: int) -> tuple[list[float], float]:
    """Milliseconds of each call, and seconds of all."""
    with ThreadPoolExecutor(clients) as threads:
        started = time.perf_counter()
        taken = list(threads.map(lambda n: milliseconds(lambda: call(n)), range(requests)))
        return taken, time.perf_counter() - started
