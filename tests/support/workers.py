"""Processes that work on one store until they are killed, and the reports of all of them."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import IO

from episodica import MemorySystem

SCRIPT = Path(__file__).parents[1] / "torture" / "worker.py"


def load_script(path: Path) -> ModuleType:
    """The module of a script that tests also run as a process."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = load_script(SCRIPT)
answers = script.answers
QUESTIONS = [
    ["alice", "What is the favourite thing?"],
    ["bob", "town3"],
    ["Çağla", "Where did they move?"],
]


class Worker:
    """A process, and its reports."""

    def __init__(
        self, store: Path | str, history: Path, name: str, seed: int, **environment: str
    ) -> None:
        self.name = name
        self.kept: list[tuple[str, str]] = []
        self.open: set[tuple[str, str]] = set()
        self.gone: set[tuple[str, str]] = set()
        self.faults: list[str] = []
        self.answers: list[object] | None = None
        self.ready = threading.Event()
        self.paused = threading.Event()
        command = [sys.executable, str(SCRIPT), str(store), str(history), name, str(seed)]
        self.process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
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
        """Waits until the process has ended, and all its reports were read."""
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


def check(
    store: Path | str, history: Path, workers: list[Worker], texts: Callable[[], Iterable[bytes]]
) -> int:
    """Compares the store with all reports; returns how many messages are missing.

    ``texts`` returns every byte that is kept of the store.
    """
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
        events = script.History(str(history)).events
        for user in (*script.USERS, script.ERASED):
            there, deleted = script.due(events(user))
            losses += len(there - set(listed.get(user, [])))
            assert not deleted & set(listed.get(user, [])), f"of {user} deleted messages are back"
        back = [one for one in gone if one[1] in listed.get(one[0], [])]
        assert not back, f"deleted and back: {back}"
        found = memory.verify()
        assert found.errors == 0, found.problems
    words = [f"zq{identity.replace('-', 'x')} ".encode() for _, identity in gone]
    for text in texts():
        assert not any(word in text for word in words), "deleted and still there"
    return losses


def files(*folders: Path) -> Iterator[bytes]:
    """The content of all files."""
    for folder in folders:
        for path in filter(Path.is_file, folder.rglob("*")):
            yield path.read_bytes()


def agree(store: Path | str, alive: list[Worker], workers: list[Worker]) -> None:
    """Lets all finish their work; checks that all then know the same, and none found a fault."""
    for worker in alive:
        assert worker.ready.wait(60), worker.faults
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
