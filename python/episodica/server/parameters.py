"""Query parameters: the route declares each of them, and each is given at most once."""

from __future__ import annotations

from collections import Counter

from fastapi import Request

from ..hints import nearest_hint, shown
from .problems import ServiceError

# Other services' names for the parameter that leads to the next page.
_PAGING = ("after", "next", "offset", "page", "page_token", "skip", "start")


async def refuse_unknown(request: Request) -> None:
    """Dependency of every route: an unknown query parameter is an error, it is not ignored."""
    if not request.query_params:
        return
    known = _declared(request)
    counts = Counter(name for name, _ in request.query_params.multi_items())
    for name, count in counts.items():
        if name not in known:
            raise ServiceError(
                400, f"unknown query parameter: `{shown(name)}`", _meant(name, known)
            )
        if count > 1:
            raise ServiceError(400, f"given {count} times: `{shown(name)}`")


def _declared(request: Request) -> list[str]:
    """The query parameters of the route, according to the OpenAPI document."""
    path = request.app.openapi()["paths"].get(request.scope["route"].path, {})
    declared = path.get(request.method.lower(), {}).get("parameters", ())
    return [one["name"] for one in declared if one["in"] == "query"]


def _meant(name: str, known: list[str]) -> str | None:
    if not known:
        return "this route takes none"
    if "cursor" in known and name.lower() in _PAGING:
        return "to go on, pass `next_cursor` of the page before as `cursor`"
    return nearest_hint(name, known)
