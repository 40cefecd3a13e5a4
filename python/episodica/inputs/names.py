"""Other programs' names for the parts of a message and for roles: one table for all callers.

``add_messages``, the HTTP service, the MCP server, the wrapped clients, the adapters and the
importers read names through :func:`renamed` or :func:`named`, and roles through :func:`role_of`.
Case, underscores, hyphens and spaces make no difference.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from ..dates import by_local_clock, rfc3339, written_together
from ..errors import InvalidInputError
from ..hints import shown

FIELDS: dict[str, tuple[str, ...]] = {
    "role": ("role", "sender_role", "author_role", "sender_type", "author_type", "message_type"),
    "name": (
        "name",
        "speaker",
        "speaker_name",
        "sender_name",
        "sender",
        "author_name",
        "author",
        "from",
        "user_name",
        "user",
        "display_name",
        "full_name",
        "nickname",
        "who",
    ),
    "content": ("content", "text", "message", "body", "value", "utterance", "msg"),
    "timestamp": (
        "timestamp",
        "timestamp_ms",
        "created_at",
        "create_time",
        "created_time",
        "creation_time",
        "created_on",
        "created",
        "sent_at",
        "sent_time",
        "sent_date",
        "sent_on",
        "date_sent",
        "sent",
        "posted_at",
        "published_at",
        "inserted_at",
        "received_at",
        "message_time",
        "message_date",
        "msg_time",
        "event_time",
        "timestamp_utc",
        "local_time",
        "date_time",
        "date_unixtime",
        "unix_time",
        "unix",
        "epoch",
        "epoch_ms",
        "ts",
        "date",
        "time",
        "when",
        "at",
        "day",
        # The worst name: a message that changed was said earlier.
        "updated_at",
        "update_time",
        "modified_at",
    ),
    "session_id": (
        "session_id",
        "session",
        "conversation_id",
        "conversation_uuid",
        "conversation",
        "thread_id",
        "thread",
        "chat_id",
        "chat",
        "dialog_id",
        "dialogue_id",
        "channel_id",
        "room_id",
        "room",
        "run_id",
    ),
    "agent_id": ("agent_id", "agent", "bot_id", "assistant_id"),
    "metadata": ("metadata", "meta"),
    "message_id": ("message_id", "id", "uuid", "guid", "msg_id", "message_uuid", "client_msg_id"),
    "edited_at": ("edited_at", "edited_timestamp", "timestamp_edited", "date_edited", "edit_date"),
}
"""Our name of each part of a message, and its names elsewhere, the best one first."""

KEYS = frozenset(FIELDS)
# The key of a list of messages.
_LIST = "messages"
# In metadata, the names up to this one say when a message was said. Others, such as `updated_at`,
# may tell of something else.
_LAST_TIME_IN_METADATA = "time"
# A smaller number can't be a moment: it may count seconds or days.
_LEAST_EPOCH = 10**8
# Keys of chat APIs that are read elsewhere, or that say how an answer was made. They never become
# metadata.
READ_ELSEWHERE = frozenset(
    (
        *("additional_kwargs", "annotations", "artifact", "audio", "block_type", "blocks"),
        *("chunk_position", "container", "example", "finish_reason", "function_call", "index"),
        *("invalid_tool_calls", "is_error", "isError", "lc", "lc_kwargs", "logprobs", "object"),
        *("parts", "reasoning", "reasoning_content", "reasoning_details", "refusal"),
        *("response_metadata", "seq", "status", "stop_reason", "stop_sequence", "thinking"),
        *("tool_call_chunks", "tool_call_id", "tool_calls", "toolInvocations", "type", "uri"),
        *("usage", "usage_metadata"),
    )
)
_ROLES = {
    "user": ("user", "human", "customer", "client", "visitor", "guest", "end user", "me"),
    "assistant": ("assistant", "ai", "model", "bot", "chatbot", "agent", "llm"),
    "system": ("system", "developer"),
    "tool": ("tool", "function", "observation", "function response", "tool result"),
}
ROLES = frozenset(_ROLES)
NAMELESS = "Deleted account"
"""How the name of an account without a name begins; nobody's memory is theirs."""
# Programs whose name a speaker may have.
_ASSISTANTS = (
    *("bard", "bing", "chatgpt", "claude", "codex", "copilot", "cursor", "deepseek", "gemini"),
    *("gpt", "grok", "qwen"),
)
# LangChain's classes: `AIMessageChunk` says the role `AI`.
_CLASS = re.compile(r"(.+?)(?:Message)?(?:Chunk)?")
_NUMBER = re.compile(r"[+-]?\d{1,40}(?:\.\d{1,40})?")
_CLOCK = re.compile(r"\d{1,2}:\d{2}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def _plain(name: str) -> str:
    return name.translate(_IGNORED).lower()


_IGNORED = str.maketrans("", "", "_- ")
_PLACES = {
    _plain(name): (field, rank)
    for field, names in FIELDS.items()
    for rank, name in enumerate(names)
}
_LAST_RANK = FIELDS["timestamp"].index(_LAST_TIME_IN_METADATA)
_ROLE_WORDS = {_plain(word): role for role, words in _ROLES.items() for word in words}
_SPEAKERS = {**_ROLE_WORDS, **dict.fromkeys(_ASSISTANTS, "assistant")}


@lru_cache(maxsize=4096)
def place_of(key: str) -> tuple[str, int] | None:
    """Our name of a key, and how good a name it is (0: the best); ``None`` for others.

    >>> place_of("createdAt"), place_of("mood")
    (('timestamp', 2), None)
    """
    return _PLACES.get(_plain(key))


def keys_of(given: object) -> dict[str, str]:
    """Our names of the keys of a file, from the file's names of ours; checked.

    >>> keys_of({"content": "texto", "speaker": "autor"})
    {'texto': 'content', 'autor': 'speaker'}
    """
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"keys must be a mapping, not `{type(given).__name__}`")
    found: dict[str, str] = {}
    for ours, theirs in given.items():
        if not isinstance(ours, str) or (place_of(ours) is None and ours != _LIST):
            hint = f"parts are {', '.join(f'`{one}`' for one in (*FIELDS, _LIST))}"
            raise InvalidInputError(f"keys: no part of a message: `{shown(ours)}`", hint=hint)
        if not isinstance(theirs, str) or not theirs.strip():
            raise InvalidInputError(f"keys: the file's name of `{ours}` must be a text")
        if found.setdefault(theirs.strip(), ours) != ours:
            raise InvalidInputError(f"keys: `{shown(theirs)}` stands for two parts")
    return found


