"""The lines of chats: which begin a message, who speaks there, and when."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from .. import _native
from ..errors import InvalidInputError
from ..hints import shown
from . import dates

_HALF_A_DAY = timedelta(hours=12)
# How unlike a name a label is that is none, and how like a reaction: "Wow", "Haha", "Tadaaa".
_NO_NAME = -1.0
_REACTION = 4.0
_DRAWN_OUT = re.compile(r"([^\W\d_])\1\1")


@dataclass(frozen=True, slots=True)
class Start:
    """A line that begins a message, or (without a name) dates the following messages."""

    name: str
    text: str
    date: str


Form = Callable[[str], Start | None]


def may_be_name(label: str) -> bool:
    """Whether a label before a text, which comes once, may be the name of who says it."""
    return (
        _DRAWN_OUT.search(label) is None
        and _native.likely_name(label) > _NO_NAME
        and _native.small_talk(label) < _REACTION
    )


class Clock:
    """The dates of lines. Messages that have only a day keep their order on that day."""

    def __init__(self, day_first: bool, file_date: str | None) -> None:
        self._day_first = day_first
        self._day: datetime | None = None
        self._last: datetime | None = None
        self._on_day = 0
        self._file_date = file_date
        self.before: datetime | None = None
        self.day_of_file = ""

    def read(self, start: Start, number: int) -> datetime | None:
        """The moment of a line, which is then the one ``before`` the next."""
        moment = self._read(start, number)
        self.before = moment or self.before
        return moment

    def _read(self, start: Start, number: int) -> datetime | None:
        time = dates.time_of(start.date) if start.date else None
        if time is not None:
            return self._at(time)
        if start.date:
            moment = dates.parse(start.date, self._day_first)
            if moment is None:
                raise InvalidInputError(
                    f"line {number}: no such date: `{shown(start.date)}`", line=number
                )
            if start.name and dates.has_time(start.date):
                return moment
            if moment != self._day:
                self._day, self._on_day, self._last = moment, 0, None
        if self._day is None or not start.name:
            return None
        self._on_day += 1
        return self._day + (self._on_day - 1) * dates.STEP

    def _at(self, time: timedelta) -> datetime | None:
        """A time on the day that was named last, else on the day of the file."""
        if self._day is None:
            if self._file_date is None:
                return None
            self._day = datetime.fromisoformat(self._file_date)
            self.day_of_file = self._file_date[:10]
        moment = self._day.replace(hour=0, minute=0, second=0, microsecond=0) + time
        if self._last is not None and self._last - moment > _HALF_A_DAY:
            # Midnight has passed.
            self._day += timedelta(days=1)
            moment += timedelta(days=1)
        self._last = moment
        return moment
