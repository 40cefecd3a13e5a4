"""What every request passes before the application, in `serve` and in `mcp` alike.

First its head: a `Door` decides who asks and what the request may take. Only then its body, within
limits of size, time, number and nesting, and only where one is taken. Knows no route and no key.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .. import _native
from ..hints import shown
from .connection import CONNECTION, LIMITS, ClientLimits, Connection
from .limits import Budget, Shared
from .problems import ServiceError
from .settings import ServerSettings
from .slots import Slots, key_of, release_slot

JSON = ("application/json",)
# The most bytes of an answer that are handed to the connection at once.
_PIECE = 64 << 10
# Bytes of each body that don't count among those in memory: questions are answered while others
# send much, or send nothing of what they announced.
_FREE = 64 << 10
_EVENTS = b"text/event-stream"


@dataclass(frozen=True, slots=True)
class Admission:
    """What a request may take, by its head.

    It takes from the share of ``key``; ``None`` has no share, where no keys are needed. Its body
    has at most ``most`` bytes, 0: none is read. A request that ``works`` needs a slot.
    """

    key: str | None
    has_key: bool = False
    most: int = 0
    media: tuple[str, ...] = JSON
    works: bool = False


class Door(Protocol):
    """The side of the guard that knows keys, routes, and the form of a refusal."""

    def admit(self, scope: Scope) -> Admission:
        """What a request may take; raises :class:`ServiceError` if it is refused."""
        ...

    def refusal(self, failure: ServiceError) -> Response:
        """The answer to a refused request."""
        ...

    def note(self, scope: Scope, status: int, size: int, seconds: float) -> None:
        """Notes a request that is over, and the bytes of its answer."""
        ...


class Guard:
    """The outermost layer of an application."""

    def __init__(self, app: ASGIApp, door: Door, settings: ServerSettings, shared: Shared) -> None:
        self._app = app
        self._door = door
        self._settings = settings
        self._slots = Slots(settings)
        self._held = Budget(
            shared, "bytes", settings.max_buffered_bytes, settings.key_share, settings.workers
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        if scope["type"] == "lifespan":
            scope.setdefault("state", {})[LIMITS] = ClientLimits.of(self._settings)
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["path"] = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
        scope.setdefault("state", {})
        started = time.perf_counter()
        outcome = _Outcome(scope, send, self._held, self._door)
        try:
            await self._admitted(scope, receive, outcome)
        except ServiceError as failure:
            await self._door.refusal(failure)(scope, receive, outcome.send)
        finally:
            release_slot(scope)
            outcome.release()
            seconds = time.perf_counter() - started
            self._door.note(scope, outcome.status, outcome.bytes, seconds)

    async def _admitted(self, scope: Scope, receive: Receive, outcome: _Outcome) -> None:
        # Until the whole body is read, the connection can have no further request.
        outcome.is_last = True
        length = _announced(scope)
        outcome.is_last = length != 0
        admission = self._door.admit(scope)
        scope["state"]["key"] = admission.key
        connection: Connection | None = scope["state"].get(CONNECTION)
        if connection is not None and admission.has_key and admission.key is not None:
            connection.belongs_to(admission.key)
        if not admission.works:
            body = await self._body(admission, length, scope, receive, outcome)
            await self._app(scope, _replay(body, receive), outcome.send)
            return
        with self._slots.entered(admission.key):
            # Before a slot is taken, so that other clients do not wait for a client that stalls.
            body = await self._body(admission, length, scope, receive, outcome)
            scope["state"]["slot"] = await self._slots.take(admission.key)
            await self._app(scope, _replay(body, receive), outcome.send)

    async def _body(
        self,
        admission: Admission,
        length: int | None,
        scope: Scope,
        receive: Receive,
        outcome: _Outcome,
    ) -> bytes:
        if length == 0:
            return b""
        if not admission.most:
            if not (admission.works or admission.has_key):
                # The application answers as if there were no body.
                return b""
            hint = "use the parameters of the query"
            raise ServiceError(400, f"{scope['method']} takes no body here", hint)
        if length is not None:
            _check_media(scope, admission.media)
            if length > admission.most:
                raise _too_large(admission.most)
        try:
            async with asyncio.timeout(self._settings.body_timeout_seconds):
                body = await self._read(receive, admission.most, outcome)
        except TimeoutError:
            raise ServiceError(408, "the body did not arrive in time") from None
        outcome.is_last = False
        if body:
            _check_media(scope, admission.media)
        if admission.media == JSON:
            self._check_json(body)
        return body

    def _check_json(self, body: bytes) -> None:
        if b"\0" in body:
            # The bytes of UTF-16 and UTF-32, in which brackets can't be counted.
            raise ServiceError(400, "the JSON is not UTF-8")
        if _native.nests_deeper(body, self._settings.max_nesting):
            raise ServiceError(
                400, f"the JSON is nested more than {self._settings.max_nesting} levels deep"
            )

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
            if not outcome.hold(min(len(part), size - _FREE)):
                raise ServiceError(503, "too many large bodies at the same time")
            parts.append(part)
            if not message.get("more_body"):
                return b"".join(parts)


class _Outcome:
    """Sends an answer piece by piece, and counts its bytes, sent and in memory."""

    def __init__(self, scope: Scope, send: Send, held: Budget, door: Door) -> None:
        self._scope = scope
        self._send = send
        self._budget = held
        self._door = door
        self._start: Message | None = None
        # Whether another answer was sent in place of this one.
        self._is_replaced = False
        self.status = 499
        self.bytes = 0
        # Whether the connection ends with this answer.
        self.is_last = False
        # Bytes of body and answer that are in memory.
        self._held = 0

    def hold(self, size: int) -> bool:
        """Counts bytes in memory; ``False`` if the budget has too little room for them."""
        if size <= 0:
            return True
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
        if self._is_replaced:
            return
        if message["type"] != "http.response.body":
            self._start = message
            if _is_stream(message):
                await self._begin()
            return
        release_slot(self._scope)
        body = memoryview(message.get("body", b""))
        more = message.get("more_body", False)
        if self._start is not None:
            # A client can repeat a read; a stored change must be acknowledged.
            is_refusable = self._scope["method"] == "GET" or self._scope["path"].endswith(
                ("/search", "/context", "/recall", "/explain")
            )
            if len(body) > _PIECE and not self.hold(len(body)) and is_refusable:
                busy = ServiceError(503, "too many large answers are not yet read")
                await self._door.refusal(busy)(self._scope, _nothing, self.send)
                self._is_replaced = True
                return
            await self._begin()
        for place in range(0, max(1, len(body)), _PIECE):
            piece = bytes(body[place : place + _PIECE])
            self.bytes += len(piece)
            is_rest = more or place + _PIECE < len(body)
            # Waits until the client has taken most of the pieces before.
            await self._send({"type": message["type"], "body": piece, "more_body": is_rest})

    async def _begin(self) -> None:
        start, self._start = self._start, None
        if start is None:
            return
        self.status = start["status"]
        headers = start.setdefault("headers", [])
        headers.append((b"x-content-type-options", b"nosniff"))
        if not any(name == b"cache-control" for name, _ in headers):
            headers.append((b"cache-control", b"no-store"))
        if self.is_last:
            headers.append((b"connection", b"close"))
        await self._send(start)


def _announced(scope: Scope) -> int | None:
    """The bytes of the body that a head announces; ``None``: unknown."""
    headers = dict(scope["headers"])
    length = headers.get(b"content-length")
    if b"transfer-encoding" in headers:
        if length is not None:
            # Proxies differ on where such a body ends: the rest may be another client's request.
            raise ServiceError(400, "both Content-Length and Transfer-Encoding")
        return None
    # A length that is not a number ends in the connection: it never gets here.
    return int(length) if length is not None and length.isdigit() else 0


def _is_stream(start: Message) -> bool:
    """Whether an answer goes on as things happen, so that its head can't wait for the first."""
    return any(
        name.lower() == b"content-type" and value.startswith(_EVENTS)
        for name, value in start.get("headers", ())
    )


def _check_media(scope: Scope, media: tuple[str, ...]) -> None:
    headers = dict(scope["headers"])
    coding = headers.get(b"content-encoding", b"").strip().decode("latin-1")
    if coding.lower() not in ("", "identity"):
        said = f"the body has the `Content-Encoding: {shown(coding)}`"
        raise ServiceError(415, said, "send it as it is, without the header")
    given = headers.get(b"content-type", b"")
    found = given.split(b";")[0].strip().lower().decode("latin-1")
    if found in media or (media == JSON and found.endswith("+json")):
        return
    if media == JSON:
        raise ServiceError(415, "send JSON", "`Content-Type: application/json`")
    hint = "`Content-Type: application/octet-stream`"
    raise ServiceError(415, "send the bytes of a file", hint)


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
