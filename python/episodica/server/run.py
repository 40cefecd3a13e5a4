"""Runs the service under uvicorn until it is told to stop."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import uvicorn
from fastapi import FastAPI

from ..errors import ConfigError
from .app import create_app
from .connection import Connection
from .ending import Deadline
from .explorer import OneTimeAddress
from .keys import KeyRing
from .settings import HANDED_ON, ServerSettings
from .telemetry.metrics import FOLDER

# Longer than clients keep idle connections, so that it is they who close them.
_KEEP_ALIVE_SECONDS = 75


def _logging(level: str) -> dict[str, Any]:
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
        "loggers": {
            name: {"handlers": ["stderr"], "level": level, "propagate": False}
            for name in ("episodica", "uvicorn.error")
        },
    }


def serve(settings: ServerSettings) -> int:
    """Serves until SIGTERM or SIGINT; returns the exit status.

    Raises
    ------
    ConfigError
        If other machines could connect and there is no key.
    """
    if not settings.is_local and not KeyRing(settings.keys_path):
        raise ConfigError(
            f"other machines can connect to `{settings.host}`, and there is no key",
            hint="make one with `episodica keys create`, or serve 127.0.0.1",
        )
    if settings.workers == 1:
        app = create_app(settings)
        # A store that can't be opened is an error of the command, not of the server.
        app.state.service.memories.open(settings.tenant)
        _run(app, settings)
        return 0
    # The first process looks twice a second whether it is told to stop.
    seconds = max(0.5, settings.shutdown_timeout_seconds - 0.5)
    os.environ[HANDED_ON] = replace(settings, shutdown_timeout_seconds=seconds).to_environment()
    with tempfile.TemporaryDirectory(prefix="episodica-metrics-") as folder:
        os.environ[FOLDER] = folder
        _run("episodica.server.app:create_app", settings)
    return 0


def explore(settings: ServerSettings, announce: Callable[[str], None]) -> int:
    """Serves one store on this machine for the explorer; ``announce`` gets the one-time address."""
    address = OneTimeAddress()
    app = create_app(settings, address)
    app.state.service.memories.open(settings.tenant)
    with socket.create_server((settings.host, settings.port)) as listener:
        port = listener.getsockname()[1]
        announce(f"http://{settings.host}:{port}/ui/#token={address.token}")
        _end_on_signals()
        config = uvicorn.Config(app, **_options(settings, "WARNING"))
        uvicorn.Server(config).run(sockets=[listener])
    return 0


def _end(_: int, __: object) -> None:
    """Uvicorn raises the signal again once it has stopped: that is a good end."""
    raise SystemExit(0)


def _end_on_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)


def _run(app: FastAPI | str, settings: ServerSettings) -> None:
    _end_on_signals()
    uvicorn.run(
        app,
        factory=isinstance(app, str),
        host=settings.host,
        port=settings.port,
        uds=settings.uds or None,
        workers=settings.workers,
        backlog=2048,
        **_options(settings, "INFO"),
    )


def _options(settings: ServerSettings, level: str) -> dict[str, Any]:
    return {
        "log_config": _logging(level),
        # Its lines have paths, which name users.
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "lifespan": "on",
        "http": Connection,
        "timeout_graceful_shutdown": Deadline(settings.shutdown_timeout_seconds).for_requests,
        "timeout_keep_alive": _KEEP_ALIVE_SECONDS,
    }
