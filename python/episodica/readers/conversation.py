"""The form into which every reader turns a file: conversations, and facts stated directly."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..hints import shown
from ..inputs.chat import may_be_silent
from ..inputs.names import NAMELESS, place_of

# The most messages of a long file that are handed over together.
PART = 5_000
NO_WORDS = "no words"
NOTICE = "a notice of the messenger"
NO_CAPTION = "a photo, file or the like without words"
POLL = "a poll"
CALL = "a call"
PLACE = "a place on a map"
CONTACT = "a contact card"
DELETED = "a deleted message"
UNDATED = "the time is missing or not understood; dated like its neighbour"
# Discord's name of all accounts that are gone.
_OF_DISCORD = "Deleted User"
_LINE = re.compile(r"\bline (\d+)$")


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a conversation, its answer, and the ids of the turns that prove it."""

    text: str
    answer: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact that a file states, with its date as the file has it."""

    text: str
    date: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)
    line: int | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of a file that was not read, and why.

    ``is_fault`` if it was not understood; ``is_unknown`` if it is whole, and of another form than
    this format: too many such parts, and the format is not the right one.
    """

    place: str
    why: str
    is_fault: bool = False
    is_unknown: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"

    @property
    def line(self) -> int | None:
        """The line in the file; ``None`` if the place has no line."""
        found = _LINE.search(self.place)
        return int(found[1]) if found else None


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A message that its writer deleted in the messenger: a notice stands in its place.

    ``position`` is that of the next message of the conversation.
    """

    position: int
    name: str
    timestamp: Any


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of one user, ready for ``add_messages``.

    ``user_id`` is ``None`` where the file names none; ``name`` says which conversation this is, for
    people; ``chat`` is its identity in the file. A long file comes in parts: ``first`` is the
    position of the first message here. ``lines`` holds the line of each message where the format
    has lines. ``left_out`` names the parts that were not read, ``notes`` the changes. ``date`` is
    the date of messages without a date, at worst the date of the file. ``has_unique_ids`` says that
    the ids of the messages are the same in every copy of the chat, ``is_to_minutes`` that some
    copies of it have no seconds. ``ids`` has an id for each message without an id. ``is_local``
    says that the times came without an offset; they are written as if they were in UTC. ``edited``
    has the positions of messages that are marked as edited, ``withdrawn`` the messages that were
    deleted in the messenger, and ``owner`` the name of the person whose account was exported.
    ``versions`` has, by the file's id of a message, the ids of the messages in its place on other
    branches: the same question or answer in other words. ``copies`` has, by the same id, the one
    that a message has if it is a copy from another session. ``file``
    is the name of its file in an archive or folder.
    """

    name: str
    user_id: str | None
    messages: list[Any]
    questions: tuple[Question, ...] = ()
    statements: tuple[Statement, ...] = ()
    lines: tuple[int, ...] = ()
    first: int = 0
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    chat: str | None = None
    date: Any = None
    is_file_date: bool = False
    is_to_minutes: bool = False
    has_unique_ids: bool = False
    ids: tuple[str | None, ...] = ()
    is_local: bool = False
    edited: tuple[int, ...] = ()
    withdrawn: tuple[Withdrawn, ...] = ()
    owner: str | None = None
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)
    file: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether it has nothing to add, at most parts that were left out."""
        return not self.messages and not self.statements

    @property
    def skipped(self) -> int:
        """How many parts of the file were left out."""
        return len(self.left_out)

    def place(self, position: int) -> str:
        """Where a message stands, for an error: its line, else its position from 0."""
        if position < len(self.lines):
            return self.in_file(f"line {self.lines[position]}")
        where = f"message {self.first + position}"
        return self.in_file(where if self.chat is None else f"{where} of `{shown(self.name)}`")

    def in_file(self, text: str) -> str:
        """A place or a note after the name of the file in an archive or folder."""
        return f"{self.file}, {text}" if self.file else text


class Talk:
    """A chat that is being read: collects its messages, and names the parts it leaves out.

    ``session`` becomes the session of messages that name none. ``chat`` is the identity of the chat
    in the file; without one, the chat is known by its first messages.
    """

    def __init__(
        self,
        name: str,
        chat: str | None = None,
        *,
        session: str | None = None,
        title: object = None,
        user: str | None = None,
        date: object = None,
        has_unique_ids: bool = False,
    ) -> None:
        self.first = 0
        self.messages: list[Any] = []
        self.date = date
        self.is_file_date = False
        self.is_local = False
        self.owner: str | None = None
        self.is_to_minutes = False
        # What the metadata of the next messages begins with.
        self.about: dict[str, Any] = (
            {"conversation": title} if isinstance(title, str) and title else {}
        )
        self._name, self._chat, self._user = name, chat, user
        self._has_unique_ids = has_unique_ids
        self._session = session
        self._lines: list[int] = []
        self._versions: dict[str, tuple[str, ...]] = {}
        self._copies: dict[str, str] = {}
        self._left: list[LeftOut] = []
        self._cut: Counter[str] = Counter()
        self._nameless: Counter[str] = Counter()
        self._notes: list[str] = []
        self._owners: dict[str, object] = {}
        self._edited: list[int] = []
        self._withdrawn: list[Withdrawn] = []
        self._seen = 0

    @property
    def is_full(self) -> bool:
        """Whether the messages fill a part and must be handed over."""
        return len(self.messages) >= PART

    def add(self, message: Mapping[str, Any], line: int = 0, is_edited: bool = False) -> None:
        """Adds a message; leaves out a message with an empty text."""
        content = message.get("content")
        if isinstance(content, str) and not content.strip() and not _may_be_silent(message):
            self.leave(NO_WORDS, line)
            return
        self._seen += 1
        if message.get("name") in self._nameless:
            self._nameless[message["name"]] += 1
        added: dict[str, Any] = {} if self._session is None else {"session_id": self._session}
        if self.about:
            own = message.get("metadata")
            added["metadata"] = {**self.about, **own} if isinstance(own, Mapping) else self.about
            message = {key: value for key, value in message.items() if key != "metadata"}
        if is_edited:
            self._edited.append(len(self.messages))
        self.messages.append({**added, **message} if added else message)
        if line:
            self._lines.append(line)

    def leave(
        self, why: str, line: int = 0, is_fault: bool = False, is_unknown: bool = False
    ) -> None:
        """Leaves the next message out."""
        self._left.append(LeftOut(self.place(line), why, is_fault or is_unknown, is_unknown))
        self._seen += 1

    def leave_withdrawn(self, name: str, timestamp: str | None, line: int) -> None:
        """Leaves out the notice in the place of a message that was deleted in the messenger."""
        self.leave(DELETED, line)
        if timestamp is not None:
            self._withdrawn.append(Withdrawn(len(self.messages), name, timestamp))

    def place(self, line: int = 0) -> str:
        """Where the next message stands: its line, else its position from 0."""
        if line:
            return f"line {line}"
        where = f"message {self._seen}"
        return where if self._chat is None else f"{where} of `{shown(self._name)}`"

    def cut(self, why: str) -> None:
        """Leaves a part of a message out; such parts are counted by their reason."""
        self._cut[why] += 1

    def tell_versions(self, versions: Mapping[str, tuple[str, ...]]) -> None:
        """Notes which messages of other branches stand in the place of one of these."""
        self._versions.update(versions)

    def tell_copy(self, own: str, other: str) -> None:
        """Notes the id that a message has if it is a copy from another session."""
        self._copies[own] = other

    def leave_branches(self, count: int) -> None:
        """Notes messages that are left out because another branch of the chat was shown last."""
        if count > 0:
            place = f"{count} message{'s' * (count > 1)} of `{shown(self._name)}`"
            self._left.append(LeftOut(place, "of another branch"))

    def note(self, text: str) -> None:
        """Notes a change."""
        self._notes.append(text)

    def speaker(self, *names: object, own: object = None) -> str:
        """The first of the names; of an account without a name, one made of its id and noted.

        Of several accounts with one name, all but the first get their id after it.

        A message without a name would be one of the user themselves.
        """
        for name in names:
            if isinstance(name, str) and name.strip() and name != _OF_DISCORD:
                is_taken = own and self._owners.setdefault(name, own) != own
                return f"{name} {own}" if is_taken else name
        made = f"{NAMELESS} {own}" if isinstance(own, (str, int)) and own else NAMELESS
        self._nameless.setdefault(made, 0)
        return made

    def conversation(self) -> Conversation:
        """The messages since the last call."""
        for name, count in (+self._nameless).items():
            said = "1 message" if count == 1 else f"{count:,} messages"
            self.note(f"{said} of an account without a name, called `{shown(name)}` here")
        for why, count in self._cut.items():
            place = f"{count:,} part{'s' * (count > 1)} of messages"
            self._left.append(LeftOut(f"{place} of `{shown(self._name)}`", why))
        made = Conversation(
            self._name,
            self._user,
            self.messages,
            lines=tuple(self._lines),
            first=self.first,
            left_out=tuple(self._left),
            notes=tuple(self._notes),
            chat=self._chat,
            date=self.date,
            is_file_date=self.is_file_date,
            is_to_minutes=self.is_to_minutes,
            versions=self._versions,
            copies=self._copies,
            has_unique_ids=self._has_unique_ids,
            is_local=self.is_local,
            edited=tuple(self._edited),
            withdrawn=tuple(self._withdrawn),
            owner=self.owner,
        )
        self._cut, self._nameless = Counter(), Counter()
        self.first += len(self.messages)
        self.messages, self._lines, self._left, self._notes = [], [], [], []
        self._edited, self._withdrawn = [], []
        return made


def mappings(value: object, most: int | None = None) -> list[Mapping[str, Any]]:
    """The mappings among the first values of a list. Empty for any other value."""
    values = value[:most] if isinstance(value, list) else []
    return [one for one in values if isinstance(one, Mapping)]


def text_of_html(text: str) -> str:
    """The words of HTML, a line for each paragraph."""
    seen = without_elements(text, _UNSEEN, _SEEN)
    return html.unescape(_TAG.sub("", _BREAK.sub("\n", seen)))


# A tag has no `<`, so that no search goes over the text of the next one.
_UNSEEN = re.compile(r"<(?P<name>style|script)\b[^<>]*>|<(?P<comment>!--)", re.IGNORECASE)
_SEEN = re.compile(r"</(?P<name>style|script)\s{0,9}>|-->", re.IGNORECASE)
_TAG = re.compile(r"<[a-z/!?][^<>]*>", re.IGNORECASE)
_BREAK = re.compile(r"<(?:br|/p|/div|/li|/tr|/h\d)\b[^<>]*>", re.IGNORECASE)


def without_elements(text: str, opening: re.Pattern[str], closing: re.Pattern[str]) -> str:
    """The text without all between each opening and the next closing of the same name.

    The group ``name`` of both has the name, if there are several. In one pass: an opening without
    a closing stays, and costs no search to the end of the text.
    """
    ends: dict[str | None, list[re.Match[str]]] = {}
    for found in closing.finditer(text):
        ends.setdefault(_name_of(found), []).append(found)
    for matches in ends.values():
        matches.reverse()
    parts, at, begin = [], 0, opening.search(text)
    while begin is not None:
        own = ends.get(_name_of(begin), [])
        while own and own[-1].start() < begin.end():
            own.pop()
        after = begin.end()
        if own:
            parts.append(text[at : begin.start()])
            at = after = own[-1].end()
        begin = opening.search(text, after)
    return "".join((*parts, text[at:]))


def _name_of(found: re.Match[str]) -> str | None:
    name = found.groupdict().get("name")
    return name and name.lower()


def _may_be_silent(message: Mapping[str, Any]) -> bool:
    """Whether an API's message may say something elsewhere than in its content."""
    return may_be_silent(message) or any(message.get(key) for key in ("parts", "blocks"))


def with_ids(conversation: Conversation) -> list[Any]:
    """The messages, each with its own id or one made from its content."""
    if not conversation.ids:
        return conversation.messages
    return [
        {**_without_id(message), "message_id": made}
        if made and isinstance(message, Mapping)
        else message
        for message, made in zip(conversation.messages, conversation.ids, strict=True)
    ]


def _without_id(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message without the ids from its file, for computing its id."""
    return {
        key: value
        for key, value in message.items()
        if (place := place_of(key)) is None or place[0] != "message_id"
    }
