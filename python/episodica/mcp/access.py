"""Who calls over HTTP: the keys of ``episodica keys``, their users and scopes.

A key with one user reaches that user's memory and no other; a key for all users reaches the user
that the server was started for. Without keys the server answers on this machine only.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp_types import INVALID_REQUEST
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..server.entrance import LOCAL, Entrance
from ..server.guard import Admission
from ..server.keys import SCOPES, Key
from ..server.limits import Budget
from ..server.local import is_foreign
from ..server.problems import ServiceError
from ..server.slots import key_of
from .sessions import PATH, Sessions

# Seconds between two checks of the key of a stream.
_LOOK_SECONDS = 0.2

# The scope that a request needs, by its method and parameters; `None` for any.
Needed = Callable[[str, Mapping[str, Any]], str | None]


@dataclass(frozen=True, slots=True)
class Caller:
    """The user of a request, and its permissions."""

    user: str
    scopes: tuple[str, ...] = SCOPES
    name: str = "agent"


def caller_of(context: Any, user: str | None) -> Caller:
    """The caller of a request; without HTTP, the user that the process was started for."""
    request = getattr(context, "request", None)
    found = None if request is None else request.scope.get("user")
    if isinstance(found, AuthenticatedUser):
        token = found.access_token
        return Caller(token.subject or "", tuple(found.scopes), token.client_id)
    return Caller(user or "")


class McpDoor:
    """The guard's door of the MCP server: a key for a user opens it."""

    def __init__(self, entrance: Entrance, *, tenant: str, user: str | None, most: int) -> None:
        self._entrance = entrance
        self._tenant = tenant
        self._user = user
        self._most = most

    def admit(self, scope: Scope) -> Admission:
        """What a request may take. The transport lets only its opener use a session."""
        headers = Headers(scope=scope)

        def check() -> None:
            if is_foreign(headers.get("host"), headers.get("origin")):
                raise ServiceError(403, "without keys only programs on this machine are served")

        key = self._entrance.key(scope, check)
        name = key.id if key else LOCAL
        scopes = list(key.scopes if key else SCOPES)
        token = AccessToken(token=name, client_id=name, scopes=scopes, subject=self._subject(key))
        scope["user"] = AuthenticatedUser(token)
        writes = scope["method"] == "POST" and scope["path"] == PATH
        return Admission(
            key.id if key else None,
            has_key=key is not None,
            most=self._most if writes else 0,
            # Streams have a limit of their own.
            works=scope["method"] != "GET",
        )

    def is_allowed(self, scope: Scope) -> bool:
        """Whether the key of a stream that was let in is still valid."""
        name = scope["user"].access_token.token
        return self._entrance.still_holds(None if name == LOCAL else name)

    def refusal(self, failure: ServiceError) -> Response:
        """The answer to a refused request: an error of JSON-RPC."""
        headers = {}
        if failure.status in (401, 403):
            headers["WWW-Authenticate"] = f"Bearer {failure.challenge}".rstrip()
        if failure.retry_after is not None:
            headers["Retry-After"] = str(int(failure.retry_after) + 1)
        error = {"code": INVALID_REQUEST, "message": failure.detail}
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, failure.status, headers)

    def note(self, scope: Scope, status: int, size: int, seconds: float) -> None:
        """Nothing is noted."""

    def _subject(self, key: Key | None) -> str:
        if key is not None and key.tenant != self._tenant:
            raise _lacks(None, "the key is for another tenant")
        if key is None or key.user == "*":
            if self._user is None:
                raise _lacks(None, "the key names no user; `episodica keys create --user` does")
            return self._user
        if self._user not in (None, key.user):
            raise _lacks(None, "the key is for another user")
        return key.user


class Calls:
    """Between the guard and the server: scopes, streams and sessions."""

    def __init__(
        self, app: ASGIApp, door: McpDoor, needed: Needed, streams: Budget, sessions: Sessions
    ) -> None:
        self._app = app
        self._door = door
        self._needed = needed
        self._streams = streams
        self._sessions = sessions
        self._is_draining = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request that the guard has let in."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["method"] == "GET":
            await self._follow(scope, receive, send)
        else:
            first = await receive()
            self._check(scope, first.get("body", b""))
            await self._sessions(scope, _again(first, receive), send)

    def drain(self) -> None:
        """Ends the streams that clients follow."""
        self._is_draining = True

    async def _follow(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a stream until the server stops or the stream's key is no longer valid."""
        key, is_open = key_of(scope), False
        if not self._streams.has_room(key):
            raise ServiceError(503, "too many clients follow streams")

        async def passing(message: Message) -> None:
            nonlocal is_open
            is_open = message["type"] == "http.response.start" or bool(message.get("more_body"))
            await send(message)

        self._streams.take(key)
        task = asyncio.ensure_future(self._sessions(scope, receive, passing))
        try:
            while not (await asyncio.wait([task], timeout=_LOOK_SECONDS))[0]:
                if self._is_draining or not self._door.is_allowed(scope):
                    break
        finally:
            self._streams.give(key)
            task.cancel()
            await asyncio.wait([task])
        if is_open:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        elif not task.cancelled():
            await task

    def _check(self, scope: Scope, body: bytes) -> None:
        """Refuses a request that the scopes of the key don't cover, before the server sees it."""
        for method, params in _calls(body):
            needed = self._needed(method, params)
            if needed is not None and needed not in scope["user"].scopes:
                raise _lacks(needed)


def _lacks(scope: str | None, text: str | None = None) -> ServiceError:
    needed = "" if scope is None else f', scope="{scope}"'
    said = text or f"the key lacks the scope `{scope}`"
    return ServiceError(403, said, challenge=f'error="insufficient_scope"{needed}')


def _calls(body: bytes) -> list[tuple[str, dict[str, Any]]]:
    """The methods and parameters in a body; the server handles other content."""
    try:
        read = json.loads(body) if body else None
    except (ValueError, RecursionError):
        return []
    found = []
    for one in read if isinstance(read, list) else [read]:
        if isinstance(one, dict) and isinstance(one.get("method"), str):
            params = one.get("params")
            found.append((one["method"], params if isinstance(params, dict) else {}))
    return found


def _again(first: Message, receive: Receive) -> Receive:
    """Gives a message that was read already, then the following ones."""
    given = iter((first,))

    async def again() -> Message:
        for message in given:
            return message
        return await receive()

    return again
