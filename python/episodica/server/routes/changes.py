"""Changes as they happen: server-sent events."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.responses import Response, StreamingResponse

from ..access import AnyCaller
from ..problems import ServiceError
from ..state import Memory, TheService
from ..work import Streamed
from .shared import problems

router = APIRouter(tags=["events"])


@router.get(
    "/v1/events",
    response_class=StreamingResponse,
    responses={
        **problems(),
        200: {
            "description": "Server-sent events; `Last-Event-ID: id` continues after an event.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
    },
)
async def events(
    caller: AnyCaller,
    memory: Memory,
    service: TheService,
    user: Annotated[str | None, Query(description="Only this user.")] = None,
    last_event_id: Annotated[str | None, Header(description="Continue after this one.")] = None,
) -> Response:
    """Follows messages, sessions, episodes and facts; after an event `reset`, list them again."""
    caller.needs("read")
    name = user if user is not None else None if caller.user == "*" else caller.user
    if name is None:
        # Events name their users.
        caller.needs("admin")
    if name is not None and not caller.opens(name):
        raise ServiceError(403, "the key is for another user")
    # An invalid cursor or user id is refused before the answer begins.
    cursor = service.stream.cursor_of(last_event_id)
    await memory.events(cursor or "latest", user_id=name, limit=1)
    key, followers = caller.key_id if caller.has_key else None, service.stream.followers
    if not followers.has_room(key):
        raise ServiceError(503, "too many clients follow events")
    followers.take(key)
    stream = service.stream.follow(
        memory, last_event_id or None, name, lambda: service.gatekeeper.still_allows(caller)
    )
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return Streamed(
        stream, lambda: followers.give(key), media_type="text/event-stream", headers=headers
    )
