"""Repeated requests: each is done once, and answered from the stored records.

A request is known by its caller, its route, its user and its ``Idempotency-Key``, for a day. Its
result is noted in the store's record of requests, which all services see and a restart keeps. The
answer to a repeated request is made anew from the stored records, so it never has a deleted text,
and never confirms a deleted record.

The record has a hash of the request, and what it stored as counts and ids, which only the sender
of the same request can read: so it need not change when a user or a message is deleted.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import operator
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.types import Scope

from .._native import mask_secrets
from ..aio.running import run
from ..aio.system import AsyncMemorySystem
from ..errors import EpisodicaError
from ..inputs.messages import Incoming, incoming
from ..inputs.names import named
from ..inputs.options import Duplicates
from ..records import Message, SemanticMemory
from ..reports import AddResult
from ..system import MemorySystem
from .access import Caller
from .problems import ServiceError, status_of
from .slots import aside, release_slot

Outcome = dict[str, Any]
REPLAYED = "Idempotent-Replayed"


@dataclass(frozen=True, slots=True)
class Repeatable:
    """A request that may be sent again."""

    scope: Scope
    caller: Caller
    operation: str
    user: str
    key: str | None
    body: bytes

    @property
    def name(self) -> bytes:
        """The key of the request in the record of requests."""
        return hashlib.sha256(self._said()).digest()

    def sealed(self, outcome: bytes) -> bytes:
        """An outcome that only this request makes readable again."""
        stream = hashlib.shake_256(self._said() + self.body).digest(len(outcome))
        return bytes(map(operator.xor, outcome, stream))

    def _said(self) -> bytes:
        """What names the request; the lists ``ab, c`` and ``a, bc`` differ."""
        caller = self.caller
        parts = (caller.tenant, caller.key_id, self.operation, self.user, self.key or "")
        text = "".join(f"{len(part)}:{part}" for part in parts)
        return text.encode("utf-8", "surrogatepass")

    def with_ids(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The messages. A message without an id gets one derived from the request's key."""
        if self.key is None:
            return messages
        begin = f"idem-{self.name.hex()[:32]}"
        return [
            message
            if named(message, "message_id")
            else {**message, "message_id": f"{begin}-{number}"}
            for number, message in enumerate(messages)
        ]


class Requests:
    """The results of requests with an ``Idempotency-Key``."""

    def __init__(self) -> None:
        # Requests of this worker that are under way: a lock, and how many calls hold or await it.
        self._under_way: dict[bytes, tuple[asyncio.Lock, int]] = {}

    async def once(
        self,
        memory: AsyncMemorySystem,
        request: Repeatable,
        work: Callable[[], Awaitable[tuple[Response, Outcome]]],
        again: Callable[[Outcome], Awaitable[Response]],
    ) -> Response:
        """The answer of ``work``; for a repeated request, of ``again`` with the stored outcome."""
        if request.key is None:
            return (await work())[0]
        name = request.name
        lock, waiting = self._under_way.get(name, (asyncio.Lock(), 0))
        self._under_way[name] = lock, waiting + 1
        try:
            # A request that waits here takes no slot from others.
            async with aside(request.scope):
                await lock.acquire()
            try:
                return await self._once(memory._memory, request, name, work, again)
            finally:
                lock.release()
        finally:
            lock, waiting = self._under_way.pop(name)
            if waiting > 1:
                self._under_way[name] = lock, waiting - 1

    async def _once(
        self,
        memory: MemorySystem,
        request: Repeatable,
        name: bytes,
        work: Callable[[], Awaitable[tuple[Response, Outcome]]],
        again: Callable[[Outcome], Awaitable[Response]],
    ) -> Response:
        body = hashlib.sha256(request.body).digest()

        async def note(outcome: str | None = None, refused: bool = False) -> Any:
            return await run(memory._engine.note_request, name, body, outcome, refused)

        known, outcome = await note()
        if known != body.hex():
            raise _conflict()
        if outcome is not None:
            sealed = bytes.fromhex(json.loads(outcome))
            answer = await again(json.loads(request.sealed(sealed)))
            answer.headers[REPLAYED] = "true"
            return answer
        # Nothing was acknowledged yet: the messages' ids keep the work from being done twice.
        try:
            answer, stored = await work()
        except (EpisodicaError, ServiceError) as error:
            if status_of(error) < 500:
                await note(refused=True)
            raise
        release_slot(request.scope)
        await note(json.dumps(request.sealed(json.dumps(stored).encode()).hex()))
        return answer


def _conflict() -> ServiceError:
    return ServiceError(
        409,
        "the Idempotency-Key was used with another body",
        "use a new key for a new request",
        kind="idempotency",
    )


def gone() -> ServiceError:
    """The error for a repeated request if something that it stored was deleted since."""
    return ServiceError(
        410,
        "what this request stored was deleted since",
        "to store it again, send it with a new Idempotency-Key",
    )


async def add_once(
    memory: AsyncMemorySystem,
    user: str,
    messages: list[dict[str, Any]],
    session_id: str | None,
    agent_id: str | None,
    duplicates: Duplicates = "version",
) -> AddResult:
    """Stores messages; refuses known ids with another content if ``duplicates`` says so."""
    if duplicates == "error":
        read = await run(reading, memory._memory, messages)
        named_ones = [one for one in read.messages if one["message_id"] is not None]
        await run(_refuse_other_content, memory._memory, user, named_ones)
    return await memory.add_messages(
        user, messages, session_id=session_id, agent_id=agent_id, duplicates=duplicates
    )


def reading(memory: MemorySystem, messages: list[dict[str, Any]]) -> Incoming:
    """The messages as the memory reads them."""
    return incoming(messages, keeps_thinking=memory.config.keep_thinking)


def _refuse_other_content(memory: MemorySystem, user: str, messages: list[dict[str, Any]]) -> None:
    for message in messages:
        known = memory.get(user, message["message_id"])
        said = message["content"]
        if isinstance(known, Message) and known.content not in (said, mask_secrets(said)[0]):
            raise ServiceError(
                409,
                "a message with this id is stored with another content",
                "give a new message its own id; without `duplicates` it is a newer version",
                kind="conflict",
            )


def made_ids(read: Incoming, result: AddResult) -> list[str] | None:
    """The ids of added messages, to be noted; ``None`` if they follow from the request."""
    if all(one["message_id"] is not None for one in read.messages):
        return None
    return list(result.message_ids)


def stored_ids(
    memory: MemorySystem, user: str, read: Incoming, made: list[str] | None
) -> list[str]:
    """The ids of messages that were stored by a request before."""
    ids = made or [message["message_id"] for message in read.messages]
    if any(memory.get(user, one) is None for one in ids):
        raise gone()
    return ids


async def facts_of(
    memory: AsyncMemorySystem, user: str, message_ids: list[str]
) -> list[SemanticMemory]:
    """The facts that have one of these source messages."""
    proofs = frozenset(message_ids)
    every = memory.semantic_memories(user, include_superseded=True)
    return [one async for one in every if not proofs.isdisjoint(one.source_messages)]
