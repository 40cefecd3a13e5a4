"""Work that is still to be done: waiting for it, and doing what an outage prevented."""

from __future__ import annotations

from typing import Literal, overload

from .inputs import checks as check
from .procedures import Procedures
from .reports import Event, LearningReport


class PendingWork(Procedures):
    """The operations on pending work. Use a :class:`MemorySystem`."""

    __slots__ = ()

    @overload
    def wait(
        self,
        user_id: str | None = None,
        timeout: float | None = None,
        *,
        report: Literal[False] = False,
        since: str | None = None,
    ) -> bool: ...
    @overload
    def wait(
        self,
        user_id: str | None = None,
        timeout: float | None = None,
        *,
        report: Literal[True],
        since: str | None = None,
    ) -> LearningReport: ...
    @overload
    def wait(
        self,
        user_id: str | None = None,
        timeout: float | None = None,
        *,
        report: bool,
        since: str | None = None,
    ) -> bool | LearningReport: ...
    def wait(
        self,
        user_id: str | None = None,
        timeout: float | None = None,
        *,
        report: bool = False,
        since: str | None = None,
    ) -> bool | LearningReport:
        """Waits until the facts of all finished episodes are learned.

        Parameters
        ----------
        user_id
            Only this user.
        timeout
            Maximum wait in seconds. ``None``: no limit.
        report
            Return what became of each candidate for a fact, with the text before and the evidence.
        since
            The report begins here: the ``cursor`` of an earlier report or of :meth:`events`.
            ``None``: with the oldest event that is kept.

        Returns
        -------
        bool or LearningReport
            Whether nothing is pending any more; a report is true then.

        Raises
        ------
        InvalidInputError
            For a negative ``timeout``.

        Examples
        --------
        >>> memory.wait("alice", timeout=10)
        True
        >>> [event.change for event in memory.wait("alice", report=True).events]
        ['ADD']
        """
        longest = None if timeout is None else check.seconds(timeout, "timeout")
        user = check.optional_user(user_id)
        done = self._engine.wait(user, longest)
        if not report:
            return done
        learned: list[Event] = []
        page = self.events(since, user_id=user)
        while page.events:
            learned += (event for event in page if event.is_learning)
            page = self.events(page.cursor, user_id=user)
        return LearningReport(done, tuple(learned), page.cursor)

    def retry_pending(self, user_id: str | None = None) -> int:
        """Retries work that an outage prevented: vectors, facts and texts of a model.

        Parameters
        ----------
        user_id
            Only this user. ``None``: all users.

        Returns
        -------
        int
            Number of records that are still pending.

        Raises
        ------
        InvalidInputError
            For a user id that is empty or longer than 512 bytes.

        Examples
        --------
        >>> memory.retry_pending()
        0
        """
        return self._engine.retry_pending(check.optional_user(user_id))
