"""Chats as people copy or mail them: a name and a time above each text.

WeChat mails them under lines such as ``————— 2025-03-03 —————``; copies from Slack, Teams and
Signal look alike, with or without days.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import InvalidInputError
from ..inputs.names import role_of_speaker
from . import dates
from .conversation import NO_CAPTION, Conversation, Talk
from .lines import Clock, Start, may_be_name
from .source import Source
from .texts import day_of

# Fields of few words: a text that ends in a time is seldom a name.
_MOST_WORDS = 4
_HEAD = re.compile(
    r"(?P<name>[^\s\d:\uff1a][^:\uff1a]{0,40}?)\s{1,8}\[?"
    r"(?P<time>[^\sA-Za-z\d\[]{0,4}\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp]\.?[Mm]\.?)?)\]?"
)
# A day at the end of a name: the line has its whole date, so it is of another form.
_DATED = re.compile(r"\d[-/.\u5e74]\d|\d\u65e5$")
_RULE = "-\u2014\u2013\u2500=*_~ "
# WeChat writes `[图片: 1.jpg]` in the place of media, `[Smile]` for its pictures.
_MEDIA = re.compile(r"\[[^\[\]\n]{1,200}\]")
_LEAST_HEADS = 2
# Lines with text before the first head, and the share of the lines that must be heads.
_LONGEST_INTRODUCTION = 10
_LEAST_SHARE = 0.15
# Without days, a recording that begins at 0:03 looks alike.
_LEAST_HOUR = 5


@dataclass(frozen=True, slots=True)
class _Line:
    """A line with text: a day, perhaps a head, or words.

    ``is_apart`` if an empty line is above it, ``is_first`` below a day and at the beginning.
    """

    number: int
    text: str
    day: str | None
    head: re.Match[str] | None
    is_apart: bool
    is_first: bool


def is_copied(head: str) -> bool:
    """Whether the beginning of a file is a chat with a name and a time above each text."""
    lines = _lines(enumerate(head.splitlines(), 1))
    heads = _heads(lines)
    if len(heads) < _LEAST_HEADS or len(heads) < _LEAST_SHARE * len(lines):
        return False
    begun = next(at for at, one in enumerate(lines) if one.number in heads)
    has_days = any(one.day is not None for one in lines[:begun])
    first = dates.time_of(heads[lines[begun].number].date)
    is_clock = first is not None and first.total_seconds() >= _LEAST_HOUR * 3600
    return begun <= _LONGEST_INTRODUCTION and (has_days or (is_clock and begun == 0))


def copied(source: Source) -> Iterator[Conversation]:
    """The messages below names and times."""
    lines = _lines(source.lines())
    starts = _heads(lines)
    if not starts:
        raise InvalidInputError("the text has no line with a name and a time above another line")
    days = {one.number: Start("", "", one.day) for one in lines if one.day is not None}
    order = dates.order_of(start.date for start in days.values())
    clock, talk = Clock(order.day_first, source.date), Talk(source.name)
    talk.is_local = talk.is_to_minutes = True
    if not order.is_told:
        talk.note(dates.untold(order))
    for number, start, text in _blocks(source, starts | days):
        if talk.is_full:
            yield talk.conversation()
        moment = clock.read(start, number)
        if not start.name:
            if text:
                talk.leave("it stands above the first name", number)
        elif _MEDIA.fullmatch(text):
            talk.leave(NO_CAPTION, number)
        else:
            about = {"role": role_of_speaker(start.name), "name": start.name, "content": text}
            talk.add({**about, "timestamp": moment and moment.isoformat()}, number)
    if clock.day_of_file:
        talk.is_file_date = True
        talk.note(f"the day is that of the file, {clock.day_of_file}: the text has times only")
    yield talk.conversation()


def _blocks(source: Source, starts: dict[int, Start]) -> Iterator[tuple[int, Start, str]]:
    """The text below each start, with the start's line; first the text above all."""
    begun, start, said = 1, Start("", "", ""), list[str]()
    for number, raw in source.lines():
        if number in starts:
            yield begun, start, "\n".join(said).strip()
            begun, start, said = number, starts[number], []
        else:
            said.append(raw.rstrip())
    yield begun, start, "\n".join(said).strip()


def _lines(given: Iterator[tuple[int, str]]) -> list[_Line]:
    """The lines with text."""
    lines, is_apart = list[_Line](), False
    for number, raw in given:
        text = dates.plain(raw)
        if not text:
            is_apart = True
            continue
        day = day_of(text.strip(_RULE))
        head = None if day is not None else _HEAD.fullmatch(text)
        if head is not None:
            is_short = len(head["name"].split()) <= _MOST_WORDS
            is_time = dates.time_of(head["time"]) is not None
            is_dated = _DATED.search(head["name"]) is not None
            head = head if is_short and is_time and not is_dated else None
        is_first = not lines or lines[-1].day is not None
        lines.append(_Line(number, text, day, head, is_apart, is_first))
        is_apart = False
    return lines


def _heads(lines: list[_Line]) -> dict[int, Start]:
    """The lines that are the heads of messages, by their numbers.

    "Dentist 10:00" has the form of a head, too. A head has a text below, and a name that comes back
    or looks like one; if the others stand below an empty line, so does it.
    """
    names = Counter(one.head["name"] for one in lines if one.head)
    often = [one for one in lines if one.head and names[one.head["name"]] > 1 and not one.is_first]
    are_apart = bool(often) and all(one.is_apart for one in often)

    def is_speaker(line: _Line) -> bool:
        if line.head is None or (are_apart and not (line.is_apart or line.is_first)):
            return False
        return names[line.head["name"]] > 1 or may_be_name(line.head["name"])

    heads = dict[int, Start]()
    is_open = False
    for line, below in zip(lines, [*lines[1:], None], strict=True):
        is_text = below is not None and below.day is None
        may_wait = below is None or not is_speaker(below) or not _is_rarer(line, below, names)
        if not is_open and is_text and may_wait and is_speaker(line) and line.head:
            heads[line.number] = Start(line.head["name"].strip(), "", line.head["time"])
            is_open = True
        else:
            is_open = False
    return heads


def _is_rarer(line: _Line, below: _Line, names: Counter[str]) -> bool:
    """Whether the line below is rather a head than this one."""
    if line.head is None or below.head is None:
        return False
    return names[line.head["name"]] < names[below.head["name"]]
