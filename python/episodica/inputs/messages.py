"""Messages as callers hand them over, checked and brought into the form that the engine takes.

All or nothing: the first invalid message stops the call before anything is stored. The text of a
valid message is never changed, only its form. Parts that are left out are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from ..dates import rfc3339
from ..errors import InvalidInputError
from ..hints import first_of, near, shown
from ..records import Message
from .chat import as_mapping, is_result, may_be_silent, role_in, rows, text_of
from .forms import expanded, with_whole_chunks
from .names import KEYS, READ_ELSEWHERE, ROLES, renamed, time_in
from .texts import MAX_NAME, MAX_ROLE, check_length, check_text, json_text, metadata_text

# The most unknown keys of a message that are checked for typing errors: more are data.
_MOST_UNKNOWN_KEYS = 64
# How alike an unknown key and a known key are, at least, if the unknown key is a typing error.
_ALIKE = 0.8
_SHORT_NAME = 4
# The most unknown keys of a call that get a note each; one more note counts the rest.
_NAMED = 12
# Undated messages follow their neighbour in steps of this size, which keeps them apart.
_STEP = timedelta(microseconds=1)
# Clocks differ by less than this: a date further ahead is in the future.
_AHEAD = timedelta(days=1)


@dataclass(slots=True)
class Incoming:
    """The messages of a call as the engine takes them, and the parts left out of them."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    skipped: int = 0  # messages that say nothing
    silent: list[str] = field(default_factory=list)  # the ids of these
    empty: str = ""  # an error, if a person said nothing
    thoughts: int = 0  # messages whose thinking was left out
    unknown: Counter[str] = field(default_factory=Counter)  # keys kept as metadata
    untimed: Counter[str] = field(default_factory=Counter)  # keys of metadata that look like times

    def notes(self) -> tuple[str, ...]:
        """What a caller should know, a sentence each; empty if nothing was left out or changed."""
        # `most_common` imports a module: a process forked during the import would hang.
        unknown = sorted(self.unknown.items(), key=lambda item: item[1], reverse=True)
        found = [
            f"`{shown(key)}` is no key of a message: kept in `metadata` of {_count(count)}"
            for key, count in unknown[:_NAMED]
        ]
        if len(self.unknown) > _NAMED:
            found.append(f"{len(self.unknown) - _NAMED:,} more such keys: kept in `metadata`")
        found += [
            f"`metadata.{shown(key)}` is not taken as the time of {_count(count)}: give `timestamp`"
            for key, count in sorted(self.untimed.items())[:_NAMED]
        ]
        if self.skipped:
            found.append(f"{_count(self.skipped)} without words: skipped{_named(self.silent)}")
        if self.thoughts:
            found.append(f"thinking of a model: left out of {_count(self.thoughts)}")
        limit = datetime.now(UTC) + _AHEAD
        ahead = sum(
            datetime.fromisoformat(one["timestamp"]) > limit
            for one in self.messages
            if one["timestamp"]
        )
        if ahead:
            found.append(f"more than a day ahead of the clock: {_count(ahead)}, which end nothing")
        return tuple(found)


def _named(ids: list[str]) -> str:
    """The first ids of messages, in brackets."""
    return f" ({first_of([f'`{shown(one)}`' for one in ids], _NAMED)})" if ids else ""


class _EmptyError(InvalidInputError):
    """A person said nothing: an error unless others of the call say something."""


def _count(number: int) -> str:
    return "1 message" if number == 1 else f"{number:,} messages"


def normalise(messages: object, agent_id: str | None = None) -> list[dict[str, Any]]:
    """The messages of :func:`incoming` alone."""
    return incoming(messages, agent_id).messages


