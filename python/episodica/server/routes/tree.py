"""The tree of layers over the records: folders, and texts at a layer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from ...aio.running import run
from ...errors import InvalidInputError
from ...layers.address import EPISODICA, Address, parse
from ...layers.values import Entry, Layer
from ...system import MemorySystem
from .. import views
from ..access import AnyCaller, Caller
from ..models import MAX_PAGE, Folder, Text
from ..problems import not_found
from ..state import Memory
from .shared import problems

router = APIRouter(tags=["tree"])
_DEEPEST = 8

Place = Annotated[
    str, Query(description="`cortex://…`, or `episodica://…` as the `uri` of records.")
]


@router.get("/v1/fs", response_model=Folder, responses=problems(404))
async def list_folder(
    caller: AnyCaller,
    memory: Memory,
    uri: Place = "cortex://",
    depth: Annotated[int, Query(ge=1, le=_DEEPEST, description="Levels below.")] = 1,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE, description="Most entries, of all levels.")] = (
        MAX_PAGE
    ),
) -> Response:
    """A folder of the tree, with the levels below."""
    at = _place(caller, uri, depth)
    walk = _Walk(memory._memory, _only(caller), limit)
    entries = await run(walk.below, str(at), depth)
    return views.answer({"uri": str(at), "entries": entries, "complete": walk.complete})


@router.get("/v1/fs/read", response_model=Text, responses=problems(404))
async def read_text(
    caller: AnyCaller, memory: Memory, uri: Place, layer: Layer | None = None
) -> Response:
    """A text of the tree; without `layer`, in the layer that the address names, else whole."""
    at = _place(caller, uri)
    try:
        text = await memory.read(str(at), layer, user_id=_only(caller))
    except InvalidInputError:
        raise not_found("place") from None
    return views.answer({"uri": str(at), "text": text})


def _place(caller: Caller, uri: str, depth: int = 2) -> Address:
    """The place that a request names. Places of several users need the right to list users."""
    caller.needs("read")
    at = parse(uri)
    of_one_user = len(at.names) >= 2 and (at.scheme == EPISODICA or at.names[0] == "user")
    shows_roots = not at.names and depth == 1
    if caller.user == "*" and not of_one_user and not shows_roots:
        caller.needs("admin")
    return at


def _only(caller: Caller) -> str | None:
    """The user whose records a key opens; ``None`` for all."""
    return None if caller.user == "*" else caller.user


class _Walk:
    """Lists folders, from the top down, until the answer is full."""

    def __init__(self, memory: MemorySystem, user: str | None, room: int) -> None:
        self._memory = memory
        self._user = user
        self._room = room
        self.complete = True

    def below(self, uri: str, depth: int) -> list[dict[str, Any]]:
        """The entries of a folder, each with its own entries."""
        if self._room <= 0:
            self.complete = False
            return []
        try:
            found = self._memory.ls(uri, user_id=self._user)
        except InvalidInputError:
            raise not_found("place") from None
        shown = found[: self._room]
        self.complete &= len(shown) == len(found)
        self._room -= len(shown)
        told = [_view(one) for one in shown]
        if depth > 1:
            for one in told:
                if one["kind"] == "folder":
                    one["entries"] = self.below(one["uri"], depth - 1)
        return told


def _view(entry: Entry) -> dict[str, Any]:
    return {
        "uri": entry.uri,
        "name": entry.name,
        "kind": entry.kind,
        "title": entry.title,
        "timestamp": entry.timestamp,
        "record_uri": entry.record_uri or None,
    }
