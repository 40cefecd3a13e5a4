"""Counts, state, events, checks and copies of a store: methods of ``MemorySystem``.

The functions check arguments, call the engine and wrap its answers, without logic of their own.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import Literal, overload

from .errors import InvalidInputError
from .following import EventStream, Subscription
from .inputs import checks as check
from .inputs.options import list_options
from .progress import Progress, Reporter
from .reports import BackupReport, CompactReport, Event, Events, RebuildReport, VerifyReport
from .sessions import Session
from .signatures import misfit
from .status import Health, StoreStats, Usage, UserStats
from .store import OpenStore


def users(self: OpenStore) -> list[str]:
    """The ids of all users of the tenant.

    Returns
    -------
    list of str
        User ids, sorted.

    Examples
    --------
    >>> memory.users()
    ['alice']
    """
    return self._engine.users()


def sessions(self: OpenStore, user_id: str) -> list[Session]:
    """The user's sessions in the order in which they began, with their states.

    Parameters
    ----------
    user_id
        User id. An unknown user has none.

    Returns
    -------
    list of Session
        Each with its state, its dates, and the number of its messages and episodes.

    Examples
    --------
    >>> memory.sessions("alice")
    [<Session 's1' active, 2024-03-11 09:30, 2 messages, 1 episodes>]
    """
    user = check.user(user_id)
    found = self._engine.sessions(user)
    if not found:
        return []
    options, _ = list_options({})
    outlines = self._engine.outlines(
        user, "episode", {**options, "offset": 0, "limit": 1 << 62, "after": []}
    )
    episodes = Counter(group for *_, group in outlines)
    return [Session(user, *one, episodes=episodes[one[0]]) for one in found]


def stats(self: OpenStore, user_id: str | None = None) -> UserStats | StoreStats:
    """Counts and sizes, of one user or of the whole store.

    Parameters
    ----------
    user_id
        User id; all counts of an unknown user are 0. ``None``: the whole store.

    Returns
    -------
    UserStats or StoreStats
        The counts of the user, or of the store.

    Examples
    --------
    >>> memory.stats("alice")["messages"]
    2
    """
    return self._engine.stats(check.optional_user(user_id))


def health(self: OpenStore) -> Health:
    """Whether everything works that should: store, embedder, language model. Holds no secret.

    Returns
    -------
    Health
        ``status`` is ``"ok"`` or ``"degraded"``; ``failing`` names the failing services.

    Examples
    --------
    >>> memory.health().status
    'ok'
    >>> memory.health()["store"]["backend"]
    'files'
    """
    return self._engine.health()


def usage(self: OpenStore) -> Usage:
    """Tokens, calls and seconds by phase, model and user.

    Returns
    -------
    Usage
        The sums since the store was opened, and the same by phase, model and user.

    Examples
    --------
    >>> memory.usage().calls
    0
    """
    return self._engine.usage()


@overload
def events(
    self: OpenStore,
    since: str | None = None,
    *,
    user_id: str | None = None,
    limit: int = 1000,
    follow: Literal[False] = False,
) -> Events: ...
@overload
def events(
    self: OpenStore,
    since: str | None = None,
    *,
    user_id: str | None = None,
    limit: int = 1000,
    follow: Literal[True],
) -> EventStream: ...
@overload
def events(
    self: OpenStore,
    since: str | None = None,
    *,
    user_id: str | None = None,
    limit: int = 1000,
    follow: bool,
) -> Events | EventStream: ...
def events(
    self: OpenStore,
    since: str | None = None,
    *,
    user_id: str | None = None,
    limit: int = 1000,
    follow: bool = False,
) -> Events | EventStream:
    """What happened to records: stored, written, learned, deleted, and sessions closed.

    Read from the logs, so events of other processes and earlier runs are included. If each call
    passes the cursor of the last event, every event comes exactly once, across restarts and
    processes. A user's messages come before the episodes and facts that refer to them.

    Parameters
    ----------
    since
        The ``cursor`` of an earlier call or event; ``"latest"`` for the end of the logs.
        ``None``: from their beginning.
    user_id
        Only this user.
    limit
        Maximum number of events; more if one deletion removed more records, since these come
        together. Ignored with ``follow``.
    follow
        Return an iterator that waits for more events, for ``for`` and ``async for``.

    Returns
    -------
    Events or EventStream
        The events, and the cursor to continue with.

    Raises
    ------
    InvalidInputError
        For text that is not a cursor.

    Examples
    --------
    >>> events = memory.events(user_id="alice")
    >>> [event.change for event in events][:3]
    ['MESSAGE', 'MESSAGE', 'EPISODE']
    >>> len(memory.events(events.cursor))
    0
    """
    cursor = None if since is None else check.text(since, "since")
    user = check.optional_user(user_id)
    if follow:
        return EventStream(self, cursor, user)
    return self._engine.events(cursor, user, check.whole(limit, "limit", 1))


def on_event(
    self: OpenStore,
    callback: Callable[[Event], object],
    *,
    user_id: str | None = None,
    since: str | None = "latest",
) -> Subscription:
    """Calls a function with each event, in a thread of its own, until the memory is closed.

    The function may call the memory. Its exceptions are counted and logged, and end nothing.

    Parameters
    ----------
    callback
        The function, or coroutine function; it is given an :class:`Event`.
    user_id
        Only this user.
    since
        As for :meth:`events`.

    Returns
    -------
    Subscription
        Counts calls and failures; its ``close()`` ends the calls.

    Raises
    ------
    InvalidInputError
        For text that is not a cursor, or a callback that can't be called.

    Examples
    --------
    >>> subscription = memory.on_event(print, user_id="bob")
    >>> subscription.errors
    0
    >>> subscription.close()
    """
    if not callable(callback):
        raise InvalidInputError(f"callback must be a function, not `{type(callback).__name__}`")
    if (reason := misfit(callback, None)) is not None:
        raise InvalidInputError(f"callback can't be called with an event: {reason}")
    cursor = None if since is None else check.text(since, "since")
    return Subscription(self, self._awaiter, callback, cursor, check.optional_user(user_id))


def verify(
    self: OpenStore, user_id: str | None = None, *, progress: Progress = None
) -> VerifyReport:
    """Checks every record against the indexes and every line against the format.

    Changes nothing.

    Parameters
    ----------
    user_id
        Only this user. ``None``: all users.
    progress
        ``True`` for a progress bar on a terminal or in a notebook, or a callable that takes
        ``(step, done, total)``.

    Returns
    -------
    VerifyReport
        Counts and problems; ``errors`` is 0 for a sound store.

    Examples
    --------
    >>> memory.verify().errors
    0
    """
    with Reporter(progress, self._awaiter) as callback:
        return self._engine.verify(check.optional_user(user_id), callback)


def backup(
    self: OpenStore, path: str | os.PathLike[str], *, progress: Progress = None
) -> BackupReport:
    """Copies the whole store, all tenants, to a directory that opens as a store.

    Others may write meanwhile: the copy is as complete as the store would be after a power cut
    at that moment. Everything acknowledged before the call is in the copy.

    Parameters
    ----------
    path
        The directory, which does not exist yet, and gets its name when the copy is complete.
    progress
        ``True`` for a progress bar on a terminal or in a notebook, or a callable that takes
        ``(step, done, total)``.

    Returns
    -------
    BackupReport
        How much was copied.

    Raises
    ------
    InvalidInputError
        For a directory that is not empty, or lies inside of the store.
    StoreIOError
        If the directory can't be written; then nothing is left of the copy.

    Examples
    --------
    >>> memory.backup("copy").users
    1
    >>> with MemorySystem("copy") as copy:
    ...     copy.verify().errors
    0
    """
    with Reporter(progress, self._awaiter) as callback:
        return self._engine.backup(str(check.store_path(path)), callback)


def load_user_data_and_indices(self: OpenStore, user_id: str) -> RebuildReport:
    """Loads a user's records and indexes now instead of at the first search.

    Parameters
    ----------
    user_id
        User id. An unknown user loads nothing.

    Returns
    -------
    RebuildReport
        How much was read.

    Raises
    ------
    EmbeddingMismatchError
        If the vectors on disk come from another model.

    Examples
    --------
    >>> memory.load_user_data_and_indices("alice").users
    1
    """
    return self._engine.load_user(check.user(user_id))


def rebuild_indices(
    self: OpenStore, user_id: str | None = None, *, progress: Progress = None
) -> RebuildReport:
    """Rebuilds the indexes of one user or of all from the logs.

    Do this after a change of the embedding model.

    Parameters
    ----------
    user_id
        Only this user. ``None``: all users.
    progress
        ``True`` for a progress bar on a terminal or in a notebook, or a callable that takes
        ``(step, done, total)``.

    Returns
    -------
    RebuildReport
        How many records were read, and how many vectors were computed.

    Raises
    ------
    EmbeddingError
        If the embedder fails.

    Examples
    --------
    >>> memory.rebuild_indices("alice").users
    1
    """
    with Reporter(progress, self._awaiter) as callback:
        return self._engine.rebuild_indices(check.optional_user(user_id), callback)


def compact(
    self: OpenStore, user_id: str | None = None, *, progress: Progress = None
) -> CompactReport:
    """Makes the logs of one user or of all smaller.

    Removes lines that no longer have an effect: versions of a record that more than eight later
    versions follow, and notes that later notes replace. Messages, episodes and facts stay. If
    more than half of a user's log are such lines, it is compacted without a call. On
    PostgreSQL, the server's autovacuum gives the room of removed lines back.

    Parameters
    ----------
    user_id
        Only this user. ``None``: all users.
    progress
        ``True`` for a progress bar on a terminal or in a notebook, or a callable that takes
        ``(step, done, total)``.

    Returns
    -------
    CompactReport
        How long the logs were, and how long they are now.

    Raises
    ------
    StoreIOError
        If the disk is full or fails; an interrupted compaction is finished at the next opening.

    Examples
    --------
    >>> memory.compact("alice").users
    1
    """
    with Reporter(progress, self._awaiter) as callback:
        return self._engine.compact(check.optional_user(user_id), callback)


def retry_pending(self: OpenStore, user_id: str | None = None) -> int:
    """Retries work that an outage prevented: vectors, facts and texts of a model.

    Parameters
    ----------
    user_id
        Only this user. ``None``: all users.

    Returns
    -------
    int
        Number of records that are still pending.

    Examples
    --------
    >>> memory.retry_pending()
    0
    """
    return self._engine.retry_pending(check.optional_user(user_id))
