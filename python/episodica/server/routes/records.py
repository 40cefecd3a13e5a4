"""Messages, episodes and facts, one by one and in pages."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from ...errors import InvalidInputError
from ...layers.values import Layer
from ...records import Record, SemanticMemory
from .. import views
from ..access import AnyCaller, Caller, User
from ..idempotency import Outcome, Repeatable, gone
from ..memories import page, record_id
from ..models import (
    Correction,
    Deleted,
    EpisodePage,
    EpisodeView,
    FactPage,
    FactView,
    MessagePage,
    MessageView,
    StateFact,
    Written,
)
from ..problems import ServiceError
from ..state import DatedMemory, TheService
from .shared import (
    CLASSES,
    KINDS_OF,
    LISTINGS,
    Asked,
    Deleting,
    Filtered,
    IdempotencyKey,
    Part,
    RecordId,
    Resource,
    id_of,
    of_resource,
    problems,
    read_cursor,
    write_cursor,
)

router = APIRouter(tags=["records"])
_VIEWS = {"messages": MessageView, "episodes": EpisodeView, "facts": FactView}


async def listed(
    resource: Resource, user: str, memory: DatedMemory, asked: Part, layer: str = "L1", **more: Any
) -> Response:
    """A page of a listing."""
    place = read_cursor(asked.cursor)
    options = {**asked.options, **more}
    found, following, total = await page(
        memory, LISTINGS[resource], user, options, place, asked.limit
    )
    items = [views.record(one, layer) for one in found]
    return views.answer({"items": items, "next_cursor": write_cursor(following), "total": total})


@router.get("/v1/users/{user}/messages", response_model=MessagePage, responses=problems())
async def list_messages(
    user: User, caller: AnyCaller, memory: DatedMemory, asked: Asked
) -> Response:
    """Messages in the order of time."""
    caller.needs("read")
    return await listed("messages", user, memory, asked)


@router.get("/v1/users/{user}/episodes", response_model=EpisodePage, responses=problems())
async def list_episodes(
    user: User, caller: AnyCaller, memory: DatedMemory, asked: Asked, layer: Layer = "L0"
) -> Response:
    """Episodes in the order of time."""
    caller.needs("read")
    return await listed("episodes", user, memory, asked, layer)


@router.get("/v1/users/{user}/facts", response_model=FactPage, responses=problems())
async def list_facts(
    user: User,
    caller: AnyCaller,
    memory: DatedMemory,
    asked: Asked,
    include_superseded: Annotated[bool, Query(description="Facts that ended, too.")] = False,
    kind: Annotated[str | None, Query(description="Only this category.")] = None,
) -> Response:
    """Facts in the order of the time from which they held."""
    caller.needs("read")
    return await listed(
        "facts", user, memory, asked, include_superseded=include_superseded, kind=kind
    )


@router.post(
    "/v1/users/{user}/facts",
    status_code=201,
    response_model=FactView | Written,
    responses=problems(409, 410),
)
async def state_fact(
    request: Request,
    body: StateFact,
    user: User,
    caller: AnyCaller,
    memory: DatedMemory,
    service: TheService,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Adds a fact that is stated directly."""
    caller.needs("write")

    async def work() -> tuple[Response, Outcome]:
        with service.tracer.span("create_memory", memory.tenant, user) as span:
            fact = await memory.remember(user, **body.model_dump())
            span.set_attribute("gen_ai.memory.record.id", fact.memory_id)
        return views.answer(_shown(fact, caller), 201), {"id": fact.memory_id}

    async def again(outcome: Outcome) -> Response:
        found = await memory.get(user, outcome["id"])
        if not isinstance(found, SemanticMemory):
            raise gone()
        return views.answer(_shown(found, caller), 201)

    asked = Repeatable(request.scope, caller, "state", user, idempotency_key, await request.body())
    return await service.requests.once(memory, asked, work, again)


def _shown(record: Record, caller: Caller) -> dict[str, Any]:
    """A record that was written; only its id for a caller who may not read."""
    return views.record(record) if caller.reads else {"id": record_id(record)}


def _add_record_routes(resource: Resource) -> None:
    single = resource.removesuffix("s")
    path = f"/v1/users/{{user}}/{resource}/{{id}}"

    @router.get(
        path,
        name=f"get_{single}",
        summary=f"One {single}",
        response_model=_VIEWS[resource],
        responses=problems(404),
    )
    async def get(
        user: User, id: RecordId, caller: AnyCaller, memory: DatedMemory, layer: Layer = "L2"
    ) -> Response:
        caller.needs("read")
        found = of_resource(await memory.get(user, id_of(id)), resource)
        return views.answer(views.record(found, layer))

    @router.delete(
        path,
        name=f"delete_{single}",
        summary=f"Deletes the {single} and what was derived from it",
        response_model=Deleted,
        responses=problems(404),
    )
    async def delete(user: User, id: RecordId, deletion: Deleting) -> Response:
        memory = deletion.memory
        of_resource(await memory.get(user, id_of(id)), resource)
        report = memory.delete(user, id_of(id), dry_run=deletion.dry_run)
        return views.answer(await deletion.receipt(user, single, report))


def _add_deletion(resource: Resource) -> None:
    @router.delete(
        f"/v1/users/{{user}}/{resource}",
        name=f"delete_{resource}",
        summary=f"Deletes the {resource} that meet all conditions, and what was derived from them",
        response_model=Deleted,
        responses=problems(),
    )
    async def delete_some(user: User, deletion: Deleting, filters: Filtered) -> Response:
        conditions = asdict(filters)
        if all(one is None for one in conditions.values()):
            raise ServiceError(
                400,
                "name what to delete",
                "with `session_id`, `agent_id`, `since` or `until`; `DELETE /v1/users/{user}` "
                "deletes all of a user",
            )
        report = deletion.memory.delete_where(
            user, kinds=KINDS_OF[resource], dry_run=deletion.dry_run, **conditions
        )
        return views.answer(await deletion.receipt(user, resource, report))


def _add_correction(resource: Literal["episodes", "facts"]) -> None:
    single = resource.removesuffix("s")

    @router.patch(
        f"/v1/users/{{user}}/{resource}/{{id}}",
        name=f"correct_{single}",
        summary=f"Changes the text of the {single}; history keeps the old",
        response_model=_VIEWS[resource] | Written,
        responses=problems(404),
    )
    async def correct(
        body: Correction,
        user: User,
        id: RecordId,
        caller: AnyCaller,
        memory: DatedMemory,
        service: TheService,
    ) -> Response:
        caller.needs("write")
        of_resource(await memory.get(user, id_of(id)), resource)
        with service.tracer.span("update_memory", memory.tenant, user):
            try:
                changed = await memory.update(user, id_of(id), body.content)
            except InvalidInputError:
                # Deleted meanwhile, unless the text itself is refused.
                of_resource(await memory.get(user, id_of(id)), resource)
                raise
        return views.answer(_shown(changed, caller))


for _resource in CLASSES:
    _add_record_routes(_resource)
    _add_deletion(_resource)
_add_correction("episodes")
_add_correction("facts")
