"""Dates as people and chat programs write them.

ISO 8601, ``11.03.24, 09:30``, ``3/11/24, 9:30 PM``, ``11 March 2024 at 09:30``,
``2024年3月11日 9:30``, with AM and PM in the words of many languages. Dates without an offset
are in UTC, as everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache

# There were no chats as they are exported before.
FIRST_YEAR = "1990"
# Its first second since 1970.
FIRST_SECOND = 631_152_000
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
# AM and PM in the words of the languages of messengers, before the time or after it.
_MORNING = (
    r"a\.?\s?m\.?", "上午", "凌晨", "清晨", "早上", "오전", "午前", "ص", r"ق\.\s?ظ\.?", "öö",
    r"π\.?\s?μ\.?", r"de\.", "sa", "pg", r"\u043f\u0440\.\s?\u043e\u0431\.",
    'לפנה["״]צ', "पूर्वाह्न", "ก่อนเที่ยง",
)  # fmt: skip
_EVENING = (
    r"p\.?\s?m\.?", "下午", "中午", "傍晚", "晚上", "오후", "午後", "م", r"ب\.\s?ظ\.?", "ös",
    r"μ\.?\s?μ\.?", r"du\.", "ch", "ptg", r"\u0441\u043b\.\s?\u043e\u0431\.",
    'אחה["״]צ', "अपराह्न", "หลังเที่ยง",
)  # fmt: skip
# Separators between a day and a time.
_AT = r"at|um|à|às|kl\.?|klo|ore|alle|om|a las|a les|στις"
_HALF = "|".join((*_MORNING, *_EVENING))
_IS_EVENING = re.compile("|".join(_EVENING), re.IGNORECASE)
_TIME = (
    rf"(?:[T,،]?\s{{0,4}}(?:(?:{_AT})\s{{1,4}})?(?:(?P<before>{_HALF})\s{{0,4}})?"
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d{2})"
    r"(?:[:.](?P<second>\d{2})(?:[.,](?P<fraction>\d{1,6}))?)?(?!\d)"
    rf"(?:\s{{0,4}}(?P<half>{_HALF})(?![^\W\d_]))?(?:\s?(?:\u0447\.|uhr|uur)(?![^\W\d_]))?"
    r"(?:\s{0,4}(?:(?:UTC|GMT)(?=[+-]))?(?P<zone>Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)(?!\w)"
    r"(?:\s\([^()]+\))?)?)?"
)
# A few spaces, so that no search goes over thousands of them from each of their places.
_SPACE = r"\s{1,4}"
_NAMES = rf"(?:{'|'.join(name[:3] for name in MONTHS)})[a-z]{{0,6}}"
_SHORT_NAMES = frozenset(name[:3] for name in MONTHS)
_ENDS = re.compile(r"\d(?:\D{0,14}|\s\([^()]{1,60}\))$")
_FORMS = (
    r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})",
    r"(?P<year>\d{4})[年년]\s?(?P<month>\d{1,2})[月월]\s?(?P<day>\d{1,2})[日일]",
    r"(?P<year>\d{4})\.\s(?P<month>\d{1,2})\.\s(?P<day>\d{1,2})\.?",
    r"(?P<first>\d{1,2})(?P<mark>[-/.])(?P<other>\d{1,2})(?P=mark)(?P<year>\d{4}|\d{2})"
    r"(?:\s?\u0433\.)?",
    rf"(?P<day>\d{{1,2}})\.?{_SPACE}(?P<name>{_NAMES})\.?,?{_SPACE}(?P<year>\d{{4}})",
    rf"(?P<day>\d{{1,2}})-(?P<name>{_NAMES})-(?P<year>\d{{4}})",
    rf"(?P<name>{_NAMES})\.?{_SPACE}(?P<day>\d{{1,2}}),?{_SPACE}(?P<year>\d{{4}})",
)
# A date with the time before the day, as in Vietnam.
_TURNED = (
    r"(?<!\d)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?,?\s{1,4}"
    r"(?P<first>\d{1,2})(?P<mark>[-/.])(?P<other>\d{1,2})(?P=mark)(?P<year>\d{4}|\d{2})(?!\d)"
)
_DATES = (
    *(re.compile(rf"(?<!\d){form}(?!\d){_TIME}", re.IGNORECASE) for form in _FORMS),
    re.compile(_TURNED),
)
# Thailand counts the years from the death of the Buddha.
_BUDDHIST = (2440, 2700)
_BUDDHA = 543
_CLOCK = re.compile(_TIME, re.IGNORECASE)
# Chat programs put narrow and no-break spaces before AM and PM.
_SPACES = str.maketrans("\u00a0\u202f", "  ", "\u200e\u200f\u202a\u202b\u202c\ufeff")
_WEEKDAY = re.compile(r"[^\W\d_]{3,12},?\s+(?=[^\W\d_]+\s\d)")
_MAIL = re.compile(r"(?:[A-Za-z]{3,9},?\s+)?\d{1,2}\s+[A-Za-z]{3,9}\s+\d{2,4}\s+\d{1,2}:\d{2}")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAY_NAME = re.compile(rf"\b({'|'.join(_WEEKDAYS)})", re.IGNORECASE)
_ZONE_NAME = re.compile(r"(?<=\d)\s?\(?([A-Z]{2,5})\)?$")
_CENTURY = 2000
_NOON = 12
# Some phones write the first hour of a day as 24.
_MIDNIGHT = 24


class Order:
    """Decides by all dates of a file whether dates like 03/04/24 begin with the day."""

    def __init__(self) -> None:
        self._never_days = False
        self._never_months = False
        self._american = False
        self._last: dict[bool, datetime] = {}
        self._backwards = {True: 0, False: 0}

    def learn(self, text: str) -> None:
        """Takes a date of the file into account."""
        found = _matched(text)
        if found is None or "first" not in found.groupdict() or found["mark"] == ".":
            return
        first, other = int(found["first"]), int(found["other"])
        self._never_months |= first > _NOON
        self._never_days |= other > _NOON
        # `AM` in capitals is American, where the month comes first.
        self._american |= found.groupdict().get("half") in ("AM", "PM")
        for day_first in (True, False):
            moment = _read(found, day_first)
            if moment is None:
                continue
            last = self._last.setdefault(day_first, moment)
            self._backwards[day_first] += moment < last
            self._last[day_first] = moment

    @property
    def is_told(self) -> bool:
        """Whether the dates decide the order; also true if no date depends on it."""
        differ = self._backwards[True] != self._backwards[False]
        return not self._last or differ or self._never_days != self._never_months

    @property
    def day_first(self) -> bool:
        """Decided by impossible months, else by fewer steps back in time, else by AM and PM."""
        if self._never_days != self._never_months:
            return self._never_months
        if self._backwards[True] != self._backwards[False]:
            return self._backwards[True] < self._backwards[False]
        return not self._american


def parse(text: str, day_first: bool = True) -> datetime | None:
    """The moment that a date names; ``None`` for other texts."""
    found = _matched(text)
    return _of_mail(text) if found is None else _read(found, day_first)


def moment(given: object) -> str | None:
    """A date as ISO 8601 if people's notation is recognised; otherwise the text as it is."""
    if not isinstance(given, str) or not given.strip():
        return None
    read = parse(given)
    return given if read is None else read.isoformat()


