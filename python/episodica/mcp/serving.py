"""Runs the server until its client leaves or a signal arrives, then closes the memory."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import Any, TypeAlias

import anyio
import uvicorn
from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings

from ..aio import AsyncMemorySystem
from ..errors import ConfigError
from ..server.audit import Audit
from ..server.connection import web_options
from ..server.ending import Deadline
from ..server.entrance import Entrance
from ..server.guard import Guard
from ..server.keys import KeyRing
from ..server.limits import Budget, Shared
from ..server.local import is_loopback, listening
from ..server.settings import ServerSettings
from .access import Calls, McpDoor
from .running import Running
from .service import needed_scope, server_for
from .sessions import PATH, Sessions
from .stdio import standard_streams

# Seconds from a signal to the end of a process that serves one client.
_STOP_SECONDS = 10.0
# Seconds without a request after which a session over HTTP ends.
_IDLE_SECONDS = 900.0

Open: TypeAlias = Callable[[], AsyncMemorySystem]


def serve_stdio(open_memory: Open, user: str, max_tokens: int, audit: Audit) -> None:
    """Serves one client on standard input and output until it closes them."""
    deadline = Deadline(_STOP_SECONDS)

    async def connect(server: Server[Any], reading_scope: anyio.CancelScope) -> None:
        async with standard_streams(reading_scope, deadline) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    async def run() -> None:
        running, reading_scope = Running(), anyio.CancelScope()
        async with _closing(open_memory(), deadline, running) as memory:
            server = server_for(memory, user, max_tokens=max_tokens, audit=audit, running=running)
            task = asyncio.ensure_future(connect(server, reading_scope))

            def end() -> None:
                # A signal ends the server as a client that leaves does; a second one ends its
                # calls, too.
                deadline.begin()
                if reading_scope.cancel_called:
                    task.cancel()
                reading_scope.cancel()

            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                # Windows has no such handlers; there `asyncio.run` cancels at Ctrl+C.
                with suppress(NotImplementedError):
                    loop.add_signal_handler(number, end)
            deadline.arm()
            with suppress(asyncio.CancelledError):
                await task
            deadline.begin()

    asyncio.run(run())


def serve_http(
    open_memory: Open,
    user: str | None,
    max_tokens: int,
    *,
    host: str,
    port: int,
    keys: KeyRing,
    settings: ServerSettings,
    announce: Callable[[str], None],
) -> None:
    """Serves clients on ``http://host:port/mcp`` until a signal arrives.

    Without keys, only programs on this machine are served. The limits are those of the HTTP
    service. ``announce`` gets the address once the server listens.
    """
    if not keys and not is_loopback(host):
        raise ConfigError(
            f"without keys only this machine is served, not `{host}`",
            hint="make one with `episodica keys create --user`, or leave `--host` out",
        )

    deadline = Deadline(settings.shutdown_timeout_seconds)

    async def run() -> None:
        running = Running()
        async with _closing(open_memory(), deadline, running) as memory:
            audit = keys.audit
            server = server_for(memory, user, max_tokens=max_tokens, audit=audit, running=running)
            app, calls = guarded(server, memory.tenant, user, keys, is_loopback(host), settings)
            with listening(host, port) as listener:
                web = _Web(
                    uvicorn.Config(
                        app,
                        log_level=logging.WARNING,
                        timeout_graceful_shutdown=deadline.for_requests,  # type: ignore[arg-type]
                        **web_options(),
                    )
                )
                web.at_signal = (calls.drain, deadline.begin)
                web.at_start = deadline.arm
                # uvicorn stops at these signals and then raises them once more, before the memory
                # is closed.
                for number in (signal.SIGINT, signal.SIGTERM):
                    signal.signal(number, signal.SIG_IGN)
                bound, number = listener.getsockname()[:2]
                announce(f"http://{f'[{bound}]' if ':' in bound else bound}:{number}/mcp")
                await web.serve(sockets=[listener])

    asyncio.run(run())


class _Web(uvicorn.Server):
    """A server that reports when it has started, and when it is told to stop."""

    at_signal: tuple[Callable[[], None], ...] = ()
    at_start: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.at_start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        for call in self.at_signal:
            call()
        super().handle_exit(sig, frame)


@asynccontextmanager
async def _closing(
    memory: AsyncMemorySystem, deadline: Deadline, running: Running
) -> AsyncIterator[AsyncMemorySystem]:
    """Closes the memory in the time that is left, after the calls that still write it."""
    try:
        yield memory
    finally:
        await running.ended(deadline.left - deadline.for_closing)
        await memory.close(deadline.left)
        deadline.closed()


def guarded(
    server: Server[Any],
    tenant: str,
    user: str | None,
    keys: KeyRing,
    local: bool,
    settings: ServerSettings,
    idle_seconds: float = _IDLE_SECONDS,
) -> tuple[Guard, Calls]:
    """The server as an ASGI application behind its guard, and the part that knows its streams."""
    # One process, whatever the HTTP service has.
    told = replace(settings, workers=1)
    shared = Shared()
    entrance = Entrance(keys, shared, told.rate_per_minute, local)
    door = McpDoor(entrance, tenant=tenant, user=user, most=told.max_body_bytes)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        # Off, because the door refuses foreign hosts and origins where no key is needed.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=told.max_body_bytes,
        session_idle_timeout=idle_seconds,
        # Above the limit that `Sessions` keeps: those that are being opened come on top.
        max_sessions=told.max_sessions + told.max_concurrency + told.max_waiting,
    )
    sessions = Sessions(app, told.max_sessions, told.key_share)
    streams = Budget(shared, "streams", told.max_streams, told.key_share)
    calls = Calls(app, door, needed_scope, streams, sessions)
    return Guard(calls, door, told, shared), calls
