"""The paths of mem0's server, so that its users switch by changing a URL.

Its memories are facts here, named by user and id in one.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from ...records import SemanticMemory
from .. import views
from ..access import AnyCaller, Caller
from ..memories import settled
from ..problems import ServiceError, not_found
from ..state import Memory, TheService
from .shared import RecordId, id_of, problems

router = APIRouter(tags=["mem0"])
_SECONDS = 60.0
_EVENTS = {"ADD": "ADD", "UPDATE": "UPDATE", "MERGE": "UPDATE", "SUPERSEDE": "UPDATE"}


class _Request(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class Remember(_Request):
    """Messages, in mem0's form."""

    messages: list[dict[str, Any]] | str
    user_id: str = Field(min_length=1)
    agent_id: str | None = None
    run_id: str | None = None
    metadata: dict[str, Any] | None = None
    infer: bool = True


class Ask(_Request):
    """A question, in mem0's form."""

    query: str = Field(min_length=1)
    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    filters: dict[str, Any] | None = None
    limit: int = Field(default=10, ge=1, le=1000)
    top_k: int | None = Field(default=None, ge=1, le=1000)


class Results(BaseModel):
    """mem0's envelope."""

    results: list[dict[str, Any]]


class Told(BaseModel):
    """mem0's confirmation."""

    message: str


@router.post("/memories", response_model=Results, responses=problems())
async def add(
    request: Request, body: Remember, caller: AnyCaller, memory: Memory, service: TheService
) -> Response:
    """Stores messages, learns from them, and answers what was learned."""
    caller.needs("write")
    user = _allowed(caller, body.user_id)
    said = (
        [{"role": "user", "content": body.messages}]
        if isinstance(body.messages, str)
        else body.messages
    )
    if len(said) > service.settings.max_batch:
        raise ServiceError(413, "too_large", "too many messages", "send them in parts")
    if body.metadata:
        said = [_with_metadata(one, body.metadata) for one in said]
    cursor = (await memory.events("latest", user_id=user)).cursor
    await memory.add_messages(user, said, session_id=body.run_id, agent_id=body.agent_id or None)
    if body.infer:
        async with service.work.forming(request) as form:
            await form(memory._memory.flush, user)
            await settled(memory, user, _SECONDS)
    service.memories.touched(memory.tenant, user)
    learned = [
        {
            "id": _write_id(user, event.id),
            "memory": event.statement,
            "event": _EVENTS[event.change],
            **({"previous_memory": event.previous} if event.previous is not None else {}),
        }
        for event in await memory.events(cursor, user_id=user)
        if event.change in _EVENTS
    ]
    return views.answer({"results": learned})


@router.post("/search", response_model=Results, responses=problems())
async def search(body: Ask, caller: AnyCaller, memory: Memory) -> Response:
    """Facts that answer a question."""
    caller.needs("read")
    filters = dict(body.filters or {})
    named = body.user_id or filters.pop("user_id", None)
    user = _allowed(caller, named)
    session = body.run_id or filters.pop("run_id", None)
    agent = body.agent_id or filters.pop("agent_id", None)
    found = await memory.search(
        user,
        body.query,
        top_k=body.top_k or body.limit,
        kinds=("semantic",),
        session_id=session,
        agent_id=agent,
        where=filters or None,
    )
    results = [
        {**_view(user, hit.record), "score": hit.score}
        for hit in found
        if isinstance(hit.record, SemanticMemory)
    ]
    return views.answer({"results": results})


@router.get("/memories", response_model=Results, responses=problems())
async def all_memories(
    caller: AnyCaller,
    memory: Memory,
    user_id: str,
    limit: int = Query(default=100, ge=1, le=1000),
) -> Response:
    """The facts of a user that hold."""
    caller.needs("read")
    user = _allowed(caller, user_id)
    results = [
        _view(user, fact)
        async for fact in memory.semantic_memories(user, newest_first=True, limit=limit)
    ]
    return views.answer({"results": results})


@router.delete("/memories", response_model=Told, responses=problems())
async def delete_all(
    caller: AnyCaller, memory: Memory, service: TheService, user_id: str
) -> Response:
    """Deletes everything of a user."""
    caller.needs("erase")
    user = _allowed(caller, user_id)
    await memory.delete_user_data(user)
    return views.answer({"message": "All memories deleted"})


@router.get("/memories/{id}", response_model=dict[str, Any], responses=problems(404))
async def get(id: RecordId, caller: AnyCaller, memory: Memory) -> Response:
    """One fact."""
    caller.needs("read")
    user, fact = await _find(id, caller, memory)
    return views.answer(_view(user, fact))


@router.delete("/memories/{id}", response_model=Told, responses=problems(404))
async def delete(id: RecordId, caller: AnyCaller, memory: Memory, service: TheService) -> Response:
    """Deletes one fact."""
    caller.needs("erase")
    user, fact = await _find(id, caller, memory)
    await memory.delete(user, fact.memory_id)
    return views.answer({"message": "Memory deleted successfully"})


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
        raise ServiceError(400, "invalid_input", "user_id is missing")
    if not caller.opens(user):
        raise ServiceError(403, "forbidden", "the key is for another user")
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
