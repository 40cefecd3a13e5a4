"""The parts of a message of any chat API, decoded once: words, thinking, marks, calls and results.

Reads the parts of OpenAI (chat and Responses), Anthropic, Gemini, Bedrock, LangChain, LlamaIndex,
Pydantic AI and the AI SDK of Vercel, as mappings or as objects with the same attributes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..errors import InvalidInputError
from ..hints import shown
from ..value import Fields

# Text parts by their type, and where each keeps its text.
_TEXT_PARTS = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
    "user-prompt": "content",
    "system-prompt": "content",
    "retry-prompt": "content",
}
_THINKING = frozenset(
    ("thinking", "redacted_thinking", "reasoning", "reasoning_text", "redacted-reasoning")
)
# Where parts, items and messages keep thinking.
_THOUGHTS = ("thinking", "reasoning_content", "reasoning", "reasoningContent", "summary")
_BESIDE = ("reasoning_content", "reasoning", "thinking")
_SILENT = frozenset(("step-start", "cachePoint", "cache-point", "builtin-tool-state"))
_CALLS = frozenset(
    (
        *("tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "function_call"),
        *("tool-call", "builtin-tool-call", "toolCall", "toolRequest"),
    )
)
_RESULTS = frozenset(
    (
        *("tool_result", "function_call_output", "tool-result", "tool-return"),
        *("builtin-tool-return", "toolResponse"),
    )
)
_NAMES = ("name", "toolName", "tool_name")
_ARGUMENTS = ("input", "arguments", "args")
_CALL_IDS = ("call_id", "toolCallId", "tool_call_id", "toolUseId", "id")
_RESULT_IDS = ("tool_use_id", "call_id", "toolCallId", "tool_call_id", "toolUseId", "id")
_OUTPUTS = ("output", "result", "content", "response")
# Names of the content in parts of Gemini and Bedrock, which have no `type`.
_KEYED_CALL = ("function_call", "functionCall", "toolUse", "executable_code", "executableCode")
_KEYED_RESULT = (
    *("function_response", "functionResponse", "toolResult"),
    *("code_execution_result", "codeExecutionResult"),
)
_KEYED_DATA = ("inline_data", "inlineData", "file_data", "fileData")
_KEYED_MEDIA = ("image", "document", "video", "audio")
_DEEPEST = 20


class Thought(str):
    """What a model thought before it spoke."""

    __slots__ = ()


class Mark(str):
    """The mark for a part that is not text, like ``[image]``."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ToolCall(Fields):
    """What an assistant asked a tool to do; ``arguments`` are as they came, see :meth:`read`."""

    id: str | None
    name: str
    arguments: Any

    def __str__(self) -> str:
        return f"[tool call: {self.name}({written(self.arguments)})]"

    def read(self) -> Any:
        """The arguments as JSON values."""
        return _read(self.arguments)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ToolResult(Fields):
    """The result of a call, with the id of the call."""

    id: str | None
    result: Any
    failed: bool

    def __str__(self) -> str:
        return written(self.result)


Piece: TypeAlias = "str | Thought | Mark | ToolCall | ToolResult"


def pieces(part: object, number: int = 0, depth: int = 0) -> Iterator[Piece]:
    """What a part of a message holds."""
    if isinstance(part, str):
        yield part
        return
    kind = first(part, ("type", "block_type", "part_kind"))
    if not isinstance(kind, str):
        yield from _keyed(part, number, depth)
    elif kind in _TEXT_PARTS and get(part, "thought") is not True:
        yield from _text(part, _TEXT_PARTS[kind], number, depth)
    elif kind in _THINKING or get(part, "thought") is True:
        yield Thought(thoughts(part))
    elif kind in _CALLS:
        yield call_of(part)
    elif kind in _RESULTS or kind.endswith("_tool_result"):
        yield result_of(part, depth)
    elif kind == "dynamic-tool" or kind.startswith("tool-"):
        inner = get(part, "toolInvocation") or part
        yield from _both(inner, kind.removeprefix("tool-"), depth)
    elif kind not in _SILENT:
        yield _mark(part, kind)


def _mark(part: object, kind: str) -> Mark:
    if kind in ("source-url", "source-document", "web_search_result"):
        named = (get(part, "title"), get(part, "url"))
        return Mark(f"[source: {shown(' '.join(str(one) for one in named if one))}]")
    if kind == "file":
        return _file(first(part, ("mediaType", "mimeType", "media_type", "mime_type")))
    return Mark(f"[{shown(kind.removeprefix('input_').removesuffix('_url'))}]")


def _text(part: object, key: str, number: int, depth: int) -> Iterator[Piece]:
    text = first(part, (key, "content"))
    if isinstance(text, Mapping):
        text = text.get("value")
    if isinstance(text, (list, tuple)) and depth < _DEEPEST:
        for place, inner in enumerate(text):
            yield from pieces(inner, place, depth + 1)
    elif isinstance(text, str):
        yield text
    else:
        raise InvalidInputError(
            f"`{key}` of content part {number} must be a str, not `{type(text).__name__}`"
        )


