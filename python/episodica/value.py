"""What all value types share: JSON, a one-line ``repr`` and the notebook display."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from functools import singledispatch
from html import escape
from typing import Any

from .visible import visible

_CLIP = 60


class Value:
    """Mixin of the frozen value types."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The value as plain JSON types; dates become RFC 3339 text.

        ``from_dict`` of the same class reads it back; reports of ``status`` have none.
        """
        return {field.name: jsonable(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        return to_html(self)


@singledispatch
def to_html(value: object) -> str:
    """The value as HTML for a notebook. The package ``display`` registers a function per type."""
    return escape(visible(repr(value)))


def jsonable(value: Any) -> Any:
    """Dates, tuples and values inside ``value`` turned into JSON types."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Value):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: jsonable(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [jsonable(item) for item in value]
    return value


def clip(text: str, limit: int = _CLIP) -> str:
    """``text`` on one line for people, cut after ``limit`` characters with an ellipsis."""
    return visible(_line(text, limit))


def quoted(text: str) -> str:
    """``text`` for a ``repr``: like :func:`clip`, in quotes."""
    return repr(_line(text, _CLIP))


def _line(text: str, limit: int) -> str:
    flat = " ".join(text[: 4 * limit].split())
    return (
        flat if len(flat) <= limit and len(text) <= 4 * limit else flat[: limit - 1].rstrip() + "…"
    )


def day(moment: datetime) -> str:
    """The moment as people write it in a line: date, hour and minute on its own clock."""
    return moment.isoformat(" ", "minutes")[:16]
