"""Runs the server until its client leaves or a signal arrives, then closes the memory."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import signal
import socket
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from typing import Any, TypeAlias

import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ..aio import AsyncMemorySystem
from ..errors import ConfigError, StoreIOError
from .service import server_for

# Seconds in which requests under way may finish once a signal has arrived.
_GRACE = 10

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
                loop.add_signal_handler(number, task.cancel)
            with suppress(asyncio.CancelledError):
                await task

    asyncio.run(run())


def serve_http(
    open_memory: Open,
    user: str,
    max_tokens: int,
    *,
    host: str,
    port: int,
    token: str | None,
    announce: Callable[[str], None],
) -> None:
    """Serves clients on ``http://host:port/mcp`` until a signal arrives.

    Parameters
    ----------
    open_memory, user, max_tokens
        As for :func:`serve_stdio`.
    host, port
        Where to listen; port 0 takes a free one.
    token
        What clients must send as ``Authorization: Bearer``; ``None``: nothing.
    announce
        Gets the address once the server listens.

    Raises
    ------
    ConfigError
        Without a token, for a host that other machines reach; for a number that is not a port.
    StoreIOError
        If the port is taken.
    """
    if token is None and not _is_loopback(host):
        raise ConfigError(
            f"without a token only this machine is served, not `{host}`",
            hint="set EPISODICA_MCP_TOKEN, or leave `--host` out",
        )

    async def run() -> None:
        async with open_memory() as memory:
            server = server_for(memory, user, max_tokens=max_tokens)
            with _listening(host, port) as listening:
                web = uvicorn.Server(
                    uvicorn.Config(
                        _app(server, token),
                        log_level=logging.WARNING,
                        access_log=False,
                        server_header=False,
                        timeout_graceful_shutdown=_GRACE,
                    )
                )
                bound, number = listening.getsockname()[:2]
                announce(f"http://{f'[{bound}]' if ':' in bound else bound}:{number}/mcp")
                await web.serve(sockets=[listening])

    # uvicorn stops at these signals and then raises them once more, before the memory is closed.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    asyncio.run(run())


def _app(server: Server[Any], token: str | None) -> ASGIApp:
    # Without a token, only this machine's own names for itself are served, so that no page in a
    # browser reaches the server by a name of its own.
    security = (
        None if token is None else TransportSecuritySettings(enable_dns_rebinding_protection=False)
    )
    app = server.streamable_http_app(host="127.0.0.1", transport_security=security)
    return app if token is None else _Guard(app, token)


class _Guard:
    """Lets requests with the token pass."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._allows(scope):
            refused = PlainTextResponse(
                "a bearer token is required\n", 401, {"WWW-Authenticate": "Bearer"}
            )
            await refused(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _allows(self, scope: MutableMapping[str, Any]) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._expected)


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


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
