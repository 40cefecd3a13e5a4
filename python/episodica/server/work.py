"""The threads in which requests are worked on: for memory, language models and health checks.

A call that waits for a language model keeps its thread for as long as the model likes. Such calls
have threads of their own, so that searches never wait for a model.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import Any, ParamSpec, Protocol, TypeVar

from fastapi import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ..aio.running import run_in
from .limits import Budget, Shared
from .problems import ServiceError
from .settings import ServerSettings

P = ParamSpec("P")
T = TypeVar("T")

# Threads in which the memory works; most of them wait for the disk.
_THREADS = 32
# Threads that may wait for a language model.
_FORMING_THREADS = 16
_WATCHING_THREADS = 2


class Work:
    """The threads of a worker, and how much of them a key may use."""

    def __init__(self, settings: ServerSettings, shared: Shared) -> None:
        share, workers = settings.key_share, settings.workers
        self.threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="episodica")
        self._forming_threads = ThreadPoolExecutor(_FORMING_THREADS, thread_name_prefix="forming")
        self._watching_threads = ThreadPoolExecutor(
            _WATCHING_THREADS, thread_name_prefix="watching"
        )
        self._forming = Budget(shared, "forming", settings.max_forming, share, workers)
        self._exports = Budget(shared, "exports", settings.max_exports, share, workers)

    @asynccontextmanager
    async def forming(self, request: Request) -> AsyncIterator[Form]:
        """While this context lasts, the request may wait for a language model, and has no slot.

        Yields a callable that runs a function in a thread that may wait.
        """
        key = key_of(request.scope)
        if not self._forming.has_room(key):
            raise ServiceError(503, "too many requests wait for a language model")
        self._forming.take(key)
        try:
            release_slot(request.scope)
            yield _Form(self._forming_threads)
        finally:
            self._forming.give(key)

    def export(self, key: str | None) -> Callable[[], None]:
        """Takes room for an export; the returned function gives it back, once."""
        if not self._exports.has_room(key):
            raise ServiceError(503, "too many exports at the same time")
        self._exports.take(key)
        calls = itertools.count()

        def give() -> None:
            if not next(calls):
                self._exports.give(key)

        return give

    async def watch(self, function: Callable[[], T], seconds: float) -> T:
        """The result of a function that checks the state of the memory."""
        async with asyncio.timeout(seconds):
            return await run_in(self._watching_threads, function)

    def stop(self) -> None:
        """Begins nothing more, and waits for nothing."""
        for threads in (self.threads, self._forming_threads, self._watching_threads):
            threads.shutdown(wait=False, cancel_futures=True)


class Form(Protocol):
    """Runs a function that may wait for a language model."""

    async def __call__(self, function: Callable[..., T], *args: Any) -> T:
        """The result of the function."""
        ...


class _Form:
    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads

    async def __call__(self, function: Callable[..., T], *args: Any) -> T:
        return await run_in(self._threads, function, *args)


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
        held = [self._slots]
        if key:
            own = self._of_key.setdefault(key, asyncio.Semaphore(self._working_of_one))
            held.insert(0, own)
        taken: list[asyncio.Semaphore] = []
        try:
            for one in held:
                await one.acquire()
                taken.append(one)
        except BaseException:
            for one in taken:
                one.release()
            raise
        return Slot(taken)


class Slot:
    """The right to run. It is given back when the work is done, not when its result is read."""

    def __init__(self, held: list[asyncio.Semaphore]) -> None:
        self._held = held

    def release(self) -> None:
        """Gives the slot back; the second call does nothing."""
        while self._held:
            self._held.pop().release()


class Streamed(StreamingResponse):
    """A streamed answer that calls ``give`` when it ends, even if it never began."""

    def __init__(self, content: AsyncIterator[bytes], give: Callable[[], None], **options: Any):
        super().__init__(content, **options)
        self._give = give

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the answer."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._give()


def release_slot(scope: Scope) -> None:
    """Gives back the slot of a request."""
    slot = scope["state"].get("slot")
    if slot is not None:
        slot.release()


def key_of(scope: Scope) -> str | None:
    """Which key's share a request takes from; ``None`` where no key is needed."""
    key: str | None = scope["state"].get("key")
    return key
