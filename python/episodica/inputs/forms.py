"""Containers of messages: items of the Responses API, dumps of LangChain, Pydantic AI, log lines.

Each becomes one or several mappings with a role and content, as chat APIs have them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .chat import PARTS, as_mapping, is_result_part, role_in, spoken_of
from .names import named, place_of, role_of
from .pieces import first, get, thoughts, written

# Items of the Responses API that say nothing of the conversation.
_STATE = frozenset(("compaction", "item_reference", "mcp_list_tools", "compaction_summary"))
# The fields in which calls of the API's own tools keep their arguments and results.
_ASKED = ("arguments", "input", "action", "queries", "code")
_CAME = ("output", "outputs", "results", "result", "error")
_PYDANTIC_RESULTS = ("tool-return", "retry-prompt")


def expanded(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages that a mapping holds, each with role and content; mostly the mapping itself.

    An item of the Responses API without a role becomes a call of a tool, its result, or thinking.
    An item that says nothing becomes an empty turn of the assistant.
    """
    message = _unwrapped(message)
    if message.get("kind") in ("request", "response") and _parts_of(message):
        return list(_of_pydantic(message))
    kind = message.get("type")
    if isinstance(kind, str) and message.get("role") is None:
        item = _of_item(message, kind)
        if item is not None:
            return item
    return _parted(message)


def _unwrapped(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message inside the wrapper of a program, with the time and the ids of the wrapper."""
    inner = message.get("kwargs") if message.get("lc") is not None else message.get("data")
    path = message.get("id")
    if isinstance(inner, Mapping) and "content" in inner:
        kind = path[-1] if isinstance(path, (list, tuple)) and path else message.get("type")
        return {"type": kind, **inner}
    inner = as_mapping(message.get("message"))
    if inner is None or not (role_in(inner) or role_in(message)):
        return message
    around = {key: value for key, value in message.items() if key != "message"}
    # Several lines of a log may hold parts of one message, under its id.
    own = {
        key: value
        for key, value in inner.items()
        if key != "id" or named(around, "message_id") is None
    }
    if role_in(inner):
        around.pop("type", None)
    return {**around, **own}


def _parted(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The results of tools that an API sends in a message of the user, apart from the words."""
    key = next((one for one in PARTS if isinstance(message.get(one), (list, tuple))), None)
    if key is None or role_in(message) != "user":
        return [message]
    results: list[Any] = []
    words: list[Any] = []
    for part in message[key]:
        (results if is_result_part(part) else words).append(part)
    if not results or not spoken_of({key: words}):
        return [message]
    of_tool = {
        name: value
        for name, value in message.items()
        if (place_of(name) or ("", 0))[0] not in ("message_id", "name")
    }
    own = named(message, "message_id")
    if isinstance(own, str) and own:
        of_tool["message_id"] = f"{own}-results"
    return [{**of_tool, key: results}, {**message, key: words}]


def _parts_of(message: Mapping[str, Any]) -> list[Any]:
    parts = message.get("parts")
    return list(parts) if isinstance(parts, (list, tuple)) else []


def _of_pydantic(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A request holds words of the user, the tools and the program; a response, of the model."""
    when = message.get("timestamp")
    if message["kind"] == "response":
        yield {"role": "assistant", "parts": _parts_of(message), "timestamp": when}
        return
    for part in _parts_of(message):
        kind = get(part, "part_kind")
        role = "tool" if kind in _PYDANTIC_RESULTS else "user"
        content = get(part, "content")
        said = {
            "role": "system" if kind == "system-prompt" else role,
            "timestamp": get(part, "timestamp") or when,
        }
        if role == "tool":
            called = get(part, "tool_call_id")
            yield {**said, "tool_call_id": called, "content": written(content)}
        else:
            yield {**said, "content": content}


def _of_item(item: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]] | None:
    """An item of the Responses API that has no role; ``None`` for other values."""
    about = {key: item[key] for key in item if key in _KEPT}
    if kind.endswith("_output"):
        return [_answer(item, first(item, _CAME), about)]
    if kind.endswith("_call") and kind != "tool_call":
        name = item.get("name") or kind.removesuffix("_call")
        called = first(item, ("call_id", "id"))
        call = {"id": called, "function": {"name": name, "arguments": first(item, _ASKED)}}
        made: list[Mapping[str, Any]] = [
            {"role": "assistant", "content": None, "tool_calls": [call], **about}
        ]
        came = first(item, _CAME)
        return [*made, _answer(item, came, {})] if came is not None and came != [] else made
    if kind == "reasoning":
        return [{"role": "assistant", "content": None, "reasoning": thoughts(item), **about}]
    if kind in _STATE:
        return [{"role": "assistant", "content": None, "tool_calls": [], **about}]
    return None


_KEPT = frozenset(("id", "timestamp", "created_at", "session_id", "agent_id", "metadata"))


def _answer(item: Mapping[str, Any], came: Any, about: Mapping[str, Any]) -> Mapping[str, Any]:
    content = came if isinstance(came, (str, list, tuple)) else written(came)
    if isinstance(content, (list, tuple)):
        content = [
            one if isinstance(one, str) or _is_part(one) else written(one) for one in content
        ]
    called = first(item, ("call_id", "id"))
    return {"role": "tool", "tool_call_id": called, "content": content, **about}


def _is_part(part: object) -> bool:
    return isinstance(get(part, "type"), str) and get(part, "type") != "logs"


def with_whole_chunks(messages: Iterable[Any]) -> Iterator[Any]:
    """The messages, with successive chunks of a LangChain stream joined to one message.

    A whole message that follows its own chunks, under their id, replaces them.
    """
    held: Any = None
    for message in messages:
        if held is None and type(message) is dict and "type" not in message:
            yield message
            continue
        if _is_chunk(message) and _belongs(held, message):
            held = _longer(held, message)
            continue
        if held is not None and not _is_whole_of(message, held):
            yield held
        held = message if _is_chunk(message) else None
        if held is None:
            yield message
    if held is not None:
        yield held


def _is_chunk(message: Any) -> bool:
    kind = get(message, "type") if not isinstance(message, str) else None
    return isinstance(kind, str) and kind.endswith("MessageChunk")


def _belongs(held: Any, message: Any) -> bool:
    """Whether a chunk continues the chunk before it."""
    same = get(held, "type") == get(message, "type") and get(held, "type") == "AIMessageChunk"
    return same and (get(held, "id") == get(message, "id") or get(message, "id") is None)


def _is_whole_of(message: Any, held: Any) -> bool:
    given = get(message, "id") if not isinstance(message, str) else None
    role = as_mapping(message) and role_in(as_mapping(message) or {})
    return given is not None and given == get(held, "id") and role == role_of("AIMessageChunk")


def _longer(held: Any, message: Any) -> Any:
    if not isinstance(held, Mapping):
        return held + message
    before, after = held.get("content"), message.get("content")
    calls = [*(held.get("tool_calls") or ()), *(message.get("tool_calls") or ())]
    both = isinstance(before, str) and isinstance(after, str)
    content = f"{before}{after}" if both else [*_list(before), *_list(after)]
    return {**held, "content": content, "tool_calls": calls}


def _list(content: Any) -> list[Any]:
    return [content] if isinstance(content, str) and content else list(content or ())
