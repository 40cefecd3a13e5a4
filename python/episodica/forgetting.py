"""The report of ``memory.forgetting``: records of little use, each with reasons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from .records import Episode, SemanticMemory
from .value import Portable, quoted


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ForgettingCandidate(Portable):
    """A record that a policy proposes to archive, and why.

    Attributes
    ----------
    record : SemanticMemory or Episode
        The record.
    strength : float
        ``confidence * exp(-0.1 * days since the last use / (1 + 0.2 * uses))``, 0 to 1.
    uses : int
        How often a search or a context returned it.
    last_used : datetime
        When it was returned, changed or said again last.
    reasons : tuple of str
        Why the record is proposed, for people.
    """

    record: SemanticMemory | Episode
    strength: float
    uses: int
    last_used: datetime
    reasons: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of the record."""
        record = self.record
        return record.episode_id if isinstance(record, Episode) else record.memory_id

    @property
    def text(self) -> str:
        """The fact, or the title of the episode."""
        return self.record.title if isinstance(self.record, Episode) else self.record.content

    def __repr__(self) -> str:
        return f"<ForgettingCandidate {quoted(self.text)}: {', '.join(self.reasons)}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ForgettingReport(Portable):
    """What a policy proposes to archive, weakest first: ``memory.forgetting(user)``.

    Nothing has been changed. ``memory.archive(user, report)`` archives the candidates.

    Attributes
    ----------
    candidates : tuple of ForgettingCandidate
        The records with reasons.
    exempt : int
        The number of facts that met the conditions but are never proposed.
    """

    candidates: tuple[ForgettingCandidate, ...] = ()
    exempt: int = 0

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the candidates."""
        return tuple(candidate.id for candidate in self.candidates)

    def __iter__(self) -> Iterator[ForgettingCandidate]:
        return iter(self.candidates)

    def __len__(self) -> int:
        return len(self.candidates)

    def __repr__(self) -> str:
        return f"<ForgettingReport {len(self.candidates)} candidates, {self.exempt} exempt>"
