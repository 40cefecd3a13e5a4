"""LangChain's messages as messages of a memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .identity import following

# Types of messages that carry no words of the conversation.
_IGNORED = ("system", "remove")
_CHUNK = "MessageChunk"
# The roles of LangChain's types.
_ROLES = {"human": "user", "ai": "assistant"}


def to_messages(messages: Iterable[Any], session: str | None) -> list[dict[str, Any]]:
    """Messages as a memory takes them, without system prompts and empty messages.

    LangChain's ids are unique only in a thread, so an id here is made from the session and
    LangChain's id; without LangChain's id, from the session, the messages before and the words.
    """
    found: list[dict[str, Any]] = []
    before = ""
    for message in messages:
        text, kind = _text(message), _kind(message)
        if kind in _IGNORED or not text.strip():
            continue
        role = _ROLES.get(kind, kind)
        said = (message.id,) if message.id else (before, role, text)
        before = following("message", session, *said)
        found.append(
            {
                "role": role,
                "content": message.content,
                "tool_calls": getattr(message, "tool_calls", None),
                "name": message.name,
                "message_id": before,
            }
        )
    return found


def _kind(message: Any) -> str:
    """The type of a message, or of the message of a chunk such as ``AIMessageChunk``."""
    kind = str(message.type)
    return kind.removesuffix(_CHUNK).lower() if kind.endswith(_CHUNK) else kind


def turns(messages: Iterable[Any]) -> list[tuple[str, str]]:
    """Role and words of every message."""
    return [(_ROLES.get(_kind(message), _kind(message)), _text(message)) for message in messages]


def last_question(messages: Iterable[Any]) -> str:
    """The words of the latest human message; empty if there are none."""
    for message in reversed(list(messages)):
        if _kind(message) == "human":
            return _text(message).strip()
    return ""


def _text(message: Any) -> str:
    """The text of a message's content, and the tool calls in it."""
    content = message.content
    parts = [content] if isinstance(content, str) else map(_part, content)
    calls = (
        f"[tool call: {call['name']}({call['args']})]"
        for call in getattr(message, "tool_calls", None) or ()
    )
    return "\n".join(part for part in (*parts, *calls) if part)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    return str(part.get("text") or "") if isinstance(part, dict) else ""
