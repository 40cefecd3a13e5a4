"""What every request passes before a route: limits of body, nesting, time and number.

Wraps FastAPI, because the limits have to hold before anything is parsed. Writes the access log.
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

from ..errors import EpisodicaError
from .keys import KeyRing
from .limits import Budget, Shared
from .problems import ServiceError
from .settings import ServerSettings
from .telemetry.metrics import Metrics
from .telemetry.naming import hashed
from .work import Slots, key_of, release_slot

ACCESS = logging.getLogger("episodica.access")
# Paths that are answered under any load.
_UNLIMITED = ("/health", "/ready", "/metrics", "/version")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")
_JSON = ("application/json",)
# No `text/plain`: a page of any site may send that, and the browser does not ask first.
_FILES = (
    *("application/x-ndjson", "application/jsonl", "application/octet-stream"),
    *("application/zip", "application/x-zip-compressed", "text/csv", "application/mbox"),
)
# The most bytes of an answer that are handed to the connection at once.
_PIECE = 64 << 10
# Stands for the key of callers whose key is missing or wrong; they have one share together.
_UNKNOWN = "unknown"


class Guard:
    """The outermost layer of the application."""

    def __init__(
        self,
        app: ASGIApp,
        settings: ServerSettings,
        metrics: Metrics,
        keys: KeyRing,
        shared: Shared,
    ) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._keys = keys
        self._slots = Slots(settings)
        self._held = Budget(
            shared, "bytes", settings.max_buffered_bytes, settings.key_share, settings.workers
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["path"] = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
        scope.setdefault("state", {})
        started = time.perf_counter()
        is_limited = scope["path"] not in _UNLIMITED and scope["path"] != "/v1/events"
        scope["state"]["key"] = self._key(scope) if is_limited else None
        outcome = _Outcome(scope, send, self._held)
        try:
            if is_limited:
                await self._limited(scope, receive, outcome)
            else:
                body = await self._body(scope, receive, outcome)
                await self._app(scope, _replay(body, receive), outcome.send)
        except ServiceError as failure:
            await failure.response()(scope, receive, outcome.send)
        finally:
            release_slot(scope)
            outcome.release()
            self._note(scope, outcome, time.perf_counter() - started)

    async def _limited(self, scope: Scope, receive: Receive, outcome: _Outcome) -> None:
        key = key_of(scope)
        with self._slots.entered(key):
            # Before a slot is taken, so that other clients do not wait for a client that stalls.
            body = await self._body(scope, receive, outcome)
            scope["state"]["slot"] = await self._slots.take(key)
            await self._app(scope, _replay(body, receive), outcome.send)

    def _key(self, scope: Scope) -> str | None:
        """The key whose share a request uses; routes check its permissions."""
        given = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
        try:
            found = self._keys.find(given.partition(" ")[2]) if self._keys else None
            return found.id if found else _UNKNOWN if self._keys else None
        except EpisodicaError:
            # The keys can't be read: the route reports the error.
            return _UNKNOWN

    async def _body(self, scope: Scope, receive: Receive, outcome: _Outcome) -> bytes:
        headers = dict(scope["headers"])
        most = self._settings.max_body_bytes
        if b"transfer-encoding" in headers and b"content-length" in headers:
            # Proxies differ on where such a body ends: the rest may be another client's request.
            outcome.is_last = True
            raise ServiceError(400, "both Content-Length and Transfer-Encoding")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > most:
            raise _too_large(most)
        try:
            async with asyncio.timeout(self._settings.body_timeout_seconds):
                body = await self._read(receive, most, outcome)
        except TimeoutError:
            raise ServiceError(408, "the body did not arrive in time") from None
        if not body:
            return body
        media = headers.get(b"content-type", b"").split(b";")[0].strip().lower().decode("latin-1")
        if scope["path"].endswith("/import"):
            if media not in (*_FILES, *_JSON):
                hint = "`Content-Type: application/octet-stream`"
                raise ServiceError(415, "send the bytes of a file", hint)
            return body
        if media not in _JSON and not media.endswith("+json"):
            raise ServiceError(415, "send JSON", "`Content-Type: application/json`")
        if is_too_deep(body, self._settings.max_nesting):
            raise ServiceError(
                400, f"the JSON is nested more than {self._settings.max_nesting} levels deep"
            )
        return body

    async def _read(self, receive: Receive, most: int, outcome: _Outcome) -> bytes:
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ServiceError(400, "the client went away")
            part = message.get("body", b"")
            size += len(part)
            if size > most:
                raise _too_large(most)
            if not outcome.hold(len(part)):
                raise ServiceError(503, "too many large bodies at the same time")
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
    """Sends an answer piece by piece, and counts its bytes, sent and in memory."""

    def __init__(self, scope: Scope, send: Send, held: Budget) -> None:
        self._scope = scope
        self._send = send
        self._budget = held
        self._start: Message | None = None
        self.status = 499
        self.bytes = 0
        # Whether the connection ends with this answer.
        self.is_last = False
        # Bytes of body and answer that are in memory.
        self._held = 0

    def hold(self, size: int) -> bool:
        """Counts bytes in memory; ``False`` if the budget has too little room for them."""
        if not self._budget.has_room(key_of(self._scope), size):
            return False
        self._budget.take(key_of(self._scope), size)
        self._held += size
        return True

    def release(self) -> None:
        """No longer counts the bytes held in memory."""
        self._budget.give(key_of(self._scope), self._held)
        self._held = 0

    async def send(self, message: Message) -> None:
        """Passes a message of the answer on. The work is done when the first message arrives."""
        if message["type"] != "http.response.body":
            release_slot(self._scope)
            self._start = message
            return
        body = memoryview(message.get("body", b""))
        more = message.get("more_body", False)
        if self._start is not None:
            start, self._start = self._start, None
            # A client can repeat a read; a stored change must be acknowledged.
            is_refusable = self._scope["method"] == "GET" or self._scope["path"].endswith(
                ("/search", "/context")
            )
            if len(body) > _PIECE and not self.hold(len(body)) and is_refusable:
                busy = ServiceError(503, "too many large answers are not yet read")
                await busy.response()(self._scope, _nothing, self.send)
                return
            await self._begin(start)
        for place in range(0, max(1, len(body)), _PIECE):
            piece = bytes(body[place : place + _PIECE])
            self.bytes += len(piece)
            is_rest = more or place + _PIECE < len(body)
            # Waits until the client has taken most of the pieces before.
            await self._send({"type": message["type"], "body": piece, "more_body": is_rest})

    async def _begin(self, start: Message) -> None:
        self.status = start["status"]
        headers = start.setdefault("headers", [])
        headers.append((b"x-content-type-options", b"nosniff"))
        if not any(name == b"cache-control" for name, _ in headers):
            headers.append((b"cache-control", b"no-store"))
        if self.is_last:
            headers.append((b"connection", b"close"))
        await self._send(start)


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


def _replay(body: bytes, receive: Receive) -> Receive:
    """Gives the body that was read already, then the following messages."""
    is_given = False

    async def again() -> MutableMapping[str, Any]:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _too_large(most: int) -> ServiceError:
    return ServiceError(413, f"the body has more than {most} bytes", "send it in parts")


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
