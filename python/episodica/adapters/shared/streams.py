"""Streams of a wrapped client: the caller reads the pieces, the turn is remembered at the end."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Any
from typing import Protocol as Shape

from .connection import settle
from .protocol import Protocol, Reply


class Turn(Shape):
    """The turn that is remembered when the answer is complete."""

    def remember(self, answer: str) -> None:
        """Remembers the turn, once."""


class RememberingStream:
    """A streamed answer; remembers the turn at its end, or when it is closed before."""

    def __init__(self, stream: Any, turn: Turn, reply: Reply) -> None:
        self._stream = stream
        self._turn = turn
        self._reply = reply
        self._pieces = iter(stream)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            piece = next(self._pieces)
        except StopIteration:
            self._turn.remember(self._reply.text())
            raise
        self._reply.add(piece)
        return piece

    def close(self) -> None:
        """Ends the stream, and remembers what has arrived."""
        close = getattr(self._stream, "close", None)
        if close is not None:
            close()
        self._turn.remember(self._reply.text())

    def __enter__(self) -> RememberingStream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class AsyncRememberingStream:
    """:class:`RememberingStream` for ``async for``."""

    def __init__(self, stream: Any, turn: Turn, reply: Reply) -> None:
        self._stream = stream
        self._turn = turn
        self._reply = reply
        self._pieces = aiter(stream)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            piece = await anext(self._pieces)
        except StopAsyncIteration:
            await settle(self._turn.remember, self._reply.text())
            raise
        self._reply.add(piece)
        return piece

    async def close(self) -> None:
        """Ends the stream, and remembers what has arrived."""
        close = getattr(self._stream, "close", None)
        if close is not None:
            await close()
        await settle(self._turn.remember, self._reply.text())

    async def __aenter__(self) -> AsyncRememberingStream:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class RememberingManager:
    """A client's ``with client.….stream(...) as stream``; remembers at the end of the block."""

    def __init__(self, prepare: Callable[[], tuple[Any, Turn]], protocol: Protocol) -> None:
        self._prepare = prepare
        self._protocol = protocol

    def __enter__(self) -> Any:
        self._manager, self._turn = self._prepare()
        self._stream = self._manager.__enter__()
        return self._stream

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Any:
        answer = "" if error is not None else _arrived(self._protocol, self._final())
        handled = self._manager.__exit__(kind, error, trace)
        if error is None:
            self._turn.remember(answer)
        return handled

    def _final(self) -> Any:
        try:
            final = getattr(self._stream, self._protocol.final)
            return final() if callable(final) else final
        except _INCOMPLETE:
            return None


class AsyncRememberingManager:
    """:class:`RememberingManager` for ``async with``."""

    def __init__(self, prepare: Callable[[], tuple[Any, Turn]], protocol: Protocol) -> None:
        self._prepare = prepare
        self._protocol = protocol

    async def __aenter__(self) -> Any:
        self._manager, self._turn = await settle(self._prepare)
        self._stream = await self._manager.__aenter__()
        return self._stream

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Any:
        answer = "" if error is not None else _arrived(self._protocol, await self._final())
        handled = await self._manager.__aexit__(kind, error, trace)
        if error is None:
            await settle(self._turn.remember, answer)
        return handled

    async def _final(self) -> Any:
        try:
            final = getattr(self._stream, self._protocol.final)
            final = final() if callable(final) else final
            return await final if inspect.isawaitable(final) else final
        except _INCOMPLETE:
            return None


# What SDKs raise when a stream was left before its answer was complete.
_INCOMPLETE = (AssertionError, RuntimeError)


def _arrived(protocol: Protocol, response: Any) -> str:
    return "" if response is None else protocol.answer(response)
