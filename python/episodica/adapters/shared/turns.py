"""Runs of agents whose answers arrive in pieces: remembered as far as they came.

A framework reports a run when it is complete. Of a run that broke off only the question and the
part that arrived are known.
"""

from __future__ import annotations

import logging
from typing import Any

from episodica import EpisodicaError, MemorySystem

_log = logging.getLogger("episodica.adapters")


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
        try:
            self._memory.add_messages(self._user, messages, session_id=self._session)
        except EpisodicaError:
            _log.exception("a run that broke off could not be remembered")
