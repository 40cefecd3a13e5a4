"""Dictionaries of counts that a notebook shows as a table; to everything else they are plain dictionaries."""

from __future__ import annotations

from typing import Any, ClassVar


class Counts(dict[str, Any]):
    """A dictionary with a display of its own."""

    __slots__ = ()
    _title: ClassVar[str] = "counts"

    def _repr_html_(self) -> str:
        from ._display import counts_to_html

        return counts_to_html(self._title, self)


class Stats(Counts):
    """What ``stats`` counted."""

    __slots__ = ()
    _title = "stats"


class Health(Counts):
    """What ``health`` looked at."""

    __slots__ = ()
    _title = "health"


class Usage(Counts):
    """What ``usage`` added up."""

    __slots__ = ()
    _title = "usage"
