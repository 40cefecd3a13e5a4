"""Following the changes of a store: an iterator that waits for more, and callbacks."""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Protocol, Self

from .awaiting import Awaiter
from .errors import ClosedError, EpisodicaError
from .inputs import checks as check
from .reports import Event, Events

if TYPE_CHECKING:
    from ._native import Engine

# Seconds between two looks at the logs: at first, and at most while nothing happens.
_PAUSES = (0.02, 0.5)
# The largest share of its time that a follower of very many users spends on looks.
_LOOKS_SHARE = 0.1
_PAGE = 500


class Source(Protocol):
    """A memory, as the source of events."""

    @property
    def closed(self) -> bool:
        """Whether the memory is closed."""
        ...

    @property
    def _engine(self) -> Engine: ...


class EventStream(Iterator[Event], AsyncIterator[Event]):
    """Events as they happen: ``memory.events(follow=True)``, for ``for`` and ``async for``.

    Ends when it or the memory is closed.

    Attributes
    ----------
    cursor : str
        What to pass as ``since`` to continue after the last event that was delivered.
    complete : bool
        ``False`` if a user's logs no longer began with the part that was read before. Then an event
        ``DELETE`` without an id came, and after it all records of the user again.
    """

    def __init__(self, memory: Source, since: str | None, user_id: str | None) -> None:
        self._memory = memory
        self._user_id = user_id
        self._page: deque[Event] = deque()
        # A wrong cursor fails here, not when the first event is read.
        start = memory._engine.events(since, user_id, _PAGE)
        self._end = self.cursor = start.cursor if since == "latest" else since or ""
        self.complete = True
        self._pause = _PAUSES[0]
        self._closed = False
        self._take(start)

    def _take(self, page: Events) -> None:
        self._page.extend(page)
        self._end = page.cursor
        self.complete &= page.complete

    def _look(self) -> float | None:
        """Reads new events; seconds to wait before the next look, or None at the end."""
        started = time.monotonic()
        try:
            if self._closed or self._memory.closed:
                return None
            page = self._memory._engine.events(self._end, self._user_id, _PAGE)
        except ClosedError:
            return None
        self._take(page)
        took = time.monotonic() - started
        self._pause = _PAUSES[0] if page else min(_PAUSES[1], self._pause * 1.5)
        return 0 if page else max(self._pause, took / _LOOKS_SHARE)

    def _next(self) -> Event | None:
        if self._closed or not self._page:
            return None
        event = self._page.popleft()
        self.cursor = event.cursor or (self.cursor if self._page else self._end)
        return event

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        while (event := self._next()) is None:
            pause = self._look()
            if pause is None:
                raise StopIteration
            time.sleep(pause)
        return event

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        import asyncio

        while (event := self._next()) is None:
            pause = await asyncio.to_thread(self._look)
            if pause is None:
                raise StopAsyncIteration
            await asyncio.sleep(pause)
        return event

    def close(self) -> None:
        """Ends the iteration, in whatever thread it is.

        Examples
        --------
        >>> stream = memory.events(follow=True)
        >>> stream.close()
        >>> list(stream)
        []
        """
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        whose = "" if self._user_id is None else f" of {self._user_id!r}"
        return f"<EventStream{whose}{', closed' if self._closed else ''}>"


class Subscription:
    """A callback for events: ``memory.on_event(callback)``. Ends with the memory.

    The callback runs in a thread of its own, one event at a time, and may call the memory. An
    exception in it, ``SystemExit`` too, is counted and logged; the next event comes all the same.

    Attributes
    ----------
    delivered : int
        Events that the callback was called with.
    errors : int
        Calls of the callback that failed.
    """

    def __init__(
        self,
        memory: Source,
        awaiter: Awaiter,
        callback: Callable[[Event], object],
        since: str | None,
        user_id: str | None,
    ) -> None:
        self._awaiter = awaiter
        self.delivered = 0
        self.errors = 0
        self._ended = threading.Event()
        stream = EventStream(_Weakly(memory), since, user_id)
        self._stream = stream
        self._thread = threading.Thread(
            target=self._run,
            args=(stream, awaiter.bound("callback", callback)),
            name="episodica-events",
            daemon=True,
        )
        self._thread.start()

    @property
    def cursor(self) -> str:
        """What to pass as ``since`` to continue after the last event."""
        return self._stream.cursor

    @property
    def closed(self) -> bool:
        """Whether no more events come."""
        return self._ended.is_set()

    def _run(self, stream: EventStream, callback: Callable[[Event], object]) -> None:
        try:
            for event in stream:
                self.delivered += 1
                try:
                    callback(event)
                except BaseException:  # noqa: BLE001 - whatever a caller's function raises
                    # Also `SystemExit`: it would end this thread without a word, not the process.
                    self.errors += 1
                    _log("a callback for events failed")
        except EpisodicaError:
            _log("the events can't be read any more")
        finally:
            self._ended.set()

    def close(self, timeout: float = 5.0) -> None:
        """Ends the subscription, and waits for a running call of the callback.

        Does not wait on an event loop on which the callback would be awaited.

        Parameters
        ----------
        timeout
            Seconds to wait, at most.

        Raises
        ------
        InvalidInputError
            For a negative ``timeout``.

        Examples
        --------
        >>> subscription = memory.on_event(print)
        >>> subscription.close()
        >>> subscription.closed
        True
        """
        longest = check.seconds(timeout, "timeout")
        self._stream.close()
        if threading.current_thread() is not self._thread and not self._awaiter.blocks():
            self._thread.join(longest)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<Subscription delivered={self.delivered}, errors={self.errors}{state}>"


class _Weakly:
    """A weak reference to a memory, with the interface of the memory."""

    def __init__(self, memory: Source) -> None:
        self._memory = weakref.ref(memory)

    @property
    def closed(self) -> bool:
        memory = self._memory()
        return memory is None or memory.closed

    @property
    def _engine(self) -> Engine:
        memory = self._memory()
        if memory is None:
            raise ClosedError("the memory system is gone")
        return memory._engine


def _log(message: str) -> None:
    import logging

    logging.getLogger("episodica").exception(message)
