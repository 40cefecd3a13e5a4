"""The operations that change or remove records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .dates import TimeLike
from .inputs import checks as check
from .inputs.options import Kind, delete_options
from .queries import MemoryReader
from .records import Record
from .reports import DeleteReport


class Corrections(MemoryReader):
    """Changes and removes records. Use :class:`MemorySystem`, which is one."""

    __slots__ = ()

    def update(self, user_id: str, id: str, content: str) -> Record:
        """Changes the text of an episode or a fact. :meth:`history` keeps the old one.

        Parameters
        ----------
        user_id
            User id.
        id
            Id or URI of an episode or a fact.
        content
            The new text.

        Returns
        -------
        Episode or SemanticMemory
            The record with the new text.

        Raises
        ------
        InvalidInputError
            For an unknown id, an empty text, or a message: messages never change.

        Examples
        --------
        >>> episode = next(memory.episodes("alice"))
        >>> memory.update("alice", episode.episode_id, "Alice has moved to Lyon.").content
        'Alice has moved to Lyon.'
        >>> len(memory.history("alice", episode.episode_id))
        2
        """
        return self._engine.update(
            check.user(user_id), check.text(id, "id"), check.text(content, "content")
        )

    def delete(self, user_id: str, id: str | Iterable[str]) -> DeleteReport:
        """Removes records, and what was derived from them.

        Afterwards no byte of their texts is in any file. Episodes that lose a message are written
        again without it; facts go that no other message proves.

        Parameters
        ----------
        user_id
            Whose records.
        id
            Id or URI of a message, episode or fact, or several: many are removed in one pass. An
            episode goes with its messages. Unknown ids remove nothing.

        Returns
        -------
        DeleteReport
            How many records were removed and rewritten.

        Raises
        ------
        InvalidInputError
            For an id that is not a text.
        StoreIOError
            If a file can't be written. Call again: the next call finishes the deletion.

        Examples
        --------
        >>> memory.delete("alice", "no such id").episodes
        0
        >>> memory.delete("alice", ["no such id", "nor this one"]).messages
        0
        """
        return self._engine.delete(check.user(user_id), check.ids(id))

    def delete_where(
        self,
        user_id: str,
        *,
        where: Mapping[str, Any] | None = None,
        kinds: Iterable[Kind] | Kind = "message",
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
    ) -> DeleteReport:
        """Removes the records that meet all conditions, in one pass; see :meth:`delete`.

        Parameters
        ----------
        user_id
            Whose records.
        where
            What their metadata must say, with the operators of :meth:`search`.
        kinds
            ``"message"``, ``"episodic"``, ``"semantic"``, or several. What was derived from
            messages follows them; an episode of which one message meets the conditions goes with
            all its messages, if episodes are asked for.
        since
            Nothing before this time.
        until
            Nothing after this time.
        session_id, agent_id
            Only this session, only this agent, as for :meth:`search`.

        Returns
        -------
        DeleteReport
            How many records were removed and rewritten.

        Raises
        ------
        InvalidInputError
            Without any condition, and for an unknown operator.
        StoreIOError
            If a file can't be written. Call again: the next call finishes the deletion.

        Examples
        --------
        >>> memory.delete_where("alice", where={"channel": {"$in": ["fax"]}}).messages
        0
        """
        names, options = delete_options(
            kinds,
            where=where,
            since=since,
            until=until,
            session_id=session_id,
            agent_id=agent_id,
        )
        return self._engine.delete_where(check.user(user_id), names, options)

    def delete_user_data(self, user_id: str) -> DeleteReport:
        """Removes a user completely.

        Afterwards no byte of the user is on disk and no search finds them.

        Parameters
        ----------
        user_id
            User id. An unknown user is not an error.

        Returns
        -------
        DeleteReport
            How many records and files were removed.

        Raises
        ------
        InvalidInputError
            For a user id that is empty or longer than 512 bytes.
        StoreIOError
            If a file can't be removed. Call again: the next call finishes the deletion.

        Examples
        --------
        >>> memory.delete_user_data("nobody").messages
        0
        """
        return self._engine.delete_user_data(check.user(user_id))
