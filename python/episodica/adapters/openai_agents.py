"""episodica in the OpenAI Agents SDK: a session that remembers.

Needs ``pip install 'episodica[openai-agents]'``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from episodica.fence import fenced_context

from .shared.connection import Connected, Connection, Where, missing, settle
from .shared.content import INSTRUCTING, words
from .shared.log import Entry, SessionLog, item_of

try:
    from agents.items import TResponseInputItem
    from agents.memory.session import SessionABC
    from agents.memory.session_settings import SessionSettings
except ImportError as error:
    raise missing("openai-agents", error) from error

__all__ = ["EpisodicaSession"]


class EpisodicaSession(Connected, SessionABC):
    """A session that returns its items unchanged, and whose items can be found by meaning.

    Each item is a message of the user's memory, so ``memory.search(user_id, ...)`` finds the items
    of all sessions. Tool calls, reasoning and other items without words are kept, too.

    Parameters
    ----------
    session_id
        The conversation.
    where
        A path, an open system, or an ``AsyncMemorySystem``.
    user_id
        The user of the items; by default the session is a user of its own, named ``session:`` and
        the session's id.
    session_settings
        The SDK's settings, such as the default ``limit`` of :meth:`get_items`.
    keep_items
        The number of latest items that :meth:`get_items` without a limit returns whole, after a
        context made of the older items. The cut is moved back to a message of the user, so that no
        tool call loses its result. Items of the roles system and developer always come whole.
    max_tokens
        Budget of that context.

    Raises
    ------
    InvalidInputError
        If an added item is not JSON; then no item of the list is added.

    Examples
    --------
    >>> import asyncio
    >>> from episodica.adapters.openai_agents import EpisodicaSession
    >>> session = EpisodicaSession("conversation-1", "memories", user_id="alice")
    >>> asyncio.run(session.add_items([{"role": "user", "content": "I live in Lyon."}]))
    >>> asyncio.run(session.get_items())
    [{'role': 'user', 'content': 'I live in Lyon.'}]
    """

    def __init__(
        self,
        session_id: str,
        where: Where,
        *,
        user_id: str | None = None,
        session_settings: SessionSettings | None = None,
        keep_items: int | None = None,
        max_tokens: int = 2000,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._keep_items = keep_items
        self._max_tokens = max_tokens
        self._connection = Connection(where)
        user = user_id or f"session:{session_id}"
        self._log = SessionLog(self._connection.memory, user, session_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The latest ``limit`` items in their order.

        Without a limit, all items, or with ``keep_items`` a context and the latest ones. Where the
        limit would part the result of a tool from its call, some more items come.
        """
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is None and self._keep_items is not None:
            return await settle(self._compacted, self._keep_items)
        return await settle(self._latest, limit)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Appends items, durably, all or none."""
        if items:
            await settle(self._log.append, [_entry(item) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Erases the latest item and returns it; ``None`` if there is none."""
        latest = await settle(self._log.pop)
        return None if latest is None else item_of(latest)

    async def clear_session(self) -> None:
        """Erases all items of the session."""
        await settle(self._log.clear)

    def _latest(self, limit: int | None) -> list[TResponseInputItem]:
        # As in the SDK's own sessions, a negative number means no limit.
        wanted = None if limit is not None and limit < 0 else limit
        items: list[TResponseInputItem] = list(map(item_of, self._log.latest(wanted)))
        if not wanted or not _lacks_call(items):
            return items
        # A model refuses a result without its call: the cut moves back to before the call.
        whole: list[TResponseInputItem] = list(map(item_of, self._log.latest()))
        start = len(whole) - len(items)
        while start > 0 and _lacks_call(whole[start:]):
            start -= 1
        return whole[start:] if start > 0 or not _lacks_call(whole) else items

    def _compacted(self, keep: int) -> list[TResponseInputItem]:
        messages = self._log.latest()
        items: list[TResponseInputItem] = list(map(item_of, messages))
        start = max(0, len(items) - keep)
        while start > 0 and not _opens_turn(items[start]):
            start -= 1
        instructions = [item for item in items[:start] if _instructs(item)]
        question = next((words(item) for item in reversed(items) if _opens_turn(item)), "")
        if start == 0 or not question:
            return items
        context = self._log.memory.context(
            self._log.user_id,
            question,
            session_id=self.session_id,
            until=messages[start - 1].timestamp,
            max_tokens=self._max_tokens,
        )
        earlier = fenced_context(context)
        recalled: list[TResponseInputItem] = []
        if earlier:
            recalled.append({"role": "system", "content": earlier})
        return [*instructions, *recalled, *items[start:]]


def _entry(item: TResponseInputItem) -> Entry:
    kind = str(item.get("type") or "item")
    # Instructions of the application are not memories: they come back as items, and are not found.
    said = f"[{item.get('role')}]" if _instructs(item) else words(item) or f"[{kind}]"
    return Entry(item, str(item.get("role") or kind), said)


def _instructs(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("role") in INSTRUCTING


def _lacks_call(items: Sequence[Any]) -> bool:
    """Whether the items contain the result of a tool without its call."""
    called: set[Any] = set()
    for item in items:
        kind, call_id = item.get("type"), item.get("call_id")
        if isinstance(kind, str) and kind.endswith("_call"):
            called.add(call_id)
        elif isinstance(kind, str) and kind.endswith("_call_output") and call_id not in called:
            return True
    return False


def _opens_turn(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("role") == "user" and bool(words(item))
