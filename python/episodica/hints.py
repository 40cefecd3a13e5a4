"""What the writer of an unknown name probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_LISTED = 12


def nearest_hint(name: object, known: Iterable[str], prefix: str = "") -> str | None:
    """A hint that names the nearest of ``known``; where none is near, all of them if they are few.

    ``prefix`` is put before each name that is shown.
    """
    names = {one.lower(): one for one in known}
    close = get_close_matches(str(name).lower(), names, n=1, cutoff=0.6)
    if close:
        return f"did you mean `{prefix}{names[close[0]]}`?"
    return (
        "known are " + ", ".join(f"`{prefix}{one}`" for one in names.values())
        if len(names) <= _LISTED
        else None
    )
