"""The explorer page at ``/ui``. Its files need no key: they contain nothing of a user."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from ... import _native
from .. import views
from ..access import refuse_foreign_pages
from ..explorer import HEADERS, files
from ..problems import not_found
from ..state import TheService

router = APIRouter(include_in_schema=False)


class Exchange(BaseModel):
    """The token of a one-time address."""

    model_config = ConfigDict(extra="forbid", strict=True)
    token: str = Field(min_length=1, max_length=200)


@router.get("/")
async def root(accept: Annotated[str, Header()] = "") -> Response:
    """Leads browsers to the page, and tells programs where things are."""
    if "text/html" in accept:
        return Response(status_code=307, headers={"Location": "ui/", **HEADERS})
    return views.answer(
        {
            "name": "episodica",
            "version": _native.version(),
            "explorer": "ui/",
            "openapi": "openapi.json",
            "endpoints": "v1/",
            "health": "health",
        }
    )


@router.get("/ui")
async def enter() -> Response:
    """Leads to the page by a relative address, so that a proxy may put the service below a path."""
    return Response(status_code=308, headers={"Location": "ui/", **HEADERS})


@router.get("/ui/{path:path}")
async def page(path: str, if_none_match: Annotated[str | None, Header()] = None) -> Response:
    """A file of the page."""
    found = files().get(path or "index.html")
    if found is None:
        raise not_found("page")
    headers = {**HEADERS, "ETag": found.tag}
    if if_none_match is not None and found.tag in if_none_match:
        return Response(status_code=304, headers=headers)
    return Response(found.content, headers=headers, media_type=found.media)


@router.post("/ui/session")
async def exchange(body: Exchange, request: Request, service: TheService) -> Response:
    """Exchanges the token of a one-time address for a credential, once."""
    refuse_foreign_pages(request, same=True)
    return views.answer({"credential": service.gatekeeper.exchange(body.token)})
