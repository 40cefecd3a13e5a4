"""A server on the loopback interface with scripted answers, also faulty ones.

Used by the tests of the evaluation and of the LLM loop.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """One request as it came."""

    path: str
    body: dict[str, Any]
    headers: Mapping[str, str]
    number: int
    """From 1, over all requests of the server."""


@dataclass(frozen=True)
class Reply:
    """An answer, and the faults in it."""

    body: Any = None
    """Bytes are sent as they are, anything else as JSON."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    wait_for: threading.Event | None = None
    """Answer only when this happens (or the server ends)."""
    reset: bool = False
    """Break the connection instead of answering."""
    cut_after: int | None = None
    """Announce the whole body, send so many bytes of it, and hang up."""
    endless: bool = False
    """After the body, which is not announced, go on with spaces until the client hangs up."""


class Loopback:
    """Serves `answer`, with a thread for each connection.

    Counts requests, and answers 403 after `most` of them, so that an endless client ends.
    """

    def __init__(self, answer: Callable[[Request], Reply], most: int = 2_000) -> None:
        self.requests: list[Request] = []
        self._ended = threading.Event()
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer._lock:
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    request = Request(self.path, body, headers, len(outer.requests) + 1)
                    outer.requests.append(request)
                reply = Reply(status=403) if request.number > most else answer(request)
                # The client may have been killed, or may have closed the connection.
                with contextlib.suppress(OSError):
                    self._send(reply)

            def _send(self, reply: Reply) -> None:
                if reply.wait_for is not None:
                    outer._hold(reply.wait_for)
                if reply.reset:
                    self.close_connection = True
                    self.connection.setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                    )
                    self.connection.close()
                    return
                data = (
                    reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
                )
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", reply.content_type)
                if reply.endless:
                    self.close_connection = True
                else:
                    self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[: reply.cut_after])
                self.close_connection = self.close_connection or reply.cut_after is not None
                while reply.endless and not outer._ended.wait(0.02):
                    self.wfile.write(b" " * 64)

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """Does nothing: tests break connections on purpose."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    def _hold(self, event: threading.Event) -> None:
        while not event.wait(0.02) and not self._ended.is_set():
            pass

    def close(self) -> None:
        """Stops serving; connections that are kept open end with their clients."""
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
