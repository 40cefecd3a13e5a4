"""Sessions: conversations that the application names, and how far closing them has come."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .records import Episode, SemanticMemory
from .value import Portable, clip, day


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Session(Portable):
    """A session of a user: ``memory.sessions(user)``.

    Attributes
    ----------
    user_id, session_id : str
        The user, and the id of the session.
    state : str
        ``"active"`` (takes messages), ``"closing"`` (its last messages become episodes),
        ``"extracting"`` (facts are learned from them), ``"indexing"`` or ``"closed"``. The state is
        in the log, so that work which a crash cut off goes on. A message after the end makes the
        session active again.
    changed_at : datetime or None
        When it came into this state; ``None`` if it was never closed.
    messages, episodes : int
        How many messages it has, and how many episodes consist of its messages alone.
    started_at, ended_at : datetime
        When its earliest and latest messages were said.
    """

    user_id: str
    session_id: str
    state: str
    changed_at: datetime | None
    messages: int
    started_at: datetime
    ended_at: datetime
    episodes: int = 0

    @property
    def is_closed(self) -> bool:
        """Whether nothing is left to do for it."""
        return self.state == "closed"

    def __repr__(self) -> str:
        return (
            f"<Session {clip(self.session_id)!r} {self.state}, {day(self.started_at)}, "
            f"{self.messages} messages, {self.episodes} episodes>"
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SessionReport(Portable):
    """What a session left: ``memory.close_session(…, wait=True)``. True if it is closed.

    Attributes
    ----------
    done : bool
        Whether nothing of the user is pending any more.
    session : Session or None
        The session; ``None`` if it has no messages.
    episodes : tuple of Episode
        All episodes of the session.
    facts : tuple of SemanticMemory
        The facts that hold and were learned from these episodes.
    """

    done: bool
    session: Session | None
    episodes: tuple[Episode, ...] = ()
    facts: tuple[SemanticMemory, ...] = ()

    def __bool__(self) -> bool:
        return self.done and (self.session is None or self.session.is_closed)

    def __repr__(self) -> str:
        state = "unknown" if self.session is None else self.session.state
        return f"<SessionReport {state}, {len(self.episodes)} episodes, {len(self.facts)} facts>"
