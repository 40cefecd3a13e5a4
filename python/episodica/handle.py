"""The lifetime of a native engine: open, closed, or made anew after a fork.

A forked child has none of the engine's threads, and its locks may be held by threads that it does
not have. So a child neither uses nor frees the inherited engine: it opens its own engine at its
first use, with the same arguments. To the store, the child is just another process.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from typing import Any

from . import _native
from .errors import ClosedError

# Time limit for persisting the state of a memory system that was collected without `close`.
_FINALIZER_TIMEOUT_SECONDS = 2.0

_forks = 0
_open: weakref.WeakSet[EngineHandle] = weakref.WeakSet()


class EngineHandle:
    """Returns the engine while it is usable, and closes it once."""

    __slots__ = ("__weakref__", "_arguments", "_engine", "_finalizer", "_forks", "_lock", "_owner")

    def __init__(self, owner: object, *args: Any, **kwargs: Any) -> None:
        self._owner = type(owner).__name__
        self._arguments = (args, kwargs)
        self._lock = threading.Lock()
        self._open()

    def _open(self) -> _native.Engine:
        args, kwargs = self._arguments
        engine = _native.Engine(*args, **kwargs)
        self._forks = _forks
        self._engine: _native.Engine | None = engine
        self._finalizer = weakref.finalize(self, _close_quietly, engine, _forks)
        _open.add(self)
        return engine

    @property
    def closed(self) -> bool:
        """Whether the engine is closed."""
        return self._engine is None

    def get(self) -> _native.Engine:
        """The engine. A forked process gets its own engine, not its parent's."""
        engine = self._engine
        if engine is None:
            raise ClosedError(
                f"this {self._owner} is closed", hint=f"open it again with `{self._owner}(path)`"
            )
        if self._forks == _forks:
            return engine
        with self._lock:
            if self._engine is not None and self._forks == _forks:
                return self._engine
            return self._open()

    def close(self, timeout: float) -> None:
        """Closes the engine; does nothing the second time.

        In a forked child that has not used it, the parent's engine stays as it is.
        """
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            self._finalizer.detach()
            if self._forks == _forks:
                engine.close(timeout)

    def _abandon(self) -> None:
        """Gives up the parent's engine and lock, which a thread missing in the child may hold."""
        self._lock = threading.Lock()
        self._finalizer.detach()
        if self._engine is not None:
            self._engine.abandon()


def _close_quietly(engine: _native.Engine, forks: int) -> None:
    """Closes an engine whose owner was collected, or still exists when the interpreter ends.

    A failure can no longer be reported.
    """
    if forks != _forks:
        return
    with contextlib.suppress(Exception):
        engine.close(_FINALIZER_TIMEOUT_SECONDS)


def _after_fork_in_child() -> None:
    global _forks
    _forks += 1
    _native.after_fork_in_child()
    _give_up_locks(_native.locked_files())
    for handle in list(_open):
        handle._abandon()


def _give_up_locks(files: list[int]) -> None:
    """Closes the child's copies of the locked files that the parent had open at the fork.

    A lock lasts as long as any copy is open: if the parent were killed, its locks would last as
    long as the child.
    """
    if not files:
        return
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for file in files:
        with contextlib.suppress(OSError):
            os.dup2(nothing, file, inheritable=False)
    os.close(nothing)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_native.before_fork,
        after_in_parent=_native.after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
