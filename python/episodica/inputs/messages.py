"""Messages as callers hand them over, checked and brought into the one form that the engine takes.

All or nothing: the first message that can't be right stops the call before anything is stored. What
a valid message says is never changed; only its wrapping is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice
from typing import Any

from ..dates import rfc3339
from ..errors import InvalidInputError
from ..hints import nearest_hint, shown
from ..records import Message
from .chat import as_mapping, may_be_silent, role_of, rows, text_of
from .texts import check_text, json_text

_KEYS = frozenset(
    (
        "role",
        "content",
        "name",
        "timestamp",
        "session_id",
        "agent_id",
        "metadata",
        "message_id",
    )
)
# What chat APIs put beside a message; no typing errors.
_FOREIGN_KEYS = frozenset(
    (
        "additional_kwargs",
        "annotations",
        "audio",
        "created_at",
        "function_call",
        "id",
        "object",
        "parts",
        "refusal",
        "response_metadata",
        "status",
        "tool_call_id",
        "tool_calls",
        "type",
        "user_id",
    )
)
# Unknown keys of a message that are looked at: more are data, no typing errors.
_MOST_UNKNOWN_KEYS = 64
# Undated messages follow their neighbour in steps of this size, which keeps them apart.
_STEP = timedelta(microseconds=1)


def normalise(messages: object, agent_id: str | None = None) -> list[dict[str, Any]]:
    """Checks every message and returns what ``Engine.add_messages`` takes.

    Parameters
    ----------
    messages
        An iterable of mappings with ``role`` and ``content``, optionally ``name``, ``timestamp``,
        ``session_id``, ``agent_id``, ``metadata`` and ``message_id``; of messages as chat APIs have
        them; of :class:`~episodica.Message`; or a data frame with such columns.
    agent_id
        The agent of messages that name none.

    Raises
    ------
    InvalidInputError
        Naming the message by its position, counted from 0.
    """
    is_single = isinstance(messages, (str, bytes, Mapping, Message))
    given = None if is_single else rows(messages) or messages
    if not isinstance(given, Iterable):
        hint = "put the message into a list" if isinstance(messages, (Mapping, Message)) else None
        raise InvalidInputError(
            f"messages must be a list of mappings, not `{type(messages).__name__}`", hint=hint
        )
    read = []
    for position, raw in enumerate(given):
        try:
            message = _message(raw, agent_id)
        except InvalidInputError as error:
            text = f"message {position}: {error.message}"
            raise InvalidInputError(text, hint=error.hint) from None
        if message is not None:
            read.append(message)
    return _dated(read)


def _message(raw: object, agent_id: str | None) -> dict[str, Any] | None:
    """The message in the engine's form; ``None`` for an API's message that says nothing."""
    if isinstance(raw, Message):
        raw = raw.to_dict()
        del raw["seq"]
    message = as_mapping(raw)
    if message is None:
        raise InvalidInputError(f"must be a mapping, not `{type(raw).__name__}`")
    # Nothing of a chat API's is beside the text of most messages.
    is_plain = _KEYS.issuperset(message)
    if not is_plain:
        _check_keys(message)
    get = message.get
    role = _role(role_of(message))
    content = _content(message, is_plain)
    if content is None:
        return None
    timestamp, metadata = get("timestamp"), get("metadata")
    when, called = (
        (timestamp, "`timestamp`") if timestamp is not None else (get("created_at"), "`created_at`")
    )
    return {
        "role": role,
        "content": content,
        "name": _optional(get("name"), "name"),
        "timestamp": None if when is None else rfc3339(when, called),
        "session_id": _optional(get("session_id"), "session_id"),
        "agent_id": _optional(get("agent_id"), "agent_id") or agent_id,
        "metadata": None if metadata is None else json_text(metadata, "metadata"),
        "message_id": _message_id(message),
    }


def _dated(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Gives undated messages the time of the dated one before them, else of the one after them.

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


def _check_keys(message: Mapping[Any, Any]) -> None:
    unknown = (key for key in message if key not in _KEYS and key not in _FOREIGN_KEYS)
    missing = frozenset(_KEYS - message.keys())
    for key in islice(unknown, _MOST_UNKNOWN_KEYS):
        hint = _meant(shown(key), missing)
        if hint and hint.startswith("did you mean"):
            raise InvalidInputError(
                f"unknown key: `{shown(key)}`",
                hint=f"{hint} what belongs to no key goes into `metadata`",
            )


# Messages of one source have the same keys, and a comparison of names takes a while.
_meant = lru_cache(maxsize=4096)(nearest_hint)


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
    return role if role.isascii() else check_text(role, "`role`")


def _optional(value: object, key: str) -> str | None:
    """A text that may be absent; an empty one counts as absent."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise InvalidInputError(f"`{key}` must be a str, not `{type(value).__name__}`")
    return value if value.isascii() else check_text(value, f"`{key}`")


def _message_id(message: Mapping[str, Any]) -> str | None:
    """``message_id``, or the ``id`` of a chat API, which may be a number."""
    own = _optional(message.get("message_id"), "message_id")
    given = message.get("id")
    if own is not None or given is None:
        return own
    if isinstance(given, int) and not isinstance(given, bool):
        return shown(given)
    return _optional(given, "id")


def _content(message: Mapping[str, Any], is_plain: bool) -> str | None:
    text = message.get("content")
    if not is_plain or not isinstance(text, str):
        text = text_of(message)
    if text is None:
        if may_be_silent(message):
            return None
        state = "must be a str, not `None`" if "content" in message else "is missing"
        other = next((key for key in ("text", "message", "body") if key in message), None)
        hint = f"the text belongs under `content`, not `{other}`" if other else None
        raise InvalidInputError(f"`content` {state}", hint=hint)
    if not isinstance(text, str):
        raise InvalidInputError(
            f"`content` must be a str or a list of parts, not `{type(text).__name__}`"
        )
    if not text or text.isspace():
        raise InvalidInputError("`content` is empty")
    return text if text.isascii() else check_text(text, "`content`")
