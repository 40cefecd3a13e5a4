"""What the routes have in common: problems in the OpenAPI document, cursors, dates, kinds."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Awaitable
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import Depends, Header, Path, Query

from ...aio.system import AsyncMemorySystem
from ...inputs.options import Kind
from ...records import Episode, Message, Record, SemanticMemory
from ...reports import DeleteReport
from ..access import AnyCaller, Caller, decoded
from ..models import MAX_PAGE
from ..problems import MEDIA_TYPE, Problem, ServiceError, not_found
from ..state import Memory, Service, TheService

Resource = Literal["messages", "episodes", "facts"]
CLASSES: dict[Resource, type[Message] | type[Episode] | type[SemanticMemory]] = {
    "messages": Message,
    "episodes": Episode,
    "facts": SemanticMemory,
}
KINDS_OF: dict[Resource, Kind] = {
    "messages": "message",
    "episodes": "episodic",
    "facts": "semantic",
}
LISTINGS: dict[Resource, str] = {
    "messages": "messages",
    "episodes": "episodes",
    "facts": "semantic_memories",
}

# The most hits that are asked which legs took part, and the terms of a score that are legs.
_TOLD = 20
_LEGS = {"words", "tokens", "vector", "bm25", "L0", "L1", "L2"}
_WORDS = {
    400: "The request is invalid.",
    401: "A key is needed, or it is unknown.",
    403: "The key does not allow this.",
    404: "There is no such thing.",
    405: "Not with this method.",
    408: "The body did not arrive in time.",
    409: "The Idempotency-Key was used with another body, or an id with another content although "
    "`duplicates` is `error`.",
    410: "What the repeated request stored was deleted since.",
    413: "The body is too large.",
    415: "The body is not JSON, or it is compressed.",
    429: "The key is used too often; see Retry-After.",
    500: "The service failed.",
    503: "Not now; see Retry-After.",
}


def problems(*more: int) -> dict[int | str, dict[str, Any]]:
    """The failures that every route may answer with, and some more."""
    return {
        status: {"description": _WORDS[status], "model": Problem, "content": {MEDIA_TYPE: {}}}
        for status in sorted({400, 401, 403, 405, 408, 413, 415, 429, 500, 503, *more})
    }


IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="Makes a repeated request answer like the first.",
    ),
]
RecordId = Annotated[str, Path(description="The record's id, percent-encoded.", min_length=1)]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE)]
Cursor = Annotated[str | None, Query(description="`next_cursor` of the page before.")]
DryRun = Annotated[
    bool, Query(description="Delete nothing, and answer what would go; needs `read`, too.")
]


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions on records."""

    since: str | None
    until: str | None
    session_id: str | None
    agent_id: str | None


async def filters_of(
    since: Annotated[str | None, Query(description="Nothing before this time.")] = None,
    until: Annotated[str | None, Query(description="Nothing after this time.")] = None,
    session_id: Annotated[str | None, Query(description="Only this session.")] = None,
    agent_id: Annotated[str | None, Query(description="Only this agent.")] = None,
) -> Filters:
    """Dependency: the conditions of a request."""
    return Filters(since, until, session_id, agent_id)


Filtered = Annotated[Filters, Depends(filters_of)]


@dataclass(frozen=True, slots=True)
class Part:
    """Which part of a listing: a page of it, and conditions."""

    cursor: str | None
    limit: int
    options: dict[str, Any]


async def part_of(
    filters: Filtered,
    cursor: Cursor = None,
    limit: Limit = 100,
    newest_first: Annotated[bool, Query(description="In the reverse order of time.")] = False,
) -> Part:
    """Dependency: the part that a request asks for."""
    return Part(cursor, limit, {**asdict(filters), "newest_first": newest_first})


Asked = Annotated[Part, Depends(part_of)]


def write_cursor(place: tuple[int, str] | None) -> str | None:
    """A cursor for the place where the next page begins."""
    if place is None:
        return None
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def read_cursor(text: str | None) -> tuple[int, str] | None:
    """What :func:`write_cursor` wrote."""
    if text is None:
        return None
    try:
        read = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        count, last = read
    except (binascii.Error, ValueError, TypeError, RecursionError):
        raise _bad_cursor() from None
    if type(count) is not int or not 0 <= count < 1 << 62 or type(last) is not str:
        raise _bad_cursor()
    return count, last


def _bad_cursor() -> ServiceError:
    return ServiceError(400, "not a cursor", "pass the `next_cursor` of the page before")


def of_resource(found: Record | None, resource: Resource) -> Record:
    """The record, if it is of this kind."""
    if not isinstance(found, CLASSES[resource]):
        raise not_found(resource.removesuffix("s"))
    return found


def id_of(text: str) -> str:
    """The id in a path."""
    return decoded(text)


@dataclass(frozen=True, slots=True)
class Deletion:
    """A caller who may delete, and how."""

    caller: Caller
    memory: AsyncMemorySystem
    service: Service
    dry_run: bool

    async def receipt(
        self, user: str, what: str, report: Awaitable[DeleteReport]
    ) -> dict[str, Any]:
        """The deleted records, or those to delete; a deletion also goes to the audit log.

        Only callers who may read get ids.
        """
        span = "delete_memory_store" if what == "user" else "delete_memory"
        with self.service.tracer.span(span, self.memory.tenant, user):
            done = await report
        if not self.dry_run:
            audit = self.service.gatekeeper.keys.audit
            audit.deleted(self.caller.key_id, self.caller.tenant, user, what, done)
        told = {**done.to_dict(), "dry_run": self.dry_run}
        if not self.caller.reads:
            told.update(message_ids=[], episode_ids=[], fact_ids=[], still_in_messages=[])
        return told


def _deletion(
    caller: AnyCaller, memory: Memory, service: TheService, dry_run: DryRun = False
) -> Deletion:
    """Refuses callers who may not delete, or who may not read the list of what would be deleted."""
    caller.needs("erase")
    if dry_run:
        caller.needs("read")
    return Deletion(caller, memory, service, dry_run)


Deleting = Annotated[Deletion, Depends(_deletion)]


def legs_of(hits: Any) -> set[str]:
    """Which legs took part in a search."""
    names: set[str] = set()
    for hit in islice(hits, _TOLD):
        names.update(hit.scores)
    return _LEGS & {name.split(".")[0] for name in names}
