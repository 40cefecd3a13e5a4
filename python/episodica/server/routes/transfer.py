"""Exports and imports."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from ...errors import InvalidInputError
from .. import views
from ..access import AnyCaller, User
from ..models import Imported
from ..problems import not_found
from ..state import Memory, TheService
from .shared import problems

router = APIRouter(tags=["transfer"])
_CHUNK = 1 << 20
_LINES = {"application/x-ndjson": {"schema": {"type": "string"}}}


@router.get(
    "/v1/users/{user}/export",
    response_class=StreamingResponse,
    responses={
        **problems(404),
        200: {"description": "A record a line.", "content": _LINES},
    },
)
async def export(user: User, caller: AnyCaller, memory: Memory) -> Response:
    """All records of a user as JSONL, with their versions."""
    caller.needs("read")
    with tempfile.TemporaryDirectory(prefix="episodica-export-") as folder:
        path = Path(folder, "export.jsonl")
        try:
            await memory.export(user, path)
        except InvalidInputError:
            raise not_found("user") from None
        # The open file outlives its folder.
        file = await asyncio.to_thread(path.open, "rb")

    async def parts() -> AsyncIterator[bytes]:
        with file:
            while part := await asyncio.to_thread(file.read, _CHUNK):
                yield part

    return StreamingResponse(parts(), media_type="application/x-ndjson")


@router.post(
    "/v1/users/{user}/import",
    response_model=Imported,
    responses=problems(),
    openapi_extra={"requestBody": {"required": True, "content": _LINES}},
)
async def import_(
    request: Request, user: User, caller: AnyCaller, memory: Memory, service: TheService
) -> Response:
    """Adds an export, or a chat history of another program; what is known is left out."""
    caller.needs("write")
    body = await request.body()
    with tempfile.TemporaryDirectory(prefix="episodica-import-") as folder:
        path = Path(folder, "import.jsonl")
        await asyncio.to_thread(path.write_bytes, body)
        try:
            report = await memory.import_(path, user)
        except InvalidInputError as error:
            message = error.message.replace(str(path), "the body")
            raise InvalidInputError(message, hint=error.hint) from None
    service.memories.touched(memory.tenant, user)
    return views.answer(report.to_dict())
