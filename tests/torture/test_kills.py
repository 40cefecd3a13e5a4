"""A process killed at any moment loses nothing acknowledged and leaves nothing half-written."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from workers import load_script

from episodica import MemorySystem

SCRIPT = Path(__file__).with_name("ingest.py")
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")


ingest = load_script(SCRIPT)
Message = tuple[str, int]


class Told:
    """The output of the killed processes."""

    def __init__(self) -> None:
        self.kept: set[Message] = set()
        self.open: set[Message] = set()
        self.gone: set[Message] = set()

    def line(self, line: str) -> None:
        sign, user, number = line.split()
        message = (user, int(number))
        if sign == "+":
            self.kept.add(message)
        elif sign == "?":
            self.kept.discard(message)
            self.open.add(message)
        else:
            self.open.discard(message)
            self.gone.add(message)


def kill_one(store: Path, round_number: int, told: Told) -> None:
    """Starts a process, and kills it after some acknowledgements and a fraction of a write."""
    chance = random.Random(-round_number)
    command = [sys.executable, str(SCRIPT), str(store), str(round_number)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(chance.randint(0, 40)):
            told.line(process.stdout.readline())
        for _ in range(chance.randint(0, 20_000)):
            pass
        process.kill()
        for line in process.stdout:
            if line.endswith("\n"):
                told.line(line)


def count_losses(store: Path, told: Told) -> int:
    """Opens the store and compares it with the output of the processes."""
    losses = 0
    with MemorySystem(store) as memory:
        for user in ingest.USERS:
            there = {
                int(message.message_id.rsplit("-", 1)[1]): message.content
                for message in memory.messages(user)
            }
            for number, content in there.items():
                assert content == ingest.text(user, number), "a message with another text"
            losses += sum(owner == user and number not in there for owner, number in told.kept)
            assert not any((user, number) in told.gone for number in there), (
                "a deleted message is back"
            )
            kept = sorted(number for owner, number in told.kept if owner == user)
            for number in kept[-3:]:
                # A message of 600,000 characters can rank below its short neighbours.
                hits = memory.search(user, ingest.word(user, number), kinds=("message",), top_k=10)
                assert any(hit.content == there[number] for hit in hits), "a message can't be found"
            inside = [
                message.message_id
                for episode in memory.episodes(user)
                for message in episode.original_messages
            ]
            assert len(inside) == len(set(inside)), "a message is in two episodes"
    with MemorySystem(store) as memory:
        found = memory.verify()
        assert found.errors == 0, found.problems
    words = [ingest.word(user, number).encode() for user, number in told.gone]
    # Each file is read once: the store is large, and there are many words.
    for path in filter(Path.is_file, store.rglob("*")):
        data = path.read_bytes()
        assert not any(word in data for word in words), f"deleted and still in {path}"
    return losses


@POSIX
@pytest.mark.timeout(3_600)
def test_a_killed_process_loses_nothing(
    store: Path, rounds: Callable[[int, int], int], counts: Callable[..., None]
) -> None:
    told = Told()
    kills = rounds(5, 200)
    losses = 0
    place = store
    for number in range(kills):
        # Many processes die on one store, but the store does not grow for ever.
        if number % 8 == 0:
            place, told = store / str(number), Told()
        kill_one(place, number, told)
        losses += count_losses(place, told)
    counts("kills", kills=kills, losses=losses)
    assert losses == 0
