"""Checks messages and converts them to the one form that the engine takes.

All or nothing: the first invalid message stops the call before anything is stored. The text of a
valid message is never changed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from ..dates import rfc3339
from ..errors import InvalidInputError
from ..hints import nearest_hint
from ..records import Message

_KEYS = frozenset(("role", "content", "name", "timestamp", "session_id", "metadata", "message_id"))
# Keys of chat APIs that mean nothing here: ignored, not reported as misspellings.
_FOREIGN_KEYS = frozenset(
    (
        "annotations",
        "audio",
        "function_call",
        "id",
        "object",
        "refusal",
        "tool_call_id",
        "tool_calls",
        "type",
        "user_id",
    )
)
_TEXT_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_MAX_JSON_DEPTH = 100
_TEXT = frozenset((str,))
# Errors name places only down to this depth.
_PLACE_DEPTH = 8
_PLAIN = frozenset((str, int, bool, type(None)))
_encode_json = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
).encode


def normalise(messages: object) -> list[dict[str, Any]]:
    """Checks every message and returns the argument of ``Engine.add_messages``.

    Parameters
    ----------
    messages
        An iterable of mappings with ``role`` and ``content`` (text, or a list of parts as chat APIs
        have them), optionally ``name``, ``timestamp``, ``session_id``, ``metadata`` and
        ``message_id``; or of :class:`~episodica.Message`.

    Raises
    ------
    InvalidInputError
        Naming the message by its position, counted from 0.
    """
    if isinstance(messages, (str, bytes, Mapping, Message)) or not isinstance(messages, Iterable):
        hint = "put the message into a list" if isinstance(messages, (Mapping, Message)) else None
        raise InvalidInputError(
            f"messages must be a list of mappings, not `{type(messages).__name__}`", hint=hint
        )
    return [_message(raw, position) for position, raw in enumerate(messages)]


def _message(raw: object, position: int) -> dict[str, Any]:
    if isinstance(raw, Message):
        raw = raw.to_dict()
        del raw["seq"]
    if not isinstance(raw, Mapping):
        raise _wrong(position, f"must be a mapping, not `{type(raw).__name__}`")
    if not raw.keys() <= _KEYS:
        _check_keys(raw, position)
    get = raw.get
    timestamp, metadata = get("timestamp"), get("metadata")
    return {
        "role": _role(get("role"), "role" in raw, position),
        "content": _content(raw, position),
        "name": _optional(get("name"), "name", position),
        "timestamp": None
        if timestamp is None
        else rfc3339(timestamp, f"message {position}: `timestamp`"),
        "session_id": _optional(get("session_id"), "session_id", position),
        "metadata": None
        if metadata is None
        else json_text(metadata, f"message {position}: metadata"),
        "message_id": _optional(get("message_id"), "message_id", position),
    }


def _wrong(position: int, what: str, hint: str | None = None) -> InvalidInputError:
    return InvalidInputError(f"message {position}: {what}", hint=hint)


def _check_keys(raw: Mapping[Any, Any], position: int) -> None:
    for key in raw:
        if key in _KEYS or key in _FOREIGN_KEYS:
            continue
        hint = nearest_hint(key, _KEYS - raw.keys())
        if hint and hint.startswith("did you mean"):
            raise _wrong(
                position,
                f"unknown key: `{key}`",
                f"{hint} what belongs to no key goes into `metadata`",
            )


def _role(role: object, present: bool, position: int) -> str:
    if not present or role is None:
        raise _wrong(
            position,
            "`role` is missing",
            'every message is a mapping like {"role": "user", "content": "..."}',
        )
    if not isinstance(role, str):
        raise _wrong(position, f"`role` must be a str, not `{type(role).__name__}`")
    if not role.strip():
        raise _wrong(position, "`role` is empty")
    return role if role.isascii() else check_text(role, f"message {position}: `role`")


def _optional(value: object, key: str, position: int) -> str | None:
    """An optional text; empty counts as absent."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise _wrong(position, f"`{key}` must be a str, not `{type(value).__name__}`")
    return value if value.isascii() else check_text(value, f"message {position}: `{key}`")


