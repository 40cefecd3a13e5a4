"""Plain text: ``Name: …`` on a line, with or without a date, and chats of messengers.

Understood are ``Alice: hello``, ``[11.03.24, 09:30:12] Alice: hello``, ``11/03/2024, 09:30 - Alice:
hello``, ``2024-03-11 09:30 Alice: hello``, a head of name and date above the text, and headings
like ``## User``. A line with nothing but a date dates the next messages; a line of another form
continues the message before it.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from ..errors import InvalidInputError
from ..hints import shown
from ..inputs.names import ROLES, role_of, role_of_speaker
from . import dates
from .conversation import DELETED, NO_CAPTION, NO_WORDS, NOTICE, Conversation, Talk
from .lines import Clock, Form, Start, may_be_name
from .phrases import stand_in, without_edit_mark
from .source import Source

# A colon; in Chinese it has full width.
_COLON = "[:\uff1a]"
_SPEAKER = re.compile(
    rf"\*{{0,2}}(?P<name>[^\s:\uff1a*][^:\uff1a*]{{0,60}}?)\*{{0,2}}\s*{_COLON}\*{{0,2}}\s*(?P<text>.*)"
)
# A colon within a word (`10:30`, `https:`) follows no name.
_ENDS_NAME = re.compile(r"[^:\uff1a]*(?:\uff1a|:\*{0,2}(?:\s|$))")
# A speaker as a heading: `## User`, `**Assistant**`, `ChatGPT said:`.
_TITLE = re.compile(
    r"(?P<mark>\#{1,6}\s+|[*_]{1,3})?(?P<name>[^\W_][^*_#:\n]{0,40}?)(?P<said>\s+said)?:?(?:[*_]{1,3})?:?"
)
_FRAME = "[]() "
_DASHES = "-\u2013\u2014"
_BETWEEN = _DASHES + "|,]) "
_RULE = _DASHES + "=#*_ "
# Small words within names: "Ludwig van Beethoven".
_PARTICLES = frozenset(
    ("al", "bin", "da", "de", "del", "der", "di", "du", "el", "la", "le", "van", "von", "y")
)
_SPEAKERS = frozenset(
    ("agent", "ai", "assistant", "bot", "human", "me", "system", "tool", "user", "you")
)
# Words that begin a line of a text, not a message.
_NO_NAMES = frozenset(
    ("edit", "example", "fw", "fwd", "note", "p.s.", "ps", "re", "source", "todo", "update")
)
_MOST_WORDS = 4
_LONGEST_NAME = 40
# Lines that are looked at to find out the form and the order of dates.
_LOOKED_AT = 10_000
# Minimum share of the lines with text that must begin a message in a transcript.
_LEAST_SHARE = 0.1
# The most lines before the first message, and the share of the lines after them that must begin a
# message.
_LONGEST_HEAD = 10
_LEAST_SHARE_BELOW = 0.3
# The fewest labels that are judged.
_MANY_LABELS = 4
# Messengers mark their own notices, and media, by a mark of writing direction; the line of a photo,
# a video or a recording begins with one, too.
_MARK = "\u200e"
_MARKED = re.compile(r"[:\uff1a][ \u00a0\u202f]?\u200e")
_MEDIA = re.compile(
    r"<[^<>\n]{3,60}>|null|\S+\.\w{2,5} \([^()\n]{3,40}\)"
    r"|(?:image|video|audio|sticker|GIF|document|Contact card) omitted",
    re.IGNORECASE,
)
# WhatsApp puts these marks around mentioned names.
_ISOLATES = dict.fromkeys(range(0x2066, 0x206A))
_TIME_AHEAD = re.compile(r"\D{0,16}?\d{1,2}[:.]\d{2}(?:\D|$)")
# An unknown word for AM or PM, which would become a part of the name.
_UNKNOWN_HALF = re.compile(r"\s+[^\W\d_]{1,6}\.?(?:\s?[^\W\d_]{1,4}\.?)?\s+[-\u2013\u2014]\s")
# Text in the place and form of a messenger's date.
_UNDATABLE = re.compile(
    r"\[?(?P<date>[\d?]{1,4}([-/.])[\d?]{1,4}\2[\d?]{1,4},?\s{1,4}\d{1,2}[:.]\d{2}(?:[:.]\d{2})?"
    r"(?:\s?[AaPp]\.?[Mm]\.?)?)\s{0,4}(?:\]|[-\u2013\u2014])\s{1,4}(?P<rest>.*)"
)
_QUOTES = (("\u201e", "\u201c"), ("\u201c", "\u201d"), ("\u00ab", "\u00bb"))
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp]\.?[Mm]\.?)?"
# Few spaces, and none at the beginning of a name: each of many would be tried in every part.
_WHO = r"[^\s:\uff1a\[\]()][^:\uff1a\[\]()]{0,59}?"
_TIMED = re.compile(
    rf"(?:[\[(]?(?P<time>{_CLOCK})[\])]?\s{{0,4}}[-\u2013\u2014]?\s{{1,4}}(?P<name>{_WHO})"
    rf"|(?P<first>{_WHO})\s{{0,4}}[\[(](?P<after>{_CLOCK})[\])])"
    rf"\s{{0,4}}{_COLON}\s{{1,4}}(?P<text>.*)"
)
_OFFSET = re.compile(r"(?P<name>[^:\d\[(]{2,40}?)\s{1,4}[\[(]?(?:\d{1,2}:)?\d{1,2}:\d{2}[\])]?")
_HEADING = re.compile(r"(?P<mark>\#{1,6})\s+(?P<name>[^#\n]{1,40}?):?")
_NUMBER = re.compile(r"\d+")
# A day has three numbers, so that a head cut off within its time has four.
_CUT_NUMBERS = 4
_RULES = re.compile(r"(?<!\n)\n+(?:[-*_]{3,}|[*] [*] [*])\s*$")


def is_transcript(head: str) -> bool:
    """Whether the beginning of a file looks like a conversation."""
    written = [dates.plain(line) for line in head.splitlines()]
    lines = list(filter(None, written[_end_of_head(written) :]))
    form = _form_of(lines)
    starts = [form(line) for line in lines]
    names = [start.name for start in starts if start is not None and start.name]
    if names and not _is_plain(form):
        return True
    if _are_keys({*names}):
        return False
    if not names or starts[0] is not None:
        return bool(names) and len(names) >= _LEAST_SHARE * len(lines)
    begun = next(at for at, start in enumerate(starts) if start is not None and start.name)
    is_sure = (form is _dated or len(set(names)) < len(names)) and begun <= _LONGEST_HEAD
    return is_sure and len(names) >= _LEAST_SHARE_BELOW * (len(lines) - begun)


def _are_keys(labels: set[str]) -> bool:
    """Whether most of many labels name no person, such as those of a package's metadata."""
    people = sum(role_of(one) in ROLES or may_be_name(one) for one in labels)
    return len(labels) >= _MANY_LABELS and 2 * people < len(labels)


