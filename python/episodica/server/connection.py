"""Slow clients: a connection ends if its client neither sends nor reads."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

# The name of the limits in the state of the application.
CLIENT_LIMITS = "client_limits"


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """Seconds that a client may take to send a head, and to read something of its answer."""

    head: float = 30.0
    unread: float = 30.0


class Connection(H11Protocol):
    """A connection with time limits in both directions.

    Uvicorn itself limits only the time between requests.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits: ClientLimits = self.app_state.get(CLIENT_LIMITS) or ClientLimits()
        self._head: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the time limit for the head of the first request."""
        super().connection_made(transport)
        self._head = self._in(self._limits.head)

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends all time limits."""
        self._cancel_head()
        self._cancel_unread()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Keeps the time limit while the head of a request is incomplete."""
        super().data_received(data)
        if not getattr(self.cycle, "response_complete", True):
            self._cancel_head()
        elif self._head is None and not self.transport.is_closing():
            self._head = self._in(self._limits.head)

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
        if self.transport.get_write_buffer_size() and self._unread is None:
            self.loop.call_later(self._limits.unread, self._end_unread, self.cycle)

    def timeout_keep_alive_handler(self) -> None:
        """Ends an idle connection, even if its client has not read everything."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

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
