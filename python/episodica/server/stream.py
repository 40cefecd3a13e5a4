"""Changes of records for those who follow: one reader per tenant, however many follow."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator
from contextlib import suppress

from pydantic_core import to_json

from ..aio.system import AsyncMemorySystem
from ..reports import Event
from .memories import Memories
from .telemetry.metrics import Metrics

# Seconds between two looks at what is new, and between two signs of life to a client.
_LOOK_SECONDS = 0.2
_ALIVE_SECONDS = 15.0
_PAGE = 500


class Stream:
    """Wakes the followers of each tenant, and counts changes for the metrics."""

    def __init__(self, memories: Memories, metrics: Metrics) -> None:
        self._memories = memories
        self._metrics = metrics
        self._ends: dict[str, str] = {}
        self._changed = asyncio.Condition()
        self._version = 0
        self.followers = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins to look."""
        self._task = asyncio.create_task(self._look_again())

    async def stop(self) -> None:
        """Ends the followers and the looking."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self._wake()

    def _is_past(self, version: int) -> bool:
        return self._version != version

    async def _wake(self) -> None:
        async with self._changed:
            self._version += 1
            self._changed.notify_all()

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Counts what is new, and wakes the followers."""
        is_new = self._memories.is_draining
        for memory in self._memories.all():
            if not memory.closed:
                # Reads a list in memory: no thread is needed.
                page = memory._memory.events(self._ends.get(memory.tenant))
                is_new |= len(page) > 0
                self._ends[memory.tenant] = page.cursor
                self._metrics.changes(page)
        if is_new:
            await self._wake()

    async def follow(
        self, memory: AsyncMemorySystem, since: str | None, user: str | None
    ) -> AsyncIterator[bytes]:
        """The changes after a cursor as server-sent events, until the service stops."""
        self.followers += 1
        try:
            async for part in self._parts(memory, since, user):
                yield part
        finally:
            self.followers -= 1

    async def _parts(
        self, memory: AsyncMemorySystem, since: str | None, user: str | None
    ) -> AsyncIterator[bytes]:
        seen = self._version
        page = await memory.events(since or "latest", user_id=user, limit=_PAGE)
        yield f": follow\nretry: 1000\nid: {page.cursor}\n\n".encode()
        if not page.complete:
            # What was missed is no longer known: the client lists the records again.
            yield b"event: reset\ndata: {}\n\n"
        while not self._memories.is_draining:
            for event in page:
                yield _line(event)
            if not len(page):
                try:
                    async with asyncio.timeout(_ALIVE_SECONDS), self._changed:
                        await self._changed.wait_for(functools.partial(self._is_past, seen))
                except TimeoutError:
                    yield b": alive\n\n"
            if memory.closed:
                return
            seen = self._version
            page = await memory.events(page.cursor, user_id=user, limit=_PAGE)


def _line(event: Event) -> bytes:
    data = to_json(event_view(event))
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (
        event.cursor.encode(),
        event.change.encode(),
        data,
    )


def event_view(event: Event) -> dict[str, object]:
    """A change as JSON."""
    return {
        "event": event.change,
        "user": event.user_id,
        "id": event.id,
        "statement": event.statement,
        "previous": event.previous,
        "previous_id": event.previous_id,
        "evidence": list(event.evidence),
        "reason": event.reason,
        "at": event.at.isoformat(),
    }
