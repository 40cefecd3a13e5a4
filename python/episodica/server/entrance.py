"""Whose request it is, by its head: the key, its rate, and the name of a client without one.

The same for `serve` and `mcp`. Knows no framework but Starlette's headers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from starlette.datastructures import Headers
from starlette.types import Scope

from ..errors import EpisodicaError
from .keys import Key, KeyRing
from .limits import Shared
from .local import client_name
from .problems import ServiceError

# The key id of callers without a key.
LOCAL = "local"
_HINT = "send `Authorization: Bearer KEY`; `episodica keys create` makes one"


class Entrance:
    """Reads keys. Without any, only programs on this machine are served, if ``is_local``."""

    def __init__(self, keys: KeyRing, shared: Shared, per_minute: int, is_local: bool) -> None:
        self.keys = keys
        self._shared = shared
        self._per_minute = per_minute
        self._is_local = is_local

    def key(self, scope: Scope, check: Callable[[], None]) -> Key | None:
        """The key of a request; ``None``: it has none, needs none, and passed the ``check``.

        Raises :class:`ServiceError` for an unknown key, and above the rate of the key, or of the
        client if its keys are unknown.
        """
        try:
            with _readable():
                key = self._key(bearer_of(scope))
            if key is None:
                check()
        except ServiceError as failure:
            if failure.status == 401:
                self.limit(stranger(scope), None)
            raise
        self.limit(key.id if key else LOCAL, key)
        return key

    def _key(self, text: str | None) -> Key | None:
        if text is None:
            if self.keys or not self._is_local:
                raise ServiceError(401, "this service needs a key", _HINT)
            return None
        found = self.keys.find(text)
        if found is None:
            unknown = 'error="invalid_token"'
            raise ServiceError(401, "the key is unknown or was revoked", challenge=unknown)
        return found

    def still_holds(self, id: str | None) -> bool:
        """Whether a key that was let in, or a caller without one, would be let in now."""
        with suppress(EpisodicaError):
            return self.keys.holds(id) if id else self._is_local and not self.keys
        return False

    def limit(self, name: str, key: Key | None) -> None:
        """Counts a request; refuses those above the rate of the key or of the service."""
        most = self._per_minute
        if key is not None and key.rate_per_minute is not None:
            most = key.rate_per_minute
        wait = self._shared.take(name, most)
        if wait > 0:
            raise ServiceError(429, f"more than {most} requests per minute", retry_after=wait)

    def share(self, scope: Scope) -> str | None:
        """From whose share a request without a key takes; ``None``: keys are not in use."""
        try:
            return stranger(scope) if self.keys else None
        except EpisodicaError:
            return stranger(scope)


@contextmanager
def _readable() -> Iterator[None]:
    """Within this context, a file of keys that can't be read is a failure of the service."""
    try:
        yield
    except EpisodicaError as error:
        raise ServiceError(503, "the keys can't be read", error.hint, kind=error.kind) from error


def bearer_of(scope: Scope) -> str | None:
    """The text of the key that a request has; ``None``: it has none."""
    given = Headers(scope=scope).getlist("authorization")
    if not given:
        return None
    scheme, _, text = given[0].partition(" ")
    if len(given) > 1 or scheme.lower() != "bearer":
        raise ServiceError(401, "send `Authorization: Bearer KEY`")
    return text.strip()


def stranger(scope: Scope) -> str:
    """The name under which a client without a key is counted."""
    client = scope.get("client")
    return f"from {client_name(client[0] if client else None)}"