def incoming(
    messages: object, agent_id: str | None = None, *, keeps_thinking: bool = False
) -> Incoming:
    """Checks every message and brings it into the form that ``Engine.add_messages`` takes."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    elif isinstance(messages, (Mapping, Message)):
        messages = [messages]
    given = None if isinstance(messages, (bytes, bytearray)) else rows(messages) or messages
    if not isinstance(given, Iterable):
        raise InvalidInputError(
            f"messages must be a list of mappings, not `{type(messages).__name__}`",
            hint='write `memory.add_messages(user, [{"role": "user", "content": "..."}])`',
        )
    done = Incoming()
    for position, raw in enumerate(with_whole_chunks(given)):
        try:
            _take(done, raw, agent_id, keeps_thinking)
        except _EmptyError as error:
            _skip(done, as_mapping(raw))
            done.empty = done.empty or f"message {position}: {error.message}"
        except InvalidInputError as error:
            text = f"message {position}: {error.message}"
            raise InvalidInputError(text, hint=error.hint) from None
    if done.empty and not done.messages:
        raise InvalidInputError(done.empty)
    done.messages = _dated(done.messages)
    return done


def _take(done: Incoming, raw: object, agent_id: str | None, keeps_thinking: bool) -> None:
    if isinstance(raw, Message):
        raw = raw.to_dict()
    message = as_mapping(raw)
    if message is None:
        raise InvalidInputError(
            f"must be a mapping, not `{type(raw).__name__}`",
            hint='write it as {"role": "user", "content": "..."}',
        )
    role, content = message.get("role"), message.get("content")
    if type(role) is str and type(content) is str and KEYS.issuperset(message):
        # Most messages need no further reading.
        is_plain = role in ROLES and (role != "assistant" or "<" not in content)
        if is_plain and content and not content.isspace():
            done.messages.append(_made(done, message, role, content, agent_id))
            return
    for one in expanded(message):
        own, rest = renamed(one)
        if rest:
            _check_keys(rest, own)
            own["metadata"] = _with_unknown(own.get("metadata"), rest)
            done.unknown.update(list(rest))
        read = _read(done, own, keeps_thinking)
        if read is None:
            _skip(done, own)
        else:
            done.messages.append(_made(done, own, *read, agent_id))


def _skip(done: Incoming, message: Mapping[str, Any] | None) -> None:
    """Leaves out a message that says nothing; an edit to nothing leaves the words before it."""
    done.skipped += 1
    own = renamed(message)[0].get("message_id") if message is not None else None
    if isinstance(own, str) and own:
        done.silent.append(own)


def _read(
    done: Incoming, message: Mapping[str, Any], keeps_thinking: bool
) -> tuple[str, str] | None:
    """The role and the words of a message; ``None`` if it says nothing."""
    role = _role(role_in(message))
    role = "tool" if role == "user" and is_result(message) else role
    said, left_out = text_of(message, keeps_thinking)
    done.thoughts += left_out
    content = _content(said, role, message)
    return None if content is None else (role, content)


def _made(
    done: Incoming, message: Mapping[str, Any], role: str, content: str, agent_id: str | None
) -> dict[str, Any]:
    """The message in the engine's form."""
    get = message.get
    edited, metadata = get("edited_at"), get("metadata")
    timestamp = get("timestamp")
    if timestamp is None and isinstance(metadata, Mapping):
        timestamp, untimed = time_in(metadata)
        done.untimed.update(untimed)
    # A message with only the time of its edit was said then at the latest.
    timestamp = edited if timestamp is None else timestamp
    return {
        "role": role,
        "content": content if content.isascii() else check_text(content, "`content`"),
        "name": _optional(get("name"), "name"),
        "timestamp": None if timestamp is None else rfc3339(timestamp, "`timestamp`"),
        "session_id": _optional(get("session_id"), "session_id"),
        "agent_id": _optional(get("agent_id"), "agent_id") or agent_id,
        "metadata": None if metadata is None else metadata_text(metadata),
        "message_id": _optional(get("message_id"), "message_id"),
        "edited_at": None if edited is None else rfc3339(edited, "`edited_at`"),
    }


