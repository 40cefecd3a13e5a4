"""Requests that are sent again: the answer of the first is given again.

Answers are kept in memory for a day, some thousands. Messages are safe beyond that: those without
an id get one that follows from the key of the request, so that no restart stores them twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from ..inputs.names import named
from .access import Caller
from .problems import ServiceError

_KEPT = 4_096
_KEPT_BYTES = 64 << 20
_SECONDS = 86_400.0


@dataclass(slots=True)
class _Entry:
    user: str
    body: bytes
    at: float
    answer: Response | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Replays:
    """The answers of requests with an ``Idempotency-Key``."""

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[str, ...], _Entry] = OrderedDict()
        self._bytes = 0

    async def once(
        self,
        caller: Caller,
        operation: str,
        user: str,
        key: str | None,
        body: bytes,
        work: Callable[[], Awaitable[Response]],
    ) -> Response:
        """The answer of ``work``, or of the request with this key before.

        Raises
        ------
        ServiceError
            If the key was used with another body.
        """
        if key is None:
            return await work()
        digest = hashlib.sha256(body).digest()
        place = (caller.tenant, caller.key_id, operation, user, key)
        entry = self._entries.get(place)
        if entry is not None and time.monotonic() - entry.at > _SECONDS:
            self._drop(place)
            entry = None
        if entry is None:
            entry = self._entries[place] = _Entry(user, digest, time.monotonic())
        if entry.body != digest:
            raise ServiceError(
                409,
                "idempotency",
                "the Idempotency-Key was used with another body",
                "use a new key for a new request",
            )
        async with entry.lock:
            if entry.answer is not None:
                return entry.answer
            try:
                answer = await work()
            except BaseException:
                self._drop(place)
                raise
            if self._entries.get(place) is entry:
                entry.answer = answer
                self._bytes += len(answer.body)
                self._shrink()
            return answer

    def forget(self, tenant: str, user: str) -> None:
        """Drops the answers about a user whose records are deleted."""
        for place in [one for one in self._entries if (one[0], one[3]) == (tenant, user)]:
            self._drop(place)

    def _shrink(self) -> None:
        while len(self._entries) > _KEPT or self._bytes > _KEPT_BYTES:
            self._drop(next(iter(self._entries)))

    def _drop(self, place: tuple[str, ...]) -> None:
        entry = self._entries.pop(place, None)
        if entry is not None and entry.answer is not None:
            self._bytes -= len(entry.answer.body)


def with_ids(messages: list[dict[str, Any]], user: str, key: str | None) -> list[dict[str, Any]]:
    """The messages, each with an id that follows from the request's key."""
    if key is None:
        return messages
    return [
        message
        if named(message, "message_id")
        else {**message, "message_id": _derived(user, key, number)}
        for number, message in enumerate(messages)
    ]


def _derived(user: str, key: str, number: int) -> str:
    text = f"{len(user)}:{user}{key}".encode("utf-8", "surrogatepass")
    return f"idem-{hashlib.sha256(text).hexdigest()[:32]}-{number}"
