"""Prometheus metrics, of all workers together.

Several workers keep their numbers in files of a common folder; the worker that is asked adds them.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter as Counting
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import BinaryIO

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
    multiprocess,
)

from ...reports import Event
from ...status import StoreStats, Usage

if sys.platform != "win32":
    import fcntl

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Where `prometheus_client` finds the common folder.
FOLDER = "PROMETHEUS_MULTIPROC_DIR"


class Metrics:
    """Counts of requests, searches and learning; sizes and costs when they are asked for."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        if not enabled:
            return
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = registry = CollectorRegistry()
        folder = os.environ.get(FOLDER)
        self._folder = None if folder is None else Path(folder)
        self._lock: BinaryIO | None = None
        counter = partial(Counter, registry=registry)
        self._requests = counter("episodica_requests", "Requests.", ("operation", "status"))
        self._seconds = Histogram(
            "episodica_request_seconds",
            "Time until the answer was sent.",
            ("operation",),
            buckets=_BUCKETS,
            registry=registry,
        )
        self._legs = counter("episodica_search_legs", "Legs that searches ran.", ("leg",))
        self._degraded = counter("episodica_degraded", "Legs that searches lacked.", ("leg",))
        of_change = "Changes of records and of facts."
        self._learned = counter("episodica_changes", of_change, ("change",))
        self._conflicts = counter("episodica_conflicts", "Facts that ended an older one.")
        gauge = partial(Gauge, registry=registry, multiprocess_mode="livesum")
        self._tokens = gauge("episodica_model_tokens", "Tokens of models.", ("phase", "side"))
        self._calls = gauge("episodica_model_calls", "Calls of models.", ("phase", "outcome"))
        self._gauges: dict[str, Gauge] = {}

    @property
    def is_shared(self) -> bool:
        """Whether other workers add their numbers."""
        return self.enabled and self._folder is not None

    def request(self, operation: str, status: int, seconds: float) -> None:
        """Counts a request."""
        if self.enabled:
            self._requests.labels(operation, str(status)).inc()
            self._seconds.labels(operation).observe(seconds)

    def search(self, legs: Iterable[str], degraded: Iterable[str]) -> None:
        """Counts the legs of a search."""
        if self.enabled:
            for leg in legs:
                self._legs.labels(leg).inc()
            for leg in degraded:
                # Only the name: with the reason after it there would be too many labels.
                self._degraded.labels(leg.partition(":")[0]).inc()

    def _counts_changes(self) -> bool:
        """Whether this worker counts changes: all workers see the same, so only one counts them."""
        if sys.platform == "win32" or self._folder is None or self._lock is not None:
            return True
        file = (self._folder / ".changes").open("wb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return False
        self._lock = file
        return True

    def changes(self, events: Iterable[Event]) -> None:
        """Counts what happened to records."""
        if self.enabled and self._counts_changes():
            for event in events:
                self._learned.labels(event.change).inc()
                if event.change == "SUPERSEDE":
                    self._conflicts.inc()

    def measure(self, stores: Iterable[tuple[StoreStats, Usage]], pending: int, path: Path) -> None:
        """Notes sizes and costs of this worker; sums over the open tenants."""
        sums: dict[str, float] = {"pending_work": pending}
        tokens: Counting[tuple[str, str]] = Counting()
        calls: Counting[tuple[str, str]] = Counting()
        for stats, usage in stores:
            counted: tuple[tuple[str, float], ...] = (
                ("users_resident", stats.open_users),
                ("resident_bytes", stats.memory_bytes),
                ("searches", stats.searches),
                ("evictions", stats.evictions),
                ("embedding_failures", stats.embedding_failures),
            )
            for name, value in counted:
                sums[name] = sums.get(name, 0) + value
            for phase, cost in usage.by_phase.items():
                tokens[phase, "prompt"] += cost.prompt_tokens
                tokens[phase, "completion"] += cost.completion_tokens
                calls[phase, "answered"] += cost.calls
                calls[phase, "failed"] += cost.failures
        for gauge, counted_by in ((self._tokens, tokens), (self._calls, calls)):
            for labels, number in counted_by.items():
                gauge.labels(*labels).set(number)
        if path.is_dir():
            sums["disk_free_bytes"] = shutil.disk_usage(path).free
        for name, value in sums.items():
            self._gauge(name).set(value)

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        if self._folder is None:
            return generate_latest(self._registry)
        for file in self._folder.glob("gauge_live*.db"):
            pid = file.stem.rpartition("_")[2]
            if not Path("/proc", pid).exists():
                multiprocess.mark_process_dead(pid, str(self._folder))  # type: ignore[no-untyped-call]
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry, str(self._folder))  # type: ignore[no-untyped-call]
        return generate_latest(registry)

    def _gauge(self, name: str) -> Gauge:
        if name not in self._gauges:
            self._gauges[name] = Gauge(
                f"episodica_{name}",
                _MEANINGS[name],
                registry=self._registry,
                multiprocess_mode="livemostrecent" if name == "disk_free_bytes" else "livesum",
            )
        return self._gauges[name]


_MEANINGS = {
    "pending_work": "Users whose episodes or facts are still to be made.",
    "users_resident": "Users in process memory.",
    "resident_bytes": "Bytes that the users in process memory take.",
    "searches": "Searches since the start.",
    "evictions": "Users closed to stay within the memory budget.",
    "embedding_failures": "Failed calls of the embedder.",
    "disk_free_bytes": "Free bytes of the store's disk.",
}
