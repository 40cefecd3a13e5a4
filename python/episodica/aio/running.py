"""Runs a blocking call in a thread; cancelling the coroutine cancels the work."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from .. import _native

P = ParamSpec("P")
T = TypeVar("T")


async def run(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of ``function``, computed in a thread of the loop's executor.

    A cancelled call that has not begun never begins; one that has begun stops at its next check.
    """
    import asyncio

    cancellation = _native.Cancellation()
    try:
        return await asyncio.to_thread(
            cancellation.call, functools.partial(function, *args, **kwargs)
        )
    except asyncio.CancelledError:
        cancellation.cancel()
        raise