def transcript(source: Source) -> Iterator[Conversation]:
    """The messages of a transcript, in parts of some thousands."""
    sample = [dates.plain(line) for _, line in itertools.islice(source.lines(), _LOOKED_AT)]
    head = _end_of_head(sample)
    return read_lines(source, _form_of(sample[head:]), sample, head=head)


def is_messenger(head: str) -> bool:
    """Whether the beginning of a file looks like a chat of WhatsApp: a date on each message."""
    lines = [one for line in head.splitlines() if (one := dates.plain(line))]
    return is_transcript(head) and _form_of(lines) is _dated


def messenger(source: Source) -> Iterator[Conversation]:
    """The messages of a chat that has a date on each."""
    sample = [dates.plain(line) for _, line in itertools.islice(source.lines(), _LOOKED_AT)]
    return read_lines(source, _dated, sample)


def read_lines(
    source: Source,
    form: Form,
    sample: list[str],
    raw: bool = False,
    is_quoted: bool = False,
    head: int = 0,
) -> Iterator[Conversation]:
    """The messages in lines that have a form; ``sample`` has the first lines.

    With ``is_quoted``, messages of several lines stand between quotation marks. The first ``head``
    lines say what the talk is, and perhaps on which day it was.
    """
    is_dated = form is _dated
    form = _Heads.of(sample) if is_dated else form
    starts = [start for line in sample if (start := form(line))]
    order = dates.order_of(start.date for start in starts if start.date)
    clock = Clock(order.day_first, source.date)
    talk, reading, number = Talk(source.name), _Reading(), 0
    talk.is_local = not any(dates.has_zone(start.date) for start in starts)
    # The same chat is exported with seconds by one phone, and without by another.
    talk.is_to_minutes = is_dated
    if not order.is_told:
        talk.note(dates.untold(order))
    for number, line in _below(head, source, talk, clock):
        unmarked, is_edited = without_edit_mark(line)
        written = dates.plain(unmarked)
        start = form(line.rstrip("\r") if raw else written)
        unread = _undatable(written) if start is None and is_dated else None
        if (start := start or unread) is not None:
            reading.hand_over(talk)
            if talk.is_full:
                talk.is_file_date = bool(clock.day_of_file)
                yield talk.conversation()
            is_marked = is_dated and _MARKED.search(line) is not None
            is_media = is_marked and line.startswith(_MARK)
            date = clock.before if unread else clock.read(start, number)
            if unread and unread.name:
                talk.note(f"line {number}: no such date: `{unread.date}`; the time before")
            is_titled = not (is_dated or _is_plain(form))
            reading = _Reading(start, date, number, is_marked, is_media, is_dated, is_quoted)
            reading.is_titled = is_titled and not raw
            reading.is_edited = is_edited and not raw
            reading.head = written
        elif reading.start is not None:
            reading.text.append(line.rstrip())
        elif written and not starts:
            raise InvalidInputError(
                f"line {number} begins no message: `{shown(written)}`",
                hint="begin each message with `Name:`",
                line=number,
            )
        elif written:
            talk.leave("it stands before the first message", number)
    reading.end(talk, source, number)
    if clock.day_of_file:
        talk.is_file_date = True
        talk.note(f"the day is that of the file, {clock.day_of_file}: the text has times only")
    yield talk.conversation()


