"""Each budget beside its measured value: searches, contexts, writes, opening, memory, growth, and the cost of the boundary."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from episodica import MemorySystem, _native
from evaluation.benchmarks.stores import BATCH, USER, cache_folder, settled
from evaluation.benchmarks.talk import Talk
from evaluation.benchmarks.timing import Times, sync_milliseconds, times

WARM_UP = 20
QUERIES = 300


@dataclass(frozen=True, slots=True)
class Row:
    """A budget and what was measured. ``most`` says whether the value may not be above the budget, or not below it."""

    name: str
    value: float
    unit: str
    budget: float | None = None
    most: bool = True
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def met(self) -> bool | None:
        """Whether the budget is kept; ``None`` without one."""
        if self.budget is None:
            return None
        return self.value <= self.budget if self.most else self.value >= self.budget

    def to_dict(self) -> dict[str, Any]:
        """For the JSON file."""
        return {**asdict(self), "met": self.met}


def searching(count: int, budgets: bool) -> Iterator[Row]:
    """Searches and contexts over a store of ``count`` messages; the budgets are those of 100,000."""
    store = settled(count)
    questions = store["questions"][: QUERIES + WARM_UP]

    def limit(value: float) -> float | None:
        return value if budgets else None

    def look(operation: Callable[[str], object]) -> Times:
        times(operation, questions[:WARM_UP])
        return times(operation, questions[WARM_UP:])

    with MemorySystem(store["path"]) as memory:
        memory.search(USER, "warm")
        hybrid = look(lambda text: memory.search(USER, text))
        yield Row("hybrid search, episodes + facts, p50", hybrid.p50, "ms", limit(2), detail=hybrid.to_dict())
        yield Row("hybrid search, episodes + facts, p99", hybrid.p99, "ms", limit(8))
        everything = look(lambda text: memory.search(USER, text, kinds=["episodic", "semantic", "message"]))
        growth = 10.0 if count >= 1_000_000 else None
        yield Row("hybrid search with messages, p50", everything.p50, "ms", growth or limit(6), detail=everything.to_dict())
        context = look(lambda text: memory.context(USER, text, max_tokens=2000))
        yield Row("context of 2,000 tokens, p50", context.p50, "ms", limit(8), detail=context.to_dict())
        for method in ("bm25", "vector"):
            one = look(lambda text, method=method: memory.search(USER, text, kinds=["message"], method=method))
            yield Row(f"{method} over messages, p50", one.p50, "ms", detail=one.to_dict())
        built = look(lambda text: list(memory.search(USER, text)))
        yield Row("building all hits of a search, p50", built.p50 - hybrid.p50, "ms", detail=built.to_dict())
        nothing = _per_call(_native.version)
        yield Row("a native call that does nothing", nothing, "us", 1.0 if budgets else None)
        yield Row("two threads against one, searches", _speed_up(memory, questions), "x", limit(1.8), most=False)
    yield from _opening(store["path"], store["questions"][0], limit)


def _per_call(call: Callable[[], object], count: int = 200_000) -> float:
    best = float("inf")
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, time.perf_counter() - started)
    return best / count * 1e6


def _speed_up(memory: MemorySystem, questions: list[str]) -> float:
    """How many times as many searches two threads do in the same wall clock as one; the median of three trials."""

    def run(threads: int) -> float:
        done = [0] * threads
        stop = time.perf_counter() + 1.0

        def work(number: int) -> None:
            at = number
            while time.perf_counter() < stop:
                memory.search(USER, questions[at % len(questions)])
                at += 7
                done[number] += 1

        workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return sum(done)

    return statistics.median(run(2) / run(1) for _ in range(3))


_OPEN = """
import json, sys, time
started = time.perf_counter()
import episodica
imported = time.perf_counter()
from episodica import MemorySystem, _native
with MemorySystem(sys.argv[1]) as memory:
    memory.search("user", sys.argv[2])
    answered = time.perf_counter()
    for number in range(20):
        memory.search("user", sys.argv[2] + " " + str(number), kinds=["episodic", "semantic", "message"])
    pages = int(open("/proc/self/statm").read().split()[1])
    print(json.dumps([1000 * (imported - started), 1000 * (answered - imported), pages * 4096 / 1e6]))
