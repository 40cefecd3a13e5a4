"""Calls that are finished once they have begun, even if their client cancels them or leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Running:
    """The calls that write: one that was cut would store a note without its fact."""

    def __init__(self) -> None:
        self._calls: set[asyncio.Future[Any]] = set()

    async def finish(self, call: Coroutine[Any, Any, T]) -> T:
        """The result of a call, which goes on if its caller is cancelled."""
        task = asyncio.ensure_future(call)
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
        return await asyncio.shield(task)

    async def ended(self, seconds: float) -> None:
        """Waits for the calls under way, at most so long."""
        if self._calls:
            await asyncio.wait(self._calls, timeout=max(0.0, seconds))
