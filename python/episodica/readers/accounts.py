"""Conversations of accounts: the exports of ChatGPT and Claude, and ShareGPT's form.

Each conversation becomes a session. Of a conversation that was edited or answered anew, the branch
that was shown last is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..errors import InvalidInputError
from .conversation import Conversation

_HIDDEN = "is_visually_hidden_from_conversation"
# Content of ChatGPT that nobody said: reasoning, settings, the state of a search.
_UNSPOKEN = frozenset(
    ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context")
)
_ROLES = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "assistant": "assistant",
    "function_call": "assistant",
    "system": "system",
    "tool": "tool",
    "observation": "tool",
    "function_response": "tool",
}


def chatgpt(entry: Mapping[str, Any], number: int, name: str) -> Conversation:
    """A conversation of ChatGPT's ``conversations.json``."""
    title = entry.get("title")
    session = str(entry.get("conversation_id") or entry.get("id") or f"{name}-{number + 1}")
    started = entry.get("create_time")
    messages: list[dict[str, Any]] = []
    skipped = 0
    for message in _branch(entry["mapping"], entry.get("current_node")):
        made = _of_chatgpt(message)
        if made is None:
            skipped += 1
            continue
        when = message.get("create_time") or started
        metadata = {"conversation": title} if isinstance(title, str) and title else None
        messages.append(
            {
                **made,
                "message_id": message.get("id"),
                "timestamp": _epoch(when),
                "session_id": session,
                "metadata": metadata,
            }
        )
    return Conversation(_called(title, session), None, messages, skipped=skipped)


def _branch(mapping: Mapping[str, Any], last: object) -> list[Mapping[str, Any]]:
    """The messages from the root to the last node; without a last one, along the last children."""
    if not isinstance(last, str) or last not in mapping:
        last = _last_node(mapping)
    path: list[Mapping[str, Any]] = []
    seen: set[object] = set()
    while isinstance(last, str) and last in mapping and last not in seen:
        seen.add(last)
        message = mapping[last].get("message")
        if isinstance(message, Mapping):
            path.append(message)
        last = mapping[last].get("parent")
    return path[::-1]


def _last_node(mapping: Mapping[str, Any]) -> str | None:
    """The end of the branch of last children."""
    node = next((key for key, one in mapping.items() if not one.get("parent")), None)
    seen: set[str] = set()
    while node is not None and node not in seen:
        seen.add(node)
        following = [child for child in mapping[node].get("children") or () if child in mapping]
        if not following:
            break
        node = following[-1]
    return node


def _of_chatgpt(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """Role, name and text; ``None`` for what nobody said or saw."""
    author = message.get("author") or {}
    content = message.get("content") or {}
    kind = content.get("content_type")
    if (message.get("metadata") or {}).get(_HIDDEN) or kind in _UNSPOKEN:
        return None
    text = _text_of_chatgpt(content)
    role = str(author.get("role") or "user")
    if not text.strip() or role == "system":
        return None
    recipient = message.get("recipient")
    if role == "assistant" and recipient not in (None, "all"):
        text = f"[tool call: {recipient}({text})]"
    return {"role": role, "name": author.get("name") or None, "content": text}


def _text_of_chatgpt(content: Mapping[str, Any]) -> str:
    parts = content.get("parts")
    if isinstance(parts, list):
        return "\n".join(filter(None, map(_part_of_chatgpt, parts)))
    for key in ("text", "result"):
        if isinstance(content.get(key), str):
            return str(content[key])
    return ""


def _part_of_chatgpt(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return ""
    if isinstance(part.get("text"), str):
        return str(part["text"])
    kind = str(part.get("content_type") or "part")
    return f"[{kind.partition('_')[0]}]"


def _epoch(seconds: object) -> str | None:
    """Seconds since 1970 as a date; ``None`` for what is none."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        raise InvalidInputError(f"`create_time` is not a date: `{seconds}`") from None


def claude(entry: Mapping[str, Any], number: int, name: str) -> Conversation:
    """A conversation of Claude's ``conversations.json``."""
    title = entry.get("name")
    session = str(entry.get("uuid") or f"{name}-{number + 1}")
    messages: list[dict[str, Any]] = []
    skipped = 0
    for message in _last_branch(entry["chat_messages"]):
        text = _text_of_claude(message)
        if not text.strip():
            skipped += 1
            continue
        sender = str(message.get("sender") or "human")
        messages.append(
            {
                "role": _ROLES.get(sender, sender),
                "content": text,
                "message_id": message.get("uuid"),
                "timestamp": message.get("created_at") or entry.get("created_at"),
                "session_id": session,
                "metadata": {"conversation": title} if title else None,
            }
        )
    return Conversation(_called(title, session), None, messages, skipped=skipped)


def _last_branch(messages: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The branch that ends with the last message, where messages name their parents."""
    by_id = {one.get("uuid"): one for one in messages}
    parents = [one.get("parent_message_uuid") for one in messages]
    if not all(parents) or len(set(parents)) == len(parents):
        return messages
    path, one, seen = [], messages[-1] if messages else None, set()
    while one is not None and one.get("uuid") not in seen:
        seen.add(one.get("uuid"))
        path.append(one)
        one = by_id.get(one.get("parent_message_uuid"))
    return path[::-1]


def _text_of_claude(message: Mapping[str, Any]) -> str:
    parts = message.get("content")
    said = [
        part["text"]
        for part in (parts if isinstance(parts, list) else [])
        if isinstance(part, Mapping)
        and part.get("type") == "text"
        and isinstance(part.get("text"), str)
    ]
    text = "\n".join(filter(None, said)) or message.get("text") or ""
    files = [*(message.get("attachments") or ()), *(message.get("files") or ())]
    marks = [f"[file: {one.get('file_name') or 'unnamed'}]" for one in files]
    return "\n".join(filter(None, [text if isinstance(text, str) else "", *marks]))


def sharegpt(entry: Mapping[str, Any], number: int, name: str) -> Conversation:
    """A conversation in ShareGPT's form: ``from`` and ``value``."""
    turns = entry["conversations"] if "conversations" in entry else entry["conversation"]
    session = str(entry.get("id") or f"{name}-{number + 1}")
    messages: list[dict[str, Any]] = []
    skipped = 0
    for turn in turns:
        sender = str(turn.get("from") or turn["role"])
        text = turn["value"] if "value" in turn else turn["content"]
        if text is None or (isinstance(text, str) and not text.strip()):
            skipped += 1
            continue
        role = _ROLES.get(sender.lower(), sender)
        messages.append({"role": role, "content": text, "session_id": session})
    return Conversation(f"{name}: {session}", None, messages, skipped=skipped)


def _called(title: object, session: str) -> str:
    """What to call a conversation: its title, else its id."""
    return title if isinstance(title, str) and title.strip() else session
