"""Logs of one chat as a tree: the branch that was shown last.

Pi and OpenClaw write a head of the session, then records with ``id`` and ``parentId``, of which the
last is the end of the talk. llama.app names the last message in the head, as ``currNode``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from .conversation import Talk, mappings
from .source import Item


def shown(items: Iterable[Item], talk: Talk) -> Iterator[Item]:
    """The items; of each session that is a tree, only the messages of the branch shown last."""
    session: list[Item] = []
    for item in items:
        value = item.value if isinstance(item.value, Mapping) else {}
        held = value.get("conv")
        is_head = value.get("type") == "session" and isinstance(value.get("id"), str)
        if session and (is_head or isinstance(held, Mapping)):
            yield from _branch(session, talk)
            session = []
        if isinstance(held, Mapping):
            said = [{"type": "message", "message": one} for one in mappings(value.get("messages"))]
            yield from _branch([replace(item, value=one) for one in (held, *said)], talk)
        elif session or is_head:
            session.append(item)
        else:
            yield item
    if session:
        yield from _branch(session, talk)


def _branch(session: list[Item], talk: Talk) -> Iterator[Item]:
    head, *records = (one.value if isinstance(one.value, Mapping) else {} for one in session)
    nodes = [_node(one) for one in records]
    parents = {
        str(node["id"]): node.get("parentId", node.get("parent")) for node in nodes if "id" in node
    }
    end = head.get("currNode") or next(reversed(parents), None)
    path = set[str]()
    while isinstance(end, str) and end in parents and end not in path:
        path.add(end)
        end = parents[end]
    is_tree = any(parents.values())
    left = 0
    for item, record, node in zip(session[1:], records, nodes, strict=True):
        message = record.get("message")
        if not isinstance(message, Mapping):
            talk.leave(f"a record of the program: `{record.get('type')}`", item.line)
        elif is_tree and "id" in node and str(node["id"]) not in path:
            left += 1
        elif message.get("type") != "root":
            when = {"timestamp": record.get("timestamp", message.get("timestamp"))}
            # A rewritten branch has the same messages under other ids.
            said = {key: message[key] for key in message if key not in ("id", "type")}
            yield replace(item, value={"session_id": head.get("id"), **said, **when})
    talk.leave_branches(left)


def _node(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part with the id and the parent: the record, or its message."""
    message = record.get("message")
    return message if "id" not in record and isinstance(message, Mapping) else record
