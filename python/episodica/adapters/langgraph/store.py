"""LangGraph's ``BaseStore`` over a memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
)

from episodica import InvalidInputError

from ..shared.connection import Connected, Connection, Where, settle
from ..shared.filters import matches
from ..shared.items import Draft, ItemTable, Namespace, StoredItem
from .memories import Memories, is_memory

_ROOT = "langgraph"


class EpisodicaStore(Connected, BaseStore):
    """A LangGraph store over a memory: items survive restarts and are found by meaning.

    A namespace of items is a user of the memory (``langgraph:label/label``); no two namespaces
    share a user. The namespaces of :func:`memory_namespace` show a user's memory itself.

    Items are listed in the order in which they were first written. A search with a query ranks the
    items by their fields, and appends items that are not indexed, without a score. An expired item
    is never returned; :meth:`sweep_ttl` also deletes it.

    Parameters
    ----------
    where
        A path, an open system, or an ``AsyncMemorySystem``.
    fields
        The parts of a value by which searches find it; ``$`` is the whole value.
    ttl
        Default lifetime in minutes (``default_ttl``), and whether reading prolongs it
        (``refresh_on_read``).
    **search
        Options of :meth:`MemorySystem.search` for queries, such as ``method`` or ``threshold``.

    Raises
    ------
    InvalidInputError
        If a value to be written is not JSON; then nothing is written to its namespace.
    """

    supports_ttl = True

    __slots__ = ("_connection", "_fields", "_items", "_memories", "_search_options", "ttl_config")

    def __init__(
        self,
        where: Where,
        *,
        fields: Sequence[str] = ("$",),
        ttl: TTLConfig | None = None,
        **search: Any,
    ) -> None:
        self._connection = Connection(where)
        self._items = ItemTable(self._connection.memory, _ROOT)
        self._memories = Memories(self._connection.memory, search)
        self._fields = [tokenize_path(field) if field != "$" else "$" for field in fields]
        self._search_options = search
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Runs operations and returns their results; reads see the state before the writes."""
        results: list[Result] = []
        writes: dict[Namespace, dict[str, PutOp]] = {}
        for op in ops:
            if isinstance(op, GetOp):
                results.append(self._get(op))
            elif isinstance(op, SearchOp):
                results.append(self._search(op))
            elif isinstance(op, ListNamespacesOp):
                results.append(self._list_namespaces(op))
            elif isinstance(op, PutOp):
                writes.setdefault(tuple(op.namespace), {})[op.key] = op
                results.append(None)
            else:
                raise InvalidInputError(f"unknown operation: `{type(op).__name__}`")
        for namespace, puts in writes.items():
            self._write(namespace, puts)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Like :meth:`batch`. A cancelled batch is still written whole."""
        return await settle(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Deletes the items that have expired, and returns their number."""
        return self._items.sweep()

    def _get(self, op: GetOp) -> Item | None:
        namespace = tuple(op.namespace)
        if is_memory(namespace):
            return self._memories.get(namespace, op.key)
        item = self._items.get(namespace, op.key)
        if item is None:
            return None
        if op.refresh_ttl:
            self._items.refresh(item)
        return Item(**_fields(item))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        prefix = tuple(op.namespace_prefix)
        if is_memory(prefix):
            return self._memories.search(op)
        scored = self._ranked(prefix, op.query) if op.query and op.query.strip() else []
        known = {(item.namespace, item.key) for item, _ in scored}
        unscored = (
            (item, None)
            for namespace in self._items.namespaces(prefix)
            for item in self._items.items(namespace)
            if (item.namespace, item.key) not in known
        )
        admitted = (
            (item, score)
            for item, score in chain(scored, unscored)
            if matches(item.value, op.filter)
        )
        page = list(islice(admitted, op.offset, op.offset + op.limit))
        if op.refresh_ttl:
            for item, _ in page:
                self._items.refresh(item)
        return [SearchItem(**_fields(item), score=score) for item, score in page]

    def _ranked(self, prefix: Namespace, query: str) -> list[tuple[StoredItem, float]]:
        """The items under a prefix that match a query, best first."""
        hits = [
            hit
            for namespace in self._items.namespaces(prefix)
            for hit in self._items.search(namespace, query, **self._search_options)
        ]
        return sorted(hits, key=lambda hit: -hit[1])

    def _list_namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        found = [
            namespace
            for namespace in self._items.namespaces()
            if all(_matches_path(namespace, condition) for condition in conditions)
        ]
        if op.max_depth is not None:
            found = sorted({namespace[: op.max_depth] for namespace in found})
        return found[op.offset : op.offset + op.limit]

    def _write(self, namespace: Namespace, puts: Mapping[str, PutOp]) -> None:
        if is_memory(namespace):
            self._memories.write(namespace, {key: op.value for key, op in puts.items()})
        else:
            self._items.write(namespace, {key: self._draft(op) for key, op in puts.items()})

    def _draft(self, op: PutOp) -> Draft | None:
        if op.value is None:
            return None
        if op.index is None:
            paths = self._fields
        else:
            paths = [tokenize_path(path) for path in op.index] if op.index else []
        try:
            texts = [text for path in paths for text in get_text_at_path(op.value, path)]
        except (TypeError, ValueError, RecursionError):
            texts = []  # not JSON: the engine's error names the place
        return Draft(op.value, texts, op.ttl)


def _fields(item: StoredItem) -> dict[str, Any]:
    """The arguments of LangGraph's item classes."""
    return {
        "namespace": item.namespace,
        "key": item.key,
        "value": item.value,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }


def _matches_path(namespace: Namespace, condition: MatchCondition) -> bool:
    """Whether a namespace begins, or ends, with a path; ``*`` stands for any label."""
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    if condition.match_type == "prefix":
        labels = namespace[: len(path)]
    elif condition.match_type == "suffix":
        labels = namespace[len(namespace) - len(path) :]
    else:
        raise InvalidInputError(f"unknown match type: `{condition.match_type}`")
    return all(wanted in ("*", label) for wanted, label in zip(path, labels, strict=True))
