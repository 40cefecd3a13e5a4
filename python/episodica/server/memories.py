"""The open memories, one per tenant. The first request for a tenant opens its memory."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Sequence
from typing import Any

from ..aio.running import run
from ..aio.system import AsyncMemorySystem
from ..config import MemoryConfig
from ..records import Episode, Message, SemanticMemory
from ..system import LightweightSearchSystem
from .scratch import sweep
from .settings import ServerSettings

_LOG = logging.getLogger("episodica.server")
Listed = Message | Episode | SemanticMemory


class AsyncReader(AsyncMemorySystem):
    """A read-only memory. Requests to routes that write are refused before they reach it."""

    __slots__ = ()

    def __init__(self, path: str, **options: Any) -> None:
        self._memory = LightweightSearchSystem(path, **options)  # type: ignore[assignment]


class Memories:
    """Opens and closes the memories of a service."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._open: dict[str, AsyncMemorySystem] = {}
        # Where the events of each tenant ended when its memory was opened.
        self.starts: dict[str, str] = {}
        self._opening = asyncio.Lock()
        self.is_draining = False
        # Users with work that may be pending, for the metrics.
        self._touched: dict[tuple[str, str], None] = {}

    async def of(self, tenant: str) -> AsyncMemorySystem:
        """The memory of a tenant."""
        found = self._open.get(tenant)
        if found is not None:
            return found
        async with self._opening:
            if tenant not in self._open:
                await asyncio.to_thread(self.open, tenant)
            return self._open[tenant]

    def open(self, tenant: str) -> None:
        """Opens the memory of a tenant."""
        sweep()
        settings = self._settings
        config = MemoryConfig.load(settings.config or None)
        given: dict[str, Any] = {"timezone": settings.timezone} if settings.timezone else {}
        made = AsyncReader if settings.read_only else AsyncMemorySystem
        memory = made(settings.store, tenant=tenant, config=config, **given)
        self.starts[tenant] = memory._memory.events("latest").cursor
        self._open[tenant] = memory

    def all(self) -> list[AsyncMemorySystem]:
        """The memories that are open."""
        return list(self._open.values())

    def touched(self, tenant: str, user: str) -> None:
        """Notes that a user may have pending work."""
        self._touched[(tenant, user)] = None
        if len(self._touched) > 1_000:
            del self._touched[next(iter(self._touched))]

    async def pending(self) -> int:
        """Users with pending work, among those noted."""
        count = 0
        for tenant, user in list(self._touched):
            memory = self._open.get(tenant)
            if memory is not None and not await memory.wait(user, timeout=0):
                count += 1
            else:
                self._touched.pop((tenant, user), None)
        return count

    async def close(self, seconds: float) -> None:
        """Finishes acknowledged work and closes every memory, all in this time."""
        closing = [memory.close(seconds) for memory in self._open.values()]
        for failure in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(failure, BaseException):
                _LOG.warning("a memory was not closed: %s", failure)


async def settled(memory: AsyncMemorySystem, user: str, seconds: float) -> bool:
    """Waits for pending work without occupying a thread meanwhile."""
    deadline = asyncio.get_running_loop().time() + seconds
    pause = 0.01
    while not await memory.wait(user, timeout=0):
        if asyncio.get_running_loop().time() >= deadline:
            return False
        await asyncio.sleep(pause)
        pause = min(0.25, pause * 1.5)
    return True


async def page(
    memory: AsyncMemorySystem,
    kind: str,
    user: str,
    options: dict[str, Any],
    place: tuple[int, str] | None,
    limit: int,
) -> tuple[Sequence[Listed], tuple[int, str] | None, int]:
    """A page of a listing, the place of the next page, and how many records there are in all.

    A place is the number of records before it, and the id of the last of these. If a deletion
    moved the records up, the id tells where the place is now.
    """
    listing: Callable[..., Any] = getattr(memory._memory, kind)

    def read() -> tuple[Sequence[Listed], tuple[int, str] | None, int]:
        records = listing(user, **options)
        start = 0
        if place is not None:
            start = _start(records, place)
        found = list(itertools.islice(records[start : start + limit + 1], limit + 1))
        if len(found) <= limit:
            return found, None, len(records)
        found = found[:limit]
        return found, (start + limit, record_id(found[-1])), len(records)

    return await run(read)


def _start(records: Sequence[Listed], place: tuple[int, str]) -> int:
    count, last = place
    before = records[max(0, count - 1) : count]
    if before and record_id(before[0]) == last:
        return count
    for index, record in enumerate(records):
        if record_id(record) == last:
            return index + 1
    # That record was deleted, and perhaps some before it: begins early enough to skip none.
    return min(max(0, count - 1), len(records))


def record_id(record: Listed) -> str:
    """The id of a record of any kind."""
    if isinstance(record, Message):
        return record.message_id
    return record.episode_id if isinstance(record, Episode) else record.memory_id
