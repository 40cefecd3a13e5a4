"""Runs the server until its client leaves or a signal arrives, then closes the memory."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from ..aio import AsyncMemorySystem
from ..errors import ConfigError, StoreIOError
from ..server.keys import KeyRing
from ..server.local import is_loopback
from .access import Guard
from .service import needed_scope, server_for

# Seconds in which requests under way may finish once a signal has arrived.
_GRACE = 10
# Seconds for which a connection may be idle: longer than clients keep it.
_KEEP_ALIVE = 75

_LAST_PORT = 65_535

Open: TypeAlias = Callable[[], AsyncMemorySystem]


def serve_stdio(open_memory: Open, user: str, max_tokens: int) -> None:
    """Serves one client on standard input and output until it closes them.

    Parameters
    ----------
    open_memory
        Opens the memory.
    user, max_tokens
        As for :func:`service.server_for`.
    """

    async def connect(server: Server[Any]) -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    async def run() -> None:
        async with open_memory() as memory:
            server = server_for(memory, user, max_tokens=max_tokens)
            task = asyncio.ensure_future(connect(server))
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                # Windows has no such handlers; there `asyncio.run` cancels at Ctrl+C.
                with suppress(NotImplementedError):
                    loop.add_signal_handler(number, task.cancel)
            with suppress(asyncio.CancelledError):
                await task

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

    Parameters
    ----------
    open_memory, user, max_tokens
        As for :func:`serve_stdio`.
    host, port
        Where to listen; port 0 takes a free one.
    keys
        The keys of clients. While there are none, programs on this machine need none.
    announce
        Gets the address once the server listens.

    Raises
    ------
    ConfigError
        Without keys, for a host that other machines reach; for a number that is not a port.
    StoreIOError
        If the port is taken.
    """
    if not keys and not is_loopback(host):
        raise ConfigError(
            f"without keys only this machine is served, not `{host}`",
            hint="make one with `episodica keys create --user`, or leave `--host` out",
        )

    async def run() -> None:
        async with open_memory() as memory:
            server = server_for(memory, user, max_tokens=max_tokens)
            with _listening(host, port) as listening:
                web = uvicorn.Server(
                    uvicorn.Config(
                        guarded(server, memory.tenant, user, keys, is_loopback(host)),
                        log_level=logging.WARNING,
                        access_log=False,
                        server_header=False,
                        timeout_graceful_shutdown=_GRACE,
                        timeout_keep_alive=_KEEP_ALIVE,
                    )
                )
                bound, number = listening.getsockname()[:2]
                announce(f"http://{f'[{bound}]' if ':' in bound else bound}:{number}/mcp")
                await web.serve(sockets=[listening])

    # uvicorn stops at these signals and then raises them once more, before the memory is closed.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    asyncio.run(run())


def guarded(
    server: Server[Any], tenant: str, user: str | None, keys: KeyRing, local: bool
) -> ASGIApp:
    """The server as an ASGI application, behind its guard."""
    # The guard refuses foreign hosts and origins where no key is needed.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(transport_security=security)
    return Guard(app, keys, tenant=tenant, user=user, local=local, needed=needed_scope)


def _listening(host: str, port: int) -> socket.socket:
    if not 0 <= port <= _LAST_PORT:
        raise ConfigError(f"port is not in 0 to {_LAST_PORT}: `{port}`")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise StoreIOError(
            f"can't listen on port {port} of `{host}`: {error.strerror}",
            hint="name another with `--port`",
            errno=error.errno,
        ) from error
