"""Coroutine functions that a caller passes, and the event loop on which each is awaited.

HTTP clients, locks and pools belong to the loop that first uses them. A function and the program
around it share such things, so the function has to run on the program's loop: that on which an
``AsyncMemorySystem`` was made, entered or last used, or an adapter was called. A memory that knows
no loop uses one in a thread of this module. The engine's threads wait here for the answers.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

from . import _native
from .errors import ConfigError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from concurrent.futures import Executor, Future

P = ParamSpec("P")
T = TypeVar("T")

# Seconds between two looks at a loop that has not answered.
_LOOK_SECONDS = 0.25
_THREADS = 32
_NOT_BEGUN = inspect.CORO_CREATED
_PACKAGE = str(Path(__file__).parent) + os.sep

# The loop that waits for the work of this thread, and the thread in which it runs.
_caller: ContextVar[tuple[AbstractEventLoop, int] | None] = ContextVar("caller", default=None)
# The call of the engine that waits for this coroutine.
_scope: ContextVar[_native.CallbackScope | None] = ContextVar("scope", default=None)


class Awaiter:
    """Calls the functions that a memory was given, and awaits those that are coroutines.

    ``follows``: the memory belongs to its caller's loop, so it has no loop of its own.
    """

    __slots__ = ("_follows", "_place", "_process", "awaits")

    def __init__(self, follows: bool = False) -> None:
        self._follows = follows
        self._place = _here()
        self._process = os.getpid()
        # Whether one of the functions is known to be a coroutine function.
        self.awaits = False

    def bound(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as one that returns its result in whatever thread it is called.

        ``name`` is that of the argument in errors.
        """
        in_loop = is_async(function)
        self.awaits |= in_loop

        @functools.wraps(function, updated=())
        def call(*args: Any, **options: Any) -> Any:
            start = functools.partial(function, *args, **options)
            if in_loop:
                return self._wait(name, start)
            answer = start()
            if not inspect.isawaitable(answer):
                return answer
            self.awaits = True
            try:
                return self._wait(name, lambda: answer)
            finally:
                if inspect.iscoroutine(answer) and inspect.getcoroutinestate(answer) == _NOT_BEGUN:
                    answer.close()

        return call

    def called(self) -> None:
        """Notes that the memory is called, and from which loop.

        Raises
        ------
        ConfigError
            If the call would block a loop on which the program may use what a function uses.
        """
        here = _here()
        if here is not None and self.awaits and not self._follows:
            raise ConfigError(
                "a MemorySystem with a coroutine function can't be called where an event loop runs",
                hint="use AsyncMemorySystem, which awaits the function on that loop, "
                "or pass a function without `async`",
            )
        place = here or _caller.get()
        if place is not None and not self._lives():
            self._place, self._process = place, os.getpid()

    def enter(self) -> None:
        """Moves the memory to the loop that runs in this thread."""
        self._place, self._process = _here(), os.getpid()

    def blocks(self) -> bool:
        """Whether this thread runs the loop of the functions: they can't answer while it waits."""
        here = _here()
        return here is not None and self._place is not None and here[0] is self._place[0]

    def _lives(self) -> bool:
        return self._known() and self._place is not None and self._place[0].is_running()

    def _known(self) -> bool:
        place = self._place
        ours = place is not None and self._process == os.getpid()  # a fork copies no loop
        return ours and place is not None and not place[0].is_closed()

    def _target(self, name: str) -> tuple[AbstractEventLoop, int]:
        if self._known() and self._place is not None:
            return self._place
        if self._follows:
            raise RuntimeError(
                f"no event loop runs on which `{name}` could be awaited: "
                "make the AsyncMemorySystem on a loop, or enter it there by `async with`"
            )
        return _own.place()

    def _wait(self, name: str, start: Callable[[], Awaitable[Any]]) -> Any:
        """The result of a coroutine function, in a thread that may wait."""
        import asyncio

        place = self._target(name)
        loop = place[0]
        if self.blocks():
            _refuse_blocked(name)
        work = _answer(start, _native.CallbackScope())
        try:
            future = asyncio.run_coroutine_threadsafe(work, loop)
        except RuntimeError:  # closed meanwhile
            work.close()
            raise
        try:
            return self._result(name, future, place)
        except RuntimeError as error:
            if "different" in str(error) and "loop" in str(error):
                raise RuntimeError(
                    f"`{name}` used something that belongs to another event loop; "
                    "AsyncMemorySystem awaits it on the loop where the memory was made"
                ) from error
            raise
        except BaseException:  # such as Ctrl-C
            future.cancel()
            raise
        finally:
            # A loop that has ended begins nothing any more.
            if not loop.is_running() and inspect.getcoroutinestate(work) == _NOT_BEGUN:
                work.close()

    def _result(self, name: str, future: Future[Any], place: tuple[AbstractEventLoop, int]) -> Any:
        loop, thread = place
        before = None
        while True:
            try:
                return future.result(_LOOK_SECONDS)
            except TimeoutError:
                if future.done():  # meanwhile, or the function's own error
                    return future.result()
            except Exception:
                if future.cancelled():
                    raise RuntimeError(f"`{name}` was cancelled with its event loop") from None
                raise
            now = _waiting_in_package(thread)
            if now is not None and now == before:
                future.cancel()
                _refuse_blocked(name)
            before = now
            if loop.is_closed() or (self._place is not place and not loop.is_running()):
                future.cancel()
                raise RuntimeError(f"the event loop on which `{name}` is awaited has ended")


