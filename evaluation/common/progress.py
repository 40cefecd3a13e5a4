"""A progress bar with an estimate of the time left, on stderr.

A plain line now and then where that is no terminal.
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self, TextIO

_CELLS = 24
_SECONDS_BETWEEN_LINES = 15.0


class Progress:
    """Counts finished items of a stage; ``done`` items were finished in an earlier run."""

    def __init__(self, label: str, total: int, done: int = 0, stream: TextIO | None = None) -> None:
        self._label, self._total, self._done, self._start = label, total, done, done
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._lock = threading.Lock()
        self._started = self._drawn = time.monotonic()

    def step(self, items: int = 1) -> None:
        """Counts finished items."""
        with self._lock:
            self._done += items
            now = time.monotonic()
            if now - self._drawn >= (0.1 if self._terminal else _SECONDS_BETWEEN_LINES):
                self._drawn = now
                self._stream.write(
                    f"\r{self.line(now)}\033[K" if self._terminal else f"{self.line(now)}\n"
                )
                self._stream.flush()

    def line(self, now: float) -> str:
        """The bar as text."""
        filled = _CELLS * self._done // max(self._total, 1)
        made = self._done - self._start
        left = (
            f", {(self._total - self._done) * (now - self._started) / made:.0f} s left"
            if made
            else ""
        )
        bar = "#" * filled + "-" * (_CELLS - filled)
        return f"{self._label:<22} [{bar}] {self._done}/{self._total}{left}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._terminal:
            self._stream.write("\r\033[K")
        state = "" if error is None else " (stopped)"
        seconds = time.monotonic() - self._started
        resumed = f", {self._start} of them from an earlier run" if self._start else ""
        self._stream.write(
            f"{self._label:<22} {self._done}/{self._total}{state} in {seconds:.1f} s{resumed}\n"
        )
        self._stream.flush()
