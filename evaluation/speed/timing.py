"""Comparable times: wall clock and processor time, medians and tails."""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

# Measures the processor time of an operation. While other threads run, use `time.thread_time`.
Clock = Callable[[], float]


@dataclass(slots=True)
class Times:
    """Milliseconds of one operation, run by run."""

    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)

    @property
    def p50(self) -> float:
        """Median of the wall clock."""
        return statistics.median(self.walls)

    @property
    def p99(self) -> float:
        """99th percentile of the wall clock."""
        return quantile(self.walls, 0.99)

    @property
    def cpu(self) -> float:
        """Median of processor time."""
        return statistics.median(self.cpus)

    @property
    def cpu_p99(self) -> float:
        """99th percentile of processor time."""
        return quantile(self.cpus, 0.99)

    def extend(self, others: Times) -> None:
        """Adds the runs of others."""
        self.walls += others.walls
        self.cpus += others.cpus

    def to_dict(self) -> dict[str, float]:
        """Milliseconds: median, tail, middle half of wall clock; median, tail of processor."""
        return {
            "p50": self.p50,
            "p99": self.p99,
            "p25": quantile(self.walls, 0.25),
            "p75": quantile(self.walls, 0.75),
            "cpu_p50": self.cpu,
            "cpu_p99": self.cpu_p99,
            "runs": len(self.walls),
        }


def quantile(values: Iterable[float], share: float) -> float:
    """The value below which ``share`` of the values lie; always a measured value."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def milliseconds(call: Callable[[], object]) -> float:
    """The time of one call, by the wall clock."""
    started = time.perf_counter()
    call()
    return 1_000 * (time.perf_counter() - started)


def times(
    operation: Callable[[str], object], inputs: Iterable[str], clock: Clock = time.process_time
) -> Times:
    """Runs the operation once for each input, with garbage collection off.

    Processor time is the sum over all threads, the most that an idle machine would take.
    """
    result = Times()
    gc.collect()
    gc.disable()
    try:
        for one in inputs:
            wall, cpu = time.perf_counter(), clock()
            operation(one)
            result.cpus.append(1000 * (clock() - cpu))
            result.walls.append(1000 * (time.perf_counter() - wall))
    finally:
        gc.enable()
    return result


class SyncProbe:
    """Appends a page to a file and syncs it, to measure the disk alone."""

    def __init__(self, folder: Path, size: int = 4096) -> None:
        self._path = folder / "sync-probe"
        self._page = b"x" * size
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def append(self, _: str) -> None:
        """Appends one page."""
        os.write(self._descriptor, self._page)
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Removes the file."""
        os.close(self._descriptor)
        self._path.unlink()