async def _answer(start: Callable[[], Awaitable[Any]], scope: _native.CallbackScope) -> Any:
    _scope.set(scope)
    return await start()


def _refuse_blocked(name: str) -> NoReturn:
    raise RuntimeError(
        f"`{name}` can't be awaited while its event loop is blocked by a call of the memory: "
        "await the method of AsyncMemorySystem instead"
    )


class _OwnLoop:
    """An event loop in a thread of its own, started when first needed, again after a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._place: tuple[AbstractEventLoop, int] | None = None

    def place(self) -> tuple[AbstractEventLoop, int]:
        """The running loop, and its thread."""
        import asyncio

        with self._lock:
            if self._place is None:
                loop = asyncio.new_event_loop()
                thread = threading.Thread(
                    target=_run_on, args=(loop,), name="episodica-loop", daemon=True
                )
                thread.start()
                self._place = loop, thread.ident or 0
            return self._place


def _run_on(loop: AbstractEventLoop) -> None:
    """Runs a loop. ``SystemExit`` of one function, which stops a loop, is left to its caller."""
    while True:
        try:
            return loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            continue


class _Threads:
    """Threads for calls that wait for a coroutine.

    Such calls don't take the loop's own threads, since the coroutine may need one of those to
    connect.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: Executor | None = None

    def get(self) -> Executor:
        """The threads, made when first needed."""
        from concurrent.futures import ThreadPoolExecutor

        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(_THREADS, "episodica-call")
            return self._threads


_own = _OwnLoop()
_threads = _Threads()


def _after_fork_in_child() -> None:
    """The child has none of the threads."""
    _own.__init__()  # type: ignore[misc]
    _threads.__init__()  # type: ignore[misc]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


async def in_thread(
    threads: Executor | None, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """The result of ``function``, computed in ``threads`` (``None``: the loop's executor).

    The memory that the function calls awaits its coroutine functions on this loop.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    context = copy_context()
    context.run(_caller.set, (loop, threading.get_ident()))
    work = scoped(functools.partial(function, *args, **kwargs))
    return await loop.run_in_executor(threads, context.run, work)


def scoped(work: Callable[[], T]) -> Callable[[], T]:
    """The work for another thread; in a coroutine function, what would wait for it is refused."""
    scope = _scope.get()
    return work if scope is None else functools.partial(scope.call, work)


def waiting_threads() -> Executor:
    """Threads in which a call may wait for a coroutine."""
    return _threads.get()


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a function, a partial one or an object with ``__call__`` returns a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(type(function), "__call__", None)  # noqa: B004 (the method itself)
    )


def _here() -> tuple[AbstractEventLoop, int] | None:
    """The loop that runs in this thread."""
    events = sys.modules.get("asyncio.events")  # where it is not loaded, no loop runs
    running = getattr(events, "_get_running_loop", None)
    loop = running() if running is not None else None
    return None if loop is None else (loop, threading.get_ident())


def _waiting_in_package(thread: int) -> tuple[int, int] | None:
    """The place at which a thread stands, if it stands in this package and so in the engine."""
    frame = sys._current_frames().get(thread)
    if frame is None or not frame.f_code.co_filename.startswith(_PACKAGE):
        return None
    return id(frame), frame.f_lasti