def _dated(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Gives undated messages the time of the dated message before them, else after them.

    A list without any date stays undated: the engine dates it now.
    """
    dated = [place for place, message in enumerate(messages) if message["timestamp"]]
    if not dated or len(dated) == len(messages):
        return messages
    neighbour = dated[0]
    near = datetime.fromisoformat(messages[neighbour]["timestamp"])
    for place, message in enumerate(messages):
        if not message["timestamp"]:
            try:
                message["timestamp"] = (near + (place - neighbour) * _STEP).isoformat()
            except OverflowError:
                message["timestamp"] = near.isoformat()
        elif place > neighbour:
            neighbour, near = place, datetime.fromisoformat(message["timestamp"])
    return messages


def _with_unknown(metadata: Any, rest: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata, with the message's unknown keys added; keys already there keep their values."""
    own = metadata if isinstance(metadata, Mapping) else {"metadata": metadata}
    found = {**rest, **own} if metadata is not None else dict(rest)
    return {key: _storable(value) if key in rest else value for key, value in found.items()}


def _storable(value: Any) -> Any:
    """The value of an unknown key: the value itself if JSON can hold it, else its text."""
    try:
        json_text(value, "metadata")
    except InvalidInputError:
        return shown(value)
    return value


def _check_keys(rest: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Refuses what looks like a typing error of a key that the message lacks."""
    # `edited` is mostly a flag, which belongs into the metadata.
    missing = frozenset(KEYS - own.keys() - {"edited_at"})
    for key in list(rest)[:_MOST_UNKNOWN_KEYS]:
        meant = _meant(shown(key), missing)
        if meant:
            raise InvalidInputError(
                f"unknown key: `{shown(key)}`",
                hint=f"did you mean `{meant}`? what belongs to no key goes into `metadata`",
            )


# Messages of one source have the same keys, and a comparison of names takes a while.
@lru_cache(maxsize=4096)
def _meant(key: str, missing: frozenset[str]) -> str | None:
    """The missing key that a mistyped name means: one spelled alike, or with the same letters."""
    from difflib import SequenceMatcher

    for name in near(key, missing):
        written = key.lower()
        if len(name) <= _SHORT_NAME:
            if sorted(written) == sorted(name):
                return name
        elif SequenceMatcher(None, written, name).ratio() >= _ALIKE:
            return name
    return None


def _role(role: object) -> str:
    if role is None:
        raise InvalidInputError(
            "`role` is missing",
            hint='every message is a mapping like {"role": "user", "content": "..."}',
        )
    if not isinstance(role, str):
        raise InvalidInputError(f"`role` must be a str, not `{type(role).__name__}`")
    if not role.strip():
        raise InvalidInputError("`role` is empty")
    return check_length(role if role.isascii() else check_text(role, "`role`"), "`role`", MAX_ROLE)


def _optional(value: object, key: str) -> str | None:
    """A text that may be absent; an empty text counts as absent."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise InvalidInputError(f"`{key}` must be a str, not `{type(value).__name__}`")
    check_length(value, f"`{key}`", MAX_NAME)
    return value if value.isascii() else check_text(value, f"`{key}`")


def _content(text: object, role: str, message: Mapping[str, Any]) -> str | None:
    """The words of a message; ``None`` where someone other than the user says nothing."""
    if text is None or (isinstance(text, str) and (not text or text.isspace())):
        has_content = "content" in message or not message.keys().isdisjoint(READ_ELSEWHERE)
        if (role != "user" and has_content) or (may_be_silent(message) and text is None):
            return None
        if isinstance(text, str):
            raise _EmptyError("`content` is empty")
        if "content" in message:
            raise _EmptyError("`content` must be a str, not `None`")
        raise InvalidInputError("`content` is missing")
    if not isinstance(text, str):
        raise InvalidInputError(
            f"`content` must be a str or a list of parts, not `{type(text).__name__}`"
        )
    return text
