"""Changes and deletions of records: methods of ``MemorySystem``.

The functions check arguments, call the engine and wrap its answers, without logic of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from .dates import TimeLike, rfc3339
from .forgetting import ForgettingReport
from .inputs import checks as check
from .inputs.calls import forgiving
from .inputs.facts import FactKind, Importance
from .inputs.forgetting import Forgettable, policy
from .inputs.options import Kind, delete_options
from .inputs.secrets import hide, policy_of
from .queries import episodes, messages, semantic_memories
from .records import Record, SemanticMemory
from .reports import DeleteReport
from .store import OpenStore


@forgiving('memory.update("alice", id, "Alice lives in Nice.")')
def update(self: OpenStore, user_id: str, id: str, content: str) -> Record:
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
    chosen = policy_of(self._config.secrets, from_program=False)
    text, _ = hide(check.text(content, "content"), chosen, "`content`")
    return self._engine.update(check.user(user_id), check.text(id, "id"), text)


@forgiving('memory.delete("alice", id)')
def delete(
    self: OpenStore, user_id: str, id: str | Iterable[str], *, dry_run: bool = False
) -> DeleteReport:
    """Removes records, and the records derived from them.

    Afterwards no byte of their texts is in any file. Episodes that lose a message are written
    again without it. Facts without another source message are removed; one that :meth:`update`
    has rewritten stays, without a source: delete it by its own id.

    Parameters
    ----------
    user_id
        User id.
    id
        Id or URI of a message, episode or fact, or several: many are removed in one pass. An
        episode goes with its messages. Unknown ids remove nothing.
    dry_run
        Removes nothing and reports what would be removed.

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
    return self._engine.delete(check.user(user_id), check.ids(id), dry_run)


