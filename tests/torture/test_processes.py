"""Many processes on one store, killed and stopped at any moment: nothing lost, nothing twice."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import IO

import pytest

from episodica import MemorySystem, StoreLockedError

SCRIPT = Path(__file__).with_name("worker.py")


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("worker", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = load_script()
answers = script.answers
QUESTIONS = [
    ["alice", "What is the favourite thing?"],
    ["bob", "town3"],
    ["Çağla", "Where did they move?"],
]
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")


class Worker:
    """A process, and what it has said."""

    def __init__(self, store: Path, name: str, seed: int) -> None:
        self.name = name
        self.kept: list[tuple[str, str]] = []
        self.open: set[tuple[str, str]] = set()
        self.gone: set[tuple[str, str]] = set()
        self.faults: list[str] = []
        self.answers: list[object] | None = None
        self.ready = threading.Event()
        self.paused = threading.Event()
        command = [sys.executable, str(SCRIPT), str(store), name, str(seed)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )
        assert self.process.stdout is not None
        self.reader = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self.reader.start()

    def _read(self, lines: IO[str]) -> None:
        for line in lines:
            if not line.endswith("\n"):
                continue
            sign, _, rest = line.rstrip("\n").partition(" ")
            if sign == "ready":
                self.ready.set()
            elif sign == "paused":
                self.paused.set()
            elif sign == "=":
                self.answers = json.loads(rest)
            elif sign in {"+", "?", "-"}:
                user, identity = rest.split(" ")
                one = (user, identity)
                if sign == "+":
                    self.kept.append(one)
                elif sign == "?":
                    self.open.add(one)
                else:
                    self.gone.add(one)
            else:
                self.faults.append(line)

    def signal(self, number: int) -> None:
        if self.process.poll() is None:
            os.kill(self.process.pid, number)

    def kill(self) -> None:
        self.process.kill()
        self.end()

    def end(self) -> None:
        """Waits until the process has ended, and has been heard to the end."""
        self.process.wait(timeout=120)
        self.reader.join()
        with contextlib.suppress(BrokenPipeError):
            assert self.process.stdin is not None
            self.process.stdin.close()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()


def check(store: Path, workers: list[Worker]) -> int:
    """Holds the store against what all have said; returns how many messages are missing."""
    gone = {one for worker in workers for one in worker.gone}
    uncertain = {one for worker in workers for one in worker.open} - gone
    losses = 0
    with MemorySystem(store) as memory:
        listed = {
            user: [message.message_id for message in memory.messages(user)]
            for user in memory.users()
        }
        for user, identities in listed.items():
            twice = [one for one, times in Counter(identities).items() if times > 1]
            assert not twice, f"there twice: {twice}"
            inside = [
                message.message_id
                for episode in memory.episodes(user)
                for message in episode.original_messages
            ]
            twice = [one for one, times in Counter(inside).items() if times > 1]
            assert not twice, f"in two episodes: {twice}"
            learned = Counter(
                (fact.content, fact.source_messages) for fact in memory.semantic_memories(user)
            )
            assert all(times == 1 for times in learned.values()), "learned twice"
        for worker in workers:
            mine = [one for one in worker.kept if one not in gone and one not in uncertain]
            for user in {user for user, _ in mine}:
                rest = iter(listed.get(user, []))
                missing = [one for owner, one in mine if owner == user and one not in rest]
                losses += len(missing)
        events = script.History(str(store)).events
        for user in (*script.USERS, script.ERASED):
            there, deleted = script.due(events(user))
            losses += len(there - set(listed.get(user, [])))
            assert not deleted & set(listed.get(user, [])), f"of {user} deleted messages are back"
        back = [one for one in gone if one[1] in listed.get(one[0], [])]
        assert not back, f"deleted and back: {back}"
        found = memory.verify()
        assert found.errors == 0, found.problems
    words = [f"zq{identity.replace('-', 'x')} ".encode() for _, identity in gone]
    for path in filter(Path.is_file, store.rglob("*")):
        data = path.read_bytes()
        assert not any(word in data for word in words), f"deleted and still in {path}"
    return losses


def test_the_checker_of_histories_tells_what_is_certain() -> None:
    """Each case: events, what must be there, and what must not."""
    added = [("(", "a"), ("+", "a")]
    cases: list[tuple[list[tuple[str, str]], str, str]] = [
        ([("(", "a")], "", ""),
        (added, "a", ""),
        ([*added, ("?", "a")], "", ""),
        ([*added, ("?", "a"), ("-", "a")], "", "a"),
        ([*added, ("<", "w:1")], "", ""),
        ([*added, ("<", "w:1"), (">", "w:1")], "", "a"),
        ([*added, ("<", "w:1"), ("x", "w")], "", ""),
        ([*added, ("<", "w1:1"), ("x", "w")], "", ""),
        ([("<", "w:1"), *added, (">", "w:1")], "", ""),
        ([("<", "w:1"), ("(", "a"), (">", "w:1"), ("+", "a")], "", ""),
        ([("<", "w:1"), (">", "w:1"), *added], "a", ""),
        ([("<", "w:1"), ("x", "w"), *added], "a", ""),
        ([("<", "w:1"), ("x", "v"), *added], "", ""),
    ]
    for events, there, gone in cases:
        assert script.due(events) == (set(there), set(gone)), events


@POSIX
@pytest.mark.timeout(1_800)
def test_processes_that_are_killed_and_stopped_lose_nothing(
    store: Path, rounds: Callable[[int, int], int], counts: Callable[..., None]
) -> None:
    chance = random.Random(7)
    count = rounds(3, 8)
    history = script.History(str(store))
    made = 0

    def start() -> Worker:
        nonlocal made
        made += 1
        return Worker(store, f"w{made}", made)

    alive = [start() for _ in range(count)]
    workers = list(alive)
    kills = stops = 0
    end = time.monotonic() + rounds(5, 300)
    while time.monotonic() < end:
        time.sleep(0.3)
        at = chance.randrange(count)
        if not alive[at].ready.is_set():
            continue
        if chance.random() < 0.5:
            alive[at].kill()
            history.say("x", script.ERASED, alive[at].name)
            kills += 1
            alive[at] = start()
            workers.append(alive[at])
        else:
            stops += 1
            alive[at].signal(signal.SIGSTOP)
            time.sleep(chance.random() / 2)
            alive[at].signal(signal.SIGCONT)
    for worker in alive:
        assert worker.ready.wait(60), worker.faults
    # All finish what they are at before they are asked: then all must know the same.
    for worker in alive:
        worker.tell("pause")
    for worker in alive:
        assert worker.paused.wait(120), worker.faults
    for worker in alive:
        worker.tell(json.dumps(QUESTIONS))
        worker.end()
    faults = [fault for worker in workers for fault in worker.faults]
    assert not faults, "".join(faults[:20])
    with MemorySystem(store) as memory:
        expected = answers(memory, QUESTIONS)
    for worker in alive:
        assert worker.answers == expected, f"{worker.name} finds something else"
    losses = check(store, workers)
    said = [sign for user in (*script.USERS, script.ERASED) for sign, _ in history.events(user)]
    acknowledged = said.count("+")
    counts("processes", acknowledged=acknowledged, kills=kills, stops=stops, losses=losses)
    assert losses == 0
    assert acknowledged > 10


# Works with a model that is slow, holds the user in memory, and ends by closing the store.
SLOW = """
import sys, time
from episodica import MemorySystem
def model(messages):
    print("asked", flush=True)
    time.sleep(1)
    return "I would rather not say."
