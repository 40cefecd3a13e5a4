"""Opening a store in a new process: the time, and the memory of the process afterwards."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from pathlib import Path

from evaluation.speed.process import child
from evaluation.speed.rows import Row

TRIALS = 5


def opening(path: Path, question: str, trials: int = TRIALS) -> Iterator[Row]:
    """Medians over several processes."""
    warm = [child("evaluation.speed.fresh", str(path), question) for _ in range(trials)]
    detail = {
        "import": statistics.median(one["imported"] for one in warm),
        "runs": [one["answered"] for one in warm],
        "note": "its files are in the page cache; the import of the package is not counted",
    }
    answered = statistics.median(one["answered"] for one in warm)
    worked = statistics.median(one["cpu"] for one in warm)
    yield Row(
        "cold_open", "opening in a new process, to the first answer", answered, "ms", detail, worked
    )
    cold = []
    for _ in range(trials):
        _forget(path)
        cold.append(child("evaluation.speed.fresh", str(path), question)["answered"])
    yield Row(
        "cold_open_disk",
        "the same with its files not in the page cache",
        statistics.median(cold),
        "ms",
        {"runs": cold},
    )
    for key, name, kind in (
        ("resident", "resident memory of that process after 20 searches", "total"),
        ("resident_anonymous", "of it the process's own (RssAnon)", "anonymous"),
        ("resident_file", "of it pages of files (RssFile)", "file"),
    ):
        after, empty = (
            statistics.median(one[when][kind] for one in warm) for when in ("resident", "empty")
        )
        yield Row(key, name, after, "MB", {"empty": empty})


def _forget(path: Path) -> None:
    """Asks the kernel to drop the files' pages."""
    for file in path.rglob("*"):
        if file.is_file():
            descriptor = os.open(file, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)
