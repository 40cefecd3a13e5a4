"""A session's items in their order, for histories of chats. Knows no framework.

An item is any JSON value. A message keeps the item in its metadata, and the item's words as its
content. So the item comes back equal, and is found by meaning.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from episodica import MemorySystem, Message

from .connection import guard

_MARK = "session item"
_START = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class Entry:
    """An item with the words that it is found by and who said it."""

    item: Any
    role: str
    text: str


class SessionLog:
    """The items of one session of a user."""

    def __init__(self, memory: MemorySystem, user_id: str, session_id: str) -> None:
        self.memory = memory
        self.user_id = user_id
        self.session_id = session_id
        # One change at a time, because an item's time gives its place.
        self._lock = guard(memory)

    def latest(self, limit: int | None = None) -> list[Message]:
        """The messages of the latest items, oldest first; all without a limit."""
        return list(islice(self._backwards(), limit))[::-1]

    def append(self, entries: Sequence[Entry]) -> None:
        """Appends items, durably, all or none."""
        with self._lock:
            before = next(self._backwards(), None)
            last = _START if before is None else before.timestamp
            messages = []
            for entry in entries:
                # Later than everything before it, also where the clock stands still or goes back.
                last = max(datetime.now(UTC), last + timedelta(microseconds=1))
                messages.append(_message(entry, last))
            self.memory.add_messages(self.user_id, messages, session_id=self.session_id)

    def pop(self) -> Message | None:
        """Erases the latest item and returns its message; ``None`` if there is none."""
        with self._lock:
            latest = next(self._backwards(), None)
            if latest is not None:
                self.memory.delete(self.user_id, latest.message_id)
            return latest

    def clear(self) -> None:
        """Erases all items, the latest first. If it breaks off, the first items are left."""
        with self._lock:
            for message in list(self._backwards()):
                self.memory.delete(self.user_id, message.message_id)

    def _backwards(self) -> Iterator[Message]:
        messages = self.memory.messages(self.user_id, session_id=self.session_id, newest_first=True)
        return (message for message in messages if _is_item(message))


def item_of(message: Message) -> Any:
    """The item in a message of the log."""
    return message.metadata["item"]


def _message(entry: Entry, at: datetime) -> dict[str, Any]:
    return {
        "message_id": uuid.uuid4().hex,
        "role": entry.role,
        "content": entry.text,
        "timestamp": at,
        "metadata": {"episodica": _MARK, "item": entry.item},
    }


def _is_item(message: Message) -> bool:
    data = message.metadata
    return isinstance(data, dict) and data.get("episodica") == _MARK