with MemorySystem(sys.argv[1], llm=model, trace=True) as memory:
    talk = [f"I moved to zqxbkv{number} and love sailing." for number in range(60)]
    memory.add_messages("alice", [{"role": "user", "content": text} for text in talk])
    memory.search("alice", "sailing")
    print("added", flush=True)
    sys.stdin.readline()
    print(len(list(memory.messages("alice"))), len(memory.search("alice", "zqxbkv7")), flush=True)
"""


def test_a_user_deleted_elsewhere_is_not_served_or_written_back(store: Path) -> None:
    """Neither queued work nor an answer under way, a cache, a trace or a snapshot has them."""
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, str(store)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        said = {other.stdout.readline(), other.stdout.readline()}
        assert said == {"added\n", "asked\n"}
        with MemorySystem(store) as memory:
            assert len(list(memory.messages("alice"))) == 60
            memory.delete_user_data("alice")
        rest, _ = other.communicate("go on\n", timeout=60)
    assert [line for line in rest.splitlines() if line != "asked"] == ["0 0"]
    assert other.returncode == 0
    left = [path for path in store.rglob("*") if path.is_file() and b"zqxbkv" in path.read_bytes()]
    assert left == []


# Appends without end: whenever it is stopped, it most likely holds the user's lock.
BUSY = """
import sys
from episodica import MemorySystem
with MemorySystem(sys.argv[1]) as memory:
    print("ready", flush=True)
    while True:
        memory.add_messages("alice", [{"role": "user", "content": "x " * 100_000}])
"""


@POSIX
def test_a_process_that_is_stopped_while_it_writes_is_named(store: Path) -> None:
    text = {"role": "user", "content": "Is anybody there?"}
    with (
        subprocess.Popen(
            [sys.executable, "-c", BUSY, str(store)], stdout=subprocess.PIPE, text=True
        ) as other,
        MemorySystem(store) as memory,
    ):
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "ready\n"
            told = None
            for _ in range(20):
                other.send_signal(signal.SIGSTOP)
                try:
                    memory.add_messages("alice", [text])
                except StoreLockedError as error:
                    told = str(error)
                other.send_signal(signal.SIGCONT)
                if told is not None:
                    break
                time.sleep(0.05)
            assert told is not None, "it was never stopped while it held the lock"
            assert f"`{other.pid}`" in told
            assert memory.add_messages("alice", [text]).messages_added == 1
        finally:
            other.kill()
