"""The guard's door of the HTTP service: its routes, its keys, its refusals, its access log."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from .access import Gatekeeper, caller_of
from .guard import JSON, Admission
from .problems import ServiceError
from .settings import ServerSettings
from .telemetry.metrics import Metrics
from .telemetry.naming import hashed

ACCESS = logging.getLogger("episodica.access")
_WITH_BODY = {"POST", "PATCH"}
# No `text/plain`: a page of any site may send that, and the browser does not ask first.
_FILES = (
    *("application/x-ndjson", "application/jsonl", "application/octet-stream"),
    *("application/zip", "application/x-zip-compressed", "text/csv", "application/mbox", *JSON),
)
# The most bytes of a body where no key is needed.
_MOST_WITHOUT_KEY = 1 << 10
# Streams of events have a limit of their own, and wait for nothing but events.
_STREAMS = ("/v1/events",)


class ServiceDoor:
    """Lets in who may call a route."""

    def __init__(
        self,
        routes: Iterable[APIRoute],
        gatekeeper: Gatekeeper,
        settings: ServerSettings,
        metrics: Metrics,
    ) -> None:
        self._routes = [(route, caller_of in _calls(route.dependant)) for route in routes]
        self._gatekeeper = gatekeeper
        self._most = settings.max_body_bytes
        self._metrics = metrics

    def admit(self, scope: Scope) -> Admission:
        """What a request may take; nothing, if no route has its path and method."""
        request = Request(scope)
        found = self._found(scope)
        if found is None:
            return Admission(self._gatekeeper.share(request))
        if not self._gatekeeper.serves_host(request.headers.get("host")):
            raise ServiceError(403, "without keys only programs on this machine are served")
        route, needs_key = found
        takes_body = scope["method"] in _WITH_BODY
        if not needs_key:
            most = _MOST_WITHOUT_KEY if takes_body else 0
            return Admission(self._gatekeeper.share(request), most=most)
        caller = scope["state"]["caller"] = self._gatekeeper.caller(request)
        return Admission(
            caller.key_id if caller.has_key else None,
            has_key=caller.has_key,
            most=self._most if takes_body else 0,
            media=_FILES if route.path.endswith("/import") else JSON,
            works=route.path not in _STREAMS,
        )

    def _found(self, scope: Scope) -> tuple[APIRoute, bool] | None:
        for route, needs_key in self._routes:
            if route.matches(scope)[0] is Match.FULL:
                return route, needs_key
        return None

    def refusal(self, failure: ServiceError) -> Response:
        """The answer to a refused request."""
        return failure.response()

    def note(self, scope: Scope, status: int, size: int, seconds: float) -> None:
        """A line of the access log: no path, no query, no body, as these name users."""
        route = scope.get("route")
        operation = getattr(route, "name", None) or "unknown"
        self._metrics.request(operation, status, seconds)
        if not ACCESS.isEnabledFor(logging.INFO):
            return
        state = scope["state"]
        caller, user = state.get("caller"), state.get("user")
        entry = {
            "method": scope["method"],
            "operation": operation,
            "status": status,
            "ms": round(seconds * 1000, 1),
            "bytes": size,
            "key": caller.key_id if caller else None,
            "tenant": caller.tenant if caller else None,
            "user": hashed(caller.tenant, user) if caller and user else None,
        }
        ACCESS.info(json.dumps(entry))


def _calls(dependant: Dependant) -> Iterator[Callable[..., Any] | None]:
    """A route's function and all that it depends on."""
    yield dependant.call
    for one in dependant.dependencies:
        yield from _calls(one)