def _below(head: int, source: Source, talk: Talk, clock: Clock) -> Iterator[tuple[int, str]]:
    """The lines below the head, which is left out and tells the day."""
    for number, line in source.lines():
        if number > head:
            yield number, line
        elif line.strip():
            clock.read(Start("", "", _day_in(dates.plain(line))), number)
            talk.leave("it stands before the first message", number)


@dataclass(slots=True)
class _Reading:
    """A message whose lines are being read."""

    start: Start | None = None
    date: datetime | None = None
    line: int = 0
    is_marked: bool = False
    is_media: bool = False
    is_messenger: bool = False
    is_quoted: bool = False
    is_titled: bool = False
    is_edited: bool = False
    head: str = ""
    text: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.text = [self.start.text] if self.start else []

    def end(self, talk: Talk, source: Source, number: int) -> None:
        """Adds the last message of a file whose last line has a number."""
        is_cut = self.is_messenger and self._drops_cut_head(source)
        self.hand_over(talk)
        if is_cut:
            talk.leave("the file is cut off in the head of a message", number, is_fault=True)

    def _drops_cut_head(self, source: Source) -> bool:
        """Whether the last line of the file was the beginning of a head, cut off in its time."""
        if len(self.text) <= 1 or source.ends_with_line():
            return False
        last = dates.plain(self.text[-1])
        shape, whole = (_NUMBER.sub("0", one) for one in (last, self.head))
        is_open = last.startswith("[") or not re.search(r"\d[:.]\d\d$", last)
        is_cut = is_open and shape.count("0") >= _CUT_NUMBERS and whole.startswith(shape)
        if is_cut:
            self.text.pop()
        return is_cut

    def hand_over(self, talk: Talk) -> None:
        """Adds the message to a talk, if it has a speaker and words."""
        if self.start is None:
            return
        text = "\n".join(self.text).strip()
        if not self.start.name:
            if text:
                talk.leave(NOTICE, self.line)
            return
        why = NO_WORDS
        if self.is_quoted and len(self.text) > 1 and text[:1] == text[-1:] == '"':
            text = text[1:-1].replace('""', '"')
        if self.is_titled:
            text = _RULES.sub("", text)
        if self.is_messenger:
            text, why = _without_media(self.text, self.is_marked, self.is_media)
            text = text.translate(_ISOLATES)
        text, is_edited = without_edit_mark(text)
        is_edited |= self.is_edited
        name = self.start.name.lstrip("~ ") if self.is_messenger else self.start.name
        when = None if self.date is None else self.date.isoformat()
        if not text and why == DELETED:
            talk.leave_withdrawn(name, when, self.line)
            return
        if not text:
            talk.leave(why, self.line)
            return
        message = {"role": role_of_speaker(name), "name": name, "content": text}
        if when is not None:
            message["timestamp"] = when
        talk.add(message, self.line, is_edited)


def _without_media(lines: list[str], is_marked: bool, is_media: bool) -> tuple[str, str]:
    """The words of a message without marks of media, and the reason if it has no words."""
    first, rest = lines[0].strip(), "\n".join(lines[1:]).strip()
    if (instead := stand_in(lines)) is not None:
        return "", instead
    if is_marked and not _MEDIA.fullmatch(first):
        if is_media and 0 < len(first.split()) <= _MOST_WORDS:
            return rest, NO_CAPTION
        return "", (NOTICE if " " in first else NO_CAPTION) if first else NO_WORDS
    if _MEDIA.fullmatch(first):
        return rest, NO_CAPTION
    return "\n".join(lines).strip(), NO_WORDS


