"""How many requests are worked on at the same time. Knows no framework."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from starlette.types import Scope

from .problems import ServiceError
from .settings import ServerSettings


class Slots:
    """How many requests are worked on at the same time, in all and for each key."""

    def __init__(self, settings: ServerSettings) -> None:
        working = -(-settings.max_concurrency // settings.workers)
        self._most = working + -(-settings.max_waiting // settings.workers)
        self._most_of_one = max(1, round(self._most * settings.key_share))
        self._working_of_one = max(1, round(working * settings.key_share))
        self._slots = asyncio.Semaphore(working)
        self._under_way: Counter[str | None] = Counter()
        self._of_key: dict[str, asyncio.Semaphore] = {}

    @contextmanager
    def entered(self, key: str | None) -> Iterator[None]:
        """Counts a request from its beginning to the end of its answer."""
        of_one = self._under_way[key] + 1
        if self._under_way.total() >= self._most or (key and of_one > self._most_of_one):
            raise ServiceError(503, "too many requests at the same time")
        self._under_way[key] += 1
        try:
            yield
        finally:
            self._under_way[key] -= 1
            if not self._under_way[key]:
                del self._under_way[key]
                self._of_key.pop(key or "", None)

    async def take(self, key: str | None) -> Slot:
        """Waits for the right to be worked on."""
        needed = [self._slots]
        if key:
            own = self._of_key.setdefault(key, asyncio.Semaphore(self._working_of_one))
            needed.insert(0, own)
        slot = Slot(needed)
        await slot.take()
        return slot


class Slot:
    """The right to run. It is given back when the work is done, not when its result is read."""

    def __init__(self, needed: list[asyncio.Semaphore]) -> None:
        self._needed = needed
        self._held: list[asyncio.Semaphore] = []

    async def take(self) -> None:
        """Waits for the slot."""
        try:
            for one in self._needed:
                await one.acquire()
                self._held.append(one)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Gives the slot back; the second call does nothing."""
        while self._held:
            self._held.pop().release()


@asynccontextmanager
async def aside(scope: Scope) -> AsyncIterator[None]:
    """Within this context a request has no slot, as it waits for something else."""
    slot: Slot | None = scope["state"].get("slot")
    if slot is not None:
        slot.release()
    yield
    if slot is not None:
        await slot.take()


def release_slot(scope: Scope) -> None:
    """Gives back the slot of a request."""
    slot: Slot | None = scope["state"].get("slot")
    if slot is not None:
        slot.release()


def key_of(scope: Scope) -> str | None:
    """Which key's share a request takes from; ``None`` where no key is needed."""
    key: str | None = scope["state"].get("key")
    return key
