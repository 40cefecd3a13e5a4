"""Facts that other memory systems export: mem0, Zep, Letta, and the graph of MCP's memory server.

Their messages are read as messages, their statements as facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..inputs.chat import text_of
from .conversation import NO_WORDS, Conversation, LeftOut, Statement, Talk, mappings
from .source import Item, Source

# Where mem0's answers and exports keep the list.
_LISTS = ("results", "memories")
_TEXTS = ("memory", "data", "content", "text")
# Fields that become metadata of the fact.
_KEPT = ("id", "categories", "run_id", "actor_id")


def is_mem0(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a memory of mem0, or has a list of memories."""
    return isinstance(value.get("memory"), str) or any(
        isinstance(value.get(key), list) and _is_memory(value[key]) for key in _LISTS
    )


def _is_memory(entries: list[Any]) -> bool:
    return all(isinstance(one, Mapping) and isinstance(one.get("memory"), str) for one in entries)


class _Facts:
    """Facts that are collected by user, and the entries left out."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._by_user: dict[str | None, list[Statement]] = {}
        self._left: list[LeftOut] = []

    def state(self, user: object, statement: Statement) -> None:
        """Adds a fact; leaves out a fact with an empty text."""
        if not statement.text.strip():
            self.leave(f"a fact in line {statement.line}", NO_WORDS)
            return
        owner = None if user is None else str(user)
        self._by_user.setdefault(owner, []).append(statement)

    def leave(self, place: str, why: str, is_fault: bool = False) -> None:
        """Leaves a part of the file out."""
        self._left.append(LeftOut(place, why, is_fault))

    def conversations(self) -> Iterator[Conversation]:
        """The facts, user by user; last those that name none."""
        if self._left:
            yield Conversation(self._name, None, [], left_out=tuple(self._left))
        for user_id, statements in sorted(self._by_user.items(), key=lambda one: one[0] is None):
            yield Conversation(self._name, user_id, [], statements=tuple(statements))


def mem0(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """The memories of mem0 as facts, by user."""
    facts = _Facts(source.name)
    for number, item in enumerate(_entries(items)):
        entry = item.value
        place = f"memory {number} in line {item.line}"
        if not isinstance(entry, Mapping):
            why = f"must be an object, not `{type(entry).__name__}`"
            facts.leave(place, why, is_fault=True)
            continue
        text = next((entry[key] for key in _TEXTS if isinstance(entry.get(key), str)), None)
        if text is None:
            facts.leave(place, "`memory` is missing", is_fault=True)
            continue
        metadata = dict(entry.get("metadata") or {})
        metadata |= {f"mem0_{key}": entry[key] for key in _KEPT if entry.get(key) is not None}
        if isinstance(entry.get("agent_id"), str):
            metadata["agent_id"] = entry["agent_id"]
        stated = Statement(text, entry.get("created_at"), metadata, item.line)
        facts.state(entry.get("user_id"), stated)
    yield from facts.conversations()


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


def is_zep(value: Mapping[str, Any]) -> bool:
    """Whether `value` is an edge or has facts of Zep, or messages with a `role_type`."""
    facts, messages = value.get("facts", value.get("edges")), value.get("messages")
    return _holds(facts, "fact") or _holds(messages, "role_type") or _is_edge(value)


def _holds(held: object, key: str) -> bool:
    return (
        isinstance(held, list)
        and bool(held)
        and all(isinstance(one, Mapping) and key in one for one in held)
    )


def _is_edge(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("fact"), str) and bool(value.keys() & {"valid_at", "invalid_at"})


def zep(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """Facts of Zep with the date from which they hold; ended facts are left out and listed."""
    facts = _Facts(source.name)
    talk = Talk(source.name)
    for item in items:
        value = item.value if isinstance(item.value, Mapping) else {}
        user, session = value.get("user_id"), value.get("session_id") or value.get("thread_id")
        for one in value.get("messages") or ():
            named = {"role": one.get("role_type") or "user", "name": one.get("role")}
            about = {"session_id": session, "id": one.get("uuid")}
            when = {"timestamp": one.get("created_at")}
            talk.add({**about, **named, **when, "content": one.get("content") or ""}, item.line)
        held = value.get("facts") or value.get("edges") or ([value] if _is_edge(value) else ())
        for one in held:
            text = str(one.get("fact") or "")
            ended = one.get("invalid_at") or one.get("expired_at")
            if ended:
                facts.leave(f"a fact in line {item.line}", f"it ended on {ended}: {text}")
                continue
            date = one.get("valid_at") or one.get("created_at")
            facts.state(one.get("user_id") or user, Statement(text, date, {}, item.line))
    yield from facts.conversations()
    yield talk.conversation()


def is_letta(value: Mapping[str, Any]) -> bool:
    """Whether `value` is an agent file of Letta."""
    is_many = any("messages" in one for one in mappings(value.get("agents")))
    return is_many or ("core_memory" in value and isinstance(value.get("messages"), list))


def letta(entry: Mapping[str, Any], number: int, source: Source) -> Iterator[Talk | Conversation]:
    """The messages of Letta's agents. Memory blocks become facts."""
    for agent in entry.get("agents", [entry]):
        own = str(agent.get("id") or agent.get("name") or number)
        talk = Talk(str(agent.get("name") or own), f"letta {own}", session=own)
        for message in agent.get("messages") or ():
            role = str(message.get("role") or "user")
            said = text_of(message)[0]
            if role == "system":
                talk.leave("an instruction of the system")
                continue
            words = said if isinstance(said, str) else ""
            about = {"id": message.get("id"), "timestamp": message.get("created_at")}
            name = message.get("name") if role == "tool" else None
            talk.add({"role": role, "name": name, "content": words, **about})
        yield talk
    blocks = [*(entry.get("blocks") or ()), *(entry.get("core_memory") or ())]
    statements = [
        Statement(str(one["value"]), one.get("created_at"), {"letta_block": one.get("label")})
        for one in blocks
        if isinstance(one, Mapping) and str(one.get("value") or "").strip()
    ]
    if statements:
        yield Conversation(source.name, None, [], statements=tuple(statements))


def is_graph(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a line written by MCP's memory server."""
    if value.get("type") == "entity":
        return isinstance(value.get("observations"), list)
    return value.get("type") == "relation" and {"from", "to", "relationType"} <= value.keys()


def graph(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """What the graph of MCP's memory server says of each entity, as facts."""
    facts = _Facts(source.name)
    for item in items:
        value = item.value if isinstance(item.value, Mapping) else {}
        if not is_graph(value):
            facts.leave(f"line {item.line}", "neither an entity nor a relation", is_fault=True)
        elif value["type"] == "relation":
            words = (value["from"], str(value["relationType"]).replace("_", " "), value["to"])
            facts.state(None, Statement(" ".join(map(str, words)), None, {}, item.line))
        else:
            for seen in value["observations"]:
                text = f"{value.get('name')}: {seen}"
                kind = {"entity_type": value.get("entityType")}
                facts.state(None, Statement(text, None, kind, item.line))
    yield from facts.conversations()
