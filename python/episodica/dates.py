"""Dates as callers write them, turned into the form that the engine reads, and back.

In both directions, a moment is RFC 3339 text with the writer's own offset, because the offset says
what "today" meant to the speaker.
"""

from __future__ import annotations

import numbers
import re
from contextlib import suppress
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import Any, TypeAlias

from .errors import InvalidInputError
from .hints import shown

TimeLike: TypeAlias = datetime | date | str | float | int
"""A moment: ``datetime`` (naive = UTC), ``date``, ISO 8601 text, or seconds since 1970.

A number that is too large for seconds is milliseconds, as in JavaScript, or a finer unit. A number
like 20250303 or 20250303093000 is that day, or that moment.
"""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE_ONLY = re.compile(r"\d{4}-\d{2}-\d{2}|\d{8}")
_LATEST_EPOCH_SECOND = 253_402_300_800
# Milliseconds, microseconds and nanoseconds.
_FINER_UNITS = 3
# Dates in the engine's own form.
_RFC3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{6})?[+-][0-9]{2}:[0-9]{2}"
)
_NUMBER = re.compile(r"[+-]?([0-9]+)(?:\.[0-9]+)?")
# Eight digits are a date only in the years 1900 to 2199: 11111111 is more likely something else.
_COMPACT_DATE = re.compile(r"(?:19|20|21)[0-9]{6}")
_DAY_DIGITS = 8
_EPOCH_DIGITS = range(9, 12)
_FINER_DIGITS = (13, 16, 19)
# Ten digits may be a date and an hour without anything between them.
_DATE_AND_HOUR = re.compile(
    r"(?:19|20|21)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?:[01][0-9]|2[0-3])"
)
# A day, and perhaps its minute or second, without anything between: `20250303093000`.
_LONGER = 10**14
_WRITTEN_TOGETHER = re.compile(r"((?:19|20|21)[0-9]{6})([0-9]{4}|[0-9]{6})?")
# pandas' names for missing values.
_MISSING = ("NaTType", "NAType")
# No date is longer.
_LONGEST_TEXT = 100
# Offsets of zones from UTC are multiples of a quarter of an hour, and not larger.
_QUARTER = timedelta(minutes=15)
_FARTHEST = timedelta(hours=14)
_HINT = "write dates like `2024-03-11T09:30:00+01:00`, as a `datetime`, or as seconds since 1970"


def aware(text: str) -> datetime:
    """Reads RFC 3339, with its offset."""
    return datetime.fromisoformat(text)


def rfc3339(value: object, what: str) -> str:
    """The moment as the engine reads it, of the years 1 to 9999 (UTC). Errors call it ``what``."""
    if isinstance(value, str) and _is_rfc3339(value):
        return value
    kind = type(value).__name__
    if kind == "datetime64":
        # NumPy's own conversion gives a `datetime` of microseconds and coarser units only.
        value = str(value)
    if kind in _MISSING or (isinstance(value, str) and value == "NaT"):
        raise InvalidInputError(
            f"{what} is missing: `{shown(value)}`", hint="leave out the times that are not known"
        )
    if isinstance(value, str):
        moment = _from_text(value, what)
    elif isinstance(value, datetime):
        moment = value
    elif isinstance(value, date):
        moment = datetime.combine(value, time.min)
    elif not isinstance(value, bool) and isinstance(value, numbers.Real):
        moment = written_together(value) or _from_epoch(value, what)
    else:
        raise InvalidInputError(f"{what} must be a date, not `{type(value).__name__}`", hint=_HINT)
    return _written(moment, what)


def rfc3339_end(value: object, what: str, zone: str | None = None) -> str:
    """Like :func:`rfc3339_day`, but a date without a time is the end of its day.

    So "until 31 March" includes that day.
    """
    return rfc3339(_on_the_clock(value, what, zone, time.max), what)


def rfc3339_day(value: object, what: str, zone: str | None) -> str:
    """Like :func:`rfc3339`, but a date without a time is midnight in ``zone``."""
    return rfc3339(_on_the_clock(value, what, zone, time.min), what)


