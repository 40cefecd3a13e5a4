"""The transport over standard input and output: one JSON message a line.

Reads in a thread that the process does not wait for: a signal ends the server even if a client
holds the other end open. Every request is answered, also a line that can't be read.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections.abc import AsyncIterator
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter

Reading: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]
Writing: TypeAlias = MemoryObjectSendStream[SessionMessage]

_PIECE = 1 << 16
# The most bytes of a line; a longer line is answered with an error.
_LONGEST_LINE = 64 << 20
# The most lines that wait to be worked on.
_WAITING = 16
# The id of a request that is not JSON, if it is written as usual.
_ID = re.compile(r'"id"\s*:\s*(-?[0-9]{1,18}|"[^"\\]{0,100}")')


@asynccontextmanager
async def standard_streams() -> AsyncIterator[tuple[Reading, Writing]]:
    """The messages of the client, and where answers go.

    Meanwhile descriptor 0 is empty and descriptor 1 is standard error, so that other code that
    reads or prints does not get in the way.
    """
    source, target = _diverted(0, os.devnull), _diverted(1, None)
    lines: asyncio.Queue[bytes | None] = asyncio.Queue(_WAITING)
    _read_lines(source, lines, asyncio.get_running_loop())
    incoming, reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writing, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    lock, stop = anyio.Lock(), anyio.CancelScope()

    async def write(text: str) -> None:
        # The process does not wait for a thread of anyio, even if the client does not read.
        data = text.encode("utf-8", "surrogatepass") + b"\n"
        async with lock:
            await anyio.to_thread.run_sync(_write_all, target, data, abandon_on_cancel=True)

    async def take(line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except (ValueError, RecursionError):
            await write(_unreadable(line))
        else:
            await incoming.send(SessionMessage(message))

    async def read() -> None:
        with stop:
            async with incoming:
                while (line := await lines.get()) is not None:
                    await take(line)

    async def answer() -> None:
        async with outgoing:
            async for one in outgoing:
                await write(one.message.model_dump_json(by_alias=True, exclude_unset=True))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_quietly, read)
        tasks.start_soon(_quietly, answer)
        yield reading, writing
        await writing.aclose()
        stop.cancel()


async def _quietly(work: Any) -> None:
    """Awaits ``work``, and ends without an error if a stream or the client's pipe is closed."""
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, BrokenPipeError):
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
