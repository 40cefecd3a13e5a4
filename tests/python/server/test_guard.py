"""What the guard itself costs: as much for the worst body as for any other of its size."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from episodica.server.guard import Admission, Guard
from episodica.server.limits import Shared
from episodica.server.problems import ServiceError
from episodica.server.settings import ServerSettings

SIZE = 16 << 20
PART = 64 << 10


class OpenDoor:
    """Lets everyone in."""

    def __init__(self) -> None:
        self.statuses: list[int] = []

    def admit(self, scope: Scope) -> Admission:
        return Admission(None, most=SIZE, works=True)

    def refusal(self, failure: ServiceError) -> Response:
        return failure.response()

    def note(self, scope: Scope, status: int, size: int, seconds: float) -> None:
        self.statuses.append(status)


async def pass_guard(body: bytes) -> tuple[int, float]:
    """The status of a request with a body, and the processor time that it takes."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        received = await receive()
        await Response(str(len(received["body"])))(scope, receive, send)

    door = OpenDoor()
    guard = Guard(app, door, ServerSettings(), Shared())
    parts = [body[at : at + PART] for at in range(0, len(body), PART)]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "headers": [
            (b"content-length", str(len(body)).encode()),
            (b"content-type", b"application/json"),
        ],
    }
    left = iter(parts)

    async def receive() -> Any:
        part = next(left, None)
        if part is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": part, "more_body": part is not parts[-1]}

    async def send(_: Any) -> None:
        pass

    started = time.process_time()
    await guard(scope, receive, send)
    return door.statuses[0], time.process_time() - started


def filled(begin: str, piece: str) -> bytes:
    unit = piece.encode()
    return (begin.encode() + unit * (SIZE // len(unit)))[:SIZE]


WORST = {
    "an open string of quotes": filled("[" * 60 + '"', '\\"'),
    "an open string after many brackets": filled("[]" * 200 + '"', '\\"'),
    "strings": filled("[", '"",'),
    "backslashes": filled('["', "\\"),
    "brackets in turn": filled("[", "[],"),
    "brackets in strings": filled("[", '"[{",'),
    "objects": filled("[", '{"a":{}},'),
    "closing brackets": filled("", "]"),
    "numbers": filled("[", "1,"),
}


@pytest.mark.parametrize("shape", WORST)
def test_the_worst_body_costs_what_any_other_of_its_size_costs(shape: str) -> None:
    best = {"plain": 1e9, "worst": 1e9}
    # Other processes only make a measurement longer, so the shortest of each counts.
    for _ in range(4):
        for name, body in (("plain", filled("", "a")), ("worst", WORST[shape])):
            status, seconds = asyncio.run(pass_guard(body))
            assert status == 200
            best[name] = min(best[name], seconds)
        if best["worst"] <= 2 * best["plain"]:
            break
    # The pass over the bytes is a part of the cost of receiving them; a quadratic one takes days.
    assert best["worst"] <= 4 * best["plain"], best


def test_brackets_are_counted_as_a_parser_counts_them() -> None:
    most = ServerSettings().max_nesting

    def nested(depth: int) -> bytes:
        return b'{"a":' * (depth - 1) + b"[]" + b"}" * (depth - 1)

    for body, status in (
        (nested(most), 200),
        (nested(most + 1), 400),
        (json.dumps(["[" * 500, "\\", '\\"', "]"]).encode(), 200),
        (b'["\\\\",' + nested(most) + b"]", 400),
        (b"[" * (most + 1), 400),
        ('{"a": "Ł"}'.encode("utf-16"), 400),
        ('{"a": "Ł"}'.encode("utf-32-le"), 400),
        (b"", 200),
    ):
        assert asyncio.run(pass_guard(body))[0] == status, body[:30]
