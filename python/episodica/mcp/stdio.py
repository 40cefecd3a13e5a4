"""The transport over standard input and output: one JSON message a line.

Reads in a thread that the process does not wait for: a signal ends the server even if a client
holds the other end open. Every request is answered, also a line that can't be read, and also if the
client closes its end right after it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from ..server.ending import Deadline

Reading: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]
Writing: TypeAlias = MemoryObjectSendStream[SessionMessage]

_PIECE = 1 << 16
# The most bytes of a line; a longer line is answered with an error.
_LONGEST_LINE = 64 << 20
# The most lines that wait to be worked on.
_WAITING = 16
# The notification by which a client cancels a request.
_CANCELLED = "notifications/cancelled"
# The id of a request that is not JSON, if it is written as usual.
_ID = re.compile(r'"id"\s*:\s*(-?[0-9]{1,18}|"[^"\\]{0,100}")')


class _Unanswered:
    """The requests that the server has and has not answered, by their ids."""

    def __init__(self) -> None:
        # The protocol's library takes "7" for the id 7 when a client cancels.
        self._ids: Counter[str] = Counter()
        self._changed = asyncio.Event()

    @contextmanager
    def handing_over(self, message: JSONRPCMessage) -> Iterator[None]:
        """Notes a message of the client; a request that it cancels gets no answer."""
        if isinstance(message, JSONRPCNotification) and message.method == _CANCELLED:
            self._settle((message.params or {}).get("requestId"))
        if not isinstance(message, JSONRPCRequest):
            yield
            return
        self._ids[str(message.id)] += 1
        try:
            yield
        except BaseException:
            self._settle(message.id)
            raise

    def sent(self, message: JSONRPCMessage) -> None:
        """Notes a message of the server."""
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._settle(message.id)

    async def none(self) -> None:
        """Returns when every request is answered."""
        while self._ids.total():
            self._changed.clear()
            await self._changed.wait()

    def _settle(self, id: Any) -> None:
        if type(id) in (int, str) and self._ids[str(id)] > 0:
            self._ids[str(id)] -= 1
            self._changed.set()


@asynccontextmanager
async def standard_streams(
    reading_scope: anyio.CancelScope, deadline: Deadline
) -> AsyncIterator[tuple[Reading, Writing]]:
    """The messages of the client, and where answers go.

    When the client closes its end, or the scope is cancelled, nothing more is read; the requests
    that were read are answered in the time that the deadline gives them.

    Meanwhile descriptor 0 is empty and descriptor 1 is standard error, so that other code that
    reads or prints does not get in the way.
    """
    source, target = _diverted(0, os.devnull), _diverted(1, None)
    lines: asyncio.Queue[bytes | None] = asyncio.Queue(_WAITING)
    _read_lines(source, lines, asyncio.get_running_loop())
    incoming, reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writing, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    lock, stop = anyio.Lock(), anyio.CancelScope()
    unanswered = _Unanswered()

    async def write(text: str) -> None:
        # The process does not wait for a thread of anyio, even if the client does not read.
        data = text.encode("utf-8", "surrogatepass") + b"\n"
        async with lock:
            # Calls are finished even if the client does not read their answers any more.
            with suppress(BrokenPipeError):
                await anyio.to_thread.run_sync(_write_all, target, data, abandon_on_cancel=True)

    async def take(line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except (ValueError, RecursionError):
            await write(_unreadable(line))
        else:
            with unanswered.handing_over(message):
                await incoming.send(SessionMessage(message))

    async def read() -> None:
        with stop:
            async with incoming:
                with reading_scope:
                    while (line := await lines.get()) is not None:
                        await take(line)
                deadline.begin()
                # The server cancels the calls under way when `incoming` is closed.
                with anyio.move_on_after(deadline.for_requests):
                    await unanswered.none()

    async def answer() -> None:
        async with outgoing:
            async for one in outgoing:
                await write(one.message.model_dump_json(by_alias=True, exclude_unset=True))
                unanswered.sent(one.message)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_quietly, read)
        tasks.start_soon(_quietly, answer)
        yield reading, writing
        await writing.aclose()
        stop.cancel()


async def _quietly(work: Any) -> None:
    """Awaits ``work``, and ends without an error if a stream is closed."""
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        await work()


def _diverted(number: int, path: str | None) -> int:
    """A new descriptor for a standard stream. ``number`` then leads to ``path``, or to stderr."""
    wire = os.dup(number)
    other = os.open(path, os.O_RDONLY) if path is not None else os.dup(2)
    os.dup2(other, number)
    os.close(other)
    return wire


def _read_lines(
    source: int, lines: asyncio.Queue[bytes | None], loop: asyncio.AbstractEventLoop
) -> None:
    def hand_over(line: bytes | None) -> None:
        putting = lines.put(line)
        try:
            done = asyncio.run_coroutine_threadsafe(putting, loop)
        except RuntimeError:
            putting.close()
            raise
        done.result()

    def read() -> None:
        line = bytearray()
        try:
            while piece := os.read(source, _PIECE):
                *ended, rest = piece.split(b"\n")
                for part in ended:
                    line += part
                    hand_over(bytes(line))
                    line.clear()
                line += rest
                # The rest is still longer than a line may be, so the line is refused.
                del line[_LONGEST_LINE + 1 :]
            hand_over(bytes(line))
            hand_over(None)
        except (RuntimeError, CancelledError, OSError):
            # The loop has ended before the client did, or the client's end is broken.
            with suppress(RuntimeError, CancelledError):
                hand_over(None)

    # Reading can't be interrupted, so the process must not wait for this thread.
    threading.Thread(target=read, name="episodica-stdin", daemon=True).start()


def _write_all(target: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]


def _unreadable(line: bytes) -> str:
    """The answer to a malformed line, with the id of the request if it can be found."""
    text = line.decode("utf-8", "replace")
    code, said, value = PARSE_ERROR, "the line is not JSON", None
    if len(line) > _LONGEST_LINE:
        said = f"the line has more than {_LONGEST_LINE} bytes"
    else:
        with suppress(ValueError, RecursionError):
            value = json.loads(text)
            code, said = INVALID_REQUEST, "the line is no message, or has half a surrogate pair"
    if isinstance(value, dict):
        known = value.get("id")
    else:
        found = _ID.search(text, 0, _PIECE)
        known = json.loads(found[1]) if found and value is None else None
    known = known if type(known) in (int, str) else None
    return json.dumps({"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": said}})
