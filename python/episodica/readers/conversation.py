"""What every reader makes of a file: conversations, and facts that the file states directly."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a conversation, its answer, and the ids of the turns that prove it."""

    text: str
    answer: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact that a file states, with its date as the file has it."""

    text: str
    date: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of one user, ready for ``add_messages``.

    ``user_id`` is ``None`` where the file names none; ``name`` says which conversation this is, for
    people. A long file comes in parts: ``first`` is the position of the first message here.
    ``lines`` holds the line of each message where the format has lines, ``skipped`` counts what the
    file has in place of messages without a word in it.
    """

    name: str
    user_id: str | None
    messages: list[Any]
    questions: tuple[Question, ...] = ()
    statements: tuple[Statement, ...] = ()
    lines: tuple[int, ...] = ()
    first: int = 0
    skipped: int = 0

    def place(self, position: int) -> str:
        """Where a message stands, for an error: its line, else its position from 0."""
        if position < len(self.lines):
            return f"line {self.lines[position]}"
        return f"message {self.first + position}"


def with_ids(conversation: Conversation) -> list[Any]:
    """The messages, each with an id made from conversation, position and content.

    A file that is read again, even if it has grown at its end, adds only new messages. Ids in the
    file are kept.
    """
    return [
        {"message_id": _id(conversation.name, position, message), **message}
        if isinstance(message, Mapping) and message.get("id") is None
        else message
        for position, message in enumerate(conversation.messages, conversation.first)
    ]


def _id(name: str, position: int, message: Mapping[str, Any]) -> str:
    text = json.dumps([name, position, message.get("content")], default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
