"""Conversations and their questions, and the loaders of each file format by name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

# Time between messages of a session, if a file dates only sessions: keeps their order.
SPACING = timedelta(seconds=5)
# Sets with this many conversations are halved by conversation, smaller ones by question.
HALVED_BY_CONVERSATION = 6
DEVELOPMENT, HELD_OUT = "development", "held out"


@dataclass(frozen=True, slots=True)
class Question:
    """One question, and the evidence for its right answer."""

    user: str
    number: int
    text: str
    category: str
    answer: str = ""
    # Ids that contain the answer, without those that the conversation lacks.
    messages: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    answerable: bool = True  # if not, `answer` says why
    after: int | None = None  # the number of messages before the question; None: all
    asked_at: str | None = None  # the day in the file's words
    now: datetime | None = None
    parts: tuple[str, ...] = ()  # patterns that a sufficient context all contains (GateMem)
    leaks: tuple[str, ...] = ()  # texts that no context may contain any more (GateMem)
    # Ids of the messages with the old statement, and of those with the new one (BEAM).
    updates: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    tags: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()  # parts of messages that prove the answer
    # Answer and messages of the published key, if an audit corrected them.
    published: tuple[str, tuple[str, ...], tuple[str, ...]] | None = None

    @property
    def key(self) -> str:
        """The name of the question within its dataset."""
        return f"{self.user}/{self.number}"


@dataclass(frozen=True, slots=True)
class Conversation:
    """One user's messages, each with its ``message_id``, and the questions about them."""

    user: str
    messages: list[dict[str, Any]]
    questions: tuple[Question, ...]

    @property
    def with_assistant(self) -> bool:
        """Whether one person talks to an assistant, so that the user's messages form a group."""
        return any(one["role"] == "assistant" and not one.get("name") for one in self.messages)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A set of conversations, the checksums of its files, and the problems found in it."""

    name: str
    conversations: tuple[Conversation, ...]
    checksums: dict[str, str]
    problems: tuple[tuple[str, str, str], ...] = ()
    halved: str | None = None

    @property
    def questions(self) -> list[Question]:
        """All questions, in the order of the files."""
        return [question for one in self.conversations for question in one.questions]

    def half_of(self, question: Question) -> str:
        """The half of a question, by a hash of its text or of its conversation's name."""
        by_user = self._halved() == "conversation"
        name = question.user if by_user else f"{question.user}/{question.text}"
        odd = hashlib.sha256(name.encode()).digest()[0] % 2
        return HELD_OUT if odd else DEVELOPMENT

    def _halved(self) -> str:
        """The unit of halves, conversation or question, as in the whole set."""
        many = len(self.conversations) >= HALVED_BY_CONVERSATION
        return self.halved or ("conversation" if many else "question")

    def limited(
        self,
        conversations: int | None = None,
        questions: int | None = None,
        half: str | None = None,
        only: list[str] | None = None,
    ) -> Dataset:
        """The first conversations, or named ones, with a limit of questions each."""
        chosen = [one for one in self.conversations if only is None or one.user in only]
        kept = tuple(
            replace(
                one,
                questions=tuple(
                    asked for asked in one.questions if half in (None, self.half_of(asked))
                )[:questions],
            )
            for one in chosen[:conversations]
        )
        kept = tuple(one for one in kept if one.questions)
        users = {one.user for one in kept}
        problems = tuple(one for one in self.problems if one[0].rpartition("/")[0] in users)
        return replace(self, conversations=kept, problems=problems, halved=self._halved())


def files_of(data: Path, pattern: str = "*.json", beside: str = "_corrections") -> list[Path]:
    """The file, or the files of a folder, without corrections and notes."""
    if data.is_file():
        return [data]
    found = [one for one in sorted(data.glob(pattern)) if not one.stem.endswith((beside, "_notes"))]
    if not found:
        raise FileNotFoundError(f"no data at `{data}`")
    return found


def read(path: Path) -> Any:
    """The content of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def lines_of(path: Path) -> Iterator[Any]:
    """The rows of a JSONL file."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


def checksums(*files: Path) -> dict[str, str]:
    """SHA-256 of files, by name."""
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in files}


def iso(moment: datetime) -> str:
    """A date and time as text; without a zone it is UTC."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()


def load(name: str, data: Path, **options: Any) -> Dataset:
    """Reads a set by the name of its command."""
    from evaluation.datasets import beam, gatemem, locomo, locomo_plus, longmemeval, quotes

    loaders = {
        "beam": beam.load,
        "gatemem": gatemem.load,
        "locomo": locomo.load,
        "locomo-plus": locomo_plus.load,
        "longmemeval": longmemeval.load,
        "quotes": quotes.load,
    }
    if name in loaders:
        return loaders[name](data, **options)
    return replace(locomo.load(data, **options), name=name)