def _on_the_clock(value: object, what: str, zone: str | None, clock: time) -> object:
    """A date without a time becomes a moment of that day in a zone; other values stay unchanged."""
    if isinstance(value, numbers.Real) and (day := written_together(value)):
        value = day.date() if float(value) < 10**_DAY_DIGITS else day
    if isinstance(value, str) and _DATE_ONLY.fullmatch(value.strip()):
        value = _from_text(value, what).date()
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, clock, zone_of(zone))
    return value


def written_together(value: Any) -> datetime | None:
    """The moment that a number like 20250303 or 20250303093000 writes; ``None`` for others.

    >>> written_together(20250303), written_together(1741000000)
    (datetime.datetime(2025, 3, 3, 0, 0), None)
    """
    if not isinstance(value, (str, bool)) and isinstance(value, numbers.Real):
        number: Any = value
        value = str(int(number)) if 0 < number < _LONGER and number == int(number) else ""
    found = _WRITTEN_TOGETHER.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return None
    with suppress(ValueError):
        return datetime.fromisoformat("T".join(filter(None, found.groups())))
    return None


def by_local_clock(local: object, instant: object) -> str | None:
    """The instant by the clock of its place, which a local time without an offset tells.

    ``None`` for UTC, and where the two differ by something else than the offset of a zone.

    >>> by_local_clock("2026-07-04T00:30:00", 1783117800)
    '2026-07-04T00:30:00+02:00'
    """
    if not isinstance(local, str) or ":" not in local:
        return None
    try:
        here = datetime.fromisoformat(local.strip())
        moment = datetime.fromisoformat(rfc3339(instant, "the instant")).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    if here.tzinfo is not None:
        return None
    apart = here.replace(tzinfo=UTC) - moment
    offset = round(apart / _QUARTER) * _QUARTER
    if not offset or abs(offset) > _FARTHEST or abs(apart - offset) >= timedelta(seconds=1):
        return None
    return moment.astimezone(timezone(offset)).isoformat()


def zone_of(name: str | None) -> tzinfo:
    """A zone by its name or offset; UTC for ``None``, and for zones unknown to this machine."""
    if name is None:
        return UTC
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    with suppress(ValueError):
        return datetime.fromisoformat(f"2000-01-01T00:00{name}").tzinfo or UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def _is_rfc3339(text: str) -> bool:
    """Whether a text is a moment in the engine's own form."""
    if not _RFC3339.fullmatch(text):
        return False
    try:
        return MINYEAR < datetime.fromisoformat(text).year < MAXYEAR
    except ValueError:
        return False


def _from_text(text: str, what: str) -> datetime:
    written = text[:_LONGEST_TEXT].strip()
    number = _NUMBER.fullmatch(written)
    if number and not _COMPACT_DATE.fullmatch(written):
        return _from_digits(written, len(number[1]), what)
    try:
        return datetime.fromisoformat(written)
    except ValueError:
        raise InvalidInputError(
            f"{what} is not an ISO 8601 date: `{shown(written)}`", hint=_HINT
        ) from None


def _from_digits(text: str, digits: int, what: str) -> datetime:
    """Seconds since 1970 as text, of the years 1973 to 5138; anything else could be misread.

    13, 16 and 19 digits are milliseconds, microseconds and nanoseconds of 2001 to 2286.
    """
    is_hour = _DATE_AND_HOUR.fullmatch(text)
    if digits in _FINER_DIGITS or (digits in _EPOCH_DIGITS and not is_hour):
        return _from_epoch(float(text), what)
    raise InvalidInputError(f"{what} is not an ISO 8601 date: `{shown(text)}`", hint=_HINT)


def _from_epoch(seconds: Any, what: str) -> datetime:
    """The moment from seconds since 1970, or from a finer unit if the number is too large."""
    try:
        moment = seconds
        for _ in range(_FINER_UNITS):
            if abs(moment) > _LATEST_EPOCH_SECOND:
                moment = moment / 1000
        return _EPOCH + timedelta(seconds=float(moment))
    except (OverflowError, ValueError):
        written = f"{seconds:g}" if isinstance(seconds, float) else shown(seconds)
        raise InvalidInputError(
            f"{what} is outside the years 1 to 9999: `{written}`", hint=_HINT
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
