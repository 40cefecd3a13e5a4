"""Access: the key of a request, its permissions, and its rate limit.

The guard asks by the head of a request, before anything of its body is read.

Without any key the service answers on this machine only, and not to pages of other sites: it knows
them by ``Origin``, or by a ``Host`` that is not this machine.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import unquote_to_bytes

from fastapi import Depends, Path, Request, Security
from fastapi.security import HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials

from ..errors import EpisodicaError
from .entrance import LOCAL, Entrance, bearer_of
from .explorer import OneTimeAddress
from .keys import SCOPES, Key, KeyRing
from .limits import Shared
from .local import is_foreign
from .problems import ServiceError, not_found
from .settings import ServerSettings

# Scopes and methods that write nothing.
_READING = ("read", "admin")
_SAFE = ("GET", "HEAD", "OPTIONS")

bearer = HTTPBearer(auto_error=False, description="A key of `episodica keys create`.")


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request, and its permissions."""

    tenant: str
    user: str
    scopes: tuple[str, ...]
    key_id: str

    @property
    def has_key(self) -> bool:
        """Whether the caller sent a key."""
        return self.key_id != LOCAL

    @property
    def reads(self) -> bool:
        """Whether answers may contain stored records."""
        return "read" in self.scopes

    def opens(self, user: str) -> bool:
        """Whether the caller may see this user's data."""
        return self.user in ("*", user)

    def needs(self, scope: str) -> None:
        """Refuses a caller without the scope."""
        if scope not in self.scopes:
            raise ServiceError(
                403,
                f"the key lacks the scope `{scope}`",
                f"make one with `episodica keys create --scopes {scope}`",
            )


class Gatekeeper:
    """Decides who a request comes from."""

    def __init__(
        self, settings: ServerSettings, shared: Shared, address: OneTimeAddress | None = None
    ) -> None:
        self.keys = KeyRing(settings.keys_path, settings.needs_keys_for_audit)
        self._settings = settings
        self._address = address
        is_local = settings.is_local
        self._entrance = Entrance(self.keys, shared, settings.rate_per_minute, is_local)

    def caller(self, request: Request) -> Caller:
        """The caller of a request; refuses unknown callers, and those above their rate limit."""
        key = self._key(request)
        if key is None:
            return Caller(self._settings.tenant, "*", self._usable(SCOPES), LOCAL)
        return Caller(key.tenant, key.user, self._usable(key.scopes), key.id)

    def share(self, request: Request) -> str | None:
        """From whose share a request takes that needs no key."""
        return None if self._address is not None else self._entrance.share(request.scope)

    def _usable(self, scopes: tuple[str, ...]) -> tuple[str, ...]:
        """The scopes that the service can serve: without writing scopes if it is read-only."""
        return tuple(one for one in scopes if one in _READING or not self._settings.read_only)

    def serves_host(self, host: str | None) -> bool:
        """Whether the service accepts this host name in a request.

        If it is local and has no keys, it accepts only the names of this machine.
        """
        if self._settings.uds or not self._settings.is_local:
            return True
        if is_foreign(host, None):
            with suppress(EpisodicaError):
                return self._address is None and bool(self.keys)
        # Where the keys can't be read, nobody gets anything but the state of the service.
        return True

    def still_allows(self, caller: Caller) -> bool:
        """Whether a caller would be let in now: keys may be revoked or end during a stream."""
        if self._address is not None:
            return True
        return self._entrance.still_holds(caller.key_id if caller.has_key else None)

    def exchange(self, token: str) -> str:
        """The credential for the token of a one-time address."""
        if self._address is None:
            raise not_found("page")
        credential = self._address.exchange(token)
        if credential is None:
            raise _used()
        return credential

    def _key(self, request: Request) -> Key | None:
        if self._address is not None:
            refuse_foreign_pages(request, same=True)
            text = bearer_of(request.scope)
            if text is None or not self._address.opens(text):
                raise _used()
            return None

        def check() -> None:
            if not self._settings.uds:
                refuse_foreign_pages(request, same=request.method not in _SAFE)

        return self._entrance.key(request.scope, check)


def _used() -> ServiceError:
    return ServiceError(
        401,
        "this address works once, within ten minutes",
        "run `episodica ui` again, and open the address that it prints",
        kind="one_time_address",
    )


def refuse_foreign_pages(request: Request, *, same: bool = False) -> None:
    """Refuses what a page of another site may have sent from a browser on this machine.

    With ``same``, pages of other ports of this machine are refused, too.
    """
    host, origin = request.headers.get("host"), request.headers.get("origin")
    other = same and origin is not None and origin.partition("://")[2] != host
    # What browsers say of the page that asks, even where they send no `Origin`.
    site = request.headers.get("sec-fetch-site")
    other |= site == "cross-site" or (same and site == "same-site")
    if other or is_foreign(host, origin):
        raise ServiceError(
            403,
            "without keys only programs on this machine are served",
            "make a key with `episodica keys create`",
        )


async def caller_of(
    request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Security(bearer)]
) -> Caller:
    """Dependency: the caller of a request, whom the guard has let in."""
    caller: Caller = request.state.caller
    return caller


AnyCaller = Annotated[Caller, Depends(caller_of)]


def decoded(text: str) -> str:
    """Decodes one percent-encoded part of a URL path. Ids may contain encoded slashes."""
    try:
        return unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        raise ServiceError(400, "the path is not UTF-8") from None


async def user_of(
    request: Request,
    caller: AnyCaller,
    user: Annotated[str, Path(description="The user's id, percent-encoded.", min_length=1)],
) -> str:
    """Dependency: the user of the path, if the caller may see them."""
    name = decoded(user)
    if not caller.opens(name):
        raise ServiceError(403, "the key is for another user")
    request.state.user = name
    return name


User = Annotated[str, Depends(user_of)]
