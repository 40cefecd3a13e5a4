"""Our search beside the alternatives: the same questions in turns, under the same load."""

from __future__ import annotations

import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from episodica import MemorySystem
from evaluation.benchmarks.process import disk_megabytes, environment, memory_disk
from evaluation.benchmarks.rivals import RIVALS, Rival, missing
from evaluation.benchmarks.searching import ALL, MESSAGES
from evaluation.benchmarks.stores import USER, Store, asked_vectors, cache_folder
from evaluation.benchmarks.timing import Times, spread, times

ROUNDS = 5
EACH = 20
WARM_UP = 10
# Fewer questions than this are asked of who takes long for one.
_LEAST = 2
_PATIENCE_SECONDS = 20.0


class GivenUpError(Exception):
    """A rival was given up."""


def beside(store: Store, minutes: float) -> Iterator[dict[str, Any]]:
    """For each rival its figures and how they compare with ours, or the reason why there are none.

    ``minutes`` is how long building one may take.
    """
    with tempfile.TemporaryDirectory(dir=cache_folder()) as top, MemorySystem(store.path) as memory:
        folder = Path(top)
        questions = laid_out(memory, store, folder)
        for name, rival in RIVALS.items():
            about = {"name": name, "package": rival.package, "part": rival.part, "does": rival.does}
            reason = missing(rival)
            if not reason:
                try:
                    yield {
                        **about,
                        "reason": "",
                        **_measured(memory, name, rival, folder, questions, 60 * minutes),
                    }
                    continue
                except GivenUpError as error:
                    reason = str(error)
            yield {**about, "reason": reason}


def laid_out(memory: MemorySystem, store: Store, folder: Path) -> list[str]:
    """Writes the input of the rivals: texts and vectors of messages and questions.

    Returns the questions.
    """
    ids, rows = store.vectors()
    contents = {message.message_id: message.content for message in memory.messages(USER)}
    vectors = asked_vectors(memory, store.questions[: WARM_UP + 2 * ROUNDS * EACH])
    # A question without a word that the embedder knows has no nearest vector.
    questions = [
        text for text in dict.fromkeys(store.questions) if text in vectors and vectors[text].any()
    ][: WARM_UP + ROUNDS * EACH]
    given = {"texts": [contents[identity] for identity in ids], "questions": questions}
    (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
    np.save(folder / "rows.npy", np.ascontiguousarray(rows))
    np.save(folder / "asked.npy", np.stack([vectors[text] for text in questions]))
    return questions


def _measured(
    memory: MemorySystem,
    name: str,
    rival: Rival,
    folder: Path,
    questions: list[str],
    seconds: float,
) -> dict[str, Any]:
    ours: dict[str, Callable[[str], object]] = {
        "bm25": lambda text: memory.search(USER, text, kinds=MESSAGES, method="bm25"),
        "vector": lambda text: memory.search(USER, text, kinds=MESSAGES, method="vector"),
        "hybrid": lambda text: memory.search(USER, text, kinds=MESSAGES),
    }
    part, whole = ours[rival.part], lambda text: memory.search(USER, text, kinds=ALL)
    theirs, parts, wholes = Times(), Times(), Times()
    with (
        tempfile.TemporaryDirectory(dir=_own_folder(rival, folder)) as own,
        _Process(name, folder, Path(own), seconds) as process,
    ):
        ready = process.ready
        warm = process.ask(0, min(WARM_UP, len(questions)))
        times(part, questions[:WARM_UP])
        times(whole, questions[:WARM_UP])
        # Who takes a second for a question is asked fewer.
        each = max(
            _LEAST, min(EACH, round(1000 * _PATIENCE_SECONDS / ROUNDS / max(1e-3, warm.p50)))
        )
        for number in range(ROUNDS):
            start = WARM_UP + number * each
            end = min(start + each, len(questions))
            if start >= end:
                break
            theirs.extend(process.ask(start, end))
            parts.extend(times(part, questions[start:end]))
            wholes.extend(times(whole, questions[start:end]))
    return {
        **ready,
        **theirs.to_dict(),
        "ours_part": parts.to_dict(),
        "ours_whole": wholes.to_dict(),
        "against_part": ratios(theirs.walls, parts.walls),
        "against_whole": ratios(theirs.walls, wholes.walls),
        "against_part_cpu": statistics.median(theirs.cpus) / statistics.median(parts.cpus),
    }


def _own_folder(rival: Rival, folder: Path) -> Path:
    """Where it writes. What is laid out is about as large as what it makes of that."""
    return (memory_disk(disk_megabytes(folder)) if rival.syncs_each else None) or folder


def ratios(theirs: list[float], ours: list[float]) -> dict[str, float]:
    """How many times as long they take, question by question: median and middle half."""
    return spread([one / other for one, other in zip(theirs, ours, strict=True)])


class _Process:
    """A rival's process: ready when it is entered, gone afterwards."""

    def __init__(self, name: str, folder: Path, own: Path, seconds: float) -> None:
        self._name, self._folder, self._own, self._seconds = name, folder, own, seconds
        self.ready: dict[str, Any] = {}

    def __enter__(self) -> Self:
        reading, writing = os.pipe()
        # A file, as a pipe that nobody reads would stop who writes much.
        self._told = tempfile.TemporaryFile()
        self._answers = os.fdopen(reading, "rb", buffering=0)
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "evaluation.benchmarks.rivals",
                self._name,
                str(self._folder),
                str(self._own),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._told,
            pass_fds=(writing,),
            env={**environment(), "RIVAL_ANSWERS": str(writing), "HOME": str(self._own)},
        )
        os.close(writing)
        try:
            self.ready = self._line(
                self._seconds, f"not built within {self._seconds / 60:.3g} minutes"
            )
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._answers.close()
        self._told.close()

    def ask(self, start: int, end: int) -> Times:
        """Times of a range of the questions."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{start} {end}\n".encode())
        self._process.stdin.flush()
        figures = self._line(
            self._seconds,
            f"took more than {self._seconds / 60:.3g} minutes for {end - start} questions",
        )
        return Times(figures["walls"], figures["cpus"])

    def _line(self, seconds: float, late: str) -> dict[str, Any]:
        line, until = b"", time.monotonic() + seconds
        while not line.endswith(b"\n"):
            if not select.select([self._answers], [], [], max(0.0, until - time.monotonic()))[0]:
                raise GivenUpError(late)
            piece = self._answers.read(65_536)
            if not piece:
                self._process.wait()
                self._told.seek(0)
                told = self._told.read().decode(errors="replace").strip().splitlines()
                raise GivenUpError(f"failed: {told[-1][:200] if told else 'without a word'}")
            line += piece
        result: dict[str, Any] = json.loads(line)
        return result
