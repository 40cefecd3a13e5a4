"""Runs a blocking call in a thread; cancelling the coroutine cancels the work."""

from __future__ import annotations

import contextvars
import functools
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from .. import _native

if TYPE_CHECKING:
    from concurrent.futures import Executor

P = ParamSpec("P")
T = TypeVar("T")


async def run(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of ``function``, computed in a thread of the loop's executor.

    A cancelled call that has not begun never begins; one that has begun stops at its next check.
    """
    return await run_in(None, function, *args, **kwargs)


async def run_in(
    threads: Executor | None, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """The result of ``function``, computed in ``threads`` (``None``: the loop's executor)."""
    import asyncio

    cancellation = _native.Cancellation()
    context = contextvars.copy_context()
    work = functools.partial(
        context.run, cancellation.call, functools.partial(function, *args, **kwargs)
    )
    try:
        return await asyncio.get_running_loop().run_in_executor(threads, work)
    except asyncio.CancelledError:
        cancellation.cancel()
        raise


async def run_alone(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of ``function``, computed in a new thread, even if all others are busy."""
    import asyncio

    cancellation = _native.Cancellation()
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(outcome: Callable[[], None]) -> None:
        if not done.done():
            outcome()

    def work() -> None:
        try:
            result = cancellation.call(functools.partial(function, *args, **kwargs))
            outcome = functools.partial(done.set_result, result)
        except BaseException as error:  # noqa: BLE001 (raised where it is awaited)
            outcome = functools.partial(done.set_exception, error)
        # Fails if the loop is closed: then no coroutine waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=work, name="episodica-alone", daemon=True).start()
    try:
        return await done
    except asyncio.CancelledError:
        cancellation.cancel()
        raise
