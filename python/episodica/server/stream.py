"""Changes of records for clients that follow them: one look per tenant, however many follow.

The logs are the stream, so a client that comes back with the id of its last event misses nothing,
whatever happened to this process. The cursor of a tenant with very many users is too long for a
header: then the id names a cursor that this process keeps, and after a restart the client is told
to list the records again.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from pydantic_core import to_json

from ..aio.system import AsyncMemorySystem
from ..errors import ClosedError, EpisodicaError
from ..reports import Event
from . import views
from .keys import KeyRing
from .limits import Budget, Shared
from .memories import Memories
from .settings import ServerSettings
from .telemetry.metrics import Metrics

# Seconds between two looks for new events, and between two keep-alive comments to a client.
_LOOK_SECONDS = 0.2
_ALIVE_SECONDS = 15.0
_PAGE = 500
# Seconds until what failed is tried again.
_OUTAGE_SECONDS = 1.0
_LOG = logging.getLogger("episodica.server")
# The largest share of the time that looks may take: with very many users, they are less frequent.
_LOOKS_SHARE = 0.1
# The most characters of an id in a header, and the most longer cursors that are kept by a name.
_MAX_ID = 4_000
_KEPT_CURSORS = 1_000


def followers_of(settings: ServerSettings, shared: Shared) -> Budget:
    """How many clients may follow events."""
    most, share, workers = settings.max_streams, settings.key_share, settings.workers
    return Budget(shared, "streams", most, share, workers)


class Stream:
    """Wakes the followers of each tenant, and counts changes for the metrics."""

    def __init__(
        self, memories: Memories, metrics: Metrics, keys: KeyRing, followers: Budget
    ) -> None:
        self._memories = memories
        self._metrics = metrics
        self._keys = keys
        self._keys_version: object = None
        self.followers = followers
        self._ends: dict[str, str] = {}
        self._changed = asyncio.Condition()
        self._version = 0
        self._kept: OrderedDict[str, str] = OrderedDict()
        self._looking = asyncio.Lock()
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
        pause = _LOOK_SECONDS
        while True:
            await asyncio.sleep(pause)
            started = time.monotonic()
            try:
                await self.look()
            except EpisodicaError as error:
                # An outage ends, and then events go on.
                _LOG.warning("cannot look for changes: %s", error.kind)
                pause = _OUTAGE_SECONDS
            else:
                pause = max(_LOOK_SECONDS, (time.monotonic() - started) / _LOOKS_SHARE)

    async def look(self) -> None:
        """Counts new events, once for all followers, and wakes the followers."""
        async with self._looking:
            await self._look()

    async def _look(self) -> None:
        is_new = self._memories.is_draining
        version: object = None
        with suppress(EpisodicaError):
            version = self._keys.version()
        # Wakes the followers after a change of keys, so that those without a valid key end.
        is_new |= version != self._keys_version
        self._keys_version = version
        for memory in self._memories.all():
            tenant = memory.tenant
            try:
                page = await memory.events(self._ends.get(tenant, self._memories.starts[tenant]))
            except ClosedError:
                continue
            is_new |= len(page) > 0
            self._ends[tenant] = page.cursor
            self._metrics.changes(page)
        if is_new:
            await self._wake()

    def cursor_of(self, last_event_id: str | None) -> str | None:
        """The cursor that an id stands for; ``None`` if this process does not know the id."""
        if last_event_id is None or not last_event_id.startswith("~"):
            return last_event_id or "latest"
        return self._kept.get(last_event_id)

    def _id_of(self, cursor: str) -> str:
        if len(cursor) <= _MAX_ID:
            return cursor
        name = f"~{hashlib.sha256(cursor.encode()).hexdigest()[:32]}"
        self._kept[name] = cursor
        self._kept.move_to_end(name)
        if len(self._kept) > _KEPT_CURSORS:
            self._kept.popitem(last=False)
        return name

    async def follow(
        self,
        memory: AsyncMemorySystem,
        since: str | None,
        user: str | None,
        is_allowed: Callable[[], bool],
    ) -> AsyncIterator[bytes]:
        """The changes after a cursor as server-sent events.

        The stream ends when the service stops, and when ``is_allowed`` is no longer true.
        """
        seen = self._version
        cursor = self.cursor_of(since)
        page = await memory.events(cursor or "latest", user_id=user, limit=_PAGE)
        start = cursor if cursor is not None and cursor != "latest" else page.cursor
        yield f": follow\nretry: 1000\nid: {self._id_of(start)}\n\n".encode()
        if cursor is None:
            # The missed events are lost: the client lists the records again.
            yield b"event: reset\ndata: {}\n\n"
        while is_allowed() and not self._memories.is_draining:
            for event in page:
                yield self._line(event)
            if not len(page):
                try:
                    async with asyncio.timeout(_ALIVE_SECONDS), self._changed:
                        await self._changed.wait_for(functools.partial(self._is_past, seen))
                except TimeoutError:
                    yield b": alive\n\n"
            if memory.closed:
                return
            seen = self._version
            try:
                page = await memory.events(page.cursor, user_id=user, limit=_PAGE)
            except ClosedError:
                return
            except EpisodicaError:
                # After an outage the stream goes on where it was.
                page = dataclasses.replace(page, events=())
                await asyncio.sleep(_OUTAGE_SECONDS)
                yield b": alive\n\n"

    def _line(self, event: Event) -> bytes:
        # In a page of very many users, an event has no cursor: the last id before it stays valid.
        told = f"id: {self._id_of(event.cursor)}\n" if event.cursor else ""
        data = to_json(views.event(event))
        return b"%bevent: %b\ndata: %b\n\n" % (told.encode(), event.change.encode(), data)
