"""episodica in Google's Agent Development Kit: a memory service.

Needs ``pip install 'episodica[google-adk]'``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from episodica import Hit, Message
from episodica.fence import asks_nothing

from .shared.connection import Connected, Connection, Where, missing, settle
from .shared.escaping import join
from .shared.identity import following

try:
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai import types
except ImportError as error:
    raise missing("google-adk", error) from error

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

__all__ = ["EpisodicaMemoryService"]

_MARK = "event"
# Begins the ids of entries that come without an id. After its deletion, such an entry may be added
# again. An event may not: adding its session again must not bring it back.
_BY_CONTENT = "entry:"
# The session of events that come without a session.
_NO_SESSION = "events"


class EpisodicaMemoryService(Connected, BaseMemoryService):
    """An ADK memory service whose memories survive restarts and are found by meaning.

    A user of an app is a user of the memory (``adk:app/user``; see :meth:`memory_user`). Every
    event with words becomes a message with the event's id, so adding a session or an event again
    adds nothing. A memory that was deleted stays deleted when its session is added again.

    Parameters
    ----------
    where
        A path, an open system, or an ``AsyncMemorySystem``.
    top_k
        Most memories that a search returns.
    **search
        Further options of :meth:`MemorySystem.search`.
    """

    def __init__(self, where: Where, *, top_k: int = 10, **search: Any) -> None:
        self._connection = Connection(where)
        self._top_k = top_k
        self._search = search

    @staticmethod
    def memory_user(app_name: str, user_id: str) -> str:
        """The id that a user of an app has in the memory.

        >>> EpisodicaMemoryService.memory_user("assistant", "alice")
        'adk:assistant/alice'
        """
        return join("adk", (app_name, user_id))

    async def add_session_to_memory(self, session: Session) -> None:
        """Remembers the events of a session that are not remembered yet."""
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            events=session.events,
            session_id=session.id,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remembers events that are not remembered yet.

        Leaves out events without words, and the pieces of a stream: its last event repeats them.
        """
        session = session_id or _NO_SESSION
        messages = [
            _message(event, session, custom_metadata)
            for event in events
            if _text(event.content) and not event.partial
        ]
        await settle(self._add, self.memory_user(app_name, user_id), messages)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remembers texts directly, each once. Entries without an id are identified by content."""
        messages = [
            _entry_message(entry, custom_metadata) for entry in memories if _text(entry.content)
        ]
        await settle(self._add, self.memory_user(app_name, user_id), messages)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """The memories that match a query, best first; none for thanks or a greeting."""
        if not query.strip():
            return SearchMemoryResponse()
        return await settle(self._find, self.memory_user(app_name, user_id), query)

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Erases a memory by the id that a search gave. An unknown id does nothing."""
        if memory_id:
            await settle(self._delete, self.memory_user(app_name, user_id), memory_id)

    def _add(self, user: str, messages: list[dict[str, Any]]) -> None:
        memory = self._connection.memory
        deleted = _deleted(user)
        wanted = [
            message for message in messages if memory.get(deleted, message["message_id"]) is None
        ]
        if wanted:
            memory.add_messages(user, wanted)

    def _delete(self, user: str, memory_id: str) -> None:
        memory = self._connection.memory
        record = memory.get(user, memory_id)
        if record is None:
            return
        if isinstance(record, Message) and not memory_id.startswith(_BY_CONTENT):
            # Before the deletion: a session that is added in between must not bring it back.
            note = {"role": "deletion", "content": "deleted", "message_id": memory_id}
            memory.add_messages(_deleted(user), [note])
        memory.delete(user, memory_id)

    def _find(self, user: str, query: str) -> SearchMemoryResponse:
        hits = self._connection.memory.search(user, query, top_k=self._top_k, **self._search)
        if asks_nothing(query, (hit.content for hit in hits)):
            return SearchMemoryResponse()
        return SearchMemoryResponse(memories=[_entry(hit) for hit in list(hits)[: self._top_k]])


def _deleted(user: str) -> str:
    """The user of the memory that keeps the ids of deleted events."""
    return join("adk-deleted", (user,))


def _message(
    event: Event, session_id: str, custom_metadata: Mapping[str, object] | None
) -> dict[str, Any]:
    return {
        "message_id": event.id,
        "role": event.author or (event.content.role if event.content else None) or "user",
        "content": _text(event.content),
        "timestamp": datetime.fromtimestamp(event.timestamp, UTC),
        "session_id": session_id,
        "metadata": _metadata(event.content, event.author, custom_metadata),
    }


def _entry_message(
    entry: MemoryEntry, custom_metadata: Mapping[str, object] | None
) -> dict[str, Any]:
    custom = {**(custom_metadata or {}), **entry.custom_metadata}
    role, text = entry.author or entry.content.role or "user", _text(entry.content)
    known = _BY_CONTENT + following("", role, text, entry.timestamp, custom)
    message: dict[str, Any] = {
        "message_id": entry.id or known,
        "role": role,
        "content": text,
        "metadata": _metadata(entry.content, entry.author, custom),
    }
    if entry.timestamp:
        message["timestamp"] = entry.timestamp
    return message


def _metadata(
    content: types.Content | None, author: str | None, custom: Mapping[str, object] | None
) -> dict[str, Any]:
    """What restores an entry: its content with all parts, and its author."""
    return {
        "episodica": _MARK,
        "author": author,
        "content": None if content is None else content.model_dump(mode="json", exclude_none=True),
        "custom": dict(custom or {}),
    }


def _entry(hit: Hit) -> MemoryEntry:
    data = hit.messages[0].metadata if hit.kind == "message" else None
    if isinstance(data, dict) and data.get("episodica") == _MARK:
        content = types.Content.model_validate(data["content"])
        author, custom = data["author"], data["custom"]
    else:
        content = types.Content(parts=[types.Part(text=hit.content)])
        author, custom = None, {"kind": hit.kind}
    timestamp = hit.timestamp.isoformat()
    return MemoryEntry(
        id=hit.id, content=content, author=author, timestamp=timestamp, custom_metadata=custom
    )


def _text(content: types.Content | None) -> str:
    parts = (content.parts if content else None) or []
    return "\n".join(part.text for part in parts if part.text and not part.thought).strip()