def _of_mail(text: str) -> datetime | None:
    """The moment of an e-mail's date, such as `Mon, 11 Mar 2024 09:30:00 +0100`."""
    if not _MAIL.match(text.strip()):
        return None
    try:
        moment = parsedate_to_datetime(text.strip())
    except (ValueError, IndexError, TypeError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def in_unknown_zone(text: str) -> tuple[datetime, str] | None:
    """A date and time, and the abbreviation after it, which can mean several zones (``CST``).

    ``None`` if the text does not end in such an abbreviation, or the rest is not a date.
    """
    found = _ZONE_NAME.search(text)
    moment = parse(text[: found.start()]) if found else None
    return None if found is None or moment is None else (moment, found[1])


def by_weekday(text: str, date: str) -> str:
    """Reads an ambiguous date day-first or month-first, whichever fits the weekday in ``text``.

    Returns ``date`` unchanged if the weekday doesn't decide.
    """
    found = _WEEKDAY_NAME.search(text)
    readings = {moment for first in (True, False) if (moment := parse(date, first)) is not None}
    if found is None or len(readings) == 1:
        return date
    named = _WEEKDAYS.index(found[1].lower())
    fitting = [moment for moment in readings if moment.weekday() == named]
    return fitting[0].date().isoformat() if len(fitting) == 1 else date


def is_date(text: str) -> bool:
    """Whether `text` is a date, read day-first or month-first."""
    return parse(text) is not None or parse(text, day_first=False) is not None


def order_of(texts: Iterable[str]) -> Order:
    """Whether the day comes first in these dates."""
    order = Order()
    for text in texts:
        order.learn(text)
    return order


def untold(order: Order) -> str:
    """A note that the order of day and month is a guess."""
    first = "day" if order.day_first else "month"
    return f"dates like 3/4/2024 begin with the {first} here; nothing in the file says so"


def has_time(text: str) -> bool:
    """Whether the date says the time of day as well."""
    found = _matched(text)
    return found is not None and found["hour"] is not None


def has_zone(text: str) -> bool:
    """Whether the date names its zone; others are in the zone of the file's writer."""
    found = _matched(text)
    return found is not None and found.groupdict().get("zone") is not None


def time_of(text: str) -> timedelta | None:
    """A time of the day without a day; ``None`` for other values."""
    found = _CLOCK.fullmatch(plain(text))
    moment = None if found is None else _read(found, True)
    return None if moment is None else moment - moment.replace(hour=0, minute=0, second=0)


def plain(text: str) -> str:
    """The text with simple spaces and without marks of the direction of writing."""
    return text.translate(_SPACES).strip()


def split(text: str) -> tuple[str, str] | None:
    """A date at the beginning of a plain text, and the rest; ``None`` without a date."""
    # Saves time: nearly every line of a text begins with another word.
    if not (text[:1].isdecimal() or text[:3].lower() in _SHORT_NAMES):
        return None
    found = [one for form in _DATES if (one := form.match(text))]
    if not found:
        return None
    longest = max(found, key=lambda one: one.end())
    return longest[0], text[longest.end() :]


def split_end(text: str) -> tuple[str, str] | None:
    """A date at the end of a plain text, and the text before it; ``None`` without a date."""
    if not _ENDS.search(text):
        return None
    for form in _DATES:
        for found in form.finditer(text):
            if found.end() == len(text):
                return found[0], text[: found.start()]
    return None


# Cached, because several functions look for a date in the same line.
@lru_cache(maxsize=1 << 12)
def _matched(text: str) -> re.Match[str] | None:
    if not _ENDS.search(text):
        return None
    written = _WEEKDAY.sub("", plain(text), count=1)
    return next((found for form in _DATES if (found := form.fullmatch(written))), None)


def _read(found: re.Match[str], day_first: bool) -> datetime | None:
    part = found.groupdict()
    year = int(part.get("year") or _CENTURY)
    if "first" in part:
        is_day_first = day_first or part["mark"] == "."
        numbers = (part["first"], part["other"])
        day, month = map(int, numbers if is_day_first else numbers[::-1])
        year += _CENTURY if len(part["year"]) == len("24") else 0
    elif "day" in part:
        day = int(part["day"])
        name = part.get("name")
        month = int(part["month"]) if name is None else _month(name)
    elif part["hour"] is None:
        return None
    else:
        day = month = 1
    hour = int(part["hour"] or 0)
    if _BUDDHIST[0] <= year <= _BUDDHIST[1]:
        year -= _BUDDHA
    half = part.get("half") or part.get("before")
    if half:
        if not 1 <= hour <= _NOON:
            return None
        hour = hour % _NOON + (_NOON if _IS_EVENING.fullmatch(half) else 0)
    elif hour == _MIDNIGHT:
        hour = 0
    fraction = int((part.get("fraction") or "").ljust(6, "0"))
    try:
        moment = datetime(
            year,
            month,
            day,
            hour,
            int(part["minute"] or 0),
            int(part["second"] or 0),
            fraction,
            UTC,
        )
        zone = part.get("zone")
        return moment if zone in (None, "Z", "UTC", "GMT") else _moved(moment, zone)
    except (ValueError, OverflowError):
        return None


def _month(name: str) -> int:
    return next(at for at, one in enumerate(MONTHS, 1) if one.startswith(name.lower()))


def _moved(moment: datetime, zone: str) -> datetime:
    """The moment with the offset of ``zone``."""
    return datetime.fromisoformat(moment.replace(tzinfo=None).isoformat() + _colon(zone))


def _colon(zone: str) -> str:
    digits = zone.replace(":", "")
    is_short = len(digits) in (len("+1"), len("+130"))
    digits = digits[0] + "0" * is_short + digits[1:]
    return f"{digits[:3]}:{digits[3:] or '00'}"


STEP = timedelta(seconds=5)
"""Spacing of messages that share the date of their session, which keeps their order."""