def role_of(word: str) -> str:
    """A role in our words, by its meaning; other words stay unchanged.

    >>> role_of("Human"), role_of("AIMessageChunk"), role_of("developer"), role_of("critic")
    ('user', 'assistant', 'system', 'critic')
    """
    return _role(word) or word


@lru_cache(maxsize=4096)
def _role(word: str) -> str | None:
    written = word.strip()
    plain = _plain(written)
    found = _CLASS.fullmatch(written)
    inner = _plain(found[1]) if found else plain
    return _ROLE_WORDS.get(plain) or _ROLE_WORDS.get(inner)


def role_of_speaker(name: str) -> str:
    """The role of a speaker who is known by name only: everyone but a program is a ``user``.

    >>> role_of_speaker("ChatGPT"), role_of_speaker("Oskar")
    ('assistant', 'user')
    """
    return _role(name) or _SPEAKERS.get(_plain(name)) or "user"


def named(message: Mapping[Any, Any], field: str) -> Any:
    """The value of a part of a message, under whichever name; ``None`` if it has none.

    >>> named({"threadId": "t1", "text": "hi"}, "session_id")
    't1'
    """
    found = message.get(field)
    return renamed(message)[0].get(field) if found is None else found


def renamed(message: Mapping[Any, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A message under our names, and its values under other names, unless they are empty.

    If several names stand for one part, the value under the best name is taken; the others join the
    values under other names. Keys that are read elsewhere stay as they are.
    """
    own: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    offered: dict[str, list[tuple[int, Any, Any]]] = {}
    for key, value in message.items():
        if key in KEYS or key in READ_ELSEWHERE:
            own[key] = value
        elif value is not None and value != "":
            place = place_of(key) if isinstance(key, str) else None
            if place is None:
                rest[str(key)] = value
            else:
                offered.setdefault(place[0], []).append((place[1], key, value))
    _by_local_clock(own, offered.get("timestamp", []))
    for field, values in offered.items():
        for _, key, value in sorted(values, key=lambda one: one[0]):
            fitting = _FITTING[field](value, own) if field in _FITTING else value
            if fitting is not None and own.get(field) in (None, ""):
                own[field] = fitting
            elif not (field == "timestamp" and _adds_clock(own, value)):
                rest[str(key)] = value
    if "name" in offered and own.get("role") is None:
        _tell_role(own)
    return own, rest


def _by_local_clock(own: dict[str, Any], offered: list[tuple[int, Any, Any]]) -> None:
    """Takes the offset from a local time and a number of seconds that stand side by side."""
    times = [*offered, (0, "timestamp", own.get("timestamp"))]
    for local, instant in itertools.permutations(times, 2):
        is_number = not _is_small(instant[2]) and _NUMBER.fullmatch(str(instant[2]).strip())
        if is_number and (moment := by_local_clock(local[2], instant[2])) is not None:
            own["timestamp"] = moment
            offered[:] = [one for one in offered if one not in (local, instant)]
            return


def time_in(metadata: Mapping[Any, Any]) -> tuple[Any, list[str]]:
    """The time of a message in its metadata, and the keys that name one and are not taken.

    >>> time_in({"createdAt": "2024-03-11T09:30:00Z", "mood": "good"})
    ('2024-03-11T09:30:00Z', [])
    >>> time_in({"updated_at": "2024-03-11T09:30:00Z", "time": 3})
    (None, ['updated_at', 'time'])
    """
    named = {
        key: place[1]
        for key, value in metadata.items()
        if isinstance(key, str) and (place := place_of(key)) and place[0] == "timestamp"
        if not (value is None or value == "" or isinstance(value, bool))
    }
    if not named:
        return None, []
    offered = {key: metadata[key] for key, rank in named.items() if rank <= _LAST_RANK}
    own, _ = renamed({key: value for key, value in offered.items() if _may_be_date(value)})
    found = own.get("timestamp")
    if found is not None and _is_date(found):
        return found, []
    return None, [key for key in named if key in offered or _is_date(metadata[key])]


def _is_small(value: Any) -> bool:
    """Whether a value is a number too small for a moment."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    return isinstance(value, int | float) and abs(value) < _LEAST_EPOCH


def _is_date(value: Any) -> bool:
    """Whether a value reads as a moment."""
    try:
        rfc3339(value, "a time")
    except InvalidInputError:
        return False
    return _may_be_date(value)


def _may_be_date(value: Any) -> bool:
    return not _is_small(value) or written_together(value) is not None


def _tell_role(own: dict[str, Any]) -> None:
    """Sets the role of a message that says only who speaks."""
    name = own.get("name")
    if not isinstance(name, str) or (own.get("type") and _role(str(own["type"]))):
        return
    own["role"] = role_of_speaker(name)
    if _role(name):
        del own["name"]


def _adds_clock(own: dict[str, Any], value: Any) -> bool:
    """Adds a time of day to a date that came separately; returns whether it did."""
    day = own.get("timestamp")
    if (together := written_together(day)) and not (together.hour or together.minute):
        day = together.date().isoformat()
    if not (isinstance(day, str) and isinstance(value, str)):
        return False
    if not (_DAY.fullmatch(day.strip()) and _CLOCK.match(value.strip())):
        return False
    own["timestamp"] = f"{day.strip()}T{value.strip()}"
    return True


def _identity(value: Any, own: Mapping[str, Any]) -> str | None:
    """The text of an id that is a string, a number, or an object with an ``id``."""
    if isinstance(value, Mapping):
        value = value.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return str(value)
        except ValueError:
            return None
    return value if isinstance(value, str) and value else None


def _speaker(value: Any, own: Mapping[str, Any]) -> str | None:
    """The name of a speaker, also from an object that describes the speaker."""
    if isinstance(value, Mapping):
        names = (named(value, "name"), value.get("first_name"), value.get("global_name"))
        value = next((name for name in names if isinstance(name, str) and name), None)
    return value if isinstance(value, str) and value.strip() else None


def _moment(value: Any, own: Mapping[str, Any]) -> Any:
    """Rejects flags such as ``sent: true``; unwraps the times of databases."""
    if isinstance(value, Mapping):
        value = next((value[key] for key in ("$date", "seconds", "_seconds") if key in value), None)
    return None if isinstance(value, (bool, list, tuple)) else value


def _edit(value: Any, own: Mapping[str, Any]) -> Any:
    """The time of an edit; ``None`` for anything else, such as a flag."""
    with suppress(InvalidInputError):
        return rfc3339(_moment(value, own), "`edited_at`")
    return None


def _words(value: Any, own: Mapping[str, Any]) -> Any:
    return value if isinstance(value, (str, list, tuple)) and own.get("parts") is None else None


def _text(value: Any, own: Mapping[str, Any]) -> str | None:
    return value if isinstance(value, str) else None


_FITTING = {
    "role": _text,
    "name": _speaker,
    "content": _words,
    "timestamp": _moment,
    "session_id": _identity,
    "agent_id": _identity,
    "message_id": _identity,
    "edited_at": _edit,
}
