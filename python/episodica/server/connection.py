"""Connections: how long and how many, and that the last answer of each is read.

A connection ends if its client neither sends nor reads, and if it is idle while others have too
little room. Uvicorn itself limits only the time between requests.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .local import BACKLOG, client_name
from .settings import ServerSettings

if sys.platform != "win32":
    import resource

# Names in the state of the application: the limits, and the connection of a request.
LIMITS = "client_limits"
CONNECTION = "connection"
# Longer than clients keep idle connections, so that the clients close them.
_KEEP_ALIVE_SECONDS = 75
# Seconds and bytes for which a client may go on sending what is no longer read.
_PARTING_SECONDS = 2.0
_PARTING_BYTES = 64 << 20
# The share of the open files of a process that connections may take, and the part of it that may be
# accepted at once, before any of them can be closed.
_SHARE_OF_FILES = 0.6
_ACCEPTED_AT_ONCE = 0.05
# The most open files that a service asks the system for.
_MOST_FILES = 65_536


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """Seconds that a client may take to send a head, and to read something of its answer."""

    head: float
    unread: float
    room: Room

    @classmethod
    def of(cls, settings: ServerSettings) -> ClientLimits:
        """The limits of this process."""
        most = math.ceil(settings.max_connections / settings.workers)
        files = _open_files()
        if files is not None:
            most = max(1, min(most, int(files * _SHARE_OF_FILES)))
        return cls(
            head=settings.body_timeout_seconds,
            unread=settings.send_timeout_seconds,
            room=Room(most, settings.key_share),
        )


class Room:
    """The open connections of a process, and which of them ends if there are too many.

    They belong to an address until they show a key, then to the key; each gets only its share. The
    one that has been idle for longest makes room. A connection that is being served never does.
    """

    def __init__(self, most: int, share: float) -> None:
        self._most = most
        self._most_of_one = math.ceil(most * share)
        self._count: Counter[str] = Counter()
        self._total = 0
        # The idle connections of each owner, longest first.
        self._idle: dict[str, dict[Connection, None]] = {}

    def enter(self, one: Connection) -> None:
        """Counts a connection. If there are too many now, another ends, or this one."""
        self._count[one.owner] += 1
        self._total += 1
        self.rest(one)
        owner = one.owner
        if self._count[owner] <= self._most_of_one:
            if self._total <= self._most:
                return
            owner = max(self._idle, key=self._count.__getitem__)
        next(iter(self._idle.get(owner, ())), one).give_way()

    def leave(self, one: Connection) -> None:
        """No longer counts a connection."""
        self.work(one)
        self._total -= 1
        self._count[one.owner] -= 1
        if not self._count[one.owner]:
            del self._count[one.owner]

    def rest(self, one: Connection) -> None:
        """Notes that a connection is idle from now on."""
        self._idle.setdefault(one.owner, {})[one] = None

    def work(self, one: Connection) -> None:
        """Notes that a connection is being served."""
        idle = self._idle.get(one.owner)
        if idle is not None:
            idle.pop(one, None)
            if not idle:
                del self._idle[one.owner]


class Connection(H11Protocol):
    """A connection with time limits in both directions, and with an owner."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits: ClientLimits = self.app_state[LIMITS]
        self.app_state = {**self.app_state, CONNECTION: self}
        self.owner = ""
        self._is_counted = False
        self._head: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        # Bytes that arrived since this side has said its last word; `None` before.
        self._after: int | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the time limit for the head of the first request."""
        super().connection_made(transport)
        self.transport = _Parting(transport, self)  # type: ignore[assignment]
        self._head = self._in(self._limits.head)
        self.owner = client_name(self.client[0] if self.client else None)
        self._is_counted = True
        self._limits.room.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends all time limits."""
        self._leave()
        self._cancel_head()
        self._cancel_unread()
        super().connection_lost(exc)

    def belongs_to(self, key: str) -> None:
        """Counts the connection for a key from now on."""
        if self._is_counted and self.owner != key:
            room = self._limits.room
            room.leave(self)
            self.owner = key
            room.enter(self)
            room.work(self)

    def give_way(self) -> None:
        """Ends the connection: others need the room."""
        self._leave()
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Keeps the time limit while the head of a request is incomplete."""
        if self._after is not None:
            self._after += len(data)
            if self._after > _PARTING_BYTES:
                self.transport.abort()
            return
        super().data_received(data)
        if not getattr(self.cycle, "response_complete", True):
            self._cancel_head()
            self._limits.room.work(self)
        elif self._head is None and not self.transport.is_closing():
            self._head = self._in(self._limits.head)

    def eof_received(self) -> None:
        """Ends a connection that only waited for this."""
        if self._after is not None:
            self.transport.close()
        super().eof_received()

    def part(self) -> bool:
        """Whether the connection stays open for what its client is still sending.

        To close it at once would reset it, and the client might never read the answer.
        """
        is_sending = self._is_counted and self.conn.their_state is h11.SEND_BODY
        if self._after is not None or not is_sending:
            return False
        self._after = 0
        self.transport.write_eof()
        self.flow.resume_reading()
        self._in(_PARTING_SECONDS)
        return True

    def pause_writing(self) -> None:
        """Starts a time limit: the client does not read."""
        super().pause_writing()
        self._unread = self._unread or self._in(self._limits.unread)

    def resume_writing(self) -> None:
        """Ends the time limit: the client reads again."""
        self._cancel_unread()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Starts a time limit if the client has not read everything yet."""
        super().on_response_complete()
        # Not if the next request had arrived already.
        if self._is_counted and self.cycle.response_complete:
            self._limits.room.rest(self)
        if self.transport.get_write_buffer_size() and self._unread is None:
            self.loop.call_later(self._limits.unread, self._end_unread, self.cycle)

    def timeout_keep_alive_handler(self) -> None:
        """Ends an idle connection, even if its client has not read everything."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    def _leave(self) -> None:
        if self._is_counted:
            self._is_counted = False
            self._limits.room.leave(self)

    def _in(self, seconds: float) -> asyncio.TimerHandle:
        return self.loop.call_later(seconds, self.transport.abort)

    def _end_unread(self, cycle: object) -> None:
        if self.cycle is cycle and self.transport.get_write_buffer_size():
            self.transport.abort()

    def _cancel_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _cancel_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


class _Parting:
    """A transport that closes only once its client has read the last answer, or has had time to."""

    def __init__(self, transport: asyncio.Transport, connection: Connection) -> None:
        self._transport = transport
        self._connection = connection
        self._is_parting = False

    def close(self) -> None:
        if self._connection.part():
            self._is_parting = True
        else:
            self._transport.close()

    def is_closing(self) -> bool:
        return self._is_parting or self._transport.is_closing()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def web_options() -> dict[str, Any]:
    """The settings of uvicorn for a guarded application; asks the system for more open files."""
    files = _open_files(raised=True)
    at_once = BACKLOG if files is None else max(1, int(files * _ACCEPTED_AT_ONCE))
    return {
        "http": Connection,
        # A request for a WebSocket would pass by the guard.
        "ws": "none",
        "backlog": min(BACKLOG, at_once),
        # Uvicorn's lines have paths, which name users.
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "timeout_keep_alive": _KEEP_ALIVE_SECONDS,
    }


def _open_files(*, raised: bool = False) -> int | None:
    """How many files the process may open; ``None``: the system does not say.

    ``raised`` first raises the number as far as the system lets it.
    """
    if sys.platform == "win32":
        return None
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if raised and now != resource.RLIM_INFINITY:
        wanted = _MOST_FILES if most == resource.RLIM_INFINITY else min(most, _MOST_FILES)
        if wanted > now:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
            now = wanted
    return None if now == resource.RLIM_INFINITY else now
