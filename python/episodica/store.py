"""An open store: its place, state, events, checks, copies and end. The base of all readers.

Checks arguments, calls the engine, wraps its answers. No logic of its own.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, overload

from .config import MemoryConfig
from .config.endpoint import public_url
from .errors import ConfigError, InvalidInputError
from .following import EventStream, Subscription
from .handle import EngineHandle
from .hints import shown
from .inputs import checks as check
from .inputs.calls import operation_hint
from .inputs.options import list_options
from .place import cache_directory, is_address
from .progress import Progress, Reporter
from .reports import BackupReport, Event, Events, RebuildReport, VerifyReport
from .rerankers import Reranker, checked_reranker
from .sessions import Session
from .status import Health, StoreStats, Usage, UserStats

if TYPE_CHECKING:
    from ._native import Engine


class OpenStore:
    """The operations on a store as a whole. Use a subclass, a memory."""

    __slots__ = ("__weakref__", "_config", "_handle", "_place", "_reranker", "_tenant", "_timezone")

    def __init__(
        self,
        path: str | os.PathLike[str],
        tenant: str,
        config: MemoryConfig,
        read_only: bool,
        embedding: dict[str, Any] | None,
        llm: dict[str, Any] | None,
        reranker: Reranker | None = None,
    ) -> None:
        self._place = check.store_place(path)
        self._tenant = check.text(tenant, "tenant")
        self._config = config
        self._timezone: str | None = None
        self._reranker = checked_reranker(reranker)
        self._handle = EngineHandle(
            self,
            self._place,
            caches=cache_directory() if is_address(self._place) else None,
            tenant=self._tenant,
            config=config._engine_json(),
            read_only=read_only,
            embedding=embedding,
            llm=llm,
        )

    @property
    def _engine(self) -> Engine:
        engine = self._handle.get()
        return engine if self._timezone is None else engine.in_timezone(self._timezone)

    @property
    def path(self) -> Path:
        """The store's directory.

        Raises
        ------
        InvalidInputError
            If the store is a database, which has none; :attr:`store` is its address.
        """
        if is_address(self._place):
            raise InvalidInputError(
                "a store in a database has no directory", hint="`store` is its address"
            )
        return Path(self._place)

    @property
    def _folder(self) -> Path:
        """The store's directory, or that of its caches on this machine."""
        return Path(cache_directory() if is_address(self._place) else self._place)

    @property
    def store(self) -> str:
        """Where the store is: its directory, or the address of a database without secrets."""
        return public_url(self._place) if is_address(self._place) else self._place

    @property
    def tenant(self) -> str:
        """The tenant."""
        return self._tenant

    @property
    def config(self) -> MemoryConfig:
        """The settings in force."""
        return self._config

    @property
    def closed(self) -> bool:
        """Whether the system is closed."""
        return self._handle.closed

    if not TYPE_CHECKING:  # type checkers shall go on to find unknown names

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(self._no_such(name), name=name, obj=self)

    def _no_such(self, name: str) -> str:
        """The text of the error; the interpreter adds names that are spelled alike."""
        return f"a {type(self).__name__} has no `{shown(name)}`{operation_hint(name)}"

    def in_timezone(self, timezone: str) -> Self:
        """The same memory with dates in another time zone, such as that of one of many users.

        Records and contexts show dates in the zone, and "yesterday" in a question is the zone's.
        Nothing is opened again: closing either object closes both.

        Parameters
        ----------
        timezone
            A name such as ``"Europe/Paris"`` or an offset such as ``"+08:00"``.

        Returns
        -------
        MemorySystem
            The same memory.

        Raises
        ------
        InvalidInputError
            For an unknown zone.

        Examples
        --------
        >>> for zone in ("Europe/Paris", "Asia/Shanghai"):
        ...     first = next(memory.in_timezone(zone).messages("alice"))
        ...     print(first.timestamp)
        2024-03-11 09:30:00+01:00
        2024-03-11 16:30:00+08:00
        """
        name = check.text(timezone, "timezone")
        try:
            self._engine.in_timezone(name)
        except ConfigError as error:
            raise InvalidInputError(error.message, hint=error.hint) from None
        other = object.__new__(type(self))
        other._place, other._tenant, other._handle = self._place, self._tenant, self._handle
        other._reranker = self._reranker
        other._config, other._timezone = replace(self._config, timezone=name), name
        return other

    def users(self) -> list[str]:
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

    def sessions(self, user_id: str) -> list[Session]:
        """The user's sessions in the order in which they began, with their states.

        Parameters
        ----------
        user_id
            User id. An unknown user has none.

        Returns
        -------
        list of Session
            Each with its state, its dates, and the number of its messages and episodes.

        Raises
        ------
        InvalidInputError
            For a user id that is empty or longer than 512 bytes.

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

    def stats(self, user_id: str | None = None) -> UserStats | StoreStats:
        """Counts and sizes, of one user or of the whole store.

        Parameters
        ----------
        user_id
            User id; all counts of an unknown user are 0. ``None``: the whole store.

        Returns
        -------
        UserStats or StoreStats
            The counts of the user, or of the store.

        Raises
        ------
        InvalidInputError
            For a user id that is empty or longer than 512 bytes.

        Examples
        --------
        >>> memory.stats("alice")["messages"]
        2
        """
        return self._engine.stats(check.optional_user(user_id))

    def health(self) -> Health:
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

    def usage(self) -> Usage:
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
        self,
        since: str | None = None,
        *,
        user_id: str | None = None,
        limit: int = 1000,
        follow: Literal[False] = False,
    ) -> Events: ...
    @overload
    def events(
        self,
        since: str | None = None,
        *,
        user_id: str | None = None,
        limit: int = 1000,
        follow: Literal[True],
    ) -> EventStream: ...
    @overload
    def events(
        self,
        since: str | None = None,
        *,
        user_id: str | None = None,
        limit: int = 1000,
        follow: bool,
    ) -> Events | EventStream: ...
    def events(
        self,
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
        self,
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
            The function; it is given an :class:`Event`.
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
        cursor = None if since is None else check.text(since, "since")
        return Subscription(self, callback, cursor, check.optional_user(user_id))

    def verify(self, user_id: str | None = None, *, progress: Progress = None) -> VerifyReport:
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

        Raises
        ------
        InvalidInputError
            For a user id that is empty or longer than 512 bytes.

        Examples
        --------
        >>> memory.verify().errors
        0
        """
        with Reporter(progress) as callback:
            return self._engine.verify(check.optional_user(user_id), callback)

    def backup(self, path: str | os.PathLike[str], *, progress: Progress = None) -> BackupReport:
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
        with Reporter(progress) as callback:
            return self._engine.backup(str(check.store_path(path)), callback)

    def load_user_data_and_indices(self, user_id: str) -> RebuildReport:
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
        InvalidInputError
            For a user id that is empty or longer than 512 bytes.
        EmbeddingMismatchError
            If the vectors on disk come from another model.

        Examples
        --------
        >>> memory.load_user_data_and_indices("alice").users
        1
        """
        return self._engine.load_user(check.user(user_id))

    def close(self, timeout: float = 30.0) -> None:
        """Closes the system. A second call does nothing.

        Finishes pending work for at most ``timeout`` seconds and persists the rest.

        Parameters
        ----------
        timeout
            Seconds to spend on pending work, 0 or more.

        Raises
        ------
        InvalidInputError
            For a negative ``timeout``.

        Examples
        --------
        >>> memory.close(timeout=5)
        >>> memory.closed
        True
        """
        self._handle.close(check.seconds(timeout, "timeout"))

    def __enter__(self) -> Self:
        self._handle.get()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        name = type(self).__name__
        raise TypeError(
            f"a {name} can't be copied or pickled; open another one by its path, `{name}(path)`"
        )

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<{type(self).__name__} {self.store!r}, tenant {self._tenant!r}{state}>"
