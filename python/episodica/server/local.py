"""Who is on this machine: addresses, and what browsers send. Knows no framework."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

_NAMES = {"localhost", "127.0.0.1", "::1"}


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is closed to other machines."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_foreign(host: str | None, origin: str | None) -> bool:
    """Whether a request may come from a page of another site in a browser on this machine."""
    try:
        if host and urlsplit(f"//{host}").hostname not in _NAMES:
            return True
        return origin is not None and urlsplit(origin).hostname not in _NAMES
    except ValueError:
        return True
