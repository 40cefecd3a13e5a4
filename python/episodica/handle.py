"""The lifetime of a native engine: open, closed, or lost to a fork.

A forked child has none of the engine's threads and shares file positions with its parent, so it
must neither use nor finalise the inherited engine. It cannot open a new one either: the thread pool
that all engines of a process share believes that it is running, and would wait for ever. Both raise
``ForkedError``.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from typing import Any

from . import _native
from .errors import ClosedError, ForkedError

# Time limit for persisting the state of a memory system that was collected without `close`.
_FINALIZER_TIMEOUT_SECONDS = 2.0

_forks = 0
# Whether this process ever had an engine, and whether its parent had one before the fork.
_used = False
_forked_after_use = False
_HINT = "start the process with the `spawn` method, or fork before the first memory is opened"
_open: weakref.WeakSet[EngineHandle] = weakref.WeakSet()
# Engines of the parent, referenced so that a forked child never frees them.
_abandoned: list[_native.Engine] = []


class EngineHandle:
    """Returns the engine while it is usable, and closes it once."""

    __slots__ = ("__weakref__", "_engine", "_finalizer", "_forks", "_lock", "_owner")

    def __init__(self, owner: object, *args: Any, **kwargs: Any) -> None:
        global _used
        self._owner = type(owner).__name__
        if _forked_after_use:
            raise ForkedError(
                f"no {self._owner} can be opened: the process was forked from one that had used "
                "episodica",
                hint=_HINT,
            )
        _used = True
        self._lock = threading.Lock()
        self._forks = _forks
        self._engine: _native.Engine | None = _native.Engine(*args, **kwargs)
        self._finalizer = weakref.finalize(self, _close_quietly, self._engine, _forks)
        _open.add(self)

    @property
    def closed(self) -> bool:
        """Whether the engine is closed or belongs to the parent process."""
        return self._engine is None or self._forks != _forks

    def get(self) -> _native.Engine:
        """The engine.

        Raises
        ------
        ClosedError, ForkedError
            If the engine is closed or belongs to the parent process.
        """
        engine = self._engine
        if self._forks != _forks:
            raise ForkedError(
                f"this {self._owner} was opened before the process was forked",
                hint=_HINT,
            )
        if engine is None:
            raise ClosedError(
                f"this {self._owner} is closed", hint=f"open it again with `{self._owner}(path)`"
            )
        return engine

    def close(self, timeout: float) -> None:
        """Closes the engine; does nothing the second time or in a forked child."""
        if self._forks != _forks:
            return
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            self._finalizer.detach()
            engine.close(timeout)


def _close_quietly(engine: _native.Engine, forks: int) -> None:
    """For engines whose owner was collected, or is still there when the interpreter ends.

    Nobody is left to hear of a failure.
    """
    if forks != _forks:
        return
    with contextlib.suppress(Exception):
        engine.close(_FINALIZER_TIMEOUT_SECONDS)


def _after_fork_in_child() -> None:
    global _forks, _forked_after_use
    _forks += 1
    _forked_after_use = _forked_after_use or _used
    _abandoned.extend(handle._engine for handle in _open if handle._engine is not None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
