"""Where an adapter's memory is: a path, an open ``MemorySystem``, or an ``AsyncMemorySystem``.

Every adapter takes its memory through :class:`Connection`. Adapters that name the same path share
one open system, because a store has one writer in a process. The last adapter closes the system.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import weakref
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar

from episodica import AsyncMemorySystem, InvalidInputError, MemorySystem, MissingExtraError
from episodica.awaiting import in_thread, waiting_threads
from episodica.fence import fenced_context, recalled

Where: TypeAlias = "str | os.PathLike[str] | MemorySystem | AsyncMemorySystem | Connection"
"""A path or URL, an open system, or the connection of another adapter."""

P = ParamSpec("P")
T = TypeVar("T")


class _Shared:
    """A system that connections opened, and how many of them still use it."""

    def __init__(self, memory: MemorySystem) -> None:
        self.memory = memory
        self.users = 0


_shared: dict[str, _Shared] = {}
# Reentrant: collecting garbage while the lock is held may end another connection.
_lock = threading.RLock()


class Connection:
    """An adapter's connection to a memory system.

    Parameters
    ----------
    where
        A path or URL opens a system, or shares the system that a connection opened there before. An
        open system is used and never closed. With a connection, its system is shared.

    Attributes
    ----------
    memory : MemorySystem
        The system; of an ``AsyncMemorySystem`` the synchronous system inside.

    Raises
    ------
    InvalidInputError
        For any other type.

    Examples
    --------
    >>> from episodica.adapters import Connection
    >>> with Connection("shared") as first, Connection("shared") as second:
    ...     first.memory is second.memory
    True
    """

    def __init__(self, where: Where) -> None:
        self._finalizer: weakref.finalize[[str, _Shared], Connection] | None = None
        if isinstance(where, Connection):
            where = where._joined()
        if isinstance(where, MemorySystem):
            self.memory = where
        elif isinstance(where, AsyncMemorySystem):
            self.memory = where._memory
        elif isinstance(where, (str, os.PathLike)):
            key = _key(where)
            shared = _acquire(key)
            self.memory = shared.memory
            self._finalizer = weakref.finalize(self, _release, key, shared)
        else:
            raise InvalidInputError(
                f"where must be a path or a memory system, not `{type(where).__name__}`",
                hint="pass a path, a MemorySystem or an AsyncMemorySystem",
            )

    def _joined(self) -> Where:
        """The argument for another connection to the same system: its path, or the open system."""
        return self._finalizer.peek()[2][0] if self._finalizer else self.memory  # type: ignore[index]

    def recall(self, user: str, question: str, max_tokens: int, **search: Any) -> str:
        """A context for a question, fenced as data; empty if nothing is found, or nothing asked."""
        found = self.memory.context(user, question, max_tokens=max_tokens, **search)
        return fenced_context(found) if recalled(question, found) else ""

    def close(self) -> None:
        """Ends the connection. The last connection to a path closes its memory. Idempotent."""
        if self._finalizer is not None:
            self._finalizer()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Connected:
    """What every adapter with a connection of its own can do."""

    __slots__ = ()
    _connection: Connection

    def close(self) -> None:
        """Ends the connection. The last connection to a path also closes its memory system."""
        self._connection.close()


def _key(where: str | os.PathLike[str]) -> str:
    text = os.fspath(where)
    return text if "://" in text else str(Path(text).expanduser().absolute())


def _acquire(key: str) -> _Shared:
    with _lock:
        shared = _shared.get(key)
        if shared is None or shared.memory.closed:
            shared = _shared[key] = _Shared(MemorySystem(key))
        shared.users += 1
        return shared


def _release(key: str, shared: _Shared) -> None:
    with _lock:
        shared.users -= 1
        if shared.users:
            return
        if _shared.get(key) is shared:
            del _shared[key]
        # Inside the lock: the next connection to the path must find the lock of its writer free.
        shared.memory.close()


_guards: weakref.WeakKeyDictionary[MemorySystem, threading.RLock] = weakref.WeakKeyDictionary()


def guard(memory: MemorySystem) -> threading.RLock:
    """The lock for changes that read before they write; all adapters of a system share it."""
    with _lock:
        return _guards.setdefault(memory, threading.RLock())


async def settle(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs a change in a thread and returns its result.

    A cancelled caller learns of the cancellation when the change is complete: no later call can
    overtake it, and nothing is left half done.
    """
    return await outlive(in_thread(waiting_threads(), function, *args, **kwargs))


async def outlive(work: Awaitable[T]) -> T:
    """Awaits ``work`` to its end; only then raises a cancellation that arrived before."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        with contextlib.suppress(asyncio.CancelledError):
            task.exception()  # seen, so that asyncio does not report it as lost
        raise cancelled
    return task.result()


def missing(extra: str, error: ImportError) -> MissingExtraError:
    """The error of an adapter without its framework."""
    return MissingExtraError(
        f"episodica.adapters.{extra} needs the package `{error.name}`",
        hint=f"pip install 'episodica[{extra}]'",
    )
