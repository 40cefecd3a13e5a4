"""``AsyncMemorySystem``: the methods of ``MemorySystem`` as coroutines.

Every method hands its arguments on, word for word; checks and documentation are those of the synchronous class.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar

from . import _native
from .config import MemoryConfig
from .dates import TimeLike
from .inputs.options import Kind, Method
from .listings import AsyncRecords
from .models import LLM, Embedding
from .plot import AsyncPlots
from .progress import Progress
from .records import Episode, Message, Record, SemanticMemory
from .reports import AddResult, DeleteReport, RebuildReport, VerifyReport
from .results import Context, SearchResults
from .system import MemorySystem

P = ParamSpec("P")
T = TypeVar("T")


class AsyncMemorySystem:
    """Remembers conversations without blocking the event loop. See :class:`MemorySystem` for parameters, errors and examples.

    The records of ``episodes``, ``semantic_memories`` and ``messages`` come by ``async for``. Calls run in threads of the loop's
    executor. A cancelled call that has not begun never begins; the work of any other stops where it next looks, within a tenth of a second
    or so, and what was committed before stays.

    Examples
    --------
    >>> import asyncio
    >>> from episodica import AsyncMemorySystem
    >>> async def main():
    ...     async with AsyncMemorySystem("async_example") as memory:
    ...         await memory.add_messages("alice", [{"role": "user", "content": "I moved to Lyon."}])
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
        **overrides: Any,
    ) -> None:
        self._memory = MemorySystem(
            path, config=config, tenant=tenant, llm=llm, embedding=embedding, **overrides
        )

    @property
    def path(self) -> Path:
        """The store's directory."""
        return self._memory.path

    @property
    def tenant(self) -> str:
        """Whose part of the store this is."""
        return self._memory.tenant

    @property
    def config(self) -> MemoryConfig:
        """The settings in force."""
        return self._memory.config

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._memory.closed

    @property
    def plot(self) -> AsyncPlots:
        """Pictures, as coroutines: ``timeline(user)``, ``scores(hits)``, ``map(user)``, ``usage()``. They need ``episodica[plot]``."""
        return AsyncPlots(self._memory.plot)

    async def add_messages(
        self,
        user_id: str,
        messages: Iterable[Mapping[str, Any] | Message],
        *,
        session_id: str | None = None,
        progress: Progress = None,
    ) -> AddResult:
        """See :meth:`MemorySystem.add_messages`."""
        return await _run(
            self._memory.add_messages, user_id, messages, session_id=session_id, progress=progress
        )

    async def flush(self, user_id: str) -> list[Episode]:
        """See :meth:`MemorySystem.flush`."""
        return await _run(self._memory.flush, user_id)

    async def flush_all_buffers(self) -> dict[str, list[Episode]]:
        """See :meth:`MemorySystem.flush_all_buffers`."""
        return await _run(self._memory.flush_all_buffers)

    async def close_session(self, user_id: str, session_id: str) -> list[Episode]:
        """See :meth:`MemorySystem.close_session`."""
        return await _run(self._memory.close_session, user_id, session_id)

    async def wait(self, user_id: str | None = None, timeout: float | None = None) -> bool:
        """See :meth:`MemorySystem.wait`."""
        return await _run(self._memory.wait, user_id, timeout)

    async def search(
        self,
        user_id: str,
        query: str,
        *,
        top_k: int = 10,
        kinds: Iterable[Kind] = ("episodic", "semantic"),
        method: Method = "hybrid",
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        session_id: str | None = None,
        where: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        explain: bool = False,
        now: TimeLike | None = None,
    ) -> SearchResults:
        """See :meth:`MemorySystem.search`."""
        return await _run(
            self._memory.search,
            user_id,
            query,
            top_k=top_k,
            kinds=kinds,
            method=method,
            since=since,
            until=until,
            session_id=session_id,
            where=where,
            threshold=threshold,
            explain=explain,
            now=now,
        )

    async def context(
        self,
        user_id: str,
        query: str,
        *,
        max_tokens: int = 2000,
        kinds: Iterable[Kind] = ("episodic", "semantic", "message"),
        top_k: int | None = None,
        method: Method = "hybrid",
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        session_id: str | None = None,
        where: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        explain: bool = False,
        now: TimeLike | None = None,
    ) -> Context:
        """See :meth:`MemorySystem.context`."""
        return await _run(
            self._memory.context,
            user_id,
            query,
            max_tokens=max_tokens,
            kinds=kinds,
            top_k=top_k,
            method=method,
            since=since,
            until=until,
            session_id=session_id,
            where=where,
            threshold=threshold,
            explain=explain,
            now=now,
        )

    def episodes(
        self,
        user_id: str,
        *,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        session_id: str | None = None,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> AsyncRecords[Episode]:
        """See :meth:`MemorySystem.episodes`."""
        return AsyncRecords(
            self._memory.episodes(
                user_id,
                since=since,
                until=until,
                session_id=session_id,
                newest_first=newest_first,
                limit=limit,
            )
        )

    def semantic_memories(
        self,
        user_id: str,
        *,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        session_id: str | None = None,
        newest_first: bool = False,
        limit: int | None = None,
        include_superseded: bool = False,
    ) -> AsyncRecords[SemanticMemory]:
        """See :meth:`MemorySystem.semantic_memories`."""
        return AsyncRecords(
            self._memory.semantic_memories(
                user_id,
                since=since,
                until=until,
                session_id=session_id,
                newest_first=newest_first,
                limit=limit,
                include_superseded=include_superseded,
            )
        )

    def messages(
        self,
        user_id: str,
        *,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        session_id: str | None = None,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> AsyncRecords[Message]:
        """See :meth:`MemorySystem.messages`."""
        return AsyncRecords(
            self._memory.messages(
                user_id,
                since=since,
                until=until,
                session_id=session_id,
                newest_first=newest_first,
                limit=limit,
            )
        )

    async def get(self, user_id: str, id: str) -> Record | None:
        """See :meth:`MemorySystem.get`."""
        return await _run(self._memory.get, user_id, id)

    async def update(self, user_id: str, id: str, content: str) -> Record:
        """See :meth:`MemorySystem.update`."""
        return await _run(self._memory.update, user_id, id, content)

    async def delete(self, user_id: str, id: str) -> DeleteReport:
        """See :meth:`MemorySystem.delete`."""
        return await _run(self._memory.delete, user_id, id)

    async def history(self, user_id: str, id: str) -> list[Record]:
        """See :meth:`MemorySystem.history`."""
        return await _run(self._memory.history, user_id, id)

    async def trace(self, user_id: str, id: str) -> list[dict[str, Any]]:
        """See :meth:`MemorySystem.trace`."""
        return await _run(self._memory.trace, user_id, id)

    async def delete_user_data(self, user_id: str) -> DeleteReport:
        """See :meth:`MemorySystem.delete_user_data`."""
        return await _run(self._memory.delete_user_data, user_id)

    async def users(self) -> list[str]:
        """See :meth:`MemorySystem.users`."""
        return await _run(self._memory.users)

    async def stats(self, user_id: str | None = None) -> dict[str, Any]:
        """See :meth:`MemorySystem.stats`."""
        return await _run(self._memory.stats, user_id)

    async def health(self) -> dict[str, Any]:
        """See :meth:`MemorySystem.health`."""
        return await _run(self._memory.health)

    async def usage(self) -> dict[str, Any]:
        """See :meth:`MemorySystem.usage`."""
        return await _run(self._memory.usage)

    async def verify(
        self, user_id: str | None = None, *, progress: Progress = None
    ) -> VerifyReport:
        """See :meth:`MemorySystem.verify`."""
        return await _run(self._memory.verify, user_id, progress=progress)

    async def rebuild_indices(
        self, user_id: str | None = None, *, progress: Progress = None
    ) -> RebuildReport:
        """See :meth:`MemorySystem.rebuild_indices`."""
        return await _run(self._memory.rebuild_indices, user_id, progress=progress)

    async def load_user_data_and_indices(self, user_id: str) -> RebuildReport:
        """See :meth:`MemorySystem.load_user_data_and_indices`."""
        return await _run(self._memory.load_user_data_and_indices, user_id)

    async def retry_pending(self, user_id: str | None = None) -> int:
        """See :meth:`MemorySystem.retry_pending`."""
        return await _run(self._memory.retry_pending, user_id)

    async def close(self, timeout: float = 30.0) -> None:
        """See :meth:`MemorySystem.close`."""
        await _run(self._memory.close, timeout)

    async def __aenter__(self) -> Self:
        self._memory.__enter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return repr(self._memory).replace("<Memory", "<AsyncMemory", 1)


async def _run(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    cancellation = _native.Cancellation()
    try:
        return await asyncio.to_thread(
            cancellation.call, functools.partial(function, *args, **kwargs)
        )
    except asyncio.CancelledError:
        cancellation.cancel()
        raise
