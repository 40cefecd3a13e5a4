"""Many processes on one store, killed and stopped at any moment: no message is lost or doubled."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from workers import Worker, agree, check, files, script

from episodica import MemorySystem, StoreLockedError

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")


def test_the_checker_of_histories_tells_what_is_certain() -> None:
    """Each case has events, the messages that must be there, and those that must not."""
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
    told = store.with_suffix(".history")
    history = script.History(str(told))
    made = 0

    def start() -> Worker:
        nonlocal made
        made += 1
        return Worker(store, told, f"w{made}", made)

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
    # All processes finish their operations before they are asked: then all must give the same
    # answers.
    agree(store, alive, workers)
    losses = check(store, told, workers, lambda: files(store))
    said = [sign for user in (*script.USERS, script.ERASED) for sign, _ in history.events(user)]
    acknowledged = said.count("+")
    counts("processes", acknowledged=acknowledged, kills=kills, stops=stops, losses=losses)
    assert losses == 0
    assert acknowledged > 10


# Works with a slow model, keeps the user in memory, and closes the store at its end.
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
    """Neither queued work nor a pending answer, a cache, a trace or a snapshot brings them back."""
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


# Appends without end, so it most likely holds the user's lock whenever it is stopped.
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
            chance = random.Random(11)
            told = None
            end = time.monotonic() + 45
            while told is None and time.monotonic() < end:
                # A pause of random length: one of fixed length can miss the lock each time.
                time.sleep(chance.random() / 20)
                other.send_signal(signal.SIGSTOP)
                try:
                    memory.add_messages("alice", [text])
                except StoreLockedError as error:
                    # It may be stopped between the lock and the note of who has it.
                    told = str(error) if f"`{other.pid}`" in str(error) else None
                other.send_signal(signal.SIGCONT)
            assert told is not None, "it was never stopped while it held the lock"
            assert memory.add_messages("alice", [text]).messages_added == 1
        finally:
            other.kill()
