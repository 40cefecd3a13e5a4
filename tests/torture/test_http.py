"""Clients of a service whose processes are killed: each message with a 201 is stored once.

Each client has users of its own and remembers its confirmed requests and deletions. It sends a
request again with the same key if the answer was cut off, and sometimes after an answer.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from episodica import MemorySystem

# Seconds after which a service that does not answer is a failure.
PATIENCE = 120.0
# Possible actions of a client, and their weights.
ADD, REPEAT, TWICE, OTHER_BODY, DELETE, DELETE_RUN, DELETE_USER = range(7)
WEIGHTS = (50, 20, 8, 6, 10, 4, 2)


class Service:
    """`episodica serve` with several workers on one store and one port."""

    def __init__(self, store: Path, workers: int) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._log = store.with_suffix(".log")
        self._command = [
            *(sys.executable, "-m", "episodica", "serve", "--store", str(store)),
            *("--port", str(self._port), "--workers", str(workers)),
        ]
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdout=log,
                stderr=log,
                env={**os.environ, "EPISODICA_SERVER_RATE_PER_MINUTE": "0"},
                start_new_session=True,
            )
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with suppress(httpx.TransportError):
                httpx.get(f"{self.url}/health", timeout=5)
                return
            time.sleep(0.1)
        pytest.fail(f"the service did not start: {self._log.read_text()[-3_000:]}")

    def workers(self) -> list[int]:
        """The ids of the worker processes."""
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        named = [(int(one), Path(f"/proc/{one}/cmdline")) for one in children]
        return [one for one, line in named if line.exists() and b"spawn_main" in line.read_bytes()]

    def kill_a_worker(self, chance: random.Random) -> None:
        """Kills a worker with SIGKILL; the service starts another."""
        if found := self.workers():
            with suppress(ProcessLookupError):
                os.kill(chance.choice(found), signal.SIGKILL)

    def end(self, number: int) -> None:
        """Sends a signal to all processes, and waits for their end."""
        if number == signal.SIGTERM:
            self._process.terminate()
        else:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
        self._process.wait(PATIENCE)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


@dataclass
class Sent:
    """A request that was confirmed."""

    user: str
    run: str
    key: str
    words: list[str]
    ids: list[str] = field(default_factory=list)
    # Words of its deleted messages.
    gone: set[str] = field(default_factory=set)

    def body(self) -> dict[str, Any]:
        said = [{"role": "user", "content": f"I saw {word}."} for word in self.words]
        return {"messages": said, "session_id": self.run}


class Client:
    """Adds, repeats and deletes messages, and records every fault."""

    def __init__(self, url: str, number: int, pool: ThreadPoolExecutor) -> None:
        self._url = url
        self._name = f"c{number}"
        self._chance = random.Random(number)
        self._pool = pool
        self._made = 0
        self.sent: list[Sent] = []
        self.deleted: set[str] = set()
        self.faults: list[str] = []
        self.counts: Counter[str] = Counter()

    def run(self, end: threading.Event) -> None:
        """Acts until ``end`` is set."""
        try:
            with httpx.Client(base_url=self._url, timeout=60) as http:
                while not end.is_set():
                    self._act(http)
        except (httpx.HTTPError, OSError, ValueError, KeyError, AssertionError) as error:
            self.faults.append(f"{self._name}: {error!r}")

    def _act(self, http: httpx.Client) -> None:
        action = self._chance.choices(range(len(WEIGHTS)), WEIGHTS)[0]
        if action in (ADD, TWICE) or not self.sent:
            self._add(http, twice=action == TWICE)
            return
        one = self._chance.choice(self.sent)
        if action == REPEAT:
            self._repeat(http, one)
        elif action == OTHER_BODY:
            other = Sent(one.user, one.run, one.key, [f"{self._name}other"])
            self._expect(self._post(http, other), 409, other)
        elif action == DELETE:
            at = self._chance.randrange(len(one.ids))
            self._delete(http, f"/v1/users/{one.user}/messages/{one.ids[at]}")
            self._forget(lambda sent, word: word == one.words[at])
        elif action == DELETE_RUN:
            self._delete(http, f"/memories?user_id={one.user}&run_id={one.run}")
            self._forget(lambda sent, _: (sent.user, sent.run) == (one.user, one.run))
        else:
            self._delete(http, f"/v1/users/{one.user}")
            self._forget(lambda sent, _: sent.user == one.user)
            # The requests of a user are forgotten with the user.
            self.sent = [sent for sent in self.sent if sent.user != one.user]

    def _add(self, http: httpx.Client, *, twice: bool) -> None:
        self._made += 1
        mark = f"{self._name}x{self._made}"
        one = Sent(
            f"{self._name}u{self._chance.randrange(2)}",
            f"run{self._chance.randrange(4)}",
            f"key{self._made}",
            [f"zq{mark}m{n}e" for n in range(self._chance.randint(1, 3))],
        )
        if twice:
            futures = [self._pool.submit(self._alone, one) for _ in range(2)]
            answers = [future.result() for future in futures]
        else:
            answers = [self._post(http, one)]
        for answer in answers:
            self._expect(answer, 201, one)
        one.ids = answers[0].json()["message_ids"]
        if any(answer.json()["message_ids"] != one.ids for answer in answers):
            self.faults.append(f"two answers with other ids: {one}")
        self.sent.append(one)
        self.counts["acknowledged"] += len(one.words)

    def _alone(self, one: Sent) -> httpx.Response:
        with httpx.Client(base_url=self._url, timeout=60) as http:
            return self._post(http, one)

    def _repeat(self, http: httpx.Client, one: Sent) -> None:
        answer = self._post(http, one)
        self.counts["repeated"] += 1
        if one.gone:
            self._expect(answer, 410, one)
        else:
            self._expect(answer, 201, one)
            if answer.json()["message_ids"] != one.ids:
                self.faults.append(f"a repeated request has other ids: {one}")
        if any(word in answer.text for word in one.words):
            self.faults.append(f"an answer quotes: {one}")

    def _post(self, http: httpx.Client, one: Sent) -> httpx.Response:
        headers = {"Idempotency-Key": one.key}
        path = f"/v1/users/{one.user}/messages"
        return self._until_answered(lambda: http.post(path, json=one.body(), headers=headers))

    def _delete(self, http: httpx.Client, path: str) -> None:
        answer = self._until_answered(lambda: http.delete(path))
        # Without an answer, the deletion may have been done already.
        if answer.status_code not in (200, 404):
            self.faults.append(f"{path}: {answer.text}")
        self.counts["deletions"] += 1

    def _forget(self, is_gone: Callable[[Sent, str], bool]) -> None:
        for one in self.sent:
            gone = {word for word in one.words if is_gone(one, word)}
            one.gone |= gone
            self.deleted |= gone

    def _until_answered(self, ask: Callable[[], httpx.Response]) -> httpx.Response:
        """The answer to a request; the request is sent again while the service is down or busy."""
        deadline = time.monotonic() + PATIENCE
        while True:
            with suppress(httpx.TransportError):
                answer = ask()
                if answer.status_code != 503:
                    return answer
            if time.monotonic() > deadline:
                raise TimeoutError("the service does not answer")
            self.counts["sent_again"] += 1
            time.sleep(0.05)

    def _expect(self, answer: httpx.Response, status: int, one: Sent) -> None:
        if answer.status_code != status:
            self.faults.append(f"{answer.status_code} for {status}: {one} {answer.text[:200]}")
            raise AssertionError(answer.text[:200])


def lost(store: Path, clients: list[Client]) -> list[str]:
    """Messages that are missing, stored twice, or stored although they were deleted."""
    faults = [fault for one in clients for fault in one.faults]
    stored: Counter[str] = Counter()
    with MemorySystem(store) as memory:
        for user in memory.users():
            stored.update(one.content for one in memory.messages(user))
    for client in clients:
        for one in client.sent:
            for word in one.words:
                count, wanted = stored[f"I saw {word}."], int(word not in one.gone)
                if count != wanted:
                    faults.append(f"{word} of {one.user} is there {count} times, not {wanted}")
    known = {f"I saw {word}." for client in clients for one in client.sent for word in one.words}
    faults += [f"nobody was told of it: {text}" for text in stored.keys() - known]
    deleted = [word.encode() for client in clients for word in client.deleted]
    for path in (path for path in store.rglob("*") if path.is_file()):
        data = path.read_bytes()
        faults += [f"{word!r} is in {path.name}" for word in deleted if word in data]
    return faults


@pytest.mark.skipif(sys.platform != "linux", reason="finds workers in /proc")
@pytest.mark.timeout(1_800)
def test_what_a_service_confirms_is_stored_once_until_it_is_deleted(
    store: Path, rounds: Callable[[int, int], int], counts: Callable[..., None]
) -> None:
    chance = random.Random(5)
    service = Service(store, rounds(2, 3))
    end = threading.Event()
    kills = starts = 0
    with ThreadPoolExecutor(8) as pool:
        clients = [Client(service.url, n, pool) for n in range(rounds(2, 6))]
        threads = [threading.Thread(target=one.run, args=(end,)) for one in clients]
        for one in threads:
            one.start()
        began = time.monotonic()
        stop = began + rounds(4, 300)

        def is_enough() -> bool:
            said = sum(one.counts["acknowledged"] for one in clients)
            return said > 10 or time.monotonic() > began + PATIENCE

        try:
            while time.monotonic() < stop or not starts or not is_enough():
                time.sleep(1.0)
                if chance.random() < 0.7 and kills <= 10 * starts + 1:
                    service.kill_a_worker(chance)
                    kills += 1
                    continue
                number = chance.choice((signal.SIGKILL, signal.SIGTERM))
                service.end(number)
                kills += number == signal.SIGKILL
                starts += 1
                service.start()
        finally:
            end.set()
            for one in threads:
                one.join(2 * PATIENCE)
            service.end(signal.SIGTERM)
    faults = lost(store, clients)
    told = sum((one.counts for one in clients), Counter())
    counts("http", **told, kills=kills, starts=starts, losses=len(faults))
    assert faults == []
    assert told["acknowledged"] > 10
