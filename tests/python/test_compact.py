"""Logs become smaller: by ``compact``, and by themselves when more than half of them is dead."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from episodica import LightweightSearchSystem, MemorySystem


def test_a_fact_that_is_corrected_often_takes_little_room(memory: MemorySystem) -> None:
    fact = memory.remember("al", "Al owns no boats.")
    for number in range(1_500):
        memory.update("al", fact.memory_id, f"Al owns {number} boats.")
    report = memory.compact("al")
    assert report.users == 1
    assert 0 < report.bytes_after <= report.bytes_before < 600_000
    history = memory.history("al", fact.memory_id)
    last = [f"Al owns {number} boats." for number in range(1_491, 1_500)]
    assert [one.content for one in history][-9:] == last
    assert memory.compact().bytes_after == report.bytes_after
    assert memory.verify("al").errors == 0


def test_readers_of_other_processes_go_on(tmp_path: Path) -> None:
    with MemorySystem(tmp_path / "store") as memory:
        fact = memory.remember("al", "Al owns no boats.")
        with LightweightSearchSystem(tmp_path / "store") as reader:
            for number in range(30):
                memory.update("al", fact.memory_id, f"Al owns {number} boats.")
                if number % 10 == 5:
                    memory.compact("al")
                (read,) = reader.semantic_memories("al")
                assert read.content == f"Al owns {number} boats."


_UPDATES = """
import sys
from episodica import MemorySystem
memory = MemorySystem(sys.argv[1])
fact = memory.remember("al", "Al owns no boats.")
for number in range(1_000_000):
    memory.update("al", fact.memory_id, f"Al owns {number} boats.")
    print(number, flush=True)
    if number % 3 == 2:
        memory.compact("al")
"""


def test_a_process_that_is_killed_while_it_compacts_loses_nothing(tmp_path: Path) -> None:
    for round_ in range(3):
        store = tmp_path / f"store{round_}"
        worker = subprocess.Popen(
            [sys.executable, "-c", _UPDATES, os.fspath(store)], stdout=subprocess.PIPE, text=True
        )
        assert worker.stdout is not None
        for _ in range(10 + 7 * round_):
            worker.stdout.readline()
        worker.kill()
        rest = worker.stdout.read().split("\n")
        worker.wait(60)
        worker.stdout.close()
        acknowledged = max([9 + 7 * round_, *(int(line) for line in rest[:-1] if line)])
        with MemorySystem(store) as memory:
            (fact,) = memory.semantic_memories("al")
            number = int(fact.content.split()[2])
            assert number in (acknowledged, acknowledged + 1)
            assert memory.verify("al").errors == 0
