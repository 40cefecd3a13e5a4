"""episodica in LangGraph: a ``BaseStore`` that survives restarts, and memory for an agent's graph.

Needs ``pip install 'episodica[langgraph]'``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, TypeAlias

from episodica import Episode, InvalidInputError, Message, SemanticMemory

from .shared.chat_messages import last_question, to_messages
from .shared.connection import Connection, Where, missing, settle
from .shared.filters import matches
from .shared.items import Draft, ItemTable, Namespace, StoredItem
from .shared.prompt import fenced

try:
    from langchain_core.messages import SystemMessage
    from langchain_core.runnables import RunnableConfig, RunnableLambda
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
except ImportError as error:
    raise missing("langgraph", error) from error

__all__ = ["MEMORIES", "EpisodicaStore", "memory_namespace", "pre_model_hook", "remember"]

MEMORIES = "episodica"
"""First label of the namespaces that show a user's messages, episodes and facts."""

_ROOT = "langgraph"

Record: TypeAlias = "Message | Episode | SemanticMemory"


class EpisodicaStore(BaseStore):
    """A LangGraph store over a memory: items survive restarts and are found by meaning.

    A namespace of items is a user of the memory (``langgraph:label/label``); no two namespaces
    share one, whatever their labels are. The namespaces of :func:`memory_namespace` show a user's
    memory itself.

    Items are listed in the order in which they were first written. A search with a query ranks the
    items by their fields, and appends those that are not indexed, without a score. An expired item
    is never returned; :meth:`sweep_ttl` also deletes it.

    Parameters
    ----------
    where
        A path, an open system, or an ``AsyncMemorySystem``.
    fields
        The parts of a value that it is found by; ``$`` is the whole value.
    ttl
        Default lifetime in minutes (``default_ttl``), and whether reading prolongs it
        (``refresh_on_read``).
    **search
        Options of :meth:`MemorySystem.search` for queries, such as ``method`` or ``threshold``.

    Raises
    ------
    InvalidInputError
        When a value is written that is not JSON; nothing of that batch's namespace is written then.
    """

    supports_ttl = True

    __slots__ = ("_connection", "_fields", "_items", "_search_options", "ttl_config")

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
        """As :meth:`batch`; one that is cancelled is still written whole."""
        return await settle(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Deletes the items that have expired, and returns their number."""
        return self._items.sweep()

    def close(self) -> None:
        """Ends the connection; a system that was opened for it is closed."""
        self._connection.close()

    def _get(self, op: GetOp) -> Item | None:
        namespace = tuple(op.namespace)
        if _is_memory(namespace):
            record = self._connection.memory.get(_user(namespace), op.key)
            return None if record is None else _record_item(namespace, record)
        item = self._items.get(namespace, op.key)
        if item is None:
            return None
        if op.refresh_ttl:
            self._items.refresh(item)
        return Item(**_fields(item))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        prefix = tuple(op.namespace_prefix)
        if _is_memory(prefix):
            found = self._recall(prefix, op)
            return list(islice(found, op.offset, op.offset + op.limit))
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
        """The items under a prefix that bear on a query, best first."""
        hits = [
            hit
            for namespace in self._items.namespaces(prefix)
            for hit in self._items.search(namespace, query, **self._search_options)
        ]
        return sorted(hits, key=lambda hit: -hit[1])

    def _recall(self, namespace: Namespace, op: SearchOp) -> Iterator[SearchItem]:
        """Episodes and facts of a user: by a query, else all of them."""
        memory, user = self._connection.memory, _user(namespace)
        found: Iterable[tuple[Record | None, float | None]]
        if op.query and op.query.strip():
            hits = memory.search(
                user,
                op.query,
                top_k=op.offset + op.limit,
                kinds=["episodic", "semantic"],
                **self._search_options,
            )
            found = ((memory.get(user, hit.id), hit.score) for hit in hits)
        else:
            records: Iterator[Record] = chain(memory.semantic_memories(user), memory.episodes(user))
            found = ((record, None) for record in records)
        for record, score in found:
            if record is not None:
                item = _record_item(namespace, record, score)
                if matches(item.value, op.filter):
                    yield item

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
        if not _is_memory(namespace):
            self._items.write(namespace, {key: self._draft(op) for key, op in puts.items()})
            return
        user = _user(namespace)
        for key, op in puts.items():
            if op.value is None:
                self._connection.memory.delete(user, key)
            else:
                message = {"role": "user", **op.value, "message_id": key}
                self._connection.memory.add_messages(user, [message])

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
            texts = []  # not JSON: the engine names the place
        return Draft(op.value, texts, op.ttl)


def memory_namespace(user_id: str) -> Namespace:
    """The namespace of a store in which a user's memory is seen.

    Searching it finds episodes and facts; getting an id returns that record; putting a value with a
    ``content`` adds a message with the key as its id; deleting removes the record.

    >>> memory_namespace("alice@example.com")
    ('episodica', 'alice@example%2Ecom')
    """
    return MEMORIES, user_id.replace("%", "%25").replace(".", "%2E")


def pre_model_hook(
    where: Where, user_id: str | None = None, *, max_tokens: int = 1000, **search: Any
) -> RunnableLambda[Any, Any]:
    """A hook or a node that adds what is remembered to what the model reads.

    It serves as ``create_react_agent(pre_model_hook=...)``. It leaves the graph's ``messages`` as
    they are and sets ``llm_input_messages``: a system message with the context of the latest human
    message, then the messages.

    Parameters
    ----------
    where
        A path, an open system, or an ``AsyncMemorySystem``.
    user_id
        Whose memory; without it the run's ``config["configurable"]["user_id"]``.
    max_tokens, **search
        As for :meth:`MemorySystem.context`.
    """
    connection = Connection(where)

    def add_context(state: Any, config: RunnableConfig) -> dict[str, Any]:
        messages = _messages_of(state)
        question = last_question(messages)
        text = ""
        if question:
            text = connection.memory.context(
                _user_of(user_id, config), question, max_tokens=max_tokens, **search
            ).text
        remembered = [SystemMessage(fenced(text))] if text else []
        return {"llm_input_messages": [*remembered, *messages]}

    async def add_context_beside(state: Any, config: RunnableConfig) -> dict[str, Any]:
        return await settle(add_context, state, config)

    return RunnableLambda(add_context, add_context_beside)


def remember(where: Where, user_id: str | None = None) -> RunnableLambda[Any, Any]:
    """A node that remembers the graph's messages, each once.

    The session is the run's ``thread_id``. Parameters are those of :func:`pre_model_hook`.
    """
    connection = Connection(where)

    def remember_messages(state: Any, config: RunnableConfig) -> dict[str, Any]:
        session = config.get("configurable", {}).get("thread_id")
        connection.memory.add_messages(
            _user_of(user_id, config),
            to_messages(_messages_of(state)),
            session_id=None if session is None else str(session),
        )
        return {}

    async def remember_beside(state: Any, config: RunnableConfig) -> dict[str, Any]:
        return await settle(remember_messages, state, config)

    return RunnableLambda(remember_messages, remember_beside)


def _is_memory(namespace: Namespace) -> bool:
    return len(namespace) == 2 and namespace[0] == MEMORIES


def _user(namespace: Namespace) -> str:
    return namespace[1].replace("%2E", ".").replace("%25", "%")


def _fields(item: StoredItem) -> dict[str, Any]:
    """The arguments of LangGraph's item classes."""
    return {
        "namespace": item.namespace,
        "key": item.key,
        "value": item.value,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }


def _record_item(namespace: Namespace, record: Record, score: float | None = None) -> SearchItem:
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


def _messages_of(state: Any) -> list[Any]:
    """The messages of a graph's state: a mapping, an object, or the list itself."""
    if isinstance(state, list):
        return state
    found = (
        state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
    )
    if found is None:
        raise InvalidInputError("the graph's state has no `messages`")
    return list(found)


def _user_of(user_id: str | None, config: RunnableConfig) -> str:
    user = user_id or config.get("configurable", {}).get("user_id")
    if not user:
        raise InvalidInputError(
            "it is not known whose memory this is",
            hint='pass user_id=, or run the graph with {"configurable": {"user_id": ...}}',
        )
    return str(user)
