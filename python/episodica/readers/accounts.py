"""Conversations of accounts with assistants, as their providers export them.

Each conversation becomes a session. Of a conversation that was edited or answered anew, the branch
that was shown last is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from ..errors import InvalidInputError
from ..inputs.chat import text_of
from ..inputs.names import role_of, role_of_speaker
from .conversation import NO_WORDS, Talk, mappings
from .dates import FIRST_SECOND
from .source import Source

_HIDDEN = "is_visually_hidden_from_conversation"
# Content of ChatGPT that is not speech: reasoning, settings, the state of a search.
_UNSPOKEN = frozenset(
    ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context")
)
# Tools of ChatGPT that answer no more than that they were called: its own memory.
_STATUS_ONLY = ("bio",)
# Marks of citations that ChatGPT shows as links: private characters, and brackets of full width.
_CITATION = re.compile(
    "\ue200[^\ue200\ue201]{0,400}\ue201|[\ue000-\uf8ff]|\u3010\\d+(?:[:\u2020][^\u3010\u3011\n]{0,200})?\u3011"
)


def talk_of(entry: Mapping[str, Any], ids: Iterable[str], title: object, date: object) -> Talk:
    """An empty talk for a conversation: the session is its id, the name is its title."""
    found = next((str(entry[key]) for key in ids if entry.get(key)), None)
    name = title if isinstance(title, str) and title.strip() else found or "a chat"
    session = found or (title if isinstance(title, str) and title.strip() else None)
    return Talk(name, found, session=session, title=title, date=date)


def path_to(
    last: object, nodes: Mapping[Any, Mapping[str, Any]], parent: str
) -> list[Mapping[str, Any]]:
    """The nodes from the root to the last one, along the key that names the parent of each."""
    path: list[Mapping[str, Any]] = []
    seen: set[object] = set()
    while isinstance(last, (str, int)) and last in nodes and last not in seen:
        seen.add(last)
        path.append(nodes[last])
        last = nodes[last].get(parent)
    return path[::-1]


def versions_of(messages: Iterable[tuple[object, object, object]]) -> dict[str, tuple[str, ...]]:
    """By id the other messages with the same parent and role, from ids, parents and roles."""
    beside: dict[tuple[object, object], list[str]] = {}
    for own, parent, role in messages:
        if isinstance(own, str) and isinstance(parent, (str, int)):
            beside.setdefault((parent, role), []).append(own)
    several = (ids for ids in beside.values() if len(ids) > 1)
    return {own: tuple(one for one in ids if one != own) for ids in several for own in ids}


def is_chatgpt(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a conversation with ChatGPT. Its ``mapping`` may be null."""
    return isinstance(value.get("mapping"), (Mapping, type(None))) and "mapping" in value


def chatgpt(entry: Mapping[str, Any], number: int, source: Source) -> Iterator[Talk]:
    """A conversation of ChatGPT's ``conversations.json``."""
    dates = [entry.get("create_time"), entry.get("update_time")]
    date = next((made for one in dates if isinstance(made := _epoch(one), str)), None)
    talk = talk_of(entry, ("conversation_id", "id"), entry.get("title"), date)
    mapping = _mapping(entry)
    shown_last = _branch(mapping, entry.get("current_node"))
    for message in shown_last:
        said, why = _of_chatgpt(message)
        if said is None:
            talk.leave(why)
            continue
        when = _epoch(message.get("create_time"))
        talk.add({**said, "id": message.get("id"), "timestamp": when})
    held = ((one.get("message"), one.get("parent")) for one in mapping.values())
    spoken = ((one, parent) for one, parent in held if isinstance(one, Mapping))
    told = ((one.get("id"), parent, _author(one)) for one, parent in spoken)
    talk.tell_versions(versions_of(told))
    talk.leave_branches(_count(mapping) - len(shown_last))
    yield talk


