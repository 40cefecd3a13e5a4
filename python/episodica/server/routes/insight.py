"""What the memory says about itself and its decisions."""

from __future__ import annotations

from collections import deque
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from ...aio.running import run
from ...queries import turned_down
from .. import views
from ..access import AnyCaller, User
from ..models import History, KeyView, Learning, StoreView, Trace
from ..state import DatedMemory, Memory
from .shared import RecordId, Resource, id_of, of_resource, problems

router = APIRouter(tags=["insight"])
# The most changes that are read for an answer, so that a long history delays no other request.
_PART = 10_000


@router.get("/v1/key", response_model=KeyView, responses=problems())
async def key(caller: AnyCaller) -> Response:
    """What the key of the request opens."""
    return views.answer(views.fields(KeyView, caller))


@router.get("/v1/store", response_model=StoreView, responses=problems())
async def store(caller: AnyCaller, memory: Memory) -> Response:
    """Counts, health and cost of the tenant's memory, of this worker since it was started."""
    caller.needs("admin")
    found: Any = await memory.stats()
    health, usage = await memory.health(), await memory.usage()
    return views.answer(
        {"stats": found.to_dict(), "health": health.to_dict(), "usage": usage.to_dict()}
    )


@router.get("/v1/users/{user}/learning", response_model=Learning, responses=problems())
async def learning(
    user: User,
    caller: AnyCaller,
    memory: Memory,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the part before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    change: Literal["ADD", "UPDATE", "MERGE", "SUPERSEDE", "IGNORE", "REJECT"] | None = None,
) -> Response:
    """The decisions on candidates for facts among 10,000 changes: the last ones, newest first.

    With `change=REJECT` the sentences that the rules turned down, with the reason.
    """
    caller.needs("read")
    if change == "REJECT":
        refused = await run(turned_down, memory._memory, user)
        return views.answer(
            {"events": views.events(reversed(refused[-limit:])), "next_cursor": None}
        )
    page = await memory.events(cursor, user_id=user, limit=_PART)
    latest = deque(
        (one for one in page if one.is_learning and (change is None or one.change == change)),
        maxlen=limit,
    )
    following = page.cursor if len(page) >= _PART else None
    return views.answer({"events": views.events(reversed(latest)), "next_cursor": following})


def _add_history(resource: Resource) -> None:
    single = resource.removesuffix("s")

    @router.get(
        f"/v1/users/{{user}}/{resource}/{{id}}/history",
        name=f"{single}_history",
        summary=f"Every version of the {single}, oldest first",
        response_model=History,
        responses=problems(404),
    )
    async def history(user: User, id: RecordId, caller: AnyCaller, memory: DatedMemory) -> Response:
        caller.needs("read")
        versions = await memory.history(user, id_of(id))
        of_resource(versions[-1] if versions else None, resource)
        return views.answer({"versions": [views.record(one) for one in versions]})


def _add_trace(resource: Resource) -> None:
    single = resource.removesuffix("s")

    @router.get(
        f"/v1/users/{{user}}/{resource}/{{id}}/trace",
        name=f"{single}_trace",
        summary=f"The calls of a language model behind the {single}",
        response_model=Trace,
        responses=problems(404),
    )
    async def trace(user: User, id: RecordId, caller: AnyCaller, memory: Memory) -> Response:
        caller.needs("read")
        of_resource(await memory.get(user, id_of(id)), resource)
        steps = await memory.trace(user, id_of(id))
        return views.answer({"steps": [one.to_dict() for one in steps]})


_add_history("messages")
_add_history("episodes")
_add_history("facts")
_add_trace("episodes")
_add_trace("facts")
