"""Words for error texts: values cut to a line, and what the writer of an unknown name meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .visible import visible

_LISTED = 12
# How alike two names have to be, 0 to 1: whole names, and first words of names.
_NEAR = 0.6
_NEAR_BEGINNING = 0.8
# Characters of a value that an error text shows.
_SHOWN = 60


def shown(value: object) -> str:
    """A value for an error text: one line of at most some 60 characters, whatever it holds."""
    try:
        text = value[: _SHOWN + 1] if isinstance(value, str) else str(value)
    except ValueError:
        return "a number of thousands of digits"
    line = visible(text[: _SHOWN + 1])
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def first_of(names: Sequence[str], most: int) -> str:
    """The first of some names, and how many more there are.

    >>> first_of(["a.py", "b.py", "c.py"], 2)
    'a.py, b.py and 1 more'
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _begun(written: str, names: Iterable[str]) -> list[str]:
    """The first name whose first words are near: `bufer` for `buffer_size_max`."""
    words = written.count("_") + 1
    beginnings = {"_".join(one.split("_")[:words]): one for one in reversed(list(names))}
    return [beginnings[one] for one in _close(written, beginnings, 1, _NEAR_BEGINNING)]


def _close(written: str, names: Iterable[str], count: int, cutoff: float) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(written, names, n=count, cutoff=cutoff)


def near(name: str, known: Iterable[str]) -> list[str]:
    """Up to three names like this one, the nearest first; case makes no difference."""
    names = {one.lower(): one for one in known}
    return [names[one] for one in _close(name.lower(), names, 3, _NEAR)]


def meant(name: str, known: Iterable[str]) -> str:
    """A question whether up to three near names were meant; empty if none is near."""
    similar = " or ".join(f"`{shown(one)}`" for one in near(name, known))
    return f"did you mean {similar}?" if similar else ""


def nearest_hint(name: object, known: Iterable[str], prefix: str = "") -> str | None:
    """A hint that names the nearest of ``known``; where none is near, all of them if they are few.

    ``prefix`` is put before each name that is shown.
    """
    names = {one.lower(): one for one in known}
    written = shown(name).lower()
    close = _close(written, names, 1, _NEAR) or _begun(written, names)
    if close:
        return f"did you mean `{prefix}{names[close[0]]}`?"
    return (
        "known are " + ", ".join(f"`{prefix}{one}`" for one in names.values())
        if 0 < len(names) <= _LISTED
        else None
    )
