"""Turns on their way into the memory: those of a wrapped client, and runs that break off.

A framework reports a run when it is complete. Of a run that broke off only the question and the
part that arrived are known.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from episodica import EpisodicaError, MemorySystem

from .connection import Connection
from .protocol import Protocol
from .recalling import StayingContexts, questions

_log = logging.getLogger("episodica.adapters")

Name = str | Callable[[], str]
_MOST_BROKEN = 1_000


class ArrivingTurn:
    """The question of a run, and the pieces of its answer.

    The messages have ids that follow from that of the run, as in the report of the whole run.
    """

    def __init__(
        self,
        memory: MemorySystem,
        user: str,
        session: str | None,
        run: str,
        asked: list[dict[str, Any]],
    ) -> None:
        self._memory = memory
        self._user = user
        self._session = session
        self._run = run
        self._asked = asked
        self._texts: list[str] = []
        self._has_begun = False
        self._is_done = False

    def begin(self) -> None:
        """Stores the question, once: the answer begins to arrive."""
        if not self._has_begun:
            self._has_begun = True
            self._add(self._asked)

    @property
    def has_begun(self) -> bool:
        """Whether something of the answer has arrived."""
        return self._has_begun

    def note(self, text: str, *, begins: bool = False) -> None:
        """Takes the next piece; ``begins`` says that the piece is the first of a text."""
        if begins or not self._texts:
            self._texts.append("")
        self._texts[-1] += text

    def complete(self) -> None:
        """Notes that the framework has reported the whole run."""
        self._is_done = True

    def leave(self) -> None:
        """Remembers the part that arrived, if the run broke off. Once."""
        if self._is_done or not self._has_begun:
            return
        self._is_done = True
        part = {"message_id": f"{self._run}-part", "role": "assistant"}
        self._add([{**part, "content": "\n".join(self._texts)}])

    def _add(self, messages: list[dict[str, Any]]) -> None:
        _remember(self._memory, self._user, self._session, messages)


class Middleware:
    """The memory of a wrapped client."""

    def __init__(
        self,
        connection: Connection,
        user: Name,
        session_id: Name | None,
        max_tokens: int,
        recall: int | None,
        search: Mapping[str, Any],
    ) -> None:
        self._staying = None if recall is None else StayingContexts(connection, recall, search)
        self.connection = connection
        self._user = user
        self._session_id = session_id
        self._max_tokens = max_tokens
        self._search = search
        # Questions of turns whose streams broke off: asked again, they get the same ids.
        self._broken: dict[tuple[str, str | None], list[dict[str, Any]]] = {}

    def identified(
        self, place: tuple[str, str | None], said: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """The messages with ids: those of the last turn if it broke off and asked the same."""
        before = self._broken.pop(place, [])
        if [_unidentified(one) for one in before] == said:
            return before
        return [{"message_id": uuid.uuid4().hex, **one} for one in said]

    def broke_off(self, place: tuple[str, str | None], said: list[dict[str, Any]]) -> None:
        """Keeps the question of a turn without a whole answer."""
        self._broken[place] = said
        if len(self._broken) > _MOST_BROKEN:
            self._broken.pop(next(iter(self._broken)), None)

    def prepare(self, protocol: Protocol, call: dict[str, Any]) -> tuple[dict[str, Any], Turn]:
        """The call with a context in its prompt, and the turn that it opens."""
        turn = Turn(self, protocol.said(call), _called(self._user), _called(self._session_id))
        question = protocol.question(call)
        if self._staying is not None:
            said = protocol.turns(call)
            asked = questions(said)[-1] if question else None
            return protocol.with_lines(call, self._staying.lines(turn.user, said, asked)), turn
        if not question:
            return call, turn
        context = self.connection.recall(turn.user, question, self._max_tokens, **self._search)
        return (protocol.with_context(call, context) if context else call), turn


def _unidentified(message: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in message.items() if key != "message_id"}


class Turn:
    """A question to the model and its answer, on their way into the memory."""

    def __init__(
        self, middleware: Middleware, said: list[dict[str, Any]], user: str, session: str | None
    ) -> None:
        self.user = user
        self._middleware = middleware
        self._place = (user, session)
        self._said = said
        self._begun: list[dict[str, Any]] | None = None
        self._done = False

    def begin(self) -> None:
        """Stores the question, because an answer begins to arrive."""
        if self._begun is None:
            self._begun = self._middleware.identified(self._place, self._said)
            self._add(self._begun)

    def finish(self, answer: dict[str, Any], is_whole: bool = True) -> None:
        """Stores the answer, and the question unless it is stored. A second call does nothing."""
        if self._done:
            return
        self._done = True
        if self._begun is None:
            self._add([*self._said, answer])
            return
        self._add([answer])
        if not is_whole:
            self._middleware.broke_off(self._place, self._begun)

    def _add(self, messages: list[dict[str, Any]]) -> None:
        memory = self._middleware.connection.memory
        _remember(memory, *self._place, messages)


def _called(name: Name | None) -> Any:
    return name() if callable(name) else name


def _remember(
    memory: MemorySystem, user: str, session: str | None, messages: list[dict[str, Any]]
) -> None:
    """Adds messages. A failure is logged: it must not cost the caller the answer."""
    try:
        memory.add_messages(user, messages, session_id=session)
    except EpisodicaError:
        _log.exception("a question or an answer could not be remembered")
