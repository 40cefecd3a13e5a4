"""Makes the methods of the asynchronous classes from the synchronous classes, at import.

Each wrapper calls the method of the same name of ``self._memory``, and has its signature and its
documentation without the examples.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from ..awaiting import Awaiter, waiting_threads
from ..listings import AsyncRecords, Records
from ..records import Episode, Message, SemanticMemory
from .running import run_in

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Listed = TypeVar("Listed", bound=Message | Episode | SemanticMemory)


def coroutine(
    method: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The method as a coroutine that runs in a thread."""

    async def call(self: Any, /, *args: P.args, **options: P.kwargs) -> T:
        memory = self._memory
        awaiter = getattr(memory, "_awaiter", None)
        waits = isinstance(awaiter, Awaiter) and awaiter.awaits
        threads = waiting_threads() if waits else None
        return await run_in(threads, getattr(memory, method.__name__), *args, **options)

    return presented(call, method)


def awaits(method: Callable[..., Any]) -> Callable[[F], F]:
    """Replaces a function that only declares the method's overloads by ``coroutine(method)``."""
    made: Any = coroutine(method)
    return lambda _: made


def async_listing(
    method: Callable[Concatenate[Any, P], Records[Listed]],
) -> Callable[Concatenate[Any, P], AsyncRecords[Listed]]:
    """The method, which then returns ``AsyncRecords`` instead of ``Records``."""

    def call(self: Any, /, *args: P.args, **options: P.kwargs) -> AsyncRecords[Listed]:
        return AsyncRecords(getattr(self._memory, method.__name__)(*args, **options))

    made = presented(call, method)
    signature = inspect.signature(method)
    made.__signature__ = signature.replace(  # type: ignore[attr-defined]
        return_annotation=f"Async{signature.return_annotation}"
    )
    made.__doc__ = (made.__doc__ or "").replace("\nRecords of ", "\nAsyncRecords of ")
    return made


def presented(call: F, method: Callable[..., Any]) -> F:
    """The call with the name, signature and documentation of the method, without examples."""
    made = wraps(method)(call)
    documentation = inspect.getdoc(method) or ""
    made.__doc__ = documentation.partition("\n\nExamples\n")[0]
    return cast("F", made)
