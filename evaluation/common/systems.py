"""The systems under test behind one face: ``episodica`` itself.

The baselines stand in ``baselines``.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from episodica import Episode, MemorySystem, SearchResults, SemanticMemory

from .dataset import Conversation, Question
from .ranking import verbatim


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What a search returned: message ids, episodes as lists of message ids, and texts, best first.

    ``None`` says that the system has no such ranking: its metrics are then absent, not zero.
    """

    messages: list[str] | None
    episodes: list[list[str]] | None
    memories: list[dict[str, Any]] = field(default_factory=list)
    degraded: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Packed:
    """A context: its text, its tokens, and the ids of the messages it quotes verbatim."""

    text: str
    tokens: int
    inside: list[str]


class System(Protocol):
    """Something that remembers conversations and finds them again."""

    name: str
    budgets: bool
    """Whether contexts obey a token budget."""

    def build(self, conversation: Conversation) -> dict[str, Any]:
        """Takes a conversation in; returns counts for the ledger."""

    def retrieve(self, conversation: Conversation, question: Question, k: int) -> Retrieved:
        """Ranks what it holds on a question."""

    def context(self, conversation: Conversation, question: Question, max_tokens: int) -> Packed:
        """Packs what it holds on a question into a text."""

    def describe(self) -> dict[str, Any]:
        """Its configuration, for the manifest."""

    def close(self) -> None:
        """Releases what it holds."""


class Episodica:
    """``episodica`` through its public API, one user a conversation."""

    budgets = True

    def __init__(
        self,
        store: Path,
        settings: dict[str, Any],
        *,
        method: str = "hybrid",
        top_k: int = 10,
        name: str = "episodica",
    ) -> None:
        self.name = name
        self._memory = MemorySystem(store, **settings)
        self._counted: Counter[str] = Counter()
        self._counting = threading.Lock()
        self._method: Any = method
        self._top_k = top_k

    def build(self, conversation: Conversation) -> dict[str, Any]:
        """Adds all messages, closes the buffer and waits for the facts.

        Messages that are there stay single.
        """
        started = time.perf_counter()
        added = self._memory.add_messages(conversation.user, conversation.messages)
        self._memory.flush(conversation.user)
        complete = self._memory.wait(conversation.user)
        seconds = time.perf_counter() - started
        return {
            "messages": added.messages_added + added.duplicates,
            "duplicates": added.duplicates,
            "complete": complete,
            "seconds": round(seconds, 3),
            **self._spent(),
        }

    def _spent(self) -> dict[str, int]:
        """Model usage since the last call; with parallel conversations each call counts once."""
        with self._counting:
            usage = self._memory.usage()
            now = Counter(
                {name: int(usage[name]) for name in ("calls", "prompt_tokens", "completion_tokens")}
            )
            before, self._counted = self._counted, now
        return {name: now[name] - before[name] for name in now}

    def retrieve(self, conversation: Conversation, question: Question, k: int) -> Retrieved:
        """Messages by one search, episodes and facts by another."""
        found = self._memory.search(
            conversation.user,
            question.text,
            kinds=["message"],
            top_k=k,
            method=self._method,
            now=question.now,
        )
        wider = self._memory.search(
            conversation.user,
            question.text,
            top_k={"episodic": self._top_k, "semantic": self._top_k},
            method=self._method,
            now=question.now,
        )
        return Retrieved(
            [message.message_id for hit in found for message in hit.messages],
            [_message_ids(hit.record) for hit in wider.episodic],
            _memories(wider),
            sorted({*found.degraded, *wider.degraded}),
        )

    def context(self, conversation: Conversation, question: Question, max_tokens: int) -> Packed:
        """The package's own packing."""
        context = self._memory.context(
            conversation.user,
            question.text,
            max_tokens=max_tokens,
            method=self._method,
            now=question.now,
        )
        claimed = {message.message_id: message.content for message in context.messages}
        return Packed(context.text, context.token_count, verbatim(context.text, claimed))

    def describe(self) -> dict[str, Any]:
        """Every setting in force."""
        return {
            "method": self._method,
            "top_k": self._top_k,
            "config": self._memory.config.to_dict(),
        }

    def close(self) -> None:
        """Closes the store."""
        self._memory.close()


def _message_ids(record: object) -> list[str]:
    return (
        [message.message_id for message in record.original_messages]
        if isinstance(record, Episode)
        else []
    )


def _memories(found: SearchResults) -> list[dict[str, Any]]:
    """Hits in the shape that LoCoMo scripts keep: type, timestamp, content, score, ids."""
    rows = []
    for hit in found:
        row: dict[str, Any] = {
            "type": hit.kind,
            "timestamp": hit.timestamp.isoformat(),
            "content": hit.content,
            "score": round(hit.score, 6),
            "episode_id": hit.id if hit.kind == "episodic" else None,
            "memory_id": hit.id if hit.kind == "semantic" else None,
        }
        if hit.title:
            row["title"] = hit.title
        if isinstance(hit.record, SemanticMemory):
            row["confidence"] = hit.record.confidence
        rows.append(row)
    return rows
