"""The explorer page: its files, and the address that opens it once for ``episodica ui``.

The page is a client like any other: it reads and changes records by requests of ``/v1``.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).with_name("ui")
_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Lifetime of an unused token.
_SECONDS = 600.0
_POLICY = "; ".join(
    [
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "connect", "img")),
        *(f"{place} 'none'" for place in ("base-uri", "form-action", "frame-ancestors")),
        # No text can become markup or code, whatever a script does.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # Browsers ask for a file each time, and get 304 while the release is the same.
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file of the page."""

    content: bytes
    media: str
    tag: str


@functools.cache
def files() -> dict[str, PageFile]:
    """The files of the page by their paths; nothing else is ever served."""
    found = {}
    for path in sorted(_FOLDER.rglob("*")):
        if path.suffix in _MEDIA and path.is_file():
            content = path.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
            name = path.relative_to(_FOLDER).as_posix()
            found[name] = PageFile(content, _MEDIA[path.suffix], tag)
    return found


class OneTimeAddress:
    """A token that works once, within some minutes, and the credential that it is exchanged for.

    The credential is a bearer token, not a cookie: browsers send the cookies of this machine's name
    to every port, without being asked.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.token = secrets.token_urlsafe(32)
        self._credential = secrets.token_urlsafe(32)
        self._clock = clock
        self._until = clock() + _SECONDS
        self._is_used = False

    def exchange(self, token: str) -> str | None:
        """The credential, the first time that the right token is given in time."""
        is_right = hmac.compare_digest(token.encode(), self.token.encode())
        if not is_right or self._is_used or self._clock() > self._until:
            return None
        self._is_used = True
        return self._credential

    def opens(self, text: str) -> bool:
        """Whether `text` is the credential, and a page has received it."""
        return self._is_used and hmac.compare_digest(text.encode(), self._credential.encode())
