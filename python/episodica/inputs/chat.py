"""Messages of chat APIs and frameworks, turned into mappings with a text as ``content``.

Content that is not text leaves a mark like ``[image]``; calls of tools and their results keep their
words. Thinking is kept apart. ``pieces`` decodes the parts, ``forms`` the containers of messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import chain
from typing import Any

from ..errors import InvalidInputError
from .names import KEYS, place_of, role_of
from .pieces import (
    Mark,
    Piece,
    Thought,
    ToolCall,
    ToolResult,
    call_of,
    first,
    get,
    pieces,
    result_of,
    thoughts_beside,
)
from .thinking import without_thinking

__all__ = ["ToolCall", "ToolResult"]
# A message with one of these keys may have no content.
_INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio", "toolInvocations")
PARTS = ("content", "parts", "blocks")
# Attributes that a message may have from its class.
_ATTRIBUTES = ("role", "type", "content", "parts", "name", "id", *_INSTEAD_OF_CONTENT)


def rows(table: Any) -> Iterator[dict[str, Any]] | None:
    """The rows of a data frame (pandas, polars) without missing values; ``None`` if it is none."""
    if hasattr(table, "to_dicts"):
        found = table.to_dicts()
    elif hasattr(table, "columns") and hasattr(table, "to_dict"):
        found = table.to_dict("records")
    else:
        return None
    return ({key: value for key, value in row.items() if not _is_missing(value)} for row in found)


def _is_missing(value: object) -> bool:
    """``None``, NaN, and the missing values of pandas."""
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NaTType", "NAType")


def as_mapping(message: object) -> Mapping[str, Any] | None:
    """The message as a mapping: itself, or the attributes of an object; else ``None``."""
    # `dict` first: a check against the abstract class takes ten times as long.
    if isinstance(message, (dict, Mapping)):
        return message
    if isinstance(message, (type, str, bytes)) or message is None:
        return None
    row = _row(message)
    if row is not None:
        return row
    held = getattr(message, "__dict__", None) or {}
    more = getattr(message, "model_extra", None)  # of Pydantic
    names = chain(_ATTRIBUTES, getattr(type(message), "__slots__", ()), held)
    found = {
        name: value
        for name in names
        if not name.startswith("_") and (value := getattr(message, name, None)) is not None
    }
    found |= more if isinstance(more, Mapping) else {}
    found = {name: _plain(value) for name, value in found.items() if not callable(value)}
    is_message = _is_message(found)
    return found if is_message else None


def _row(message: Any) -> dict[str, Any] | None:
    """A row of a table: a series of pandas, a named tuple, a row of a database."""
    if hasattr(message, "iloc") and hasattr(message, "to_dict"):
        found = message.to_dict()
    elif hasattr(message, "_asdict"):
        found = {key: value for key, value in message._asdict().items() if key != "Index"}
    elif hasattr(message, "keys") and hasattr(message, "__getitem__"):
        found = {key: message[key] for key in message.keys()}  # noqa: SIM118
    else:
        return None
    return {key: value for key, value in found.items() if not _is_missing(value)}


def _is_message(found: Mapping[str, Any]) -> bool:
    fields = {place[0] for name in found if (place := place_of(name))}
    says = "content" in fields or not found.keys().isdisjoint((*PARTS, *_INSTEAD_OF_CONTENT))
    return bool((says and fields & {"role", "name"}) or "type" in found or "kind" in found)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def role_in(message: Mapping[str, Any]) -> object:
    """The role of a message in the words of OpenAI; LangChain keeps it under ``type``."""
    role = message.get("role")
    if role is None:
        kind = message.get("type")
        role = role_of(kind) if isinstance(kind, str) else None
        return role if role != kind or role in ("user", "assistant", "system", "tool") else None
    return role_of(role) if isinstance(role, str) else role


def read(message: Mapping[str, Any]) -> list[Piece]:
    """Everything that a message holds, in order."""
    found = list(_said(message))
    if message.keys().isdisjoint(_INSTEAD_OF_CONTENT):
        return found
    if not any(isinstance(one, str) and not isinstance(one, Thought) and one for one in found):
        found += filter(None, [_instead(message)])
    known = {one.id for one in found if isinstance(one, ToolCall)}
    texts = [str(one) for one in found]
    for call in _calls(message):
        # LangChain repeats the calls that Anthropic has among the parts.
        if (call.id is None or call.id not in known) and str(call) not in texts:
            found.append(call)
    return found


def _said(message: Mapping[str, Any]) -> Iterator[Piece]:
    beside = thoughts_beside(message)
    if beside:
        yield Thought(beside)
    content = message.get("content")
    if isinstance(content, str) and content:
        thought, said = without_thinking(content) if _may_think(message) else ("", content)
        yield from filter(None, (Thought(thought), said))
        return
    for name in PARTS:
        parts = message.get(name)
        if isinstance(parts, (list, tuple)) and parts:
            for number, part in enumerate(parts):
                yield from pieces(part, number)
            return


def _may_think(message: Mapping[str, Any]) -> bool:
    return role_in(message) == "assistant"


def _instead(message: Mapping[str, Any]) -> str:
    """The substitute for missing content: a refusal, or the transcript of a recording."""
    refusal, audio = message.get("refusal"), message.get("audio")
    if isinstance(refusal, str) and refusal:
        return refusal
    transcript = get(audio, "transcript")
    return transcript if isinstance(transcript, str) else ""


def _calls(message: Mapping[str, Any]) -> Iterator[ToolCall]:
    """The calls that APIs keep outside of the content."""
    calls = message.get("tool_calls")
    former = message.get("function_call")
    for call in [*(calls if isinstance(calls, (list, tuple)) else ()), former]:
        function = get(call, "function") or call
        if isinstance(get(function, "name"), str):
            yield call_of(call)
    invoked = message.get("toolInvocations")
    for call in invoked if isinstance(invoked, (list, tuple)) else ():
        yield call_of(call)


def text_of(message: Mapping[str, Any], keeps_thinking: bool = False) -> tuple[object, bool]:
    """The text of a message, or ``content`` of another type; and whether thinking was left out.

    The text is ``None`` where nothing is said.
    """
    content = message.get("content")
    if content is not None and not isinstance(content, (str, list, tuple)):
        return content, False
    if content and isinstance(content, str) and KEYS.issuperset(message) and "<" not in content:
        return content, False
    found = read(message)
    words = [str(one) for one in found if keeps_thinking or not isinstance(one, Thought)]
    if isinstance(content, str) and content and len(words) == 1:
        return words[0], len(found) > 1
    text = "\n".join(word for word in words if word)
    left_out = len(words) < len(found)
    invoked = message.get("toolInvocations")
    if isinstance(invoked, (list, tuple)):
        results = (str(result_of(one)) for one in invoked if first(one, ("result",)) is not None)
        text = "\n".join(filter(None, (text, *results)))
    return (text or (None if content is None else ""), left_out)


def spoken_of(message: Mapping[str, Any]) -> str:
    """What a message says in words, without its calls of tools and their results."""
    return "\n".join(
        one
        for one in read(message)
        if isinstance(one, str) and not isinstance(one, (Thought, Mark))
    )


def tools_of(message: Mapping[str, Any]) -> Iterator[ToolCall | ToolResult]:
    """The calls of tools in a message, and the results of earlier calls, in order."""
    if role_in(message) == "tool":
        yield result_of(message)
        return
    for one in read(message):
        if isinstance(one, ToolCall):
            yield ToolCall(one.id, one.name, one.read())
        elif isinstance(one, ToolResult):
            yield one


def is_result(message: Mapping[str, Any]) -> bool:
    """Whether a message holds no words but results of tools: some APIs call that a user's."""
    if isinstance(message.get("content"), str):
        return False
    found = read(message)
    are_wordless = all(isinstance(one, (ToolResult, Mark)) for one in found)
    return are_wordless and any(isinstance(one, ToolResult) for one in found)


def is_result_part(part: object) -> bool:
    """Whether a part of a message is the result of a tool."""
    if isinstance(part, str):
        return False
    try:
        found = list(pieces(part))
    except InvalidInputError:  # told where the part is read
        return False
    return bool(found) and all(isinstance(one, ToolResult) for one in found)


def may_be_silent(message: Mapping[str, Any]) -> bool:
    """Whether an API leaves the content of such a message out."""
    return any(key in message for key in _INSTEAD_OF_CONTENT)
