"""Exports and imports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from ...aio.running import run
from ...errors import InvalidInputError
from ...reports import ImportReport
from .. import views
from ..access import AnyCaller, User
from ..models import Imported
from ..problems import not_found
from ..slots import key_of
from ..state import Memory, TheService
from ..uploads import exported, uploaded
from ..work import Streamed
from .shared import problems

router = APIRouter(tags=["transfer"])
_CHUNK = 1 << 20
_LINES = {"application/x-ndjson": {"schema": {"type": "string"}}}


@router.get(
    "/v1/users/{user}/export",
    response_class=StreamingResponse,
    responses={**problems(404), 200: {"description": "One record per line.", "content": _LINES}},
)
async def export(
    request: Request, user: User, caller: AnyCaller, memory: Memory, service: TheService
) -> Response:
    """All records of a user as JSONL, with their versions."""
    caller.needs("read")
    give = service.work.export(key_of(request.scope))
    try:
        file = await run(exported, memory._memory, user)
    except BaseException as error:
        give()
        if isinstance(error, InvalidInputError):
            raise not_found("user") from None
        raise

    async def parts() -> AsyncIterator[bytes]:
        while part := await asyncio.to_thread(file.read, _CHUNK):
            yield part

    def end() -> None:
        file.close()
        give()

    return Streamed(parts(), end, media_type="application/x-ndjson")


@router.post(
    "/v1/users/{user}/import",
    response_model=Imported,
    responses=problems(),
    openapi_extra={"requestBody": {"required": True, "content": _LINES}},
)
async def import_(
    request: Request,
    user: User,
    caller: AnyCaller,
    memory: Memory,
    service: TheService,
    file_format: Annotated[
        str | None, Query(alias="format", description="Its format; by default its content tells.")
    ] = None,
    deleted: Annotated[
        Literal["skip", "add"],
        Query(description="Whether what was deleted since is left out or added again."),
    ] = "skip",
) -> Response:
    """Adds an export, or a chat history of another program; known records are left out."""
    caller.needs("write")
    body = await request.body()

    def add() -> ImportReport:
        with uploaded(body, service.settings, file_format) as path:
            try:
                return memory._memory.import_(path, user, format=file_format, deleted=deleted)
            except InvalidInputError as error:
                message = error.message.replace(str(path), "the body")
                raise InvalidInputError(message, hint=error.hint) from None

    report = await run(add)
    service.memories.touched(memory.tenant, user)
    return views.answer(report.to_dict())
