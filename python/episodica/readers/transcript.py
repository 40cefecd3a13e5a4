"""Plain text: ``Name: …`` on a line, with or without a date, and chats of messengers.

Understood are ``Alice: hello``, ``[11.03.24, 09:30:12] Alice: hello``, ``11/03/2024, 09:30 - Alice:
hello``, ``2024-03-11 09:30 Alice: hello``, and a head of name and date above the text. A line with
nothing but a date dates what follows; a line of another form goes on with the message before it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from ..errors import InvalidInputError
from ..hints import shown
from ..inputs.names import role_of_speaker
from . import dates
from .conversation import Conversation, Talk
from .source import Source

# A colon, of full width in Chinese.
_COLON = "[:\uff1a]"
_SPEAKER = re.compile(
    rf"\*{{0,2}}(?P<name>[^\s:\uff1a*][^:\uff1a*]{{0,60}}?)\*{{0,2}}\s*{_COLON}\*{{0,2}}\s*(?P<text>.*)"
)
# A colon within a word (`10:30`, `https:`) names nobody.
_ENDS_NAME = re.compile(r"[^:\uff1a]*(?:\uff1a|:\*{0,2}(?:\s|$))")
_FRAME = "[]() "
_DASHES = "-\u2013\u2014"
_BETWEEN = _DASHES + "|,]) "
_RULE = _DASHES + "=#*_ "
# Small words within names: "Ludwig van Beethoven".
_PARTICLES = frozenset(
    ("al", "bin", "da", "de", "del", "der", "di", "du", "el", "la", "le", "van", "von", "y")
)
_SPEAKERS = frozenset(("ai", "assistant", "bot", "human", "me", "system", "tool", "user", "you"))
# Words that begin a line of a text, not a message.
_NO_NAMES = frozenset(
    ("edit", "example", "fw", "fwd", "note", "p.s.", "ps", "re", "source", "todo", "update")
)
_MOST_WORDS = 4
_LONGEST_NAME = 40
# Lines that are looked at to find out the form and the order of dates.
_LOOKED_AT = 10_000
# Of a transcript at least so many lines, of those that are not empty, begin a message.
_LEAST_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class _Start:
    """A line that begins a message, or (without a name) dates the following ones."""

    name: str
    text: str
    date: str


_Form = Callable[[str], _Start | None]


def is_transcript(head: str) -> bool:
    """Whether the beginning of a file looks like a conversation."""
    lines = [one for line in head.splitlines() if (one := dates.plain(line))]
    form = _form_of(lines)
    starts = [form(line) for line in lines]
    begun = sum(start is not None and bool(start.name) for start in starts)
    return bool(begun) and starts[0] is not None and begun >= _LEAST_SHARE * len(lines)


def transcript(source: Source) -> Iterator[Conversation]:
    """The messages of a transcript, in parts of some thousands."""
    sample = [dates.plain(line) for _, line in itertools.islice(source.lines(), _LOOKED_AT)]
    form = _form_of(sample)
    clock = _Clock(
        dates.order_of(start.date for line in sample if (start := form(line)) and start.date)
    )
    part, reading = Talk(source.name), _Reading()
    for number, line in source.lines():
        written = dates.plain(line)
        start = form(written)
        if start is not None:
            reading.hand_over(part)
            if part.is_full:
                yield part.conversation()
            reading = _Reading(start, clock.read(start, number), number)
        elif reading.start is not None:
            reading.text.append(line.rstrip())
        elif written:
            raise InvalidInputError(
                f"line {number} begins no message: `{shown(written)}`",
                hint="begin each message with `Name:`",
                line=number,
            )
    reading.hand_over(part)
    yield part.conversation()


class _Reading:
    """A message whose lines are being read."""

    def __init__(
        self, start: _Start | None = None, date: datetime | None = None, line: int = 0
    ) -> None:
        self.start = start
        self.text = [start.text] if start else []
        self._date = date
        self._line = line

    def hand_over(self, part: Talk) -> None:
        """Adds the message to a part, if somebody said something."""
        text = "\n".join(self.text).strip()
        if self.start is None or not self.start.name or not text:
            return
        name = self.start.name
        message = {"role": role_of_speaker(name), "name": name, "content": text}
        if self._date is not None:
            message["timestamp"] = self._date.isoformat()
        part.add(message, self._line)


class _Clock:
    """Dates of lines; messages that only have a day follow each other on it."""

    def __init__(self, day_first: bool) -> None:
        self._day_first = day_first
        self._day: datetime | None = None
        self._on_day = 0

    def read(self, start: _Start, number: int) -> datetime | None:
        """The moment of a line."""
        if start.date:
            moment = dates.parse(start.date, self._day_first)
            if moment is None:
                raise InvalidInputError(
                    f"line {number}: no such date: `{shown(start.date)}`", line=number
                )
            if start.name and dates.has_time(start.date):
                return moment
            if moment != self._day:
                self._day, self._on_day = moment, 0
        if self._day is None or not start.name:
            return None
        self._on_day += 1
        return self._day + (self._on_day - 1) * dates.STEP


def _form_of(lines: list[str]) -> _Form:
    """The form of this file's lines: that which finds most messages.

    A date before a name is surer than a colon somewhere in a text, so it may find fewer.
    """
    counts = {
        form: sum(bool((start := form(line)) and start.name) for line in lines)
        for form in (_dated, _headed, _named)
    }
    if counts[_dated] * 3 >= max(counts.values()):
        return _dated if counts[_dated] else _named
    return max((_headed, _named), key=counts.__getitem__)


def _dated(line: str) -> _Start | None:
    """``11/03/2024, 09:30 - Alice: hello``; without a name a notice of the messenger."""
    found = dates.split(line.lstrip(_FRAME))
    if found is None or not dates.is_date(found[0]):
        return None
    date, rest = found
    rest = rest.lstrip(_BETWEEN)
    speaker = _SPEAKER.fullmatch(rest) if _ENDS_NAME.match(rest) else None
    if speaker is None:
        return _Start("", rest, date)
    return _Start(speaker["name"].strip(), speaker["text"], date)


def _headed(line: str) -> _Start | None:
    """``Alice 2024-03-11 09:30`` or ``2024-03-11 09:30 Alice`` above the text."""
    first = dates.split(line)
    found = first or dates.split_end(line.rstrip(_FRAME))
    if found is None or not dates.is_date(found[0]):
        return None
    date, name = found[0], found[1].strip(_FRAME + _BETWEEN)
    if name and not (dates.has_time(date) and _is_name(name.partition("(")[0])):
        return None
    return _Start(name, "", date)


def _named(line: str) -> _Start | None:
    """``Alice: hello``, or a line with nothing but a date."""
    found = _SPEAKER.fullmatch(line) if _ENDS_NAME.match(line) else None
    if found and _is_name(found["name"]):
        return _Start(found["name"].strip(), found["text"], "")
    rule = line.strip(_RULE)
    return _Start("", "", rule) if dates.is_date(rule) else None


def _is_name(text: str) -> bool:
    words = text.split()
    if text.strip().lower() in _SPEAKERS:
        return True
    return (
        0 < len(words) <= _MOST_WORDS
        and len(text) <= _LONGEST_NAME
        and text.strip().lower() not in _NO_NAMES
        and all(_begins_name(word) or word.lower() in _PARTICLES for word in words)
    )


def _begins_name(word: str) -> bool:
    return word[:1].isalpha() and not word[:1].islower()
