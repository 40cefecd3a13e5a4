"""Runs the server until its client leaves or a signal arrives, then closes the memory."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from types import FrameType
from typing import Any, TypeAlias

import uvicorn
from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings

from ..aio import AsyncMemorySystem
from ..errors import ConfigError
from ..server.audit import Audit
from ..server.connection import Connection
from ..server.ending import Deadline
from ..server.keys import KeyRing
from ..server.local import is_loopback, listening
from .access import Guard
from .service import needed_scope, server_for
from .stdio import standard_streams

# Seconds from a signal to the end of the process.
_STOP_SECONDS = 10.0
# Seconds without a request after which a session over HTTP ends, and the most sessions.
_IDLE_SECONDS = 900.0
_MOST_SESSIONS = 1_000
# Seconds for which a connection may be idle: longer than clients keep it.
_KEEP_ALIVE = 75

Open: TypeAlias = Callable[[], AsyncMemorySystem]


def serve_stdio(open_memory: Open, user: str, max_tokens: int, audit: Audit) -> None:
    """Serves one client on standard input and output until it closes them."""
    deadline = Deadline(_STOP_SECONDS)

    async def connect(server: Server[Any]) -> None:
        async with standard_streams() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    async def run() -> None:
        async with _closing(open_memory(), deadline) as memory:
            server = server_for(memory, user, max_tokens=max_tokens, audit=audit)
            task = asyncio.ensure_future(connect(server))

            def end() -> None:
                deadline.begin()
                task.cancel()

            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                # Windows has no such handlers; there `asyncio.run` cancels at Ctrl+C.
                with suppress(NotImplementedError):
                    loop.add_signal_handler(number, end)
            with suppress(asyncio.CancelledError):
                await task
            # A client that leaves ends the server as a signal does.
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
    announce: Callable[[str], None],
) -> None:
    """Serves clients on ``http://host:port/mcp`` until a signal arrives.

    Without keys, only programs on this machine are served. ``announce`` gets the address once the
    server listens.
    """
    if not keys and not is_loopback(host):
        raise ConfigError(
            f"without keys only this machine is served, not `{host}`",
            hint="make one with `episodica keys create --user`, or leave `--host` out",
        )

    deadline = Deadline(_STOP_SECONDS)

    async def run() -> None:
        async with _closing(open_memory(), deadline) as memory:
            server = server_for(memory, user, max_tokens=max_tokens, audit=keys.audit)
            app = guarded(server, memory.tenant, user, keys, is_loopback(host))
            with listening(host, port) as listener:
                web = _Web(
                    uvicorn.Config(
                        app,
                        http=Connection,
                        log_level=logging.WARNING,
                        access_log=False,
                        server_header=False,
                        timeout_graceful_shutdown=deadline.for_requests,  # type: ignore[arg-type]
                        timeout_keep_alive=_KEEP_ALIVE,
                    )
                )
                web.at_signal = (app.drain, deadline.begin)
                # uvicorn stops at these signals and then raises them once more, before the memory
                # is closed.
                for number in (signal.SIGINT, signal.SIGTERM):
                    signal.signal(number, signal.SIG_IGN)
                bound, number = listener.getsockname()[:2]
                announce(f"http://{f'[{bound}]' if ':' in bound else bound}:{number}/mcp")
                await web.serve(sockets=[listener])

    asyncio.run(run())


class _Web(uvicorn.Server):
    """A server that reports when it is told to stop."""

    at_signal: tuple[Callable[[], None], ...] = ()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        for call in self.at_signal:
            call()
        super().handle_exit(sig, frame)


@asynccontextmanager
async def _closing(
    memory: AsyncMemorySystem, deadline: Deadline
) -> AsyncIterator[AsyncMemorySystem]:
    """Closes the memory in the time that is left."""
    try:
        yield memory
    finally:
        await memory.close(deadline.left)
        deadline.closed()


def guarded(
    server: Server[Any],
    tenant: str,
    user: str | None,
    keys: KeyRing,
    local: bool,
    idle_seconds: float = _IDLE_SECONDS,
) -> Guard:
    """The server as an ASGI application with its guard."""
    # Off, because the guard refuses foreign hosts and origins where no key is needed.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(
        transport_security=security, session_idle_timeout=idle_seconds, max_sessions=_MOST_SESSIONS
    )
    return Guard(app, keys, tenant=tenant, user=user, local=local, needed=needed_scope)
