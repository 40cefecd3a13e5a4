"""Contexts that stay in the prompts of a conversation: each line is given once and stays.

An application sends its whole conversation with every call, without what was put into it before.
So the lines of earlier questions are put before the same questions again: the prompt before a new
question stays byte for byte, and a prompt cache keeps it.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from episodica import Recall
from episodica.fence import fenced

from .connection import Connection

# Conversations that are kept; the oldest of more begins anew.
_MOST = 1_000


@dataclass(slots=True)
class _Conversation:
    """What a conversation was given: the fenced lines before each of its questions."""

    recall: Recall
    given: dict[str, str] = field(default_factory=dict)

    def ask(self, place: str, question: str) -> None:
        """Finds the lines for a question, unless the question is asked again."""
        if place in self.given:
            return
        restarts = self.recall.restarts
        new = fenced(self.recall.add(question))
        if self.recall.restarts > restarts:
            self.given.clear()
        self.given[place] = new


class StayingContexts:
    """The contexts of all conversations of an adapter.

    A conversation is known by its messages, so one that was edited or cut begins anew.
    """

    def __init__(self, connection: Connection, max_tokens: int, search: Mapping[str, Any]) -> None:
        self._connection = connection
        self._max_tokens = max_tokens
        self._search = search
        # Each conversation under the place of its latest question.
        self._open: dict[tuple[str, str], _Conversation] = {}
        self._lock = threading.Lock()

    def lines(
        self, user: str, said: Sequence[tuple[str, str]], asked: int | None
    ) -> dict[int, str]:
        """The fenced lines to put before messages, by the messages' numbers.

        Parameters
        ----------
        user
            User id.
        said
            Role and words of every message of the call.
        asked
            Number of the message that asks something new; ``None`` if none does.
        """
        places = _places(said)
        conversation = self._known(user, places)
        if asked is not None:
            if conversation is None:
                conversation = _Conversation(
                    self._connection.memory.recall(user, self._max_tokens, **self._search)
                )
            conversation.ask(places[asked], said[asked][1])
        if conversation is None:
            return {}
        self._keep(user, conversation)
        numbers = {place: number for number, place in enumerate(places)}
        given = conversation.given.items()
        return {numbers[place]: text for place, text in given if text and place in numbers}

    def _known(self, user: str, places: Sequence[str]) -> _Conversation | None:
        """Takes out the conversation that these messages go on with."""
        with self._lock:
            found = (self._open.pop((user, place), None) for place in reversed(places))
            return next(filter(None, found), None)

    def _keep(self, user: str, conversation: _Conversation) -> None:
        with self._lock:
            self._open[user, list(conversation.given)[-1]] = conversation
            if len(self._open) > _MOST:
                del self._open[next(iter(self._open))]


def _places(said: Sequence[tuple[str, str]]) -> list[str]:
    """Names each message by its words and those of all messages before."""
    places, before = [], hashlib.sha256()
    for role, text in said:
        before.update(f"{len(role)} {len(text)} {role}{text}".encode("utf-8", "surrogatepass"))
        places.append(before.hexdigest())
    return places


def questions(said: Sequence[tuple[str, str]]) -> list[int]:
    """The numbers of the user's messages that have words."""
    return [number for number, (role, text) in enumerate(said) if role == "user" and text]


def with_lines(content: Any, lines: str, kind: str = "text") -> Any:
    """A message's content after the lines: a text, or parts of this kind."""
    if isinstance(content, str):
        return f"{lines}\n\n{content}"
    return [{"type": kind, "text": lines}, *(content or ())]