def _form_of(lines: list[str]) -> Form:
    """The form of this file's lines: the one that finds most messages.

    A date before a name is surer than a colon somewhere in a text, so a third of the messages
    suffices for it.
    """
    counts = {
        form: sum(bool((start := form(line)) and start.name) for line in lines) for form in _FORMS
    }
    if counts[_dated] and counts[_dated] * 3 >= max(counts.values()):
        return _dated
    form = _titles_of(lines) or max(_FORMS[1:], key=counts.__getitem__)
    return _Speakers.of(lines) if form is _named else form


def _end_of_head(lines: list[str]) -> int:
    """How many of the first lines say what a talk is, as ``Title: …`` and ``Date: …`` do.

    None of their labels speaks below. Below stand messages with times, or one of the lines has a
    date and an empty line follows.
    """
    end, labels = 0, list[str]()
    for line in lines:
        found = _SPEAKER.fullmatch(line) if _ENDS_NAME.match(line) else None
        if line.startswith("#") or not (line or labels):
            pass
        elif found and found["text"] and (_day_in(line) or not any(form(line) for form in _TIMELY)):
            labels.append(found["name"].strip())
        else:
            break
        end += 1
    below = [line for line in lines[end:] if line]
    starts = [start for line in below for form in _FORMS if (start := form(line)) and start.name]
    if not labels or not below or any(start.name in labels for start in starts):
        return 0
    is_timed = any((start := form(below[0])) and start.name for form in _TIMELY)
    is_dated = not lines[end] and any(map(_day_in, lines[:end]))
    return end if is_timed or (is_dated and len(labels) > 1) else 0


def _day_in(line: str) -> str:
    """The date after a label; an empty text without one."""
    value = line.partition(":")[2].strip(" *")
    return value if value and dates.is_date(value) else ""


def _dated(line: str) -> Start | None:
    """``11/03/2024, 09:30 - Alice: hello``; without a name a notice of the messenger."""
    found = dates.split(line.lstrip(_FRAME))
    if found is None or not dates.is_date(found[0]):
        return None
    date, rest = found
    if not dates.has_time(date) and _TIME_AHEAD.match(rest):
        return None  # a time in a form that is not known would become a name
    if dates.has_time(date) and _UNKNOWN_HALF.match(rest):
        return None
    return _said(date, rest.lstrip(_BETWEEN))


@dataclass(frozen=True, slots=True)
class _Heads:
    """The form of dated messages in one file.

    If most heads have a time, and a mark behind it, a line with less is one of a message.
    """

    least: tuple[bool, bool]

    @classmethod
    def of(cls, lines: list[str]) -> _Heads:
        """The form of most heads in the first lines."""
        heads = (line for line in lines if (start := _dated(line)) and start.name)
        [(least, _)] = Counter(map(_parts_of_head, heads)).most_common(1) or [((False, False), 0)]
        return cls(least)

    def __call__(self, line: str) -> Start | None:
        start = _dated(line)
        is_less = start is not None and any(
            has < needs for has, needs in zip(_parts_of_head(line), self.least, strict=True)
        )
        return None if is_less else start


def _parts_of_head(line: str) -> tuple[bool, bool]:
    """Whether a time stands in a line that begins with a date, and a mark behind the date."""
    date, rest = dates.split(line.lstrip(_FRAME)) or ("", "")
    return dates.has_time(date), rest.lstrip().startswith(tuple(_BETWEEN))


def _undatable(line: str) -> Start | None:
    """``[32.13.25, 09:30] Alice: hello``: a message whose date is none."""
    found = _UNDATABLE.fullmatch(line)
    return _said(found["date"], found["rest"]) if found else None


def _said(date: str, rest: str) -> Start:
    speaker = _SPEAKER.fullmatch(rest)
    if speaker and not _ENDS_NAME.match(rest) and not _is_close(speaker["name"], speaker["text"]):
        speaker = None
    # A colon within the title of a group follows no name.
    if speaker is None or _is_cut(speaker["name"]):
        return Start("", rest, date)
    return Start(speaker["name"].strip(), speaker["text"], date)


def _is_close(name: str, text: str) -> bool:
    """Whether a name and a text may stand without a space between; notices have several words."""
    is_one = name[:1].isalpha() and " " not in name and not text.startswith("//")
    return bool(text) and (is_one or name.startswith("+") or _is_name(name))


