"""What agents did: remembered step by step, to be found by its goal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Literal

from .corrections import Corrections
from .dates import TimeLike
from .inputs import checks as check
from .inputs.procedures import stated_procedure
from .records import ProcedureStep, SemanticMemory


class Procedures(Corrections):
    """Remembers what agents did. Use :class:`MemorySystem`, which does."""

    __slots__ = ()

    def remember_procedure(
        self,
        user_id: str,
        goal: str | None = None,
        steps: Iterable[Mapping[str, Any] | ProcedureStep | str] = (),
        *,
        outcome: str | None = None,
        worked: bool | None = None,
        messages: Iterable[Any] | None = None,
        kind: Literal["procedure", "case"] = "procedure",
        agent_id: str | None = None,
        valid_from: TimeLike | None = None,
        metadata: Mapping[str, Any] | None = None,
        expires_after: float | timedelta | None = None,
    ) -> SemanticMemory:
        """Keeps how an agent went about a goal, verbatim. It survives a power cut.

        It is a fact of its own, found by its goal and its steps, and shown in contexts as what
        worked and what failed. Other facts neither replace it nor repeat it; the same again is
        kept once.

        Parameters
        ----------
        user_id
            User id; a new one is created.
        goal
            What was to be achieved. ``None``: what the user says first in ``messages``.
        steps
            Mappings with ``action`` and optionally ``arguments``, ``result`` (any JSON) and
            ``error``, or an action's words alone.
        outcome
            What came of it, in words. ``None``: what the assistant says last in ``messages``.
        worked
            Whether the goal was reached. ``None``: no, if the last step has an error, else not
            known.
        messages
            The chat in which it was done, in place of steps: messages of OpenAI, Anthropic, Gemini
            or LangChain with calls of tools and their results. Those that were added under these
            ids prove it, and deleting one of them deletes what follows from it.
        kind
            ``"procedure"`` (how something is done) or ``"case"`` (a problem and its solution).
        agent_id
            The agent that did it; kept as ``metadata["agent_id"]``, and a filter of :meth:`search`.
        valid_from
            When it was done. ``None``: now.
        metadata
            Any JSON object.
        expires_after
            As for :meth:`remember`.

        Returns
        -------
        SemanticMemory
            The fact, new or known; its ``procedure`` has the steps.

        Raises
        ------
        InvalidInputError
            Without a goal, for steps without an action, for messages without tool calls, and for
            what is not JSON.

        Examples
        --------
        >>> done = memory.remember_procedure(
        ...     "alice",
        ...     "Book a table for two",
        ...     [{"action": "call", "arguments": {"to": "Chez Paul"}, "error": "nobody answers"}],
        ...     agent_id="concierge",
        ... )
        >>> done.procedure.worked, done.procedure.steps[0].error
        (False, 'nobody answers')
        >>> hits = memory.search("alice", "reserve a table", fact_kinds=["procedure"])
        >>> hits[0].content
        'Book a table for two [failed] 1. call({"to":"Chez Paul"}) -> error: nobody answers'
        """
        fact = stated_procedure(
            goal,
            steps,
            outcome=outcome,
            worked=worked,
            messages=messages,
            kind=kind,
            valid_from=valid_from,
            metadata=metadata,
            agent_id=agent_id,
            expires_after=expires_after,
            about=None,
        )
        return self._engine.remember(check.user(user_id), fact)
