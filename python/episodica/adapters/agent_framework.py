"""episodica in Microsoft's Agent Framework: a context provider, and a history of the session.

Needs ``pip install 'episodica[agent-framework]'``.
"""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .shared.connection import Connected, Connection, Where, guard, missing, settle
from .shared.content import INSTRUCTING, words
from .shared.log import Entry, SessionLog, item_of
from .shared.turns import ArrivingTurn

try:
    from agent_framework import ChatMiddleware, ContextProvider, HistoryProvider, Message
except ImportError as error:
    raise missing("agent-framework", error) from error

try:
    # The framework's own rule for the messages that are new when a run is saved again.
    from agent_framework._sessions import filter_new_messages as _new_messages
except ImportError:

    def _new_messages(existing: Sequence[Message], incoming: Sequence[Message]) -> list[Message]:
        return list(incoming)


if TYPE_CHECKING:
    from agent_framework import AgentSession, ChatContext, SessionContext, SupportsAgentRun

__all__ = ["EpisodicaContextProvider", "EpisodicaHistoryProvider"]


class EpisodicaContextProvider(Connected, ContextProvider):
    """Adds a context to an agent's instructions, and remembers each run at its end.

    A streamed run stores the question when the answer begins. If the run breaks off or its stream
    is left, it also stores the part of the answer that arrived. Any other run that fails stores
    nothing.

    Parameters
    ----------
    where
        A path, an open system, or an ``AsyncMemorySystem``.
    user_id
        The user of the memory.
    max_tokens, **search
        As for :meth:`MemorySystem.context`.
    source_id
        The provider's name in the framework.
    """

    def __init__(
        self,
        where: Where,
        user_id: str,
        *,
        max_tokens: int = 1000,
        source_id: str = "episodica",
        **search: Any,
    ) -> None:
        super().__init__(source_id)
        self._connection = Connection(where)
        self._user_id = user_id
        self._max_tokens = max_tokens
        self._search = search

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Adds a context for the question to the instructions."""
        context.extend_middleware(self.source_id, _Listener(self._turn(context)))
        asked = [message.text for message in context.input_messages if message.role == "user"]
        question = "\n".join(asked).strip()
        if not question:
            return
        recall = self._connection.recall
        found = await settle(recall, self._user_id, question, self._max_tokens, **self._search)
        if found:
            context.extend_instructions(self.source_id, found)

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Remembers the messages of the run."""
        answered = context.response.messages if context.response else []
        messages = self._messages(context, [*context.input_messages, *answered])
        if messages:
            await settle(
                self._connection.memory.add_messages,
                self._user_id,
                messages,
                session_id=context.session_id,
            )
        turn = context.metadata.get(f"{self.source_id}.turn")
        if turn is not None:
            turn.complete()

    def _messages(
        self, context: SessionContext, messages: Sequence[Message]
    ) -> list[dict[str, Any]]:
        return [
            {
                "message_id": f"{self._run(context)}-{place}",
                "role": str(message.role),
                "content": message.text,
                "name": message.author_name,
            }
            for place, message in enumerate(messages)
            if message.text.strip() and str(message.role) not in INSTRUCTING
        ]

    def _run(self, context: SessionContext) -> str:
        """The id of a run; the same id if the run is reported again."""
        known: str = context.metadata.setdefault(f"{self.source_id}.run", uuid.uuid4().hex)
        return known

    def _turn(self, context: SessionContext) -> ArrivingTurn:
        turn = ArrivingTurn(
            self._connection.memory,
            self._user_id,
            context.session_id,
            self._run(context),
            self._messages(context, context.input_messages),
        )
        context.metadata[f"{self.source_id}.turn"] = turn
        return turn


class _Listener(ChatMiddleware):
    """Notes the pieces of streamed answers on their way to the caller."""

    def __init__(self, turn: ArrivingTurn) -> None:
        self._turn = turn

    async def process(self, context: ChatContext, call_next: Callable[[], Any]) -> None:
        """Makes the call, and notes the pieces of its stream."""
        await call_next()
        if not context.stream or context.result is None:
            return
        turn = self._turn
        begins = True

        async def hear(update: Any) -> Any:
            nonlocal begins
            if not turn.has_begun:
                await settle(turn.begin)
            turn.note(update.text or "", begins=begins)
            begins = False
            return update

        stream: Any = context.result
        stream.with_transform_hook(hear)
        # A stream that breaks, is cancelled or is left reports no end, but it is garbage-collected.
        weakref.finalize(stream, turn.leave)


class EpisodicaHistoryProvider(Connected, HistoryProvider):
    """Stores the messages of sessions unchanged: the framework's own history, on disk.

    Parameters
    ----------
    where
        A path, an open system, or an ``AsyncMemorySystem``.
    user_id
        The user of the messages; by default each session is a user of its own.
    source_id, **options
        As for every history provider.
    """

    def __init__(
        self,
        where: Where,
        user_id: str | None = None,
        *,
        source_id: str = "episodica-history",
        **options: Any,
    ) -> None:
        super().__init__(source_id, **options)
        self._connection = Connection(where)
        self._user_id = user_id

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """The messages of a session, in their order."""
        stored = await settle(self._log(session_id).latest)
        return [Message.from_dict(item_of(message)) for message in stored]

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Appends the messages that are not stored yet: durably, and all or none."""
        if messages:
            await settle(self._save, self._log(session_id), list(messages))

    def _save(self, log: SessionLog, messages: list[Message]) -> None:
        with guard(log.memory):
            known = [Message.from_dict(item_of(message)) for message in log.latest()]
            new = _new_messages(known, messages)
            if new:
                log.append(list(map(_entry, new)))

    def _log(self, session_id: str | None) -> SessionLog:
        session = session_id or "default"
        user = self._user_id or f"session:{session}"
        return SessionLog(self._connection.memory, user, session)


def _entry(message: Message) -> Entry:
    item = message.to_dict()
    text = message.text.strip() or words(item.get("contents")) or "[message]"
    role = str(message.role)
    # Instructions of the application are not memories: they come back, and are not found.
    return Entry(item, role, f"[{role}]" if role in INSTRUCTING else text)
