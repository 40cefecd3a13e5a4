"""The threads in which requests are worked on: for memory, language models and health checks.

A call that waits for a language model keeps its thread for as long as the model likes. Such calls
have threads of their own, so that searches never wait for a model.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from fastapi import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ..aio.running import run_in
from .limits import Budget, Shared
from .problems import ServiceError
from .settings import ServerSettings
from .slots import key_of, release_slot

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
    async def forming(self, request: Request) -> AsyncIterator[Callable[..., Awaitable[Any]]]:
        """While this context lasts, the request may wait for a language model, and has no slot.

        Yields a callable that runs a function in a thread that may wait.
        """
        key = key_of(request.scope)
        if not self._forming.has_room(key):
            raise ServiceError(503, "too many requests wait for a language model")
        self._forming.take(key)
        try:
            release_slot(request.scope)
            yield partial(run_in, self._forming_threads)
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