def _keyed(part: object, number: int, depth: int) -> Iterator[Piece]:
    """A part whose key is its type: Gemini's and Bedrock's."""
    text = get(part, "text")
    held = first(part, _KEYED_CALL)
    if held is not None:
        yield call_of(held)
        return
    held = first(part, _KEYED_RESULT)
    if held is not None:
        yield result_of(held, depth)
        return
    held = first(part, _KEYED_DATA)
    if held is not None:
        yield _file(first(held, ("mime_type", "mimeType")))
    elif isinstance(text, str):
        yield Thought(text) if get(part, "thought") is True else text
    elif get(part, "reasoningContent") is not None:
        yield Thought(thoughts(part))
    elif get(part, "json") is not None:
        yield written(get(part, "json"))
    elif (media := next((key for key in _KEYED_MEDIA if get(part, key) is not None), None)) is None:
        raise InvalidInputError(
            f"content part {number} has no `type`",
            hint='a part is like {"type": "text", "text": "..."}',
        )
    else:
        yield Mark(f"[{media}]")


def _file(kind: object) -> Mark:
    kind = str(kind or "file")
    return Mark(f"[{shown(kind.partition('/')[0])}]")


def call_of(call: object, own_id: object = None) -> ToolCall:
    """A call of a tool in any form: a part, an item, or one of ``tool_calls``."""
    inner = first(call, ("function", "toolCall"))
    held = call if inner is None or isinstance(inner, str) else get(inner, "value") or inner
    name = first(held, _NAMES)
    given = own_id or first(call, _CALL_IDS)
    arguments = first(held, _ARGUMENTS)
    if arguments is None and get(held, "code") is not None:
        name, arguments = name or "code", get(held, "code")
    return ToolCall(
        given if isinstance(given, str) else None,
        name if isinstance(name, str) and name.strip() else "tool",
        arguments,
    )


def result_of(holder: object, depth: int = 0) -> ToolResult:
    """The result of a tool in any form: a part, an item, or a message of the tool."""
    given = first(holder, _RESULT_IDS)
    result = first(holder, (*_OUTPUTS, "toolResult", "errorText", "stdout"))
    if isinstance(result, Mapping) and result.keys() in ({"type", "value"}, {"status", "value"}):
        result = result["value"]  # of the AI SDK and goose
        if isinstance(get(result, "content"), list):
            holder, result = result, result["content"]
    if isinstance(result, (list, tuple)):
        result = _joined(result, depth)
    status = get(holder, "status") or get(holder, "state")
    fails = bool(get(holder, "is_error") or get(holder, "isError") or get(holder, "errorText"))
    fails = fails or status in ("error", "output-error")
    read = _read(result)
    fails = fails or bool(isinstance(read, Mapping) and read.get("error"))
    return ToolResult(given if isinstance(given, str) else None, result, fails)


def _both(part: object, name: str, depth: int) -> Iterator[Piece]:
    """A call of the AI SDK, with its result once it is there."""
    call = call_of(part)
    yield ToolCall(call.id, call.name if first(part, _NAMES) else name, call.arguments)
    if any(get(part, key) is not None for key in ("output", "result", "errorText")):
        yield result_of(part, depth)


def thoughts(holder: object) -> str:
    """The thinking of a part, an item or a message."""
    held = first(holder, (*_THOUGHTS, "text", "content"))
    return _thought(held, 0)


def thoughts_beside(message: Mapping[str, Any]) -> str:
    """The thinking that some APIs keep outside of the content of a message."""
    return "" if message.keys().isdisjoint(_BESIDE) else _thought(first(message, _BESIDE), 0)


def _thought(held: object, depth: int) -> str:
    if isinstance(held, str):
        return held
    if isinstance(held, (list, tuple)) and depth < _DEEPEST:
        return "\n".join(filter(None, (_thought(one, depth + 1) for one in held)))
    inner = first(held, ("text", "thinking", "reasoningText", "content", "summary"))
    return "" if inner is None or depth >= _DEEPEST else _thought(inner, depth + 1)


def _joined(content: Iterable[Any], depth: int) -> str:
    """The words of a result that is a list of parts, or the list as JSON."""
    held = list(content)
    if depth >= _DEEPEST:
        return written(held)
    try:
        found = [
            str(piece)
            for place, part in enumerate(held)
            for piece in pieces(part, place, depth + 1)
        ]
    except InvalidInputError:
        return written(held)
    return "\n".join(filter(None, found))


def written(value: object) -> str:
    """Arguments and results as text: unchanged if they are text, else JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        return shown(repr(value))


def _read(value: Any) -> Any:
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def first(holder: object, names: Iterable[str]) -> Any:
    """The first of several values that is there."""
    for name in names:
        held = get(holder, name)
        if held is not None:
            return held
    return None


def get(holder: object, name: str) -> Any:
    """A value of a mapping or an attribute of an object; ``None`` where there is none."""
    # `dict` first: a check against the abstract class takes ten times as long.
    if type(holder) is dict or isinstance(holder, Mapping):
        return holder.get(name)
    return getattr(holder, name, None)