"""


def _opening(path: Path, question: str, limit: Callable[[float], float | None]) -> Iterator[Row]:
    """A fresh process opens the store and asks; the files are in the page cache."""
    runs = []
    for _ in range(5):
        outcome = subprocess.run([sys.executable, "-c", _OPEN, str(path), question], check=True, capture_output=True, text=True)
        runs.append(json.loads(outcome.stdout))
    imported, answered, resident = (statistics.median(values) for values in zip(*runs, strict=True))
    detail = {"import": imported, "runs": [run[1] for run in runs]}
    yield Row("cold open to the first answer", answered, "ms", limit(150), detail=detail)
    yield Row("resident memory of such a process", resident, "MB", limit(250))


def writing(count: int, budgets: bool) -> Iterator[Row]:
    """What storing one episode takes beyond the disk's own syncs, in a copy of the store."""
    store = settled(count)
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        path = Path(folder) / "store"
        shutil.copytree(store["path"], path)
        conversation = Talk(seed=77)
        sessions = _sessions(conversation.messages(2_000))
        with MemorySystem(path) as memory:
            memory.search(USER, "warm")
            sync = sync_milliseconds(Path(folder))

            def tell(number: str) -> None:
                memory.add_messages(USER, sessions[int(number)])
                memory.flush(USER)

            told = times(tell, map(str, range(min(60, len(sessions)))))
        # Messages, episode, facts and the notes beside them: each its own durable step.
        steps = 3
        beyond = told.p50 - steps * sync.p50
        detail = {**told.to_dict(), "sync_p50": sync.p50, "steps": steps}
        yield Row("storing one episode, beyond the disk's syncs, p50", beyond, "ms", 3.0 if budgets else None, detail=detail)


def _sessions(messages: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    sessions: dict[str, list[dict[str, Any]]] = {}
    for message in messages:
        own = {**message, "message_id": f"new-{message['message_id']}", "session_id": f"new-{message['session_id']}"}
        sessions.setdefault(own["session_id"], []).append(own)
    return list(sessions.values())


def ingesting(count: int) -> Iterator[Row]:
    """Rates of adding messages: in batches, as a store was built; in single calls, from 16 threads."""
    rates = settled(count)["rates"]
    first, last = rates[: max(1, len(rates) // 10)], rates[-max(1, len(rates) // 10) :]
    middle = statistics.median(rate["cpu"] for rate in rates)
    wall = statistics.median(rate["wall"] for rate in rates)
    yield Row(f"ingestion in batches of {BATCH}, median", wall, "messages/s", 20_000, most=False, detail={"per_processor_second": middle})
    ratio = statistics.median(rate["cpu"] for rate in last) / statistics.median(rate["cpu"] for rate in first)
    yield Row("rate of the last tenth against the first, processor time", ratio, "x", 1.0, most=False, detail={"rates": rates})
    for users in (1, 16):
        yield Row(f"single calls from 16 threads, {users} user(s)", _singles(users), "messages/s", 5_000, most=False)


def _singles(users: int, threads: int = 16, each: int = 250) -> float:
    lists = [Talk(seed=100 + number).messages(each) for number in range(threads)]
    for number, messages in enumerate(lists):
        for message in messages:
            message["message_id"] = f"{number}-{message['message_id']}"
            message["session_id"] = f"{number}-{message['session_id']}"
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder, MemorySystem(folder) as memory:

        def work(number: int) -> None:
            for message in lists[number]:
                memory.add_messages(f"user-{number % users}", [message])

        workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        started = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return threads * each / (time.perf_counter() - started)


def searching_while_ingesting(count: int) -> Iterator[Row]:
    """Tails of searches while another thread adds messages without a pause, against the same searches alone."""
    store = settled(count)
    questions = store["questions"][:QUERIES]
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        path = Path(folder) / "store"
        shutil.copytree(store["path"], path)
        with MemorySystem(path) as memory:
            idle = times(lambda text: memory.search(USER, text), questions)
            stop, added = threading.Event(), 0
            messages = [{**message, "message_id": None} for message in Talk(seed=5).messages(20_000)]

            def work() -> None:
                nonlocal added
                for start in range(0, len(messages), 256):
                    if stop.is_set():
                        return
                    memory.add_messages("another", messages[start : start + 256])
                    added += 256

            worker = threading.Thread(target=work)
            worker.start()
            busy = times(lambda text: memory.search(USER, text), questions)
            stop.set()
            worker.join()
    detail = {"idle": idle.to_dict(), "busy": busy.to_dict(), "added": added}
    yield Row("p99 of searches while ingesting, against idle", busy.p99 / idle.p99, "x", 3.0, detail=detail)


def many_users(users: int) -> Iterator[Row]:
    """Many users with 100 messages each under the default budget of memory, in a process of their own."""
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        command = [sys.executable, "-m", "evaluation.benchmarks.crowd", str(users), folder]
        figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    yield Row(f"resident memory, {users:,} users x 100 messages", figures["resident"], "MB", 512, detail=figures)
    yield Row("first search of a user who is not open, p50", figures["cold"]["p50"], "ms", 5, detail=figures["cold"])


def machine() -> dict[str, Any]:
    """What it ran on."""
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = next((line.split(":", 1)[1].strip() for line in info.splitlines() if line.startswith("model name")), "unknown")
    load = os.getloadavg()
    return {"processor": model, "cores": os.cpu_count(), "load_before": [round(value, 2) for value in load]}
