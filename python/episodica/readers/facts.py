"""Facts that other memory systems export: mem0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .conversation import NO_WORDS, Conversation, LeftOut, Statement
from .source import Item, Source

# Where mem0's answers and exports keep the list.
_LISTS = ("results", "memories")
_TEXTS = ("memory", "data", "content", "text")
# What becomes metadata of the fact.
_KEPT = ("id", "categories", "run_id", "actor_id")


def is_mem0(value: Mapping[str, Any]) -> bool:
    """Whether it is a memory of mem0, or holds a list of them."""
    return isinstance(value.get("memory"), str) or any(
        isinstance(value.get(key), list) and _is_memory(value[key]) for key in _LISTS
    )


def _is_memory(entries: list[Any]) -> bool:
    return all(isinstance(one, Mapping) and isinstance(one.get("memory"), str) for one in entries)


def mem0(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """The memories of mem0 as facts, by user."""
    by_user: dict[str | None, list[Statement]] = {}
    left = []
    for number, item in enumerate(_entries(items)):
        entry = item.value
        place = f"memory {number} in line {item.line}"
        if not isinstance(entry, Mapping):
            why = f"must be an object, not `{type(entry).__name__}`"
            left.append(LeftOut(place, why, is_fault=True))
            continue
        text = next((entry[key] for key in _TEXTS if isinstance(entry.get(key), str)), None)
        if text is None:
            left.append(LeftOut(place, "`memory` is missing", is_fault=True))
            continue
        if not text.strip():
            left.append(LeftOut(place, NO_WORDS))
            continue
        user = entry.get("user_id")
        metadata = dict(entry.get("metadata") or {})
        metadata |= {f"mem0_{key}": entry[key] for key in _KEPT if entry.get(key) is not None}
        if isinstance(entry.get("agent_id"), str):
            metadata["agent_id"] = entry["agent_id"]
        by_user.setdefault(None if user is None else str(user), []).append(
            Statement(text, entry.get("created_at"), metadata, item.line)
        )
    if left:
        yield Conversation(source.name, None, [], left_out=tuple(left))
    for user_id, statements in by_user.items():
        yield Conversation(source.name, user_id, [], statements=tuple(statements))


def _entries(items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        value = item.value
        held = None
        if isinstance(value, Mapping):
            held = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
        if held is None:
            yield item
        else:
            yield from (Item(one, item.line) for one in held)
