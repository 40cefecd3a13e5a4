"""Work that is still to be done: ending sessions, waiting, doing what an outage prevented."""

from __future__ import annotations

from typing import Literal, overload

from .inputs import checks as check
from .procedures import Procedures
from .records import Episode
from .reports import Event, LearningReport
from .sessions import SessionReport


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
            Return what became of each candidate for a fact, with the text before and the evidence,
            and the sentences that are no facts, with the reason. The rules read these anew from the
            stored messages, so a report is the same after a restart.
        since
            The report begins here: the ``cursor`` of an earlier report or of :meth:`events`.
            ``None``: with the beginning of the logs.

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
        formed: dict[str, list[str]] = {}
        page = self.events(since, user_id=user)
        while page.events:
            learned += (event for event in page if event.is_learning)
            for event in page:
                if event.change == "EPISODE":
                    formed.setdefault(event.user_id, []).append(event.id)
            page = self.events(page.cursor, user_id=user)
        refused = [one for user, ids in formed.items() for one in self._turned_down(user, ids)]
        return LearningReport(done, tuple(learned), page.cursor, tuple(refused))

    @overload
    def close_session(
        self,
        user_id: str,
        session_id: str,
        *,
        wait: Literal[False] = False,
        timeout: float | None = None,
    ) -> list[Episode]: ...
    @overload
    def close_session(
        self, user_id: str, session_id: str, *, wait: Literal[True], timeout: float | None = None
    ) -> SessionReport: ...
    @overload
    def close_session(
        self, user_id: str, session_id: str, *, wait: bool, timeout: float | None = None
    ) -> list[Episode] | SessionReport: ...
    def close_session(
        self, user_id: str, session_id: str, *, wait: bool = False, timeout: float | None = None
    ) -> list[Episode] | SessionReport:
        """Ends a session: turns its buffered messages into episodes, and returns these.

        Its state goes from ``closing`` to ``closed`` as facts are learned and indexed. It is in the
        log: what a crash cut off goes on when the store is opened again.

        Parameters
        ----------
        user_id
            User id.
        session_id
            The session. An unknown one is not an error.
        wait
            Wait until the session is closed, and report everything that it left.
        timeout
            Maximum wait in seconds. ``None``: no limit.

        Returns
        -------
        list of Episode, or SessionReport
            The new episodes of this session; with ``wait``, the session with all its episodes and
            the facts learned from them, true if it is closed.

        Raises
        ------
        InvalidInputError
            For a user id that is empty or longer than 512 bytes, or a negative ``timeout``.
        StoreIOError
            If the log can't be written.

        Examples
        --------
        >>> bye = {"role": "user", "content": "Bye!", "session_id": "s2"}
        >>> memory.add_messages("alice", [bye]).buffered
        1
        >>> [episode.message_count for episode in memory.close_session("alice", "s2")]
        [1]
        >>> memory.close_session("alice", "s2")
        []
        >>> memory.close_session("alice", "s2", wait=True).session.state
        'closed'
        """
        user, session = check.user(user_id), check.text(session_id, "session_id")
        longest = None if timeout is None else check.seconds(timeout, "timeout")
        formed = self._engine.close_session(user, session)
        if not wait:
            return formed
        done = self._engine.wait(user, longest)
        found = next((one for one in self.sessions(user) if one.session_id == session), None)
        episodes = tuple(self.episodes(user, session_id=session))
        ids = {episode.episode_id for episode in episodes}
        facts = (
            fact
            for fact in self.semantic_memories(user, session_id=session)
            if ids.intersection(fact.source_episodes)
        )
        return SessionReport(done, found, episodes, tuple(facts))

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