def _is_cut(name: str) -> bool:
    """Whether a quotation begins in a name and does not end there."""
    return name.count('"') % 2 == 1 or any(
        name.count(begin) > name.count(end) for begin, end in _QUOTES
    )


def _headed(line: str) -> Start | None:
    """``Alice 2024-03-11 09:30`` or ``2024-03-11 09:30 Alice`` above the text."""
    first = dates.split(line.lstrip(_FRAME))
    found = first or dates.split_end(line.rstrip(_FRAME))
    if found is None or not dates.is_date(found[0]):
        return None
    date, name = found[0], found[1].strip(_FRAME + _BETWEEN)
    if name and not (dates.has_time(date) and _is_name(name.partition("(")[0])):
        return None
    return Start(name, "", date)


def _named(line: str) -> Start | None:
    """``Alice: hello``, or a line with nothing but a date."""
    found = _SPEAKER.fullmatch(line) if _ENDS_NAME.match(line) else None
    if found and _is_name(found["name"]):
        return Start(found["name"].strip(), found["text"], "")
    rule = line.strip(_RULE)
    return Start("", "", rule) if dates.is_date(rule) else None


@dataclass(frozen=True, slots=True)
class _Speakers:
    """The form ``Alice: hello``, of the people of one talk.

    "Tadaaa: it works" is a line of what Alice says: the label comes once, unlike those of the
    speakers, and looks like no name.
    """

    others: frozenset[str]

    @classmethod
    def of(cls, lines: list[str]) -> _Speakers:
        """Those who speak in the first lines."""
        starts = [start.name for line in lines if (start := _named(line)) and start.name]
        counts = Counter(starts)
        once = [name for name in starts[1:] if counts[name] == 1]
        if len(once) + 1 >= len(starts):
            return cls(frozenset())
        others = (name for name in once if name.lower() not in _SPEAKERS)
        return cls(frozenset(name for name in others if not may_be_name(name)))

    def __call__(self, line: str) -> Start | None:
        start = _named(line)
        return None if start is None or start.name in self.others else start


def _timed(line: str) -> Start | None:
    """``[09:30] Alice: hello`` and ``Alice (09:30): hello``; the day stands elsewhere."""
    found = _TIMED.fullmatch(line)
    if found is None:
        return None
    name, time = found["name"] or found["first"], found["time"] or found["after"]
    if not _is_name(name) or dates.time_of(time) is None:
        return None
    return Start(name.strip(), found["text"], time)


def _offset(line: str) -> Start | None:
    """``Alice  0:03`` above the text: how long a recording has run."""
    found = _OFFSET.fullmatch(line)
    return Start(found["name"].strip(), "", "") if found and _is_name(found["name"]) else None


def _is_plain(form: Form) -> bool:
    """Whether a form has each speaker before the words, not in headings."""
    return form in _FORMS or isinstance(form, _Speakers)


# The surest form first.
_TIMELY: tuple[Form, ...] = (_dated, _headed, _timed, _offset)
_FORMS = (*_TIMELY, _named)


def _titles_of(lines: list[str]) -> Form | None:
    """The form of headings that name a person and an assistant, all of one kind."""
    titles = [(mark, role_of_speaker(start.name)) for one in lines for mark, start in _title(one)]
    for mark, _ in titles:
        if {role for other, role in titles if other == mark} == {"user", "assistant"}:
            return lambda line: next((one for kind, one in _title(line) if kind == mark), None)
    headings = [found for one in lines if (found := _HEADING.fullmatch(one))]
    names = [one["name"].strip() for one in headings]
    same = len({one["mark"] for one in headings}) == 1
    # Headings of other texts seldom come twice.
    if same and 1 < len(set(names)) < len(names) and all(map(_is_name, names)):
        return _headings
    return None


def _headings(line: str) -> Start | None:
    found = _HEADING.fullmatch(line)
    return Start(found["name"].strip(), "", "") if found else None


def _title(line: str) -> Iterator[tuple[str, Start]]:
    """The speaker in a heading, and the kind of the heading."""
    dated = dates.split_end(line.rstrip(_FRAME + "*_:"))
    date, line = dated if dated and dates.has_time(dated[0]) else ("", line)
    found = _TITLE.fullmatch(line.rstrip(_FRAME if date else " "))
    if found is None or not (found["mark"] or found["said"]):
        return
    # `Agent (model)`
    name = found["name"].partition(" (")[0].strip()
    if name.lower() in _SPEAKERS or role_of_speaker(name) == "assistant" != role_of(name):
        yield (found["mark"] or found["said"]).strip(), Start(name, "", date)


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
