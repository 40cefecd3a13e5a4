"""The asynchronous classes: coroutines for the methods of the synchronous classes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, Self, overload

from ..awaiting import Awaiter
from ..config import MemoryConfig, resolve_config
from ..following import EventStream
from ..models import LLM, Embedding
from ..plot import Plots
from ..records import Episode
from ..reports import Events, LearningReport
from ..rerankers import Reranker
from ..sessions import SessionReport
from ..system import MemorySystem
from .recalling import async_recall
from .running import run_alone
from .wrapping import async_listing, awaits, coroutine


class AsyncPlots:
    """The charts of :class:`Plots` as coroutines: ``timeline``, ``scores``, ``map``, ``usage``."""

    __slots__ = ("_memory",)

    def __init__(self, plots: Plots) -> None:
        self._memory = plots

    timeline = coroutine(Plots.timeline)
    scores = coroutine(Plots.scores)
    map = coroutine(Plots.map)
    usage = coroutine(Plots.usage)


class AsyncMemorySystem:
    """Remembers conversations without blocking the event loop.

    Parameters, errors and examples are those of :class:`MemorySystem`. ``episodes``,
    ``semantic_memories`` and ``messages`` are read by ``async for``.

    Calls run in threads of the loop's executor, those that may wait for a coroutine function in
    other threads. A cancelled call that has not begun never begins; one that has begun stops at its
    next check, within about a tenth of a second, and keeps its earlier commits.

    Coroutine functions given as ``llm``, ``embedding``, ``reranker`` or callback are awaited on the
    loop on which the memory was made, entered or first called.

    Examples
    --------
    >>> import asyncio
    >>> from episodica import AsyncMemorySystem
    >>> async def main():
    ...     async with AsyncMemorySystem("async_example") as memory:
    ...         message = {"role": "user", "content": "I moved to Lyon."}
    ...         await memory.add_messages("alice", [message])
    ...         return [message.content async for message in memory.messages("alice")]
    >>> asyncio.run(main())
    ['I moved to Lyon.']
    """

    __slots__ = ("__weakref__", "_memory")

    def __init__(
        self,
        path: str | os.PathLike[str] = "memories",
        *,
        config: MemoryConfig | None = None,
        tenant: str = "default",
        llm: LLM | None = None,
        embedding: Embedding | None = None,
        reranker: Reranker | None = None,
        **overrides: Any,
    ) -> None:
        self._memory = object.__new__(MemorySystem)
        settings = resolve_config(config, overrides)
        awaiter = Awaiter(follows=True)
        self._memory._open(awaiter, path, tenant, settings, llm, embedding, reranker)

    @classmethod
    def _around(cls, memory: MemorySystem) -> Self:
        """An asynchronous memory around an open synchronous one."""
        made = object.__new__(cls)
        made._memory = memory
        return made

    @property
    def path(self) -> Path:
        """The store's directory; an error if it is a database."""
        return self._memory.path

    @property
    def store(self) -> str:
        """Where the store is: its directory, or the address of a database without secrets."""
        return self._memory.store

    @property
    def tenant(self) -> str:
        """The tenant."""
        return self._memory.tenant

    @property
    def config(self) -> MemoryConfig:
        """The settings in force."""
        return self._memory.config

    @property
    def closed(self) -> bool:
        """Whether the system is closed."""
        return self._memory.closed

    @property
    def plot(self) -> AsyncPlots:
        """Charts, as coroutines: ``timeline(user)``, ``scores(hits)``, ``map(user)``, ``usage()``.

        They need ``episodica[plot]``.
        """
        return AsyncPlots(self._memory.plot)

    def in_timezone(self, timezone: str) -> Self:
        """The same memory with dates in another time zone, such as that of one of many users.

        Parameters
        ----------
        timezone
            A name such as ``"Europe/Paris"`` or an offset such as ``"+08:00"``.

        Returns
        -------
        AsyncMemorySystem
            The same memory; closing either closes both.

        Raises
        ------
        InvalidInputError
            For an unknown zone.

        Examples
        --------
        >>> there = memory.in_timezone("Asia/Shanghai")
        >>> [str(message.timestamp) async for message in there.messages("alice", limit=1)]
        ['2024-03-11 16:30:00+08:00']
        """
        return self._around(self._memory.in_timezone(timezone))

    async def close(self, timeout: float = 30.0) -> None:
        """Closes the system. A second call does nothing.

        Finishes pending work for at most ``timeout`` seconds and persists the rest, in a thread of
        its own: calls that hang in the loop's threads don't delay it.

        Parameters
        ----------
        timeout
            Seconds to spend on pending work, 0 or more.

        Raises
        ------
        InvalidInputError
            For a negative ``timeout``.

        Examples
        --------
        >>> await memory.close(timeout=5)
        >>> memory.closed
        True
        """
        await run_alone(self._memory.close, timeout)

    add_messages = coroutine(MemorySystem.add_messages)
    estimate = coroutine(MemorySystem.estimate)
    remember = coroutine(MemorySystem.remember)
    remember_procedure = coroutine(MemorySystem.remember_procedure)
    import_ = coroutine(MemorySystem.import_)
    flush = coroutine(MemorySystem.flush)
    flush_all_buffers = coroutine(MemorySystem.flush_all_buffers)
    retry_pending = coroutine(MemorySystem.retry_pending)

    search = coroutine(MemorySystem.search)
    context = coroutine(MemorySystem.context)
    recall = async_recall(MemorySystem.recall)
    explain = coroutine(MemorySystem.explain)

    messages = async_listing(MemorySystem.messages)
    episodes = async_listing(MemorySystem.episodes)
    semantic_memories = async_listing(MemorySystem.semantic_memories)
    get = coroutine(MemorySystem.get)
    history = coroutine(MemorySystem.history)
    trace = coroutine(MemorySystem.trace)
    profile = coroutine(MemorySystem.profile)
    changes = coroutine(MemorySystem.changes)
    ls = coroutine(MemorySystem.ls)
    tree = coroutine(MemorySystem.tree)
    read = coroutine(MemorySystem.read)
    explore = coroutine(MemorySystem.explore)
    sessions = coroutine(MemorySystem.sessions)

    update = coroutine(MemorySystem.update)
    delete = coroutine(MemorySystem.delete)
    delete_where = coroutine(MemorySystem.delete_where)
    delete_user_data = coroutine(MemorySystem.delete_user_data)
    forgetting = coroutine(MemorySystem.forgetting)
    archive = coroutine(MemorySystem.archive)
    close_fact = coroutine(MemorySystem.close_fact)
    keep_change = coroutine(MemorySystem.keep_change)
    restore = coroutine(MemorySystem.restore)

    export = coroutine(MemorySystem.export)
    backup = coroutine(MemorySystem.backup)

    users = coroutine(MemorySystem.users)
    stats = coroutine(MemorySystem.stats)
    health = coroutine(MemorySystem.health)
    usage = coroutine(MemorySystem.usage)
    on_event = coroutine(MemorySystem.on_event)
    verify = coroutine(MemorySystem.verify)

    load_user_data_and_indices = coroutine(MemorySystem.load_user_data_and_indices)
    rebuild_indices = coroutine(MemorySystem.rebuild_indices)
    compact = coroutine(MemorySystem.compact)

    @overload
    async def wait(
        self,
        user_id: str | None = None,
        timeout: float | None = None,
        *,
        report: Literal[False] = False,
        since: str | None = None,
    ) -> bool: ...
    @overload
    async def wait(
        self,
        user_id: str | None = None,
        timeout: float | None = None,
        *,
        report: Literal[True],
        since: str | None = None,
    ) -> LearningReport: ...
    @overload
    async def wait(
        self,
        user_id: str | None = None,
        timeout: float | None = None,
        *,
        report: bool,
        since: str | None = None,
    ) -> bool | LearningReport: ...
    @awaits(MemorySystem.wait)
    async def wait(self, *args: Any, **options: Any) -> Any: ...

    @overload
    async def close_session(
        self,
        user_id: str,
        session_id: str,
        *,
        wait: Literal[False] = False,
        timeout: float | None = None,
    ) -> list[Episode]: ...
    @overload
    async def close_session(
        self, user_id: str, session_id: str, *, wait: Literal[True], timeout: float | None = None
    ) -> SessionReport: ...
    @overload
    async def close_session(
        self, user_id: str, session_id: str, *, wait: bool, timeout: float | None = None
    ) -> list[Episode] | SessionReport: ...
    @awaits(MemorySystem.close_session)
    async def close_session(self, *args: Any, **options: Any) -> Any: ...

    @overload
    async def events(
        self,
        since: str | None = None,
        *,
        user_id: str | None = None,
        limit: int = 1000,
        follow: Literal[False] = False,
    ) -> Events: ...
    @overload
    async def events(
        self,
        since: str | None = None,
        *,
        user_id: str | None = None,
        limit: int = 1000,
        follow: Literal[True],
    ) -> EventStream: ...
    @overload
    async def events(
        self,
        since: str | None = None,
        *,
        user_id: str | None = None,
        limit: int = 1000,
        follow: bool,
    ) -> Events | EventStream: ...
    @awaits(MemorySystem.events)
    async def events(self, *args: Any, **options: Any) -> Any: ...

    async def __aenter__(self) -> Self:
        self._memory._awaiter.enter()
        self._memory.__enter__()
        return self

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        import asyncio

        # A call that was cancelled may have waited for a model that never answers.
        if isinstance(error, asyncio.CancelledError):
            await self.close(timeout=0)
        else:
            await self.close()

    def __repr__(self) -> str:
        return repr(self._memory).replace("<Memory", "<AsyncMemory", 1)
