"""Messages of chat APIs and frameworks, turned into mappings with a text as ``content``.

Reads the forms of OpenAI, Anthropic, Gemini and LangChain, and objects with the same attributes.
What is not text leaves a mark like ``[image]``; calls of tools and their results keep their words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidInputError
from ..hints import shown
from ..value import Fields

# Text parts by their type, and where each keeps its text.
_TEXT_PARTS = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
    "thinking": "thinking",
}
_RESULTS = frozenset(("tool_result", "function_call_output"))
_CALLS = frozenset(("tool_use", "server_tool_use", "tool_call", "function_call"))
# How Gemini's parts call what they hold.
_GEMINI_CALL = ("function_call", "functionCall")
_GEMINI_RESULT = ("function_response", "functionResponse")
_GEMINI_DATA = ("inline_data", "inlineData", "file_data", "fileData")
# Roles of Gemini and LangChain by the words that all others use.
_ROLES = {"model": "assistant", "ai": "assistant", "human": "user"}
# A message with one of these keys may have no content.
_INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
_ATTRIBUTES = (
    "role",
    "type",
    "content",
    "parts",
    "name",
    "timestamp",
    "created_at",
    "session_id",
    "agent_id",
    "metadata",
    "message_id",
    "id",
    "tool_call_id",
    "status",
    *_INSTEAD_OF_CONTENT,
)
_DEEPEST_RESULT = 20


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ToolCall(Fields):
    """What an assistant asked a tool to do."""

    id: str | None
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ToolResult(Fields):
    """What came back; ``id`` is that of the call."""

    id: str | None
    result: Any
    failed: bool


def rows(table: Any) -> Iterator[dict[str, Any]] | None:
    """The rows of a data frame (pandas, polars) without missing values; ``None`` for others."""
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
    # The abstract class takes ten times as long to ask.
    if isinstance(message, (dict, Mapping)):
        return message
    if isinstance(message, type):
        return None
    found = {name: getattr(message, name) for name in _ATTRIBUTES if hasattr(message, name)}
    is_message = found.keys() & {"content", "parts"} and found.keys() & {"role", "type"}
    return found if is_message else None


def role_of(message: Mapping[str, Any]) -> object:
    """The role, in the words of OpenAI; LangChain keeps it under ``type``."""
    role = message.get("role")
    if role is None and message.get("type") in ("human", "ai", "system", "tool", "function"):
        role = message["type"]
    return _ROLES.get(role, role) if isinstance(role, str) else role


def text_of(message: Mapping[str, Any]) -> object:
    """The text of a message, or the ``content`` that is no text; ``None`` where nothing is said.

    Raises
    ------
    InvalidInputError
        For parts that are formed like those of no API.
    """
    content = message.get("content")
    parts = message.get("parts")
    if isinstance(content, (list, tuple)):
        content = _joined(_part(part, number, 0) for number, part in enumerate(content))
    elif content is None and isinstance(parts, (list, tuple)):
        content = _joined(_gemini_part(part, number) for number, part in enumerate(parts))
    if content is not None and not isinstance(content, str):
        return content
    spoken = content or _spoken(message)
    # LangChain repeats the calls that Anthropic has among the parts.
    called = "\n".join(call for call in _calls(message) if call not in spoken)
    if spoken and called:
        return f"{spoken}\n{called}"
    return spoken or called or content


def spoken_of(message: Mapping[str, Any]) -> str:
    """What a message says in words, without its calls of tools and their results."""
    content = message.get("content")
    parts = content if isinstance(content, (list, tuple)) else message.get("parts")
    if isinstance(content, str):
        return content
    if not isinstance(parts, (list, tuple)):
        return _spoken(message)
    words = (part for part in parts if isinstance(part, str) or _get(part, "text") is not None)
    return _joined(
        part if isinstance(part, str) else str(_get(part, "text"))
        for part in words
        if isinstance(part, str) or _get(part, "type") in (None, *_TEXT_PARTS)
    )


def tools_of(message: Mapping[str, Any]) -> Iterator[ToolCall | ToolResult]:
    """The calls of tools in a message, and the results of earlier ones, in their order."""
    if role_of(message) in ("tool", "function"):
        yield _tool_result(message.get("tool_call_id"), message.get("content"), message)
        return
    found: list[ToolCall | ToolResult] = []
    content, parts = message.get("content"), message.get("parts")
    for part in content if isinstance(content, (list, tuple)) else ():
        kind = _get(part, "type")
        if kind in _CALLS:
            found.append(_tool_call(part, _first(part, ("input", "arguments", "args"))))
        elif kind in _RESULTS:
            held = _get(part, "output" if kind == "function_call_output" else "content")
            found.append(_tool_result(_first(part, ("tool_use_id", "call_id")), held, part))
    for part in parts if isinstance(parts, (list, tuple)) else ():
        called, answered = _first(part, _GEMINI_CALL), _first(part, _GEMINI_RESULT)
        if called is not None:
            found.append(_tool_call(called, _get(called, "args")))
        elif answered is not None:
            found.append(_tool_result(_get(answered, "id"), _get(answered, "response"), {}))
    calls = message.get("tool_calls")
    known = {one.id for one in found if one.id is not None}
    for call in calls if isinstance(calls, (list, tuple)) else ():
        # LangChain repeats the calls that Anthropic has among the parts.
        if _get(call, "id") not in known:
            function = _get(call, "function") or call
            arguments = _first(function, ("arguments", "args"))
            found.append(_tool_call(function, arguments, _get(call, "id")))
    yield from found


def _tool_call(call: object, arguments: Any, own: object = None) -> ToolCall:
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments)
    given = own or _first(call, ("call_id", "id"))
    name = _get(call, "name")
    return ToolCall(
        given if isinstance(given, str) else None,
        name if isinstance(name, str) and name.strip() else "tool",
        arguments,
    )


def _tool_result(given: object, content: Any, holder: object) -> ToolResult:
    result = content
    if isinstance(content, (list, tuple)):
        result = _result(content, 0)
    fails = bool(_get(holder, "is_error")) or _get(holder, "status") == "error"
    read = result
    if isinstance(result, str):
        with suppress(ValueError, RecursionError):
            read = json.loads(result)
    fails = fails or bool(isinstance(read, Mapping) and read.get("error"))
    return ToolResult(given if isinstance(given, str) else None, result, fails)


def may_be_silent(message: Mapping[str, Any]) -> bool:
    """Whether an API leaves the content of such a message out."""
    return any(key in message for key in _INSTEAD_OF_CONTENT)


def _spoken(message: Mapping[str, Any]) -> str:
    """What stands in the place of missing content: a refusal, or the transcript of a recording."""
    refusal, audio = message.get("refusal"), message.get("audio")
    if isinstance(refusal, str) and refusal:
        return refusal
    transcript = _get(audio, "transcript")
    return transcript if isinstance(transcript, str) else ""


def _calls(message: Mapping[str, Any]) -> Iterator[str]:
    """What an assistant did, as ``[tool call: name(arguments)]``."""
    calls = message.get("tool_calls")
    former = message.get("function_call")
    for call in [*(calls if isinstance(calls, (list, tuple)) else ()), former]:
        function = _get(call, "function") or call
        name = _get(function, "name")
        if isinstance(name, str):
            arguments = _get(function, "arguments")
            yield _call(name, _get(function, "args") if arguments is None else arguments)


def _call(name: object, arguments: object) -> str:
    return f"[tool call: {name}({_written(arguments)})]"


def _joined(texts: Iterable[str]) -> str:
    """The texts of parts, in their order."""
    return "\n".join(text for text in texts if text)


def _part(part: object, number: int, depth: int) -> str:
    if isinstance(part, str):
        return part
    kind = _get(part, "type")
    if not isinstance(kind, str):
        raise InvalidInputError(
            f"content part {number} has no `type`",
            hint='a part is like {"type": "text", "text": "..."}',
        )
    if kind in _TEXT_PARTS:
        text = _get(part, _TEXT_PARTS[kind])
        if not isinstance(text, str):
            raise InvalidInputError(
                f"`{_TEXT_PARTS[kind]}` of content part {number} must be a str, "
                f"not `{type(text).__name__}`"
            )
        return text
    if kind in _CALLS:
        return _call(_get(part, "name"), _first(part, ("input", "arguments", "args")))
    if kind in _RESULTS:
        return _result(_get(part, "output" if kind == "function_call_output" else "content"), depth)
    return f"[{shown(kind.removeprefix('input_').removesuffix('_url'))}]"


def _gemini_part(part: object, number: int) -> str:
    """The text of a part of Gemini, whose key says what it is."""
    held = _first(part, _GEMINI_CALL)
    if held is not None:
        return _call(_get(held, "name"), _get(held, "args"))
    held = _first(part, _GEMINI_RESULT)
    if held is not None:
        return _written(_get(held, "response"))
    held = _first(part, _GEMINI_DATA)
    if held is not None:
        kind = _first(held, ("mime_type", "mimeType")) or "file"
        return f"[{shown(str(kind).partition('/')[0])}]"
    text = _get(part, "text")
    return text if isinstance(text, str) else _part(part, number, 0)


def _first(holder: object, names: Iterable[str]) -> Any:
    """The first of several values that is there."""
    return next((held for held in (_get(holder, name) for name in names) if held is not None), None)


def _result(content: object, depth: int) -> str:
    """The words of a tool's result: text, parts, or JSON."""
    if isinstance(content, (list, tuple)) and depth < _DEEPEST_RESULT:
        try:
            return _joined(_part(part, number, depth + 1) for number, part in enumerate(content))
        except InvalidInputError:
            return _written(content)
    return _written(content)


def _written(value: object) -> str:
    """Arguments and results as text: themselves, or JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        return shown(repr(value))


def _get(holder: object, name: str) -> Any:
    """A value of a mapping or an attribute of an object; ``None`` where there is none."""
    if isinstance(holder, Mapping):
        return holder.get(name)
    return getattr(holder, name, None)
