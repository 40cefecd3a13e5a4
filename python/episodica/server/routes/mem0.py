"""The paths of mem0's server, so that its users switch by changing a URL.

mem0's memories are facts here; one id names both the user and the fact.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from ...aio.running import run
from ...records import SemanticMemory
from ...reports import DeleteReport, Event
from .. import views
from ..access import AnyCaller, Caller
from ..idempotency import Outcome, Repeatable, add_once, facts_of, made_ids, reading, stored_ids
from ..memories import page, settled
from ..models import Deleted
from ..problems import ServiceError, not_found
from ..state import Memory, TheService
from .shared import (
    Cursor,
    Deleting,
    IdempotencyKey,
    Limit,
    RecordId,
    id_of,
    problems,
    read_cursor,
    write_cursor,
)

router = APIRouter(tags=["mem0"])
_SECONDS = 60.0
_NAMES = ("user_id", "agent_id", "run_id")
_TIMES = ("created_at", "updated_at")
RunId = Annotated[str | None, Query(description="Only this run: the session of its messages.")]
AgentId = Annotated[str | None, Query(description="Only this agent.")]
_EVENTS = {"ADD": "ADD", "UPDATE": "UPDATE", "MERGE": "UPDATE", "SUPERSEDE": "UPDATE"}


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Remember(_Request):
    """Messages, in mem0's form."""

    messages: list[dict[str, Any]] | str
    user_id: str = Field(min_length=1)
    agent_id: str | None = None
    run_id: str | None = None
    metadata: dict[str, Any] | None = None
    infer: bool = True
    memory_type: None = Field(default=None, description="Only null: there is one kind.")
    prompt: None = Field(default=None, description="Only null: prompts are the memory's own.")


class Ask(_Request):
    """A question, in mem0's form."""

    query: str = Field(min_length=1)
    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    filters: dict[str, Any] | None = None
    limit: int = Field(default=10, ge=1, le=1000)
    top_k: int | None = Field(default=None, ge=1, le=1000)
    threshold: float | None = Field(default=None, ge=0, le=1)


class Results(BaseModel):
    """mem0's envelope."""

    results: list[dict[str, Any]]


class Stored(Results):
    """mem0's envelope of new facts."""

    notes: list[str] = Field(
        default=[], description="What was left out of the messages, or not understood."
    )


class Listed(Results):
    """mem0's envelope of a page."""

    next_cursor: str | None
    total: int


class Told(BaseModel):
    """mem0's confirmation, and the deleted records, or with `dry_run` the records to delete."""

    message: str
    deleted: Deleted


