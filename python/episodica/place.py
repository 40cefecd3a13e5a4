"""Where a store is: a directory of this machine, or a database by its address."""

from __future__ import annotations

import os
from pathlib import Path

# How the addresses of databases begin.
_SCHEMES = ("postgresql://", "postgres://")


def is_address(where: object) -> bool:
    """Whether a text is the address of a database; everything else is a path."""
    return isinstance(where, str) and where.startswith(_SCHEMES)


def cache_directory() -> str:
    """Where this machine keeps caches of stores in databases.

    ``EPISODICA_CACHE``, else ``episodica`` in the user's directory of caches.
    """
    own = os.environ.get("EPISODICA_CACHE")
    if own:
        return str(Path(own).expanduser().absolute())
    base = os.environ.get("XDG_CACHE_HOME")
    folder = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return str(folder / "episodica")
