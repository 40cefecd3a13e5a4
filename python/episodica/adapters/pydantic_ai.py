"""episodica in Pydantic AI: a capability that remembers, and a store of conversations.

Needs ``pip install 'episodica[pydantic-ai]'``.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from .shared.connection import Connected, Connection, Where, missing, settle
from .shared.items import Draft, ItemTable
from .shared.turns import ArrivingTurn

try:
    from pydantic import TypeAdapter
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.conversation_store import (
        ConversationConflict,
        ConversationEntry,
        ConversationRecord,
        ConversationStore,
    )
    from pydantic_ai.messages import ModelMessage, ModelRequest, TextPart, UserPromptPart
    from pydantic_ai.run import AgentRunResult
except ImportError as error:
    raise missing("pydantic-ai", error) from error

__all__ = ["EpisodicaConversationStore", "EpisodicaMemory"]

_RECORDS = ("records",)
_record_json = TypeAdapter(ConversationRecord)
_message_json: TypeAdapter[ModelMessage] = TypeAdapter(ModelMessage)


class EpisodicaMemory(Connected, AbstractCapability[Any]):
    """Adds a context to an agent's instructions, and remembers each run that succeeds.

    The session of the messages is the run's conversation. A streamed run stores the question when
    the answer begins. If the run breaks off or its stream is left, it also stores the part of the
    answer that arrived. Any other run that fails stores nothing.

    Parameters
    ----------
    where
        A path, an open system, or an ``AsyncMemorySystem``.
    user_id
        The user of the memory: an id, or a function of the run's context, for agents that serve
        many users.
    max_tokens, **search
        As for :meth:`MemorySystem.context`.

    Examples
    --------
    >>> from pydantic_ai import Agent
    >>> from episodica.adapters.pydantic_ai import EpisodicaMemory
    >>> agent = Agent("test", capabilities=[EpisodicaMemory("memories", "alice")])
    """

    def __init__(
        self,
        where: Where,
        user_id: str | Callable[[RunContext[Any]], str],
        *,
        max_tokens: int = 1000,
        **search: Any,
    ) -> None:
        self._connection = Connection(where)
        self._user_id = user_id
        self._max_tokens = max_tokens
        self._search = search
        self._turns: dict[str | None, ArrivingTurn] = {}

    def get_instructions(self) -> Any:
        """A function that makes a context for the question of each run."""

        async def remembered(ctx: RunContext[Any]) -> str:
            question = _words(ctx.prompt)
            if not question:
                return ""
            recall = self._connection.recall
            return await settle(recall, self._user(ctx), question, self._max_tokens, **self._search)

        return remembered

    @property
    def has_wrap_run_event_stream(self) -> bool:
        """``False``, since ``True`` would make the framework stream every run."""
        return False

    async def wrap_run(self, ctx: RunContext[Any], *, handler: Any) -> AgentRunResult[Any]:
        """Makes the run. If a streamed run breaks off, remembers the part that arrived."""
        words = _words(ctx.prompt)
        asked = [{"message_id": f"{ctx.run_id}-0", "role": "user", "content": words}]
        turn = self._turns[ctx.run_id] = ArrivingTurn(
            self._connection.memory,
            self._user(ctx),
            ctx.conversation_id,
            str(ctx.run_id),
            asked if words else [],
        )
        try:
            result: AgentRunResult[Any] = await handler()
        except BaseException:
            await settle(turn.leave)
            raise
        finally:
            self._turns.pop(ctx.run_id, None)
        return result

    async def wrap_run_event_stream(
        self, ctx: RunContext[Any], *, stream: AsyncIterable[Any]
    ) -> AsyncIterator[Any]:
        """Notes the pieces of a streamed answer on their way to the caller."""
        turn = self._turns.get(ctx.run_id)
        try:
            async for event in stream:
                if turn is not None:
                    await _hear(turn, event)
                yield event
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """Remembers the prompt and the answer. A second call for the same run adds nothing."""
        messages = [
            {"message_id": f"{ctx.run_id}-{place}", "role": role, "content": text}
            for place, (role, text) in enumerate(_said(result.new_messages()))
        ]
        if messages:
            await settle(
                self._connection.memory.add_messages,
                self._user(ctx),
                messages,
                session_id=ctx.conversation_id,
            )
        return result

    def _user(self, ctx: RunContext[Any]) -> str:
        return self._user_id(ctx) if callable(self._user_id) else self._user_id


async def _hear(turn: ArrivingTurn, event: Any) -> None:
    part, delta = getattr(event, "part", None), getattr(event, "delta", None)
    if event.event_kind not in ("part_start", "part_delta"):
        return
    if not turn.has_begun:
        await settle(turn.begin)
    if isinstance(part, TextPart):
        turn.note(part.content, begins=True)
    elif getattr(delta, "part_delta_kind", "") == "text":
        turn.note(getattr(delta, "content_delta", ""))


class EpisodicaConversationStore(Connected, ConversationStore):
    """Conversations on disk: every message once, with branches and forks.

    A save compares the stored revision with the one that was loaded, and writes, under a lock of
    the process. Deleting a conversation erases its messages, except those that another conversation
    shares.

    Parameters
    ----------
    where
        A path, an open system, or an ``AsyncMemorySystem``.
    """

    def __init__(self, where: Where) -> None:
        self._connection = Connection(where)
        self._items = ItemTable(self._connection.memory, "pydantic-ai")

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """The record of a conversation, without its messages; ``None`` if it is unknown."""
        return await settle(self._record, conversation_id)

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        """The conversations, of one scope or all, the most recently saved first."""
        records = await settle(self._records)
        found = [record for record in records if scope is None or record.scope == scope]
        return sorted(found, key=lambda record: record.updated_at, reverse=True)[:limit]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Stores messages, then the record that names the latest of them.

        Raises
        ------
        ConversationConflict
            When the conversation was saved or deleted since it was loaded.
        """
        await settle(self._write, record, list(new_entries), expected_revision)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Erases a conversation, and its messages that no other conversation shares.

        Raises
        ------
        ConversationConflict
            When the conversation was saved or deleted since it was read.
        """
        await settle(self._delete, conversation_id, expected_revision)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """The entry with this id.

        Raises
        ------
        KeyError
            For an unknown id.
        """
        return await settle(self._entry, entry_id)

    async def read_history(
        self, head_id: str | None, *, limit: int | None = None
    ) -> list[ConversationEntry]:
        """The entries up to ``head_id`` in their order, or the last ``limit`` of them."""
        return await settle(self._history, head_id, limit)

    def _record(self, conversation_id: str) -> ConversationRecord | None:
        item = self._items.get(_RECORDS, conversation_id)
        return None if item is None else _record_json.validate_python(item.value)

    def _records(self) -> list[ConversationRecord]:
        return [_record_json.validate_python(item.value) for item in self._items.items(_RECORDS)]

    def _entry(self, entry_id: str) -> ConversationEntry:
        item = self._items.get(_shard(entry_id), entry_id)
        if item is None:
            raise KeyError(entry_id)
        message = _message_json.validate_python(item.value["message"])
        for number, path, text in item.value.get("bytes", ()):
            part: Any = message.parts[number]
            part.content = _with_bytes(part.content, path, base64.b64decode(text))
        return ConversationEntry(id=entry_id, parent_id=item.value["parent_id"], message=message)

    def _history(self, head_id: str | None, limit: int | None) -> list[ConversationEntry]:
        entries: list[ConversationEntry] = []
        while head_id is not None and (limit is None or len(entries) < limit):
            entries.append(self._entry(head_id))
            head_id = entries[-1].parent_id
        return entries[::-1]

    def _write(
        self, record: ConversationRecord, entries: list[ConversationEntry], expected: str | None
    ) -> None:
        with self._items.lock:
            stored = self._record(record.conversation_id)
            head = record.head_id
            unknown = (
                head is not None
                and head not in {entry.id for entry in entries}
                and self._items.get(_shard(head), head) is None
            )
            if unknown or (stored.revision if stored else None) != expected:
                raise ConversationConflict(record.conversation_id)
            # The entries first, so that a stored record never names a missing entry.
            for shard in {_shard(entry.id) for entry in entries}:
                drafts = {entry.id: _draft(entry) for entry in entries if _shard(entry.id) == shard}
                self._items.write(shard, drafts)
            value = _record_json.dump_python(record, mode="json")
            self._items.write(_RECORDS, {record.conversation_id: Draft(value)})

    def _delete(self, conversation_id: str, expected: str) -> None:
        with self._items.lock:
            stored = self._record(conversation_id)
            if stored is None or stored.revision != expected:
                raise ConversationConflict(conversation_id)
            self._items.write(_RECORDS, {conversation_id: None})
            kept: set[str] = set()
            for record in self._records():
                kept.update(self._reached(record, kept))
            for entry_id in set(self._reached(stored, kept)):
                self._items.write(_shard(entry_id), {entry_id: None})

    def _reached(self, record: ConversationRecord, known: set[str]) -> Iterator[str]:
        """The ids of a conversation's entries, without the known ones and those before them."""
        for entry_id in [record.head_id, *record.branches]:
            while entry_id is not None and entry_id not in known:
                yield entry_id
                item = self._items.get(_shard(entry_id), entry_id)
                entry_id = None if item is None else item.value["parent_id"]


