"""Users: list, counts, profile, timeline and deletion."""

from __future__ import annotations

import bisect
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from ...profiling import LIMITS
from .. import views
from ..access import AnyCaller, User
from ..models import (
    ChangeList,
    ChangeView,
    Deleted,
    EpisodePage,
    KeepChange,
    Profile,
    SessionPage,
    Stats,
    Users,
)
from ..problems import ServiceError
from ..state import DatedMemory, Memory
from .records import listed
from .shared import Cursor, Deleting, Limit, Part, problems, read_cursor, write_cursor

router = APIRouter(tags=["users"])


@router.get("/v1/users", response_model=Users, responses=problems())
async def list_users(
    caller: AnyCaller, memory: Memory, cursor: Cursor = None, limit: Limit = 100
) -> Response:
    """The users of the tenant, by id."""
    caller.needs("admin")
    names = await memory.users()
    place = read_cursor(cursor)
    start = bisect.bisect_right(names, place[1]) if place else 0
    found = names[start : start + limit]
    more = start + limit < len(names)
    following = write_cursor((start + limit, found[-1])) if more else None
    return views.answer({"users": found, "next_cursor": following, "total": len(names)})


@router.get("/v1/users/{user}/stats", response_model=Stats, responses=problems())
async def stats(user: User, caller: AnyCaller, memory: Memory) -> Response:
    """Counts of a user; all are 0 for an unknown user."""
    caller.needs("read")
    found: Any = await memory.stats(user)
    facts, pending = found.semantic_memories, found.pending_semantic
    return views.answer(views.fields(Stats, found, facts=facts, pending_facts=pending))


@router.get("/v1/users/{user}/profile", response_model=Profile, responses=problems())
async def profile(user: User, caller: AnyCaller, memory: DatedMemory) -> Response:
    """The most important facts that hold about a person, by kind."""
    caller.needs("read")
    known = await memory.profile(user)
    facts = {
        kind: [views.fact(line.fact) for line in known.sections.get(kind, ())] for kind in LIMITS
    }
    return views.answer({"facts": facts, "left_out": known.left_out})


@router.get("/v1/users/{user}/changes", response_model=ChangeList, responses=problems())
async def list_changes(
    user: User,
    caller: AnyCaller,
    memory: DatedMemory,
    since: str | None = None,
    kind: Annotated[str | None, Query(description="Only this kind, such as `later`.")] = None,
) -> Response:
    """Later statements about the same thing, the latest first."""
    caller.needs("read")
    found = await memory.changes(user, since=since, kind=kind)  # type: ignore[arg-type]
    return views.answer({"items": [change.to_dict() for change in found]})


@router.post("/v1/users/{user}/changes", response_model=ChangeView, responses=problems(404))
async def keep_change(
    body: KeepChange, user: User, caller: AnyCaller, memory: DatedMemory
) -> Response:
    """Decides which words of a change hold: `old`, `new` or `both`."""
    caller.needs("write")
    for change in await memory.changes(user):
        if (change.old.memory_id, change.new.memory_id) == (body.old, body.new):
            await memory.keep_change(user, change, body.keep)
            return views.answer({**change.to_dict(), "kept": body.keep})
    raise ServiceError(404, "these facts are not linked")


@router.get("/v1/users/{user}/sessions", response_model=SessionPage, responses=problems())
async def list_sessions(
    user: User, caller: AnyCaller, memory: DatedMemory, cursor: Cursor = None, limit: Limit = 100
) -> Response:
    """Sessions in the order in which they began; `flush` with a `session_id` closes one."""
    caller.needs("read")
    known = await memory.sessions(user)
    place = read_cursor(cursor)
    start = 0 if place is None else place[0]
    if place is not None:
        # Sessions that were deleted meanwhile move the others up.
        ids = [one.session_id for one in known]
        start = ids.index(place[1]) + 1 if place[1] in ids else min(start, len(ids))
    found = known[start : start + limit]
    more = start + limit < len(known)
    following = write_cursor((start + limit, found[-1].session_id)) if more else None
    items = [views.session(one) for one in found]
    return views.answer({"items": items, "next_cursor": following, "total": len(known)})


@router.get("/v1/users/{user}/timeline", response_model=EpisodePage, responses=problems())
async def timeline(
    user: User,
    caller: AnyCaller,
    memory: DatedMemory,
    cursor: Cursor = None,
    limit: Limit = 100,
    since: str | None = None,
    until: str | None = None,
) -> Response:
    """Titles and summaries of the episodes, newest first."""
    caller.needs("read")
    newest = Part(cursor, limit, {"since": since, "until": until, "newest_first": True})
    return await listed("episodes", user, memory, newest, "L0")


@router.delete("/v1/users/{user}", response_model=Deleted, responses=problems())
async def delete_user(user: User, deletion: Deleting) -> Response:
    """Deletes a user: no byte of the user stays on disk. `DELETE …/messages` deletes parts."""
    report = deletion.memory.delete_user_data(user, dry_run=deletion.dry_run)
    return views.answer(await deletion.receipt(user, "user", report))