def _mapping(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    mapping = entry["mapping"]
    if not isinstance(mapping, Mapping):
        raise InvalidInputError("`mapping` is empty, so its messages are lost")
    nodes = {key: one for key, one in mapping.items() if isinstance(one, Mapping)}
    parents = {
        child: key
        for key, one in nodes.items()
        for child in one.get("children") or ()
        if isinstance(child, str)
    }
    # Some programs write the links in one direction only. Without links, the messages are a list.
    is_linked = bool(parents) or any(one.get("parent") for one in nodes.values())
    before: str | None = None
    for key, one in nodes.items():
        parent = parents.get(key) if is_linked else before
        if one.get("parent") is None and parent is not None:
            nodes[key] = {**one, "parent": parent}
        before = key
    return nodes


def _count(mapping: Mapping[str, Any]) -> int:
    return sum(isinstance(one.get("message"), Mapping) for one in mapping.values())


def _branch(mapping: Mapping[str, Any], last: object) -> list[Mapping[str, Any]]:
    """The messages from the root to the last node, or along the last children if none is named."""
    if not isinstance(last, str) or last not in mapping:
        last = _last_node(mapping)
    held = (node.get("message") for node in path_to(last, mapping, "parent"))
    return [message for message in held if isinstance(message, Mapping)]


def _last_node(mapping: Mapping[str, Any]) -> str | None:
    """The end of the branch of last children; if no node lists children, the latest leaf."""
    node = next((key for key, one in mapping.items() if not one.get("parent")), None)
    seen: set[str] = set()
    if any(one.get("children") for one in mapping.values()):
        while node is not None and node not in seen:
            seen.add(node)
            following = [one for one in mapping[node].get("children") or () if one in mapping]
            if not following:
                return node
            node = following[-1]
    parents = {one.get("parent") for one in mapping.values()}
    leaves = [key for key in mapping if key not in parents] or list(mapping)
    return max(leaves, key=lambda key: _time(mapping[key]), default=None)


def _time(node: Mapping[str, Any]) -> float:
    message = node.get("message")
    when = message.get("create_time") if isinstance(message, Mapping) else None
    return float(when) if isinstance(when, (int, float)) else 0.0


def _author(message: Mapping[str, Any]) -> str:
    author = message.get("author")
    return str((author if isinstance(author, Mapping) else {}).get("role") or "user")


def _of_chatgpt(message: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """Role, name and text; ``None`` with the reason for hidden content."""
    author = message.get("author") or {}
    content = message.get("content") or {}
    kind = content.get("content_type")
    if (message.get("metadata") or {}).get(_HIDDEN):
        return None, "hidden in the chat"
    if kind in _UNSPOKEN:
        return None, f"no speech but `{kind}`"
    text = _text_of_chatgpt(content)
    role = str(author.get("role") or "user")
    if not text.strip():
        return None, NO_WORDS
    if role == "system":
        return None, "an instruction of the system"
    if role == "tool" and author.get("name") in _STATUS_ONLY:
        return None, f"no speech but the status of `{author['name']}`"
    recipient = message.get("recipient")
    if role == "assistant" and recipient not in (None, "all"):
        text = f"[tool call: {recipient}({text})]"
    elif role in ("assistant", "tool"):
        text = _CITATION.sub("", text)
    return {"role": role, "name": author.get("name") or None, "content": text}, ""


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
    return "[audio]" if "audio" in kind else f"[{kind.partition('_')[0]}]"


def _epoch(seconds: object) -> str | float | None:
    """Seconds since 1970 as a date, before there were chats as they are; ``None`` for others."""
    if isinstance(seconds, str) and seconds.strip():
        return seconds
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds:
        return None
    if seconds < FIRST_SECOND:
        return seconds
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        raise InvalidInputError(f"`create_time` is not a date: `{seconds}`") from None


def is_deepseek(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a conversation with DeepSeek, with its own dates and fragments."""
    return isinstance(value.get("mapping"), Mapping) and (
        "inserted_at" in value
        or any(
            isinstance(node, Mapping)
            and isinstance(node.get("message"), Mapping)
            and ("fragments" in node["message"] or "inserted_at" in node["message"])
            for node in value["mapping"].values()
        )
    )


def deepseek(entry: Mapping[str, Any], number: int, source: Source) -> Iterator[Talk]:
    """A conversation of DeepSeek's export, in its form with fragments or its older one."""
    talk = talk_of(entry, ("id",), entry.get("title"), entry.get("inserted_at"))
    mapping = _mapping(entry)
    names = {id(node.get("message")): key for key, node in mapping.items()}
    shown_last = _branch(mapping, None)
    for message in shown_last:
        key = names[id(message)]
        added = {"id": key, "timestamp": message.get("inserted_at")}
        fragments = message.get("fragments")
        if fragments is None:
            # Questions and answers take turns; only answers have reasoning.
            depth = len(_branch(mapping, key))
            is_answer = bool(message.get("reasoning_content")) or depth % 2 == 0
            said = [("assistant" if is_answer else "user", message.get("content"))]
        else:
            said = [_of_fragment(one) for one in fragments if isinstance(one, Mapping)]
        for role in ("user", "assistant", "tool"):
            words = [text for who, text in said if who == role and isinstance(text, str)]
            if text := "\n".join(one for one in words if one.strip()):
                talk.add({**added, "role": role, "content": _CITATION.sub("", text)})
        if not any(isinstance(text, str) and text.strip() for role, text in said if role):
            talk.leave(NO_WORDS)
    talk.leave_branches(_count(mapping) - len(shown_last))
    yield talk


def _of_fragment(fragment: Mapping[str, Any]) -> tuple[str, Any]:
    kind = str(fragment.get("type") or "").upper()
    if kind == "THINK":
        return "", None
    if kind == "REQUEST":
        return "user", fragment.get("content")
    if kind in ("RESPONSE", "TEMPLATE_RESPONSE"):
        return "assistant", fragment.get("content")
    return "tool", fragment.get("content")


def is_claude(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a conversation with Claude."""
    return isinstance(value.get("chat_messages"), list)


def claude(entry: Mapping[str, Any], number: int, source: Source) -> Iterator[Talk]:
    """A conversation of Claude's ``conversations.json``."""
    talk = talk_of(entry, ("uuid",), entry.get("name"), entry.get("created_at"))
    messages = [one for one in entry["chat_messages"] if isinstance(one, Mapping)]
    shown_last = _last_branch(messages)
    for message in shown_last:
        sender = str(message.get("sender") or "human")
        talk.add(
            {
                "role": _role(sender),
                "content": _text_of_claude(message),
                "id": message.get("uuid"),
                "timestamp": message.get("created_at"),
            }
        )
    told = (
        (one.get("uuid"), one.get("parent_message_uuid"), one.get("sender")) for one in messages
    )
    talk.tell_versions(versions_of(told))
    for _ in range(len(entry["chat_messages"]) - len(messages)):
        talk.leave("no message", is_fault=True)
    talk.leave_branches(len(messages) - len(shown_last))
    yield talk


def _last_branch(messages: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The branch that ends with the last message, where messages name their parents."""
    by_id = {one.get("uuid"): one for one in messages}
    parents = [one.get("parent_message_uuid") for one in messages]
    if not all(parents) or len(set(parents)) == len(parents):
        return messages
    return path_to(messages[-1].get("uuid"), by_id, "parent_message_uuid")


# Parts of Claude that are not speech.
_THOUGHT = frozenset(("thinking", "redacted_thinking", "token_budget"))


def _text_of_claude(message: Mapping[str, Any]) -> str:
    kept = [
        {**one, "text": one.get("text") or one.get("transcript") or ""}
        if one.get("type") in ("text", "voice_note")
        else one
        for one in mappings(message.get("content"))
        if one.get("type") not in _THOUGHT
    ]
    kept = [{**one, "type": "text"} if one.get("type") == "voice_note" else one for one in kept]
    text = text_of({"content": kept})[0] if kept else None
    if not isinstance(text, str) or not text.strip():
        text = message.get("text") or ""
    files = [*(message.get("attachments") or ()), *(message.get("files") or ())]
    return "\n".join(filter(None, [text if isinstance(text, str) else "", *map(_file, files)]))


def _file(file: object) -> str:
    """The words of a file that was pasted or attached, else its name."""
    if not isinstance(file, Mapping):
        return ""
    words, name = file.get("extracted_content"), file.get("file_name")
    if isinstance(words, str) and words.strip():
        return f"[file: {name}]\n{words}" if name else words
    return f"[file: {name or 'unnamed'}]"


def is_sharegpt(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a conversation in ShareGPT's form."""
    turns = value.get("conversations") or value.get("conversation")
    return isinstance(turns, list) and all(
        isinstance(turn, Mapping) and "from" in turn for turn in turns[:2]
    )


def sharegpt(entry: Mapping[str, Any], number: int, source: Source) -> Iterator[Talk]:
    """A conversation in ShareGPT's form: ``from`` and ``value``."""
    turns = entry["conversations"] if "conversations" in entry else entry["conversation"]
    own = str(entry["id"]) if entry.get("id") is not None else None
    session = own or f"{source.stem}-{number + 1}"
    talk = Talk(f"{source.name}: {session}", own, session=session)
    for turn in turns:
        sender = str(turn.get("from") or turn["role"])
        text = turn["value"] if "value" in turn else turn["content"]
        role = _role(sender)
        if text is None:
            talk.leave(NO_WORDS)
        else:
            talk.add({"role": role, "content": text})
    yield talk


def _role(sender: str) -> str:
    """The role of a sender. The sender's name may be that of a program, such as ChatGPT."""
    role = role_of(sender)
    if role != sender:
        return role
    if sender == "function_call" or role_of_speaker(sender) == "assistant":
        return "assistant"
    return sender