def delete_where(
    self: OpenStore,
    user_id: str,
    *,
    where: Mapping[str, Any] | None = None,
    kinds: Iterable[Kind] | Kind | None = None,
    fact_kinds: Iterable[FactKind] | FactKind | None = None,
    since: TimeLike | None = None,
    until: TimeLike | None = None,
    session_id: str | None = None,
    agent_id: str | None = None,
    dry_run: bool = False,
) -> DeleteReport:
    """Removes the records that meet all conditions, in one pass; see :meth:`delete`.

    Parameters
    ----------
    user_id
        User id.
    where
        What their metadata must say, with the operators of :meth:`search`.
    kinds
        ``"message"`` (default), ``"episodic"``, ``"semantic"``, or several. With a message, the
        records derived from it are removed. With ``"episodic"``, an episode is removed with all
        its messages if one of them meets the conditions.
    fact_kinds
        Only facts of this category, such as ``"preference"``, or of these. Only facts have a
        category, so ``kinds`` is ``"semantic"`` by default then.
    since
        Nothing before this time.
    until
        Nothing after this time.
    session_id, agent_id
        Only this session, only this agent, as for :meth:`search`.
    dry_run
        Removes nothing and reports what would be removed.

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
        fact_kinds=fact_kinds,
        where=where,
        since=since,
        until=until,
        session_id=session_id,
        agent_id=agent_id,
        zone=self._zone,
    )
    return self._engine.delete_where(check.user(user_id), names, options, dry_run)


def forgetting(
    self: OpenStore,
    user_id: str,
    *,
    strength: float | None = 0.05,
    older_than: float | timedelta | None = None,
    unused_for: float | timedelta | None = None,
    max_uses: int | None = None,
    max_importance: float | Importance | None = None,
    kinds: Iterable[Forgettable] | Forgettable = "semantic",
    fact_kinds: Iterable[FactKind] | FactKind | None = None,
    exempt_kinds: Iterable[FactKind] | FactKind = (),
    where: Mapping[str, Any] | None = None,
    agent_id: str | None = None,
) -> ForgettingReport:
    """Lists episodes and facts of little use, with reasons. Changes nothing.

    A record is proposed if all conditions hold. Facts that have expired are always proposed.
    Names, birthdays and allergies are never proposed. :meth:`archive` takes the report.

    Parameters
    ----------
    user_id
        User id. An unknown user yields an empty report.
    strength
        Only weaker records: ``confidence * exp(-0.1 * days since the last use / (1 + 0.2 *
        uses))``. A use is a search or a context that returns the record, and a message that
        says a fact again. ``None``: of any strength.
    older_than
        Only records at least this many days old: a number or a ``timedelta``.
    unused_for
        Only records that were not used for this many days.
    max_uses
        Only records with at most this number of uses.
    max_importance
        Only facts of this importance at most, 0 to 1 or a label as for :meth:`search`.
    kinds
        ``"semantic"``, ``"episodic"``, or both. Archiving an episode also takes its messages
        out of searches.
    fact_kinds
        Only facts of this category, or of these.
    exempt_kinds
        No facts of this category, or of these.
    where, agent_id
        As for :meth:`search`.

    Returns
    -------
    ForgettingReport
        The candidates, weakest first, and how many facts are exempt.

    Raises
    ------
    InvalidInputError
        For numbers out of bounds and unknown categories.

    Examples
    --------
    >>> memory.forgetting("alice")
    <ForgettingReport 0 candidates, 0 exempt>
    >>> found = memory.forgetting("alice", strength=None, max_uses=1000)
    >>> [candidate.text for candidate in found]
    ['Alice: "I moved to Lyon last Friday [8 March 2024]."']
    """
    options = policy(
        strength=strength,
        older_than=older_than,
        unused_for=unused_for,
        max_uses=max_uses,
        max_importance=max_importance,
        kinds=kinds,
        fact_kinds=fact_kinds,
        exempt_kinds=exempt_kinds,
        where=where,
        agent_id=agent_id,
    )
    return self._engine.forgetting(check.user(user_id), options)


def archive(
    self: OpenStore, user_id: str, id: str | Iterable[str] | ForgettingReport
) -> list[Record]:
    """Takes episodes and facts out of searches, contexts and listings; deletes nothing.

    :meth:`get`, :meth:`history` and exports still have them. An episode takes its messages
    with it; facts that were learned from it stay. A fact that is said again comes back.

    Parameters
    ----------
    user_id
        User id.
    id
        Id or URI of an episode or a fact, several, or the report of :meth:`forgetting`.

    Returns
    -------
    list of Episode or SemanticMemory
        The records as they are now.

    Raises
    ------
    InvalidInputError
        For an unknown id or that of a message; nothing is archived then.

    Examples
    --------
    >>> fact = next(memory.semantic_memories("alice"))
    >>> memory.archive("alice", fact.memory_id)[0].archived_at is None
    False
    >>> [fact.kind for fact in memory.semantic_memories("alice")]
    []
    >>> [fact.kind for fact in memory.semantic_memories("alice", include_archived=True)]
    ['personal_info']
    """
    return self._engine.shelve(check.user(user_id), _ids(id), False)


def restore(self: OpenStore, user_id: str, id: str | Iterable[str]) -> list[Record]:
    """Takes back episodes and facts that were archived, and facts that have expired.

    Parameters
    ----------
    user_id
        User id.
    id
        Id or URI of an episode or a fact, or several.

    Returns
    -------
    list of Episode or SemanticMemory
        The records as they are now.

    Raises
    ------
    InvalidInputError
        For an unknown id or that of a message; nothing is restored then.

    Examples
    --------
    >>> fact = next(memory.semantic_memories("alice", include_archived=True))
    >>> memory.restore("alice", fact.memory_id)[0].archived_at is None
    True
    """
    return self._engine.shelve(check.user(user_id), check.ids(id), True)


def close_fact(
    self: OpenStore, user_id: str, id: str, *, at: TimeLike | None = None
) -> SemanticMemory:
    """Ends a fact, and nothing else that was said with it.

    It stays in its history and in listings of superseded facts. A correction by :meth:`update`
    opens it again.

    Parameters
    ----------
    user_id
        User id.
    id
        Id or URI of the fact.
    at
        Until when it was true, which may be to come. ``None``: now.

    Returns
    -------
    SemanticMemory
        The fact as it is now.

    Raises
    ------
    InvalidInputError
        For an unknown id, or that of a message or an episode.

    Examples
    --------
    >>> fact = memory.remember("dora", "I rent plot 7.")
    >>> memory.close_fact("dora", fact.memory_id).is_current
    False
    """
    until = None if at is None else rfc3339(at, "at")
    return self._engine.close_fact(check.user(user_id), check.text(id, "id"), until)


def delete_user_data(self: OpenStore, user_id: str, *, dry_run: bool = False) -> DeleteReport:
    """Removes a user completely.

    Afterwards no byte of the user is on disk and no search finds them.

    Parameters
    ----------
    user_id
        User id. An unknown user is not an error.
    dry_run
        Removes nothing and reports how many records would be removed.

    Returns
    -------
    DeleteReport
        How many records and files were removed.

    Raises
    ------
    StoreIOError
        If a file can't be removed. Call again: the next call finishes the deletion.

    Examples
    --------
    >>> memory.delete_user_data("carol").messages
    0
    """
    user = check.user(user_id)
    if dry_run:
        return DeleteReport(
            len(messages(self, user, include_archived=True)),
            len(episodes(self, user, include_archived=True)),
            len(semantic_memories(self, user, include_superseded=True, include_archived=True)),
        )
    return self._engine.delete_user_data(user)


def _ids(chosen: str | Iterable[str] | ForgettingReport) -> list[str]:
    return check.ids(chosen.ids if isinstance(chosen, ForgettingReport) else chosen)
