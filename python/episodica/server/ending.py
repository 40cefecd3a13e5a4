"""One deadline for the end of a process, whatever hangs. Knows no framework."""

from __future__ import annotations

import logging
import os
import threading
import time

from .. import _native

_LOG = logging.getLogger("episodica.server")
# The part of the time that requests under way get; the rest is for closing the memory.
_FOR_REQUESTS = 0.75
# Seconds that the interpreter may take once everything is closed. It waits for threads, and a call
# that never returns keeps its thread.
_LAST_SECONDS = 2.0
# Seconds after the deadline at which a process is killed that can't run Python any more.
_SPARE_SECONDS = 1.0


class Deadline:
    """The time at which the process ends, counted from the first signal."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._at: float | None = None
        self._closed = threading.Event()

    @property
    def for_requests(self) -> float:
        """Seconds that requests under way may go on."""
        return self._seconds * _FOR_REQUESTS

    @property
    def for_closing(self) -> float:
        """Seconds that are kept for closing the memory."""
        return self._seconds - self.for_requests

    @property
    def left(self) -> float:
        """Seconds that are left for closing."""
        if self._at is None:
            return self._seconds
        return max(0.0, self._at - time.monotonic())

    def arm(self) -> None:
        """Makes a signal end the process even while a call never lets Python run.

        Call this after the handlers of signals are set: each replaces those before it.
        """
        _native.end_after_signal(self._seconds + _SPARE_SECONDS)

    def disarm(self) -> None:
        """Takes :meth:`arm` back, unless a signal has arrived."""
        _native.end_after_signal(None)

    def begin(self) -> None:
        """Starts the clock; the second call does nothing."""
        if self._at is None:
            self._at = time.monotonic() + self._seconds
            threading.Thread(target=self._end, name="deadline", daemon=True).start()

    def closed(self) -> None:
        """Notes that the memory is closed: now only threads can delay the end."""
        self._closed.set()

    def _end(self) -> None:
        if self._closed.wait(self.left):
            time.sleep(min(_LAST_SECONDS, self.left + 0.5))
        else:
            _LOG.warning("the process ends with calls under way")
        logging.shutdown()
        # Acknowledged messages are on disk; a thread that hangs has nothing to lose.
        os._exit(0)
