"""Messages in, episodes and facts out."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from ...aio.system import AsyncMemorySystem
from .. import views
from ..access import AnyCaller, User
from ..idempotency import with_ids
from ..memories import settled
from ..models import Added, AddMessages, Episodes, Flush
from ..problems import ServiceError
from ..state import DatedMemory, Memory, Service, TheService
from .shared import IdempotencyKey, problems

router = APIRouter(tags=["messages"])


@router.post(
    "/v1/users/{user}/messages",
    status_code=201,
    response_model=Added,
    responses=problems(409),
)
async def add_messages(
    request: Request,
    body: AddMessages,
    user: User,
    caller: AnyCaller,
    memory: Memory,
    service: TheService,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Stores messages. When it answers, they survive a power cut."""
    caller.needs("write")
    if len(body.messages) > service.settings.max_batch:
        raise ServiceError(
            413,
            "too_large",
            f"more than {service.settings.max_batch} messages",
            "send them in parts",
        )
    raw = await request.body()

    async def work() -> Response:
        return await _add(request, body, user, memory, service, idempotency_key)

    return await service.replays.once(caller, "add", user, idempotency_key, raw, work)


async def _add(
    request: Request,
    body: AddMessages,
    user: str,
    memory: AsyncMemorySystem,
    service: Service,
    key: str | None,
) -> Response:
    with service.tracer.span("upsert_memory", memory.tenant, user) as span:
        cursor = (await memory.events("latest", user_id=user)).cursor
        messages = with_ids(body.messages, user, key)
        result = await memory.add_messages(
            user, messages, session_id=body.session_id, agent_id=body.agent_id
        )
        service.memories.touched(memory.tenant, user)
        span.set_attribute("gen_ai.memory.record.count", result.messages_added)
        episodes: list[str] = []
        done = body.wait == "stored"
        if not done:
            async with service.work.forming(request) as form:
                episodes = [one.episode_id for one in await form(memory._memory.flush, user)]
                done = body.wait == "episodes" or await settled(memory, user, body.timeout_seconds)
        learned = views.events(await memory.events(cursor, user_id=user))
    answer = {**views.added(result, episodes), "events": learned, "done": done}
    if body.wait == "facts":
        kept = [one["id"] for one in learned if one["event"] != "IGNORE"]
        answer["facts"] = list(dict.fromkeys(kept))
    return views.answer(answer, 201)


@router.post("/v1/users/{user}/flush", response_model=Episodes, responses=problems())
async def flush(
    request: Request,
    user: User,
    caller: AnyCaller,
    memory: DatedMemory,
    service: TheService,
    body: Flush | None = None,
) -> Response:
    """Turns buffered messages into episodes now."""
    caller.needs("write")
    service.memories.touched(memory.tenant, user)
    async with service.work.forming(request) as form:
        if body is not None and body.session_id is not None:
            episodes = await form(memory._memory.close_session, user, body.session_id)
        else:
            episodes = await form(memory._memory.flush, user)
    return views.answer({"episodes": [views.episode(one) for one in episodes]})
