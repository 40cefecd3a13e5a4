"""Times that can be compared: wall clock beside processor time, medians and tails, never a single run."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path


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
        """Median of the calling thread's processor time: what a quiet machine would take."""
        return statistics.median(self.cpus)

    @property
    def spread(self) -> tuple[float, float]:
        """The middle half of the wall clock."""
        return quantile(self.walls, 0.25), quantile(self.walls, 0.75)

    def to_dict(self) -> dict[str, float]:
        """All figures, in milliseconds."""
        low, high = self.spread
        return {"p50": self.p50, "p99": self.p99, "cpu_p50": self.cpu, "p25": low, "p75": high, "runs": len(self.walls)}


def quantile(values: Iterable[float], share: float) -> float:
    """The value below which ``share`` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def times(operation: Callable[[str], object], inputs: Iterable[str]) -> Times:
    """Runs the operation once for each input, with the collector of garbage out of the way."""
    result = Times()
    gc.collect()
    gc.disable()
    try:
        for one in inputs:
            wall, cpu = time.perf_counter(), time.thread_time()
            operation(one)
            result.cpus.append(1000 * (time.thread_time() - cpu))
            result.walls.append(1000 * (time.perf_counter() - wall))
    finally:
        gc.enable()
    return result


def resident_megabytes() -> float:
    """What this process has in memory now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6


def sync_milliseconds(folder: Path, size: int = 4096, count: int = 100) -> Times:
    """What the disk takes to make an appended page durable."""
    import os

    path = folder / "sync-probe"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:

        def append(_: str) -> None:
            os.write(descriptor, b"x" * size)
            os.fdatasync(descriptor)

        return times(append, map(str, range(count)))
    finally:
        os.close(descriptor)
        path.unlink()
