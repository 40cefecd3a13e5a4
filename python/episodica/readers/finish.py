"""The last step of all readers: ids from content, dates from neighbours, no lone surrogates.

The name of a file says nothing about its content, so ids do not depend on it: the same chat under
another name adds nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from ..dates import rfc3339, written_together, zone_of
from ..errors import InvalidInputError
from ..inputs.names import KEYS, place_of, renamed
from .conversation import UNDATED, Conversation, Statement
from .dates import FIRST_YEAR, has_zone, parse

# Shorter ids of a file are numbers within a chat; longer ones are unique by themselves.
_LONG_ID = 16
# First messages by which a chat without identity and dates is recognised.
_BEGINNING = 2
# The most undated conversations at the beginning of a file that wait for a date.
_MOST_WAITING = 20
_DEEPEST = 50
# Undated messages follow each other in steps of this size.
_STEP = timedelta(microseconds=1)
_LENGTH = 32
_SECONDS = re.compile(r"(T\d\d:\d\d):\d\d(?:\.\d{1,6})?")
_SAID = ("role", "type", "name", "content", "parts", "blocks", "tool_calls", "tool_call_id")
# How many of these say who speaks.
_SPEAKER = 3


def finished(
    conversations: Iterable[Conversation], file_date: str | None, zone: str | None = None
) -> Iterator[Conversation]:
    """The conversations with ids and dates, ``file_date`` as the last resort.

    Times without an offset are in ``zone``, else in UTC. The ids are the same in every zone.
    """
    ids = _Ids()
    for conversation in _dated(map(_timed, map(_repaired, conversations)), file_date):
        made = replace(conversation, ids=ids.of(conversation))
        yield made if zone is None else _placed(made, zone_of(zone))


class _Ids:
    """Makes ids of messages: the same content gives the same ids, in whatever file it is.

    A message that the file numbers is known by its number, its chat, its speaker and its time, so
    that other words under the same number are a newer version of it; without a time of day and a
    chat, also by its words. Within one file such a number
    is not repeated: there other words are another message.
    """

    def __init__(self) -> None:
        self._counts: dict[bytes, int] = {}
        self._given: dict[str, bytes] = {}
        self._beginnings: dict[str | None, str] = {}
        self._numbered: dict[tuple[Any, ...], str] = {}

    def of(self, conversation: Conversation) -> tuple[str | None, ...]:
        chat = conversation.chat
        if chat not in self._beginnings:
            first = next(iter(conversation.messages), None)
            # A numbered message is the same one while others follow.
            count = 1 if isinstance(first, Mapping) and _own_id(_named(first)) else _BEGINNING
            begun = [
                [one.get("role"), one.get("name"), one.get("content")]
                for one in conversation.messages[:count]
                if isinstance(one, Mapping)
            ]
            self._beginnings[chat] = _hash([chat, begun]).hex()
        return tuple(self._of(message, conversation) for message in conversation.messages)

    def _of(self, message: object, conversation: Conversation) -> str | None:
        if not isinstance(message, Mapping) or message.get("message_id"):
            return None
        named = _named(message)
        own = _own_id(named)
        said = [named.get(key) for key in _SAID]
        when = None if conversation.is_file_date else _instant(named.get("timestamp") or None)
        if conversation.is_to_minutes:
            when = _minute(when)
        chat = None if conversation.has_unique_ids and own else conversation.chat
        if len(own) >= _LONG_ID:
            content = _hash(said)
            if self._given.setdefault(own, content) == content or _is_edit(named):
                return own
            return _hash([own, said]).hex()[:_LENGTH]
        beginning = self._beginnings[conversation.chat]
        # Of a number and a day alone, another chat may have the same: then the words tell.
        if own and (when is None or chat is not None or _has_clock(when)):
            place = beginning if when is None else chat
            known = _numbered_id(place, own, when, said)
            content = _hash(said)
            numbered = (conversation.chat, own, *map(str, said[:_SPEAKER]))
            if when is None and not conversation.is_file_date and numbered in self._numbered:
                return self._numbered[numbered]  # an edit without a time
            if self._given.setdefault(known, content) == content or _is_edit(named):
                self._numbered[numbered] = known
                return known
        place = beginning if when is None else chat
        base = _hash([place, own, when, said])
        count = self._counts.get(base, 0)
        # A file numbers each message of a chat once: the same number and content is a repetition.
        self._counts[base] = count if own else count + 1
        return _hash([base.hex(), count]).hex()[:_LENGTH]


def _numbered_id(place: object, own: str, when: object, said: list[Any]) -> str:
    """The id of a message that its file numbers."""
    return _hash([place, own, when, *said[:_SPEAKER]]).hex()[:_LENGTH]


def is_numbered(message: object) -> bool:
    """Whether a message has an id in its file."""
    return isinstance(message, Mapping) and bool(_own_id(_named(message)))


def is_undated(message: Any) -> bool:
    """Whether a message has a number in its file, and no time."""
    return _has_number(message) and not _is_date(_named(message).get("timestamp"))


def is_timed(message: Any) -> bool:
    """Whether a message has a number in its file, and a time."""
    return _has_number(message) and _is_date(_named(message).get("timestamp"))


def _has_number(message: Any) -> bool:
    if not isinstance(message, Mapping) or message.get("message_id"):
        return False
    return 0 < len(_own_id(_named(message))) < _LONG_ID


def id_at(conversation: Conversation, position: int, when: datetime) -> str:
    """The id that a numbered message of a file would have if it had a time."""
    named = _named(conversation.messages[position])
    instant = when.timestamp()
    moment = _minute(instant) if conversation.is_to_minutes else instant
    chat = None if conversation.has_unique_ids else conversation.chat
    return _numbered_id(chat, _own_id(named), moment, [named.get(key) for key in _SAID])


def _own_id(message: Mapping[str, Any]) -> str:
    """The id of a message in its file; an empty text without one."""
    own = message.get("message_id")
    return str(own) if isinstance(own, (str, int)) and not isinstance(own, bool) else ""


def _is_edit(message: Mapping[str, Any]) -> bool:
    """Whether a message says that it is a later version."""
    edited = message.get("edited_at")
    return edited is not None and edited != message.get("timestamp")


def _instant(when: object) -> object:
    """The seconds since 1970 of a date and time, which copies of a chat write in several forms."""
    with suppress(ValueError, OverflowError):
        if isinstance(when, str) and ":" in when:
            moment = datetime.fromisoformat(when)
            return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    return when


def _minute(when: object) -> object:
    """A moment as a copy of the chat without seconds tells it."""
    if isinstance(when, str):
        return _SECONDS.sub(r"\1", when)
    return when - when % 60 if isinstance(when, (int, float)) else when


def _has_clock(when: object) -> bool:
    """Whether a date tells the time of day, which makes it rare among other chats."""
    return isinstance(when, (int, float)) or (isinstance(when, str) and ":" in when)


def _named(message: Mapping[str, Any]) -> Mapping[str, Any]:
    return message if KEYS.issuperset(message) else renamed(message)[0]


def _hash(value: object) -> bytes:
    text = json.dumps(value, default=str, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _dated(conversations: Iterable[Conversation], file_date: str | None) -> Iterator[Conversation]:
    """Gives undated conversations the date of their neighbour, else that of the file.

    Each begins a step after the last message before it, which keeps them in order.
    """
    waiting: list[Conversation] = []
    last: Any = None
    passed = 0
    for conversation in conversations:
        dates = [
            when
            for one in conversation.messages
            if isinstance(one, Mapping) and _is_date(when := _named(one).get("timestamp"))
        ]
        first = dates[0] if dates else conversation.date if _is_date(conversation.date) else None
        if first is not None:
            yield from _in_steps(waiting, first, -sum(len(one.messages) for one in waiting))
            yield replace(conversation, date=first)
            waiting, last = [], dates[-1] if dates else first
            passed = 0 if dates else len(conversation.messages)
        elif last is not None:
            yield from _in_steps([conversation], last, passed + 1)
            passed += len(conversation.messages)
        else:
            waiting.append(conversation)
            if len(waiting) > _MOST_WAITING:
                yield from _by_file(waiting, file_date)
                last, passed = file_date, sum(len(one.messages) for one in waiting)
                waiting = []
    yield from _by_file(waiting, file_date)


def _by_file(conversations: list[Conversation], file_date: str | None) -> Iterator[Conversation]:
    for one in _in_steps(conversations, file_date, 0):
        yield replace(one, is_file_date=True)


def _in_steps(conversations: list[Conversation], date: Any, offset: int) -> Iterator[Conversation]:
    """The conversations one after the other, from a number of steps after a date on."""
    for one in conversations:
        moment = date
        if date is not None:
            with suppress(OverflowError):
                moment = datetime.fromisoformat(rfc3339(date, "`date`")) + offset * _STEP
        yield replace(one, date=moment)
        offset += len(one.messages)


def _is_date(value: object) -> bool:
    try:
        return value is not None and not _is_early(value) and bool(rfc3339(value, "`date`"))
    except InvalidInputError:
        return False


def _timed(conversation: Conversation) -> Conversation:
    """The conversation without the numbers that are no times of a chat, such as 0."""
    notes = []
    messages = conversation.messages
    for position, message in enumerate(messages):
        if not isinstance(message, Mapping):
            continue
        early = {key for key, value in message.items() if is_time(key) and _is_early(value)}
        if early:
            messages[position] = {key: message[key] for key in message if key not in early}
            notes.append(f"{conversation.place(position)}: {UNDATED}")
    statements = tuple(
        replace(one, date=None) if _is_early(one.date) else one for one in conversation.statements
    )
    if statements != conversation.statements:
        notes.append("the time of a fact is missing or not understood; it holds from now on")
    notes = [*conversation.notes, *notes]
    return replace(conversation, notes=tuple(notes), statements=statements)


def _placed(conversation: Conversation, zone: tzinfo) -> Conversation:
    """The conversation with its times without an offset in a zone."""
    messages = conversation.messages
    for position, message in enumerate(messages):
        if not isinstance(message, Mapping):
            continue
        times = {key: message[key] for key in message if is_time(key)}
        # A local time and an instant side by side tell the offset.
        if sum(_place(key) == "timestamp" for key in times) == 1:
            moved = {key: _in_zone(value, zone, conversation) for key, value in times.items()}
            messages[position] = {**message, **moved}
    withdrawn = tuple(
        replace(one, timestamp=_in_zone(one.timestamp, zone, conversation))
        for one in conversation.withdrawn
    )
    return replace(conversation, withdrawn=withdrawn)


def _in_zone(given: Any, zone: tzinfo, conversation: Conversation) -> Any:
    if not isinstance(given, str) or given.replace(".", "", 1).isdigit():
        return given
    try:
        moment = datetime.fromisoformat(given.strip())
        is_local = moment.tzinfo is None or (conversation.is_local and not moment.utcoffset())
    except ValueError:
        read = None if has_zone(given) else parse(given)
        if read is None:
            return given
        moment, is_local = read, True
    return moment.replace(tzinfo=zone).isoformat() if is_local else given


def _place(key: object) -> str | None:
    place = place_of(key) if isinstance(key, str) else None
    return place and place[0]


def is_time(key: object) -> bool:
    """Whether a key of a message names a time."""
    return _place(key) in ("timestamp", "edited_at")


def _is_early(when: object) -> bool:
    """Whether a number, perhaps as text, is a time before there were chats."""
    if isinstance(when, str):
        if when.startswith(("1970-01-01T00:00:0", "1970-01-01 00:00:0")):
            return True
        with suppress(ValueError):
            when = when if written_together(when) else float(when)
    if not isinstance(when, (int, float)) or isinstance(when, bool):
        return isinstance(when, bool)
    with suppress(InvalidInputError):
        return rfc3339(when, "a time") < FIRST_YEAR
    return False


def _repaired(conversation: Conversation) -> Conversation:
    """The conversation without lone surrogates (halves of letters), which no file can hold."""
    notes = []
    messages = conversation.messages
    for position, message in enumerate(messages):
        if _is_whole(message, 0):
            continue
        messages[position] = _whole(message)
        notes.append(f"{conversation.place(position)}: half a letter was replaced by `\ufffd`")
    statements = conversation.statements
    if not all(_is_whole(one.text, 0) for one in statements):
        statements = tuple(_whole_statement(one) for one in statements)
        notes.append("half a letter of a fact was replaced by `\ufffd`")
    if not notes:
        return conversation
    return replace(conversation, notes=(*conversation.notes, *notes), statements=statements)


def _is_whole(value: Any, depth: int) -> bool:
    if isinstance(value, str):
        if value.isascii():
            return True
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
        return True
    if depth > _DEEPEST:
        return True
    if isinstance(value, Mapping):
        return all(_is_whole(one, depth + 1) for pair in value.items() for one in pair)
    return not isinstance(value, list) or all(_is_whole(one, depth + 1) for one in value)


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {_whole(key): _whole(one) for key, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, list) else value


def _whole_statement(statement: Statement) -> Statement:
    return replace(statement, text=_whole(statement.text), metadata=_whole(statement.metadata))
