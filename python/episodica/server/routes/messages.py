"""Messages in, episodes and facts out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from ...aio.running import run
from ...aio.system import AsyncMemorySystem
from .. import views
from ..access import AnyCaller, Caller, User
from ..idempotency import Outcome, Repeatable, add_once, facts_of, made_ids, reading, stored_ids
from ..memories import settled
from ..models import Added, AddMessages, Episodes, Flush
from ..problems import ServiceError
from ..state import DatedMemory, Memory, Service, TheService
from .shared import IdempotencyKey, problems

router = APIRouter(tags=["messages"])


@router.post(
    "/v1/users/{user}/messages", status_code=201, response_model=Added, responses=problems(409, 410)
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
            413, f"more than {service.settings.max_batch} messages", "send them in parts"
        )
    asked = Repeatable(request.scope, caller, "add", user, idempotency_key, await request.body())
    messages = asked.with_ids(body.messages)
    adding = _Adding(request, caller, body, messages, user, memory, service)
    return await service.requests.once(memory, asked, adding.work, adding.again)


@dataclass(frozen=True, slots=True)
class _Adding:
    request: Request
    caller: Caller
    body: AddMessages
    messages: list[dict[str, Any]]
    user: str
    memory: AsyncMemorySystem
    service: Service

    async def work(self) -> tuple[Response, Outcome]:
        """Stores the messages."""
        memory, user, body = self.memory, self.user, self.body
        with self.service.tracer.span("upsert_memory", memory.tenant, user) as span:
            cursor = (await memory.events("latest", user_id=user)).cursor
            read = await run(reading, memory._memory, self.messages)
            result = await add_once(
                memory, user, self.messages, body.session_id, body.agent_id, body.duplicates
            )
            self.service.memories.touched(memory.tenant, user)
            span.set_attribute("gen_ai.memory.record.count", result.messages_added)
            episodes, done = await self._wait(list(result.episodes))
            learned = views.events(await memory.events(cursor, user_id=user))
        kept = [one["id"] for one in learned if one["event"] != "IGNORE"]
        told = {"episodes": episodes, "facts": list(dict.fromkeys(kept)), "events": learned}
        answer = views.fields(Added, result, **told, done=done)
        if body.wait != "facts":
            del answer["facts"]
        noted = ("messages_added", "duplicates", "edited", "episodes")
        outcome = {name: answer[name] for name in noted}
        return self._answer(answer), {**outcome, "ids": made_ids(read, result)}

    async def again(self, outcome: Outcome) -> Response:
        """Answers from the stored messages: ids and counts, without facts."""
        memory, user, body = self.memory, self.user, self.body
        read = await run(reading, memory._memory, self.messages)
        ids = await run(stored_ids, memory._memory, user, read, outcome["ids"])
        known = [one for one in outcome["episodes"] if await memory.get(user, one) is not None]
        episodes, done = await self._wait(known)
        counts: Any = await memory.stats(user)
        answer = {
            "messages_added": outcome["messages_added"],
            "duplicates": outcome["duplicates"],
            "edited": outcome.get("edited", 0),
            "message_ids": ids,
            "buffered": counts.buffered,
            "episodes": episodes,
            "skipped": read.skipped,
            "deleted": 0,
            "notes": list(read.notes()),
            "events": [],
            "done": done,
        }
        if body.wait == "facts":
            facts = await facts_of(memory, user, ids)
            answer["facts"] = [one.memory_id for one in facts]
        return self._answer(answer)

    def _answer(self, answer: dict[str, Any]) -> Response:
        """The answer; without the scope `read`, it has no text of other messages or facts."""
        if not self.caller.reads:
            hidden = {"buffered": 0, "episodes": [], "events": [], "facts": []}
            answer |= {name: value for name, value in hidden.items() if name in answer}
        return views.answer(answer, 201)

    async def _wait(self, episodes: list[str]) -> tuple[list[str], bool]:
        """The episodes, with those written while it waited, and whether all is done."""
        body = self.body
        if body.wait == "stored":
            return episodes, True
        memory, user = self.memory, self.user
        async with self.service.work.forming(self.request) as form:
            written = await form(memory._memory.flush, user)
            every = list(dict.fromkeys([*episodes, *(one.episode_id for one in written)]))
            if body.wait == "episodes":
                return every, True
            return every, await settled(memory, user, body.timeout_seconds)


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
    shown = episodes if caller.reads else []
    return views.answer({"episodes": [views.episode(one) for one in shown]})