def _shard(entry_id: str) -> tuple[str, str]:
    """The namespace of an entry. Namespaces are small, because erasing rewrites a whole one."""
    return "entries", entry_id[-2:]


def _draft(entry: ConversationEntry) -> Draft:
    message = _message_json.dump_python(entry.message, mode="json")
    texts = [text for _, text in _said([entry.message])]
    value = {"parent_id": entry.parent_id, "message": message}
    # JSON has no bytes: those in results of tools would come back as text.
    held = [
        [number, path, base64.b64encode(data).decode()]
        for number, part in enumerate(entry.message.parts)
        for path, data in _bytes_in(getattr(part, "content", None), [])
    ]
    return Draft({**value, "bytes": held} if held else value, texts)


def _bytes_in(content: Any, path: list[Any]) -> Iterator[tuple[list[Any], bytes]]:
    """The raw bytes in a result of a tool, and the keys that lead there."""
    if isinstance(content, (bytes, bytearray)):
        yield path, bytes(content)
    elif isinstance(content, dict):
        for key, inner in content.items():
            yield from _bytes_in(inner, [*path, key])
    elif isinstance(content, (list, tuple)):
        for place, inner in enumerate(content):
            yield from _bytes_in(inner, [*path, place])


def _with_bytes(content: Any, path: list[Any], data: bytes) -> Any:
    if not path:
        return data
    content[path[0]] = _with_bytes(content[path[0]], path[1:], data)
    return content


def _said(messages: Sequence[ModelMessage]) -> Iterator[tuple[str, str]]:
    """The words of the user and of the model, with their roles."""
    for message in messages:
        for part in message.parts:
            if isinstance(message, ModelRequest) and isinstance(part, UserPromptPart):
                role, text = "user", _words(part.content)
            elif isinstance(part, TextPart):
                role, text = "assistant", part.content.strip()
            else:
                continue
            if text:
                yield role, text


def _words(prompt: str | Sequence[Any] | None) -> str:
    """The words of a prompt, which may also have pictures and files."""
    if prompt is None or isinstance(prompt, str):
        return (prompt or "").strip()
    parts = (part if isinstance(part, str) else getattr(part, "content", "") for part in prompt)
    return "\n".join(part for part in parts if isinstance(part, str)).strip()
