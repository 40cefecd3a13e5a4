"""Key-value items in a memory, for LangGraph's store. Knows no framework.

A namespace is a user of the memory, an item one of the user's messages: its value lies in the
message's metadata, and the words that it is found by are the message's content. So items are
durable, are found by meaning, and are erased, byte for byte, like everything else.

A message never changes. A new value is a new message under the next of a few ids that belong to the
key; then the message before is deleted. A reader between the two steps finds both messages and
takes the later one; after a crash between them, the next write deletes the older one. The deletion
cannot hit a value that another process wrote meanwhile, because that value lies under another id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from episodica import MemorySystem, Message

from .connection import guard
from .escaping import is_hashed, join, split

Namespace = tuple[str, ...]

# Ids that the values of a key take in turn, so that a new value does not get the id that a process,
# stopped in the middle of a write, is about to delete.
_SLOTS = 4
# The most hits that one search returns.
MAX_HITS = 1000
_MARK = "item"
# A read puts off the expiry of an item only where at least this share of its lifetime has passed,
# because that rewrites the item.
_REFRESH_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Draft:
    """A value to be written."""

    value: Mapping[str, Any]
    texts: Sequence[str] = ()
    """Texts by which searches find the item; without texts, searches by meaning skip it."""
    ttl_minutes: float | None = None


@dataclass(frozen=True, slots=True)
class StoredItem:
    """A stored value."""

    namespace: Namespace
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    texts: tuple[str, ...]
    ttl_minutes: float | None
    expires_at: datetime | None
    message_id: str
    seq: int

    @property
    def order(self) -> tuple[datetime, int]:
        """Sorts items by their creation."""
        return self.created_at, self.seq


class ItemTable:
    """The items of a memory, by namespace and key."""

    def __init__(self, memory: MemorySystem, root: str) -> None:
        self._memory = memory
        self._root = root
        self._last = datetime.fromtimestamp(0, UTC)
        self.lock = guard(memory)

    def get(self, namespace: Namespace, key: str) -> StoredItem | None:
        """The item with this key, unless it has expired."""
        versions = self._versions(join(self._root, namespace), key)
        item = versions[-1] if versions else None
        return item if item is not None and _lives(item, _now()) else None

    def write(self, namespace: Namespace, drafts: Mapping[str, Draft | None]) -> None:
        """Stores a value under each key, with one sync for all; ``None`` deletes the key."""
        user = join(self._root, namespace)
        with self.lock:
            outdated = self._add(namespace, user, drafts)
            for item in outdated:
                self._delete(user, item)

    def _add(
        self, namespace: Namespace, user: str, drafts: Mapping[str, Draft | None]
    ) -> list[StoredItem]:
        """Stores the values; returns the versions that they replace, and those of deleted keys."""
        outdated: list[StoredItem] = []
        left = dict(drafts)
        while left:
            messages: dict[str, dict[str, Any]] = {}
            for key, draft in left.items():
                before = self._room(user, self._versions(user, key))
                outdated += before
                if draft is not None:
                    messages[key] = self._message(namespace, key, draft, before)
            if not messages or not self._memory.add_messages(user, messages.values()).duplicates:
                break
            # If another process took an id at the same time, the key is written again, after the
            # value of that process.
            left = {
                key: left[key] for key, message in messages.items() if not self._is(user, message)
            }
        return outdated

    def _room(self, user: str, versions: list[StoredItem]) -> list[StoredItem]:
        """Deletes the oldest versions of a key until one of its ids is free; returns the others."""
        while len(versions) >= _SLOTS:
            self._delete(user, versions.pop(0))
        return versions

    def _is(self, user: str, message: Mapping[str, Any]) -> bool:
        """Whether the store has this message, not another one with the same id."""
        record = self._memory.get(user, message["message_id"])
        return isinstance(record, Message) and record.metadata == message["metadata"]

    def refresh(self, item: StoredItem) -> None:
        """Puts off the expiry of an item that was read."""
        if item.ttl_minutes is None or item.expires_at is None:
            return
        lifetime = timedelta(minutes=item.ttl_minutes)
        if _now() + lifetime - item.expires_at < lifetime * _REFRESH_SHARE:
            return
        user = join(self._root, item.namespace)
        draft = Draft(item.value, item.texts, item.ttl_minutes)
        with self.lock:
            now = self._room(user, self._versions(user, item.key))
            if not now or now[-1].seq != item.seq:
                return  # written anew meanwhile
            message = self._message(item.namespace, item.key, draft, now)
            message["timestamp"] = item.updated_at
            self._memory.add_messages(user, [message])
            for version in now:
                self._delete(user, version)

    def items(self, namespace: Namespace) -> list[StoredItem]:
        """The items of one namespace that have not expired, in the order of their creation."""
        now = _now()
        current: dict[str, StoredItem] = {}
        for item in self._all(join(self._root, namespace)):
            known = current.get(item.key)
            if known is None or known.seq < item.seq:
                current[item.key] = item
        return sorted((item for item in current.values() if _lives(item, now)), key=_order)

    def search(
        self, namespace: Namespace, query: str, **options: Any
    ) -> Iterator[tuple[StoredItem, float]]:
        """The items of a namespace that match a query, best first, at most a thousand."""
        user = join(self._root, namespace)
        hits = self._memory.search(user, query, kinds=["message"], top_k=MAX_HITS, **options)
        for hit in hits:
            item = _item(hit.messages[0])
            if item is None or not item.texts:
                continue
            newest = self.get(item.namespace, item.key)
            if newest is not None and newest.seq == item.seq:
                yield item, hit.score

    def namespaces(self, prefix: Namespace = ()) -> list[Namespace]:
        """The namespaces under a prefix that hold items, sorted."""
        return sorted({namespace for namespace, _ in self._spaces(prefix)})

    def sweep(self) -> int:
        """Deletes expired items and returns their number."""
        now, swept = _now(), 0
        for namespace, user in list(self._spaces(())):
            with self.lock:
                gone = {item.key: None for item in self._all(user) if not _lives(item, now)}
                self.write(namespace, gone)
            swept += len(gone)
        return swept

    def _spaces(self, prefix: Namespace) -> Iterator[tuple[Namespace, str]]:
        """The namespaces under a prefix in which something is stored, with their users."""
        for user in self._memory.users():
            namespace = split(self._root, user)
            if namespace is None and not is_hashed(self._root, user):
                continue
            if namespace is not None and namespace[: len(prefix)] != prefix:
                continue
            first = next(self._all(user), None)
            if first is not None and first.namespace[: len(prefix)] == prefix:
                yield first.namespace, user

    def _all(self, user: str) -> Iterator[StoredItem]:
        for message in self._memory.messages(user):
            item = _item(message)
            if item is not None:
                yield item

    def _versions(self, user: str, key: str) -> list[StoredItem]:
        """The stored versions of a key, oldest first; after a broken write there are several."""
        found = [self._memory.get(user, _message_id(slot, key)) for slot in range(_SLOTS)]
        items = [_item(record) for record in found if isinstance(record, Message)]
        return sorted((item for item in items if item is not None), key=lambda item: item.seq)

    def _message(
        self, namespace: Namespace, key: str, draft: Draft, before: Sequence[StoredItem]
    ) -> dict[str, Any]:
        # Later than everything before it, also where the clock stands still or goes back.
        self._last = now = max(_now(), self._last + timedelta(microseconds=1))
        ttl = draft.ttl_minutes
        expires = None if ttl is None else now + timedelta(minutes=ttl)
        texts = [text for text in draft.texts if text.strip()]
        return {
            "message_id": _free_id(key, before),
            "role": "item",
            "content": "\n".join(texts) or key.strip() or "item",
            "timestamp": now,
            "metadata": {
                "episodica": _MARK,
                "namespace": list(namespace),
                "key": key,
                "value": dict(draft.value),
                "texts": texts,
                "created_at": (before[-1].created_at if before else now).isoformat(),
                "ttl_minutes": ttl,
                "expires_at": None if expires is None else expires.isoformat(),
            },
        }

    def _delete(self, user: str, item: StoredItem) -> None:
        """Deletes a version, unless a later version now has the same id."""
        record = self._memory.get(user, item.message_id)
        if isinstance(record, Message) and record.seq == item.seq:
            self._memory.delete(user, item.message_id)


def _item(message: Message) -> StoredItem | None:
    """The item in a message; ``None`` for other messages."""
    data = message.metadata
    if not isinstance(data, dict) or data.get("episodica") != _MARK:
        return None
    expires = data["expires_at"]
    return StoredItem(
        tuple(data["namespace"]),
        data["key"],
        data["value"],
        datetime.fromisoformat(data["created_at"]),
        message.timestamp,
        tuple(data["texts"]),
        data["ttl_minutes"],
        None if expires is None else datetime.fromisoformat(expires),
        message.message_id,
        message.seq,
    )


def _message_id(slot: int, key: str) -> str:
    return f"{slot}:{key}"


def _free_id(key: str, taken: Sequence[StoredItem]) -> str:
    """The next id, after the id of the latest version, that no version has."""
    ids = [_message_id(slot, key) for slot in range(_SLOTS)]
    used = {item.message_id for item in taken}
    start = ids.index(taken[-1].message_id) + 1 if taken else 0
    return next(free for free in ids[start:] + ids[:start] if free not in used)


def _lives(item: StoredItem, now: datetime) -> bool:
    return item.expires_at is None or item.expires_at > now


def _order(item: StoredItem) -> tuple[datetime, int]:
    return item.order


def _now() -> datetime:
    return datetime.now(UTC)
