"""Who is on this machine: addresses, and what browsers send. Knows no framework."""

from __future__ import annotations

import errno
import ipaddress
import socket
from urllib.parse import urlsplit

from ..errors import ConfigError

BACKLOG = 2048
_LAST_PORT = 65_535
# One client of IPv6 has as many addresses as a network has.
_NETWORK_BITS = 64
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


def client_name(address: str | None) -> str:
    """Who shares a client's part of what callers without a key may use: its machine or network."""
    try:
        found = ipaddress.ip_address(address or "")
    except ValueError:
        # A Unix socket has no address.
        return "this machine"
    if isinstance(found, ipaddress.IPv6Address):
        mapped = found.ipv4_mapped
        return str(mapped or ipaddress.ip_network((found, _NETWORK_BITS), strict=False))
    return str(found)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens, and that worker processes inherit."""
    if not 0 <= port <= _LAST_PORT:
        raise ConfigError(f"port is not in 0 to {_LAST_PORT}: `{port}`")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            what = f"port {port} of {host} is in use"
            raise ConfigError(what, hint="choose another with `--port`") from None
        text = error.strerror or str(error)
        raise ConfigError(f"cannot listen on {host}:{port}: {text}") from None
    listener.set_inheritable(True)
    return listener
