"""An open store: its place, state, events, checks, copies and end. The base of all readers.

Checks arguments, calls the engine, wraps its answers. No logic of its own.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

from .awaiting import Awaiter
from .config import MemoryConfig
from .config.endpoint import public_url
from .errors import ConfigError, InvalidInputError
from .handle import EngineHandle
from .hints import shown
from .inputs import checks as check
from .inputs.calls import operation_hint
from .place import cache_directory, is_address
from .rerankers import Reranker, checked_reranker

if TYPE_CHECKING:
    from ._native import Engine


class OpenStore:
    """The operations on a store as a whole. Use a subclass, a memory."""

    __slots__ = (
        *("__weakref__", "_awaiter", "_config", "_handle", "_place", "_reranker", "_tenant"),
        "_timezone",
    )

    def __init__(
        self,
        path: str | os.PathLike[str],
        tenant: str,
        config: MemoryConfig,
        awaiter: Awaiter,
        read_only: bool,
        embedding: dict[str, Any] | None,
        llm: dict[str, Any] | None,
        reranker: Reranker | None = None,
    ) -> None:
        self._place = check.store_place(path)
        self._tenant = check.text(tenant, "tenant")
        self._config = config
        self._timezone: str | None = None
        self._awaiter = awaiter
        checked = checked_reranker(reranker)
        self._reranker = None if checked is None else awaiter.bound("reranker", checked)
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
        self._awaiter.called()
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
    def _zone(self) -> str | None:
        """The zone in which dates are shown; a date without a time is a day in this zone."""
        return self._config.timezone

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
        other._awaiter, other._reranker = self._awaiter, self._reranker
        other._config, other._timezone = replace(self._config, timezone=name), name
        return other

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
