"""Dates as callers write them, converted to the engine's form and back.

Inside the package a moment is an aware ``datetime`` in UTC. The engine gets RFC 3339 with the
writer's own offset, because the offset says what "today" meant to the speaker.
"""

from __future__ import annotations

import math
import numbers
import re
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, time, timedelta
from typing import TypeAlias

from .errors import InvalidInputError

TimeLike: TypeAlias = datetime | date | str | float | int
"""A moment: ``datetime`` (naive = UTC), ``date``, ISO 8601 text, or seconds since 1970."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE_ONLY = re.compile(r"\d{4}-\d{2}-\d{2}|\d{8}")
_LATEST_EPOCH_SECOND = 253_402_300_800
_HINT = "write dates like `2024-03-11T09:30:00+01:00`, as a `datetime`, or as seconds since 1970"


def to_utc(text: str) -> datetime:
    """Parses a date of the engine."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def rfc3339(value: object, what: str) -> str:
    """The moment in the engine's form.

    Parameters
    ----------
    value
        Any :data:`TimeLike`.
    what
        Its name in errors, e.g. ``message 3: `timestamp```.

    Raises
    ------
    InvalidInputError
        For values that are not dates, and moments outside the years 1 to 9999 (UTC).
    """
    if isinstance(value, str):
        moment = _from_text(value, what)
    elif isinstance(value, datetime):
        moment = value
    elif isinstance(value, date):
        moment = datetime.combine(value, time.min)
    elif not isinstance(value, bool) and isinstance(value, numbers.Real):
        moment = _from_epoch(float(value), what)
    else:
        raise InvalidInputError(f"{what} must be a date, not `{type(value).__name__}`", hint=_HINT)
    return _written(moment, what)


def rfc3339_end(value: object, what: str) -> str:
    """Like :func:`rfc3339`, but a date without a time means the end of that day."""
    if isinstance(value, str) and _DATE_ONLY.fullmatch(value.strip()):
        value = _from_text(value, what).date()
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time.max)
    return rfc3339(value, what)


def _from_text(text: str, what: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        shown = text.encode("utf-8", "replace").decode()[:40]
        raise InvalidInputError(f"{what} is not an ISO 8601 date: `{shown}`", hint=_HINT) from None


def _from_epoch(seconds: float, what: str) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        hint = _HINT
        if math.isfinite(seconds) and abs(seconds) < 1000 * _LATEST_EPOCH_SECOND:
            hint = "this looks like milliseconds; divide by 1000"
        raise InvalidInputError(
            f"{what} is outside the years 1 to 9999: `{seconds:g}`", hint=hint
        ) from None


def _written(moment: datetime, what: str) -> str:
    offset = moment.utcoffset()
    if offset is None:
        return moment.replace(tzinfo=UTC).isoformat()
    if MINYEAR < moment.year < MAXYEAR and not offset.microseconds:
        return moment.isoformat()
    try:
        in_utc = moment.astimezone(UTC)
    except OverflowError:
        raise InvalidInputError(
            f"{what} is outside the years 1 to 9999: `{moment.isoformat()}`"
        ) from None
    # RFC 3339 has no fractions of a second in offsets
    return in_utc.isoformat() if offset.microseconds else moment.isoformat()
