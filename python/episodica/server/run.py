"""Runs the service under uvicorn until it is told to stop."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from ..errors import ConfigError
from .app import create_app
from .connection import web_options
from .ending import Deadline
from .explorer import OneTimeAddress
from .keys import KeyRing
from .local import listening
from .problems import WithoutPaths
from .scratch import scratch
from .settings import HANDED_ON, ServerSettings
from .telemetry.metrics import FOLDER

# The exit status of a service that could not start.
_NOT_STARTED = 3
_LOG = logging.getLogger("episodica.server")


def _logging(level: str) -> dict[str, Any]:
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
        "filters": {"paths": {"()": WithoutPaths}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "plain", "filters": ["paths"]}
        },
        "loggers": {
            name: {"handlers": ["stderr"], "level": level, "propagate": False}
            for name in ("episodica", "uvicorn.error")
        },
    }


def serve(settings: ServerSettings) -> int:
    """Serves until SIGTERM or SIGINT; returns the exit status."""
    if not settings.is_local and not KeyRing(settings.keys_path):
        raise ConfigError(
            f"other machines can connect to `{settings.host}`, and there is no key",
            hint="make one with `episodica keys create`, or serve 127.0.0.1",
        )
    if settings.workers == 1:
        app = create_app(settings)
        # A store that can't be opened is an error of the command, not of the server.
        with _listening(settings) as listener:
            app.state.service.memories.open(settings.tenant)
            _run(app, settings, listener)
        return 0
    # The first process looks twice a second whether it is told to stop.
    seconds = max(0.5, settings.shutdown_timeout_seconds - 0.5)
    os.environ[HANDED_ON] = replace(settings, shutdown_timeout_seconds=seconds).to_environment()
    with scratch("episodica-metrics-") as folder:
        os.environ[FOLDER] = str(folder)
        with _listening(settings) as listener:
            _run("episodica.server.app:create_app", settings, listener)
    return 0


def explore(settings: ServerSettings, announce: Callable[[str], None]) -> int:
    """Serves one store on this machine for the explorer; ``announce`` gets the one-time address."""
    address = OneTimeAddress()
    app = create_app(settings, address)
    app.state.service.memories.open(settings.tenant)
    with listening(settings.host, settings.port) as listener:
        port = listener.getsockname()[1]
        announce(f"http://{settings.host}:{port}/ui/#token={address.token}")
        _end_on_signals()
        config = uvicorn.Config(app, **_options(settings, "WARNING"))
        uvicorn.Server(config).run(sockets=[listener])
    return 0


def _end(_: int, __: object) -> None:
    """Once stopped, Uvicorn raises the signal again; the process then ends with status 0."""
    raise SystemExit(0)


def _end_on_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)


def _run(app: FastAPI | str, settings: ServerSettings, listener: socket.socket | None) -> None:
    _end_on_signals()
    config = uvicorn.Config(
        app,
        factory=isinstance(app, str),
        host=settings.host,
        port=settings.port,
        uds=settings.uds or None,
        workers=settings.workers,
        **_options(settings, "INFO"),
    )
    _LOG.info("%s", _welcome(settings, listener))
    server = uvicorn.Server(config)
    sockets = None if listener is None else [listener]
    if settings.workers > 1:
        Multiprocess(config, sockets=sockets or [config.bind_socket()]).run()
    else:
        server.run(sockets=sockets)
    if settings.uds:
        Path(settings.uds).unlink(missing_ok=True)
    if settings.workers == 1 and not server.started:
        sys.exit(_NOT_STARTED)


def _listening(settings: ServerSettings) -> AbstractContextManager[socket.socket | None]:
    """The socket of the service, taken before anything is opened; none for a Unix socket."""
    return nullcontext() if settings.uds else listening(settings.host, settings.port)


def _welcome(settings: ServerSettings, listener: socket.socket | None) -> str:
    """The lines for the terminal at the start: the address, and who has access."""
    if listener is None:
        where = f"serving on the socket {settings.uds}"
    else:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"http://{host}:{listener.getsockname()[1]}"
        where = f"serving on {address}, the explorer is at {address}/ui/"
    known = sum(one.revoked_at is None for one in KeyRing(settings.keys_path).all())
    keys = f"{known:,} {'key' if known == 1 else 'keys'}, `episodica keys list` shows them"
    if not known:
        keys = "no key: programs on this machine only; `episodica keys create` makes one"
    return f"{where}; {'read-only; ' if settings.read_only else ''}{keys}"


def _options(settings: ServerSettings, level: str) -> dict[str, Any]:
    return {
        "log_config": _logging(level),
        "lifespan": "on",
        "timeout_graceful_shutdown": Deadline(settings.shutdown_timeout_seconds).for_requests,
        **web_options(),
    }
