"""The sessions over HTTP, by key: beyond its share, a key's new session ends its oldest one.

The SDK bounds only their number in all. This module sees them by the protocol: they begin with an
answer that names one, and end with a ``DELETE``, which this module sends itself to make room.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..server.slots import key_of

# The path of the protocol.
PATH = "/mcp"
_HEADER = "mcp-session-id"
_FAILED = 400


@dataclass(slots=True)
class _Session:
    user: Any
    # Calls that the server is working on.
    under_way: int = 0


class Sessions:
    """Passes requests on to the server, and keeps its sessions within limits."""

    def __init__(self, app: ASGIApp, most: int, share: float) -> None:
        self._app = app
        self._most = most
        self._most_of_one = math.ceil(most * share)
        # The sessions of each key, the least recently used first.
        self._of_key: dict[str | None, OrderedDict[str, _Session]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a request. If it opens a session too many, an older one ends."""
        key, name = key_of(scope), Headers(scope=scope).get(_HEADER)
        session = self._used(key, name) if name and scope["method"] == "POST" else None

        async def passing(message: Message) -> None:
            if message["type"] == "http.response.start":
                await self._note(key, name, scope, message)
            await send(message)

        try:
            await self._app(scope, receive, passing)
        finally:
            if session is not None:
                session.under_way -= 1

    def _used(self, key: str | None, name: str) -> _Session | None:
        own = self._of_key.get(key)
        if own is None or name not in own:
            return None
        own.move_to_end(name)
        own[name].under_way += 1
        return own[name]

    async def _note(self, key: str | None, name: str | None, scope: Scope, start: Message) -> None:
        """Notes from the head of an answer that a session began or ended."""
        if name is not None:
            if start["status"] == 404 or scope["method"] == "DELETE":
                self._forget(key, name)
        elif start["status"] < _FAILED:
            headers = dict(start.get("headers", ()))
            opened = headers.get(_HEADER.encode())
            if opened is not None:
                own = self._of_key.setdefault(key, OrderedDict())
                own[opened.decode()] = _Session(scope["user"])
                await self._make_room(key)

    async def _make_room(self, key: str | None) -> None:
        while len(self._of_key[key]) > self._most_of_one and key is not None:
            if not await self._end_oldest(key):
                return
        while sum(map(len, self._of_key.values())) > self._most:
            largest = max(self._of_key, key=lambda one: len(self._of_key[one]))
            if not await self._end_oldest(largest):
                return

    async def _end_oldest(self, key: str | None) -> bool:
        """Ends the session of a key that was unused for longest; ``False``: all are in use."""
        own = self._of_key[key]
        # The newest is the one that needs the room.
        for name, session in list(own.items())[:-1]:
            if not session.under_way:
                self._forget(key, name)
                await self._app(_ending(name, session.user), _no_body, _unseen)
                return True
        return False

    def _forget(self, key: str | None, name: str) -> None:
        own = self._of_key.get(key)
        if own is not None:
            own.pop(name, None)
            if not own:
                del self._of_key[key]


def _ending(name: str, user: Any) -> Scope:
    """The request that ends a session."""
    return {
        "type": "http",
        "http_version": "1.1",
        "scheme": "http",
        "method": "DELETE",
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": b"",
        "headers": [(_HEADER.encode(), name.encode())],
        "user": user,
        "state": {},
    }


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unseen(_: Message) -> None:
    """The answer is not read."""
