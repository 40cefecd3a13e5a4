"""``AsyncMemorySystem``: the generated coroutines, and the lifetime of the memory behind them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

from ..config import MemoryConfig
from ..models import LLM, Embedding
from ..rerankers import Reranker
from ..system import MemorySystem
from .methods import AsyncMethods, AsyncPlots
from .running import run_alone


class AsyncMemorySystem(AsyncMethods):
    """Remembers conversations without blocking the event loop.

    Parameters, errors and examples are those of :class:`MemorySystem`. ``episodes``,
    ``semantic_memories`` and ``messages`` are read by ``async for``.

    Calls run in threads of the loop's executor. A cancelled call that has not begun never begins;
    one that has begun stops at its next check, within about a tenth of a second, and what it
    committed before stays.

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

    __slots__ = ("__weakref__",)

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
        super().__init__(
            MemorySystem(
                path,
                config=config,
                tenant=tenant,
                llm=llm,
                embedding=embedding,
                reranker=reranker,
                **overrides,
            )
        )

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
        """The same memory, which shows dates in another time zone: for one of many users.

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
        other = object.__new__(type(self))
        AsyncMethods.__init__(other, self._memory.in_timezone(timezone))
        return other

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

    async def __aenter__(self) -> Self:
        self._memory.__enter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return repr(self._memory).replace("<Memory", "<AsyncMemory", 1)