def _content(raw: Mapping[str, Any], position: int) -> str:
    content = raw.get("content")
    if content is None:
        calls = _tool_calls(raw)
        if calls:
            content = calls
        else:
            state = "must be a str, not `None`" if "content" in raw else "is missing"
            raise _wrong(position, f"`content` {state}")
    elif isinstance(content, (list, tuple)):
        content = _flatten(content, position)
    if not isinstance(content, str):
        raise _wrong(
            position, f"`content` must be a str or a list of parts, not `{type(content).__name__}`"
        )
    if not content or content.isspace():
        raise _wrong(position, "`content` is empty")
    return content if content.isascii() else check_text(content, f"message {position}: `content`")


def _flatten(parts: Iterable[object], position: int) -> str:
    """The text of a chat API's content parts, in order.

    What is no text leaves a mark like ``[image]``.
    """
    texts = []
    for number, part in enumerate(parts):
        if isinstance(part, str):
            texts.append(part)
            continue
        kind = part.get("type") if isinstance(part, Mapping) else None
        if not isinstance(part, Mapping) or not isinstance(kind, str):
            raise _wrong(
                position,
                f"content part {number} has no `type`",
                'a part is like {"type": "text", "text": "..."}',
            )
        if kind not in _TEXT_PARTS:
            texts.append(f"[{kind.removeprefix('input_').removesuffix('_url')}]")
            continue
        text = part.get(_TEXT_PARTS[kind])
        if not isinstance(text, str):
            raise _wrong(
                position,
                f"`{_TEXT_PARTS[kind]}` of content part {number} must be a str, not "
                f"`{type(text).__name__}`",
            )
        texts.append(text)
    return "\n".join(text for text in texts if text)


def _tool_calls(raw: Mapping[str, Any]) -> str:
    """The tool calls of an assistant, as ``[tool call: name(arguments)]``."""
    calls = raw.get("tool_calls") or ()
    functions = [call.get("function") for call in calls if isinstance(call, Mapping)]
    return "\n".join(
        f"[tool call: {function.get('name')}({function.get('arguments', '')})]"
        for function in functions
        if isinstance(function, Mapping)
    )


def check_text(text: str, what: str) -> str:
    """``text`` itself, if it can be written as UTF-8.

    Raises
    ------
    InvalidInputError
        For a lone surrogate, naming its position. Every other character is fine, NUL included.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = f"U+{ord(text[error.start]):04X}"
        hint = (
            'text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") repairs such text'
        )
        raise InvalidInputError(
            f"{what} holds a lone surrogate at character {error.start}: `{code}`", hint=hint
        ) from None
    return text


def json_text(value: object, what: str) -> str:
    """``value`` as JSON.

    Raises
    ------
    InvalidInputError
        For what JSON can't hold (other types, NaN, keys that are no text, too deep nesting), naming
        the place.
    """
    flat = (
        type(value) is dict
        and _PLAIN.issuperset(map(type, value.values()))
        and _TEXT.issuperset(map(type, value))
    )
    if not flat:
        _check_json(value, what, 0)
    try:
        text = _encode_json(value)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"{what} is not JSON: {error}") from None
    return text if text.isascii() else check_text(text, what)


def _check_json(value: object, place: str, depth: int) -> None:
    if type(value) in _PLAIN:
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInputError(f"{place} is not JSON: `{value}`")
        return
    if depth >= _MAX_JSON_DEPTH:
        raise InvalidInputError(
            f"{place} is nested too deeply: more than `{_MAX_JSON_DEPTH}` levels"
        )
    for step, item in _json_items(value, place):
        if type(item) not in _PLAIN:
            _check_json(item, place + step if depth < _PLACE_DEPTH else place, depth + 1)


def _json_items(value: object, place: str) -> Iterable[tuple[str, object]]:
    """The items of an object or a list, each with the step that leads to it.

    None for what is a plain value after all.
    """
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise InvalidInputError(f"{place} has a key that is no str: `{key!r:.40}`")
        return ((f".{key}", item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ((f"[{index}]", item) for index, item in enumerate(value))
    if isinstance(value, (str, int)):
        return ()
    raise InvalidInputError(
        f"{place} is no JSON type: `{type(value).__name__}`",
        hint="convert it to text or numbers first",
    )
