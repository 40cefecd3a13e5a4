"""A user's memory as a namespace of LangGraph's store: messages in, episodes and facts out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, TypeAlias

from langgraph.store.base import Item, SearchItem, SearchOp

from episodica import Episode, MemorySystem, Message, SemanticMemory

from ..shared.filters import matches
from ..shared.items import MAX_HITS, Namespace

MEMORIES = "episodica"
"""First label of the namespaces that show a user's messages, episodes and facts."""

Record: TypeAlias = "Message | Episode | SemanticMemory"


def memory_namespace(user_id: str) -> Namespace:
    """The namespace of a store that shows a user's memory.

    Searching it finds episodes and facts. Getting an id returns that record. Putting a value with a
    ``content`` adds a message with the key as its id. Deleting removes the record.

    >>> memory_namespace("alice@example.com")
    ('episodica', 'alice@example%2Ecom')
    """
    return MEMORIES, user_id.replace("%", "%25").replace(".", "%2E")


def is_memory(namespace: Namespace) -> bool:
    """Whether a namespace shows a user's memory."""
    return len(namespace) == 2 and namespace[0] == MEMORIES


class Memories:
    """The namespaces of :func:`memory_namespace`."""

    def __init__(self, memory: MemorySystem, search_options: Mapping[str, Any]) -> None:
        self._memory = memory
        self._search_options = search_options

    def get(self, namespace: Namespace, key: str) -> Item | None:
        """The record with this id."""
        record = self._memory.get(_user(namespace), key)
        return None if record is None else _item(namespace, record)

    def search(self, op: SearchOp) -> list[SearchItem]:
        """Episodes and facts of a user that match the query, or all without a query."""
        namespace = tuple(op.namespace_prefix)
        items = (
            _item(namespace, record, score) for record, score in self._found(_user(namespace), op)
        )
        admitted = (item for item in items if matches(item.value, op.filter))
        return list(islice(admitted, op.offset, op.offset + op.limit))

    def write(self, namespace: Namespace, values: Mapping[str, Mapping[str, Any] | None]) -> None:
        """Adds a message for each value, all or none; ``None`` deletes the record."""
        user = _user(namespace)
        messages = [
            {"role": "user", **value, "message_id": key}
            for key, value in values.items()
            if value is not None
        ]
        if messages:
            self._memory.add_messages(user, messages)
        for key, value in values.items():
            if value is None:
                self._memory.delete(user, key)

    def _found(self, user: str, op: SearchOp) -> Iterable[tuple[Record, float | None]]:
        if not (op.query and op.query.strip()):
            records: Iterator[Record] = chain(
                self._memory.semantic_memories(user), self._memory.episodes(user)
            )
            return ((record, None) for record in records)
        # The filter is applied after the search, which therefore returns as many hits as it can.
        wanted = MAX_HITS if op.filter else min(op.offset + op.limit, MAX_HITS)
        hits = self._memory.search(
            user, op.query, top_k=wanted, kinds=["episodic", "semantic"], **self._search_options
        )
        found = ((self._memory.get(user, hit.id), hit.score) for hit in hits)
        return ((record, score) for record, score in found if record is not None)


def _user(namespace: Namespace) -> str:
    return namespace[1].replace("%2E", ".").replace("%25", "%")


def _item(namespace: Namespace, record: Record, score: float | None = None) -> SearchItem:
    """A message, episode or fact as an item: its fields are the value."""
    if isinstance(record, SemanticMemory):
        key, kind, made, changed = record.memory_id, "fact", record.created_at, record.updated_at
    elif isinstance(record, Episode):
        key, kind, made, changed = record.episode_id, "episode", record.timestamp, record.created_at
    else:
        key, kind, made, changed = record.message_id, "message", record.timestamp, record.timestamp
    return SearchItem(
        namespace=namespace,
        key=key,
        value={**record.to_dict(), "record": kind},
        created_at=made,
        updated_at=changed,
        score=score,
    )