@router.post("/memories", response_model=Stored, responses=problems(409, 410))
async def add(
    request: Request,
    body: Remember,
    caller: AnyCaller,
    memory: Memory,
    service: TheService,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Stores messages, learns from them, and returns the new facts."""
    caller.needs("write")
    user = _allowed(caller, body.user_id)
    said = (
        [{"role": "user", "content": body.messages}]
        if isinstance(body.messages, str)
        else body.messages
    )
    if len(said) > service.settings.max_batch:
        raise ServiceError(413, "too many messages", "send them in parts")
    asked = Repeatable(
        request.scope, caller, "add_mem0", user, idempotency_key, await request.body()
    )
    if body.metadata:
        said = [_with_metadata(one, body.metadata) for one in said]
    said = asked.with_ids(said)

    async def infer() -> None:
        if body.infer:
            async with service.work.forming(request) as form:
                await form(memory._memory.flush, user)
                await settled(memory, user, _SECONDS)

    async def work() -> tuple[Response, Outcome]:
        cursor = (await memory.events("latest", user_id=user)).cursor
        read = await run(reading, memory._memory, said)
        added = await add_once(memory, user, said, body.run_id, body.agent_id or None)
        await infer()
        service.memories.touched(memory.tenant, user)
        learned = [
            _learned(user, event)
            for event in await memory.events(cursor, user_id=user)
            if event.change in _EVENTS
        ]
        answer = _results(learned, caller, list(added.notes))
        return answer, {"ids": made_ids(read, added)}

    async def again(outcome: Outcome) -> Response:
        read = await run(reading, memory._memory, said)
        ids = await run(stored_ids, memory._memory, user, read, outcome["ids"])
        await infer()
        learned = [
            {"id": _write_id(user, one.memory_id), "memory": one.content, "event": "ADD"}
            for one in await facts_of(memory, user, ids)
        ]
        return _results(learned, caller, list(read.notes()))

    return await service.requests.once(memory, asked, work, again)


@router.post("/search", response_model=Results, responses=problems())
async def search(body: Ask, caller: AnyCaller, memory: Memory) -> Response:
    """Facts that answer a question."""
    caller.needs("read")
    names, where = _names_and_conditions(body)
    user = _allowed(caller, names.get("user_id"))
    found = await memory.search(
        user,
        body.query,
        top_k=body.top_k or body.limit,
        kinds=("semantic",),
        session_id=names.get("run_id"),
        agent_id=names.get("agent_id"),
        where=where or None,
        threshold=body.threshold,
    )
    results = [
        {**_view(user, hit.record), "score": hit.score}
        for hit in found
        if isinstance(hit.record, SemanticMemory)
    ]
    return views.answer({"results": results})


@router.get("/memories", response_model=Listed, responses=problems())
async def all_memories(
    caller: AnyCaller,
    memory: Memory,
    user_id: str,
    run_id: RunId = None,
    agent_id: AgentId = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """The facts of a user that hold, the latest first."""
    caller.needs("read")
    user = _allowed(caller, user_id)
    options = {"session_id": run_id, "agent_id": agent_id, "newest_first": True}
    place = read_cursor(cursor)
    found, following, total = await page(memory, "semantic_memories", user, options, place, limit)
    results = [_view(user, one) for one in found if isinstance(one, SemanticMemory)]
    return views.answer(
        {"results": results, "next_cursor": write_cursor(following), "total": total}
    )


@router.delete("/memories", response_model=Told, responses=problems())
async def delete_all(
    deletion: Deleting, user_id: str, run_id: RunId = None, agent_id: AgentId = None
) -> Response:
    """Deletes everything of a user, or the memories of a run or an agent."""
    memory, dry_run = deletion.memory, deletion.dry_run
    user = _allowed(deletion.caller, user_id)
    if run_id is None and agent_id is None:
        told = await deletion.receipt(user, "user", memory.delete_user_data(user, dry_run=dry_run))
        return _told("All memories deleted", told)
    wanted: dict[str, Any] = {"session_id": run_id, "agent_id": agent_id}

    async def delete_both() -> DeleteReport:
        # The messages first: facts with other source messages stay. A directly stated fact has no
        # source message, so it is deleted by itself.
        report = await memory.delete_where(user, kinds="message", dry_run=dry_run, **wanted)
        stated = [
            one.memory_id
            async for one in memory.semantic_memories(user, include_superseded=True, **wanted)
            if not one.source_messages
        ]
        return report + await memory.delete(user, stated, dry_run=dry_run)

    return _told("Memories deleted", await deletion.receipt(user, "messages", delete_both()))


@router.get("/memories/{id}", response_model=dict[str, Any], responses=problems(404))
async def get(id: RecordId, caller: AnyCaller, memory: Memory) -> Response:
    """One fact."""
    caller.needs("read")
    user, fact = await _find(id, caller, memory)
    return views.answer(_view(user, fact))


@router.delete("/memories/{id}", response_model=Told, responses=problems(404))
async def delete(id: RecordId, deletion: Deleting) -> Response:
    """Deletes one fact."""
    memory = deletion.memory
    user, fact = await _find(id, deletion.caller, memory)
    report = memory.delete(user, fact.memory_id, dry_run=deletion.dry_run)
    return _told("Memory deleted successfully", await deletion.receipt(user, "fact", report))


def _results(learned: list[dict[str, Any]], caller: Caller, notes: list[str]) -> Response:
    """The learned facts; none for a caller who may not read, as they may quote earlier facts."""
    return views.answer({"results": learned if caller.reads else [], "notes": notes})


def _told(message: str, deleted: dict[str, Any]) -> Response:
    text = "Nothing was deleted: this is what would be" if deleted["dry_run"] else message
    return views.answer({"message": text, "deleted": deleted})


def _names_and_conditions(body: Ask) -> tuple[dict[str, str], dict[str, Any]]:
    """Whose memories a question asks for, and what their metadata must say.

    mem0 names user, agent and run next to the filters or among them, at the top or in an `AND`.
    """
    names = {name: given for name in _NAMES if (given := getattr(body, name))}
    where: list[dict[str, Any]] = []
    rest = [body.filters or {}]
    while rest:
        for key, value in rest.pop().items():
            if key == "AND" and isinstance(value, list) and all(isinstance(v, dict) for v in value):
                rest += reversed(value)
            elif key in _NAMES:
                if not isinstance(value, str) or names.setdefault(key, value) != value:
                    raise ServiceError(400, f"`{key}` is one id, given once")
            else:
                where.append({key: _present(value)})
    if any(_mentions(one, (*_NAMES, *_TIMES)) for one in where):
        raise ServiceError(
            400,
            "`user_id`, `agent_id`, `run_id` stand at the top of `filters` or in its `AND`; "
            "times are no metadata",
            "times: `since` and `until` of `POST /v1/users/{user}/search`",
        )
    return names, {"$and": where} if where else {}


def _present(value: Any) -> Any:
    """mem0's `*` admits any value."""
    if value == "*":
        return {"$exists": True}
    if isinstance(value, list):
        return [_present_in(one) for one in value]
    return value


def _present_in(one: Any) -> Any:
    return {key: _present(value) for key, value in one.items()} if isinstance(one, dict) else one


def _mentions(where: object, names: Collection[str]) -> bool:
    """Whether conditions, nested ones too, are on one of these keys."""
    if isinstance(where, list):
        return any(_mentions(one, names) for one in where)
    if not isinstance(where, dict):
        return False
    return any(
        key in names or (isinstance(value, list) and _mentions(value, names))
        for key, value in where.items()
    )


def _learned(user: str, event: Event) -> dict[str, Any]:
    return {
        "id": _write_id(user, event.id),
        "memory": event.statement,
        "event": _EVENTS[event.change],
        **({"previous_memory": event.previous} if event.previous is not None else {}),
    }


async def _find(text: str, caller: Caller, memory: Memory) -> tuple[str, SemanticMemory]:
    user, fact_id = _read_id(id_of(text))
    if not caller.opens(user):
        raise not_found("memory")
    found = await memory.get(user, fact_id)
    if not isinstance(found, SemanticMemory):
        raise not_found("memory")
    return user, found


def _with_metadata(message: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    own = message.get("metadata")
    return {**message, "metadata": {**more, **own} if isinstance(own, dict) else own or more}


def _allowed(caller: Caller, user: object) -> str:
    if not isinstance(user, str) or not user:
        raise ServiceError(400, "user_id is missing")
    if not caller.opens(user):
        raise ServiceError(403, "the key is for another user")
    return user


def _view(user: str, fact: SemanticMemory) -> dict[str, Any]:
    return {
        "id": _write_id(user, fact.memory_id),
        "memory": fact.content,
        "user_id": user,
        "metadata": fact.metadata,
        "created_at": fact.created_at,
        "updated_at": fact.updated_at,
    }


def _write_id(user: str, id: str) -> str:
    name = base64.urlsafe_b64encode(user.encode()).decode().rstrip("=")
    return f"{name}.{id}"


def _read_id(text: str) -> tuple[str, str]:
    name, _, fact_id = text.partition(".")
    try:
        user = base64.urlsafe_b64decode(name + "=" * (-len(name) % 4)).decode()
    except (binascii.Error, ValueError):
        raise not_found("memory") from None
    if not user or not fact_id:
        raise not_found("memory")
    return user, fact_id
