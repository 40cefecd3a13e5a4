"""Runs the service under uvicorn until it is told to stop."""

from __future__ import annotations

import os
import signal

import uvicorn
from fastapi import FastAPI

from ..errors import ConfigError
from .app import create_app
from .keys import KeyRing
from .settings import HANDED_ON, ServerSettings

_LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "loggers": {
        name: {"handlers": ["stderr"], "level": "INFO", "propagate": False}
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
    os.environ[HANDED_ON] = settings.to_environment()
    _run("episodica.server.app:create_app", settings)
    return 0


def _end(_: int, __: object) -> None:
    """Uvicorn raises the signal again once it has stopped: that is a good end."""
    raise SystemExit(0)


def _run(app: FastAPI | str, settings: ServerSettings) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    uvicorn.run(
        app,
        factory=isinstance(app, str),
        host=settings.host,
        port=settings.port,
        uds=settings.uds or None,
        workers=settings.workers,
        log_config=_LOGGING,
        # Its lines have paths, which name users.
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        timeout_graceful_shutdown=int(settings.shutdown_timeout_seconds),
        backlog=2048,
    )
