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
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE, RequestBodyLimitMiddleware
from mcp_types import INVALID_REQUEST
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..server.keys import SCOPES, Key, KeyRing
from ..server.limits import Shared
from ..server.local import is_foreign

# Requests per minute of a key without a limit.
_PER_MINUTE = 6_000
_LOCAL = "local"
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


class _RefusedError(Exception):
    """A refusal: the status, the reason, and a challenge that says what the key lacks."""

    def __init__(self, status: int, text: str, challenge: str = "", **headers: str) -> None:
        super().__init__(text)
        if status in (401, 403):
            headers["WWW-Authenticate"] = f"Bearer {challenge}".rstrip()
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": INVALID_REQUEST, "message": text}}
        self.response = JSONResponse(error, status, headers)


class Guard:
    """Passes on the requests that their key allows."""

    def __init__(
        self,
        app: ASGIApp,
        keys: KeyRing,
        *,
        tenant: str,
        user: str | None,
        local: bool,
        needed: Needed,
    ) -> None:
        self._app = app
        self._keys = keys
        self._tenant = tenant
        self._user = user
        self._local = local
        self._needed = needed
        self._is_draining = False
        self._shared = Shared()
        self._inside = RequestBodyLimitMiddleware(self._check, DEFAULT_MAX_REQUEST_BODY_SIZE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            # The transport lets only the caller that opened a session use it.
            headers = Headers(scope=scope)
            scope["user"] = self._authenticated(headers)
            if scope["method"] == "GET":
                await self._follow(headers, scope, receive, send)
            else:
                await self._inside(scope, receive, send)
        except _RefusedError as refused:
            await refused.response(scope, receive, send)

    def drain(self) -> None:
        """Ends the streams that clients follow."""
        self._is_draining = True

    async def _follow(self, headers: Headers, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a stream until the server stops or the stream's key is no longer valid."""
        is_open = False

        async def passing(message: Message) -> None:
            nonlocal is_open
            is_open = message["type"] == "http.response.start" or bool(message.get("more_body"))
            await send(message)

        task = asyncio.ensure_future(self._inside(scope, receive, passing))
        try:
            while not (await asyncio.wait([task], timeout=_LOOK_SECONDS))[0]:
                if self._is_draining or not self._is_allowed(headers):
                    break
        finally:
            task.cancel()
            await asyncio.wait([task])
        if is_open:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        elif not task.cancelled():
            await task

    def _is_allowed(self, headers: Headers) -> bool:
        try:
            self._key(headers)
        except _RefusedError:
            return False
        return True

    async def _check(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses a request that the scopes of the key don't cover, before the server sees it."""
        first = await receive()
        scopes = scope["user"].scopes
        for method, params in _calls(first.get("body", b"")):
            scope_needed = self._needed(method, params)
            if scope_needed is not None and scope_needed not in scopes:
                raise _lacks(scope_needed)
        is_given = False

        async def again() -> Message:
            nonlocal is_given
            if is_given:
                return await receive()
            is_given = True
            return first

        await self._app(scope, again, send)

    def _authenticated(self, headers: Headers) -> AuthenticatedUser:
        key = self._key(headers)
        per_minute = key.rate_per_minute if key and key.rate_per_minute else _PER_MINUTE
        name = key.id if key else _LOCAL
        wait = self._shared.take(name, per_minute)
        if wait > 0:
            after = {"Retry-After": str(int(wait) + 1)}
            raise _RefusedError(429, f"more than {per_minute} requests per minute", **after)
        scopes = key.scopes if key else SCOPES
        token = AccessToken(
            token=name, client_id=name, scopes=list(scopes), subject=self._subject(key)
        )
        return AuthenticatedUser(token)

    def _key(self, headers: Headers) -> Key | None:
        given = headers.getlist("authorization")
        if not given and not self._keys and self._local:
            if is_foreign(headers.get("host"), headers.get("origin")):
                raise _RefusedError(403, "without keys only programs on this machine are served")
            return None
        scheme, _, text = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        if scheme.lower() != "bearer":
            raise _RefusedError(
                401, "send `Authorization: Bearer KEY`; `episodica keys` makes keys"
            )
        key = self._keys.find(text.strip())
        if key is None:
            raise _RefusedError(401, "the key is unknown or was revoked", 'error="invalid_token"')
        return key

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


def _lacks(scope: str | None, text: str | None = None) -> _RefusedError:
    needed = "" if scope is None else f', scope="{scope}"'
    said = text or f"the key lacks the scope `{scope}`"
    return _RefusedError(403, said, f'error="insufficient_scope"{needed}')


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
