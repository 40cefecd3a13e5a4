"""What every request passes before a route: limits of body, nesting, time and number.

Below FastAPI, because these have to hold before anything is parsed. Writes the access log.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import ServiceError
from .settings import ServerSettings
from .telemetry.metrics import Metrics
from .telemetry.naming import hashed

ACCESS = logging.getLogger("episodica.access")
# Answered whatever the load.
_UNLIMITED = ("/health", "/ready", "/metrics", "/version")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")
_JSON = ("application/json",)
_LINES = ("application/x-ndjson", "application/jsonl", "text/plain", "application/octet-stream")


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, metrics: Metrics) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._under_way = 0
        self._buffered = 0
        self._slots = asyncio.Semaphore(settings.max_concurrency)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["path"] = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
        scope.setdefault("state", {})
        started = time.perf_counter()
        outcome = _Outcome(send)
        is_limited = scope["path"] not in _UNLIMITED and scope["path"] != "/v1/events"
        self._under_way += is_limited
        try:
            most = self._settings.max_concurrency + self._settings.max_waiting
            if is_limited and self._under_way > most:
                raise ServiceError(503, "busy", "too many requests at the same time")
            # Without a slot, so that clients that stall keep nobody waiting.
            body = await self._body(scope, receive, outcome)
            if not is_limited:
                await self._app(scope, _replay(body, receive), outcome.send)
                return
            async with self._slots:
                await self._app(scope, _replay(body, receive), outcome.send)
        except ServiceError as failure:
            await failure.response()(scope, receive, outcome.send)
        finally:
            self._under_way -= is_limited
            self._buffered -= outcome.held
            self._note(scope, outcome, time.perf_counter() - started)

    async def _body(self, scope: Scope, receive: Receive, outcome: _Outcome) -> bytes:
        """The body, if it is within its limits."""
        headers = dict(scope["headers"])
        most = self._settings.max_body_bytes
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > most:
            raise _too_large(most)
        try:
            async with asyncio.timeout(self._settings.body_timeout_seconds):
                body = await self._read(receive, most, outcome)
        except TimeoutError:
            raise ServiceError(408, "too_slow", "the body did not arrive in time") from None
        if not body:
            return body
        media = headers.get(b"content-type", b"").split(b";")[0].strip().lower().decode("latin-1")
        if scope["path"].endswith("/import"):
            if media not in (*_LINES, *_JSON):
                raise ServiceError(415, "media_type", "send `application/x-ndjson`")
            return body
        if media not in _JSON and not media.endswith("+json"):
            raise ServiceError(415, "media_type", "send JSON", "`Content-Type: application/json`")
        if is_too_deep(body, self._settings.max_nesting):
            raise ServiceError(
                400,
                "invalid_input",
                f"the JSON is nested more than {self._settings.max_nesting} levels deep",
            )
        return body

    async def _read(self, receive: Receive, most: int, outcome: _Outcome) -> bytes:
        parts: list[bytes] = []
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ServiceError(400, "invalid_input", "the client went away")
            part = message.get("body", b"")
            outcome.held += len(part)
            self._buffered += len(part)
            if outcome.held > most:
                raise _too_large(most)
            if self._buffered > self._settings.max_buffered_bytes:
                raise ServiceError(503, "busy", "too many large bodies at the same time")
            parts.append(part)
            if not message.get("more_body"):
                return b"".join(parts)

    def _note(self, scope: Scope, outcome: _Outcome, seconds: float) -> None:
        """A line of the access log: no path, no query, no body, as these name users."""
        route = scope.get("route")
        operation = getattr(route, "name", None) or "unknown"
        self._metrics.request(operation, outcome.status, seconds)
        if not ACCESS.isEnabledFor(logging.INFO):
            return
        state = scope["state"]
        caller, user = state.get("caller"), state.get("user")
        entry = {
            "method": scope["method"],
            "operation": operation,
            "status": outcome.status,
            "ms": round(seconds * 1000, 1),
            "bytes": outcome.bytes,
            "key": caller.key_id if caller else None,
            "tenant": caller.tenant if caller else None,
            "user": hashed(caller.tenant, user) if caller and user else None,
        }
        ACCESS.info(json.dumps(entry))


class _Outcome:
    """Counts what is sent."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 499
        self.bytes = 0
        # Bytes of the body that are in memory.
        self.held = 0

    async def send(self, message: Message) -> None:
        """Passes a message on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = message.setdefault("headers", [])
            headers.append((b"x-content-type-options", b"nosniff"))
            if not any(name == b"cache-control" for name, _ in headers):
                headers.append((b"cache-control", b"no-store"))
        else:
            self.bytes += len(message.get("body", b""))
        await self._send(message)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Gives the body that was read, then what comes after it."""
    is_given = False

    async def again() -> MutableMapping[str, Any]:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _too_large(most: int) -> ServiceError:
    return ServiceError(
        413, "too_large", f"the body has more than {most} bytes", "send it in parts"
    )


def is_too_deep(body: bytes, most: int) -> bool:
    """Whether brackets of JSON are nested deeper than ``most``."""
    if body.count(b"[") + body.count(b"{") <= most:
        return False
    depth = 0
    for bracket in _BRACKETS.finditer(_STRING.sub(b"", body)):
        depth += 1 if bracket.group() in b"[{" else -1
        if depth > most:
            return True
    return False
