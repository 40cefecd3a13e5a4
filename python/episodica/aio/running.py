"""Runs a blocking call in a thread; cancelling the coroutine cancels the work."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from .. import _native
from ..awaiting import in_thread, scoped

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
    work = functools.partial(function, *args, **kwargs)
    try:
        return await in_thread(threads, cancellation.call, work)
    except asyncio.CancelledError:
        cancellation.cancel()
        raise


async def run_alone(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of ``function``, computed in a new thread, even if all others are busy."""
    import asyncio

    cancellation = _native.Cancellation()
    inner = functools.partial(function, *args, **kwargs)
    called = scoped(functools.partial(cancellation.call, inner))
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(outcome: Callable[[], None]) -> None:
        if not done.done():
            outcome()

    def work() -> None:
        try:
            outcome = functools.partial(done.set_result, called())
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
