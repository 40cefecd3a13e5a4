"""Conversations and their questions, whatever file they came from.

A question may have two gold keys: ``original``, as published, and ``corrected``, after an audit.
Both are scored, side by side.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

ORIGINAL, CORRECTED = "original", "corrected"
KEYS = (ORIGINAL, CORRECTED)

ANSWERABLE, ADVERSARIAL, ABSTENTION = "answerable", "adversarial", "abstention"


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold answer, and the existing ids of the messages and sessions that prove it."""

    answer: str
    messages: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    ``kind`` says what a right answer looks like: the gold answer (``answerable``), or that the
    conversation doesn't say (``adversarial``, with ``trap`` as the tempting wrong answer, and
    ``abstention``). ``correction`` names the audited kind of error. ``asked_at`` is the day of the
    question in the file's words, ``now`` the same as a moment.
    """

    user: str
    number: int
    conversation: int
    text: str
    category: str
    category_code: Any
    kind: str
    gold: dict[str, Gold]
    cited: tuple[str, ...] = ()
    trap: str | None = None
    asked_at: str | None = None
    now: datetime | None = None
    correction: str | None = None

    @property
    def key(self) -> str:
        """Names the question within its dataset."""
        return f"{self.user}/{self.number}"


@dataclass(frozen=True, slots=True)
class Conversation:
    """One user's messages, each with its ``message_id``, and the questions about them."""

    user: str
    index: int
    messages: list[dict[str, Any]]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault of the data that affects a score; the report lists it."""

    question: str
    what: str
    value: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A benchmark's data, its checksums, and what is wrong with it."""

    name: str
    conversations: tuple[Conversation, ...]
    checksums: dict[str, str]
    problems: tuple[Problem, ...] = ()
    categories: tuple[str, ...] = field(default=())

    @property
    def questions(self) -> list[Question]:
        """All questions, in the order of the files."""
        return [
            question for conversation in self.conversations for question in conversation.questions
        ]

    def limited(self, conversations: int | None, questions: int | None) -> Dataset:
        """The first conversations, with at most so many questions each."""
        kept = tuple(
            Conversation(one.user, one.index, one.messages, one.questions[:questions])
            for one in self.conversations[:conversations]
        )
        users = {one.user for one in kept}
        problems = tuple(one for one in self.problems if one.question.rpartition("/")[0] in users)
        return Dataset(self.name, kept, self.checksums, problems, self.categories)


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
