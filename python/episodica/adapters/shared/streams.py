"""Streams of a wrapped client: the caller reads the pieces, the turn is remembered on the way.

The question is stored when the stream begins. The part of the answer that has arrived is stored
once, however the stream ends: at its end, when it is closed or left, when it breaks, when its
reader is cancelled, and when the stream is garbage-collected.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from .connection import settle
from .protocol import Protocol, Reply
from .turns import Turn


def _leave(turn: Turn, reply: Reply) -> None:
    """Stores the part of an answer that had arrived when its reader stopped."""
    turn.finish(reply.message(), is_whole=False)


class _Remembering:
    """A streamed answer that is remembered as far as it was read."""

    def __init__(self, stream: Any, turn: Turn, reply: Reply) -> None:
        self._stream = stream
        self._turn = turn
        self._reply = reply
        # A loop that is left by `break` or an error just drops the stream.
        weakref.finalize(self, _leave, turn, reply)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class RememberingStream(_Remembering):
    """A stream that ``for`` reads."""

    def __init__(self, stream: Any, turn: Turn, reply: Reply) -> None:
        super().__init__(stream, turn, reply)
        self._pieces = iter(stream)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            piece = next(self._pieces)
        except StopIteration:
            self._turn.finish(self._reply.message())
            raise
        except BaseException:
            _leave(self._turn, self._reply)
            raise
        self._reply.add(piece)
        return piece

    def close(self) -> None:
        """Ends the stream, and stores the part that has arrived."""
        try:
            close = getattr(self._stream, "close", None)
            if close is not None:
                close()
        finally:
            _leave(self._turn, self._reply)

    def __enter__(self) -> RememberingStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncRememberingStream(_Remembering):
    """A stream that ``async for`` reads."""

    def __init__(self, stream: Any, turn: Turn, reply: Reply) -> None:
        super().__init__(stream, turn, reply)
        self._pieces = aiter(stream)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            piece = await anext(self._pieces)
        except StopAsyncIteration:
            await settle(self._turn.finish, self._reply.message())
            raise
        except BaseException:
            await settle(_leave, self._turn, self._reply)
            raise
        self._reply.add(piece)
        return piece

    async def close(self) -> None:
        """Ends the stream, and stores the part that has arrived."""
        try:
            close = getattr(self._stream, "close", None)
            if close is not None:
                await close()
        finally:
            await settle(_leave, self._turn, self._reply)

    async def __aenter__(self) -> AsyncRememberingStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _Noted:
    """The stream of a helper that notes the events that are read from it."""

    def __init__(self, stream: Any, reply: Reply) -> None:
        self._stream = stream
        self._reply = reply

    def __iter__(self) -> Iterator[Any]:
        for piece in self._stream:
            self._reply.add(piece)
            yield piece

    def __next__(self) -> Any:
        piece = next(self._stream)
        self._reply.add(piece)
        return piece

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for piece in self._stream:
            self._reply.add(piece)
            yield piece

    async def __anext__(self) -> Any:
        piece = await anext(self._stream)
        self._reply.add(piece)
        return piece

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Manager:
    """A client's ``with client.….stream(...) as stream``; remembers at both ends of the block."""

    def __init__(self, prepare: Callable[[], tuple[Any, Turn]], protocol: Protocol) -> None:
        self._prepare = prepare
        self._protocol = protocol
        self._reply = protocol.reply()


class RememberingManager(_Manager):
    """For ``with``."""

    def __enter__(self) -> Any:
        self._manager, self._turn = self._prepare()
        self._stream = self._manager.__enter__()
        self._turn.begin()
        return _Noted(self._stream, self._reply)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> Any:
        answer = _arrived(self._protocol, self._final(error), self._reply)
        try:
            return self._manager.__exit__(kind, error, trace)
        finally:
            self._turn.finish(answer, is_whole=error is None)

    def _final(self, error: BaseException | None) -> Any:
        try:
            final = getattr(self._stream, self._protocol.final)
            if not callable(final):
                return final
            return final() if error is None else None
        except _INCOMPLETE:
            return None


class AsyncRememberingManager(_Manager):
    """For ``async with``."""

    async def __aenter__(self) -> Any:
        self._manager, self._turn = await settle(self._prepare)
        self._stream = await self._manager.__aenter__()
        await settle(self._turn.begin)
        return _Noted(self._stream, self._reply)

    async def __aexit__(self, kind: Any, error: BaseException | None, trace: Any) -> Any:
        answer = _arrived(self._protocol, await self._final(error), self._reply)
        try:
            return await self._manager.__aexit__(kind, error, trace)
        finally:
            await settle(self._turn.finish, answer, error is None)

    async def _final(self, error: BaseException | None) -> Any:
        try:
            final = getattr(self._stream, self._protocol.final)
            if not callable(final):
                return final
            if error is not None:
                return None
            final = final()
            return await final if inspect.isawaitable(final) else final
        except _INCOMPLETE:
            return None


# What SDKs raise when a stream was left before its answer was complete.
_INCOMPLETE = (AssertionError, RuntimeError)


def _arrived(protocol: Protocol, response: Any, reply: Reply) -> dict[str, Any]:
    return reply.message() if response is None else protocol.answer(response)
