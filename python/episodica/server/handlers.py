"""The application's failures as problems: those of the memory, of the framework, and bugs."""

from __future__ import annotations

import logging
import traceback

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from ..errors import EpisodicaError
from ..hints import nearest_hint
from ..inputs.options import SEARCH_SYNONYMS
from .problems import ServiceError, of_error, problem

_LOG = logging.getLogger("episodica.server")
_UNKNOWN = "extra_forbidden"


def body_hint(request: Request, key: str) -> str | None:
    """A hint at the key that was meant, among those that the route takes in a body."""
    field = getattr(request.scope.get("route"), "body_field", None)
    model = getattr(getattr(field, "field_info", None), "annotation", None)
    known = list(getattr(model, "model_fields", ()))
    meant = SEARCH_SYNONYMS.get(key)
    return f"did you mean `{meant}`?" if meant in known else nearest_hint(key, known)


def install(app: FastAPI) -> None:
    """Makes every failure of an application a problem."""

    @app.exception_handler(ServiceError)
    async def _service(_: Request, failure: ServiceError) -> JSONResponse:
        return failure.response()

    @app.exception_handler(EpisodicaError)
    async def _memory(_: Request, error: EpisodicaError) -> JSONResponse:
        return of_error(error)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        # The request is left out: it may be a message.
        found = [
            {"place": ".".join(map(str, one["loc"])), "message": one["msg"]}
            for one in error.errors()
        ]
        first = found[0] if found else {"place": "body", "message": "invalid"}
        detail = f"{first['place']}: {first['message']}"
        unknown = next((one["loc"][-1] for one in error.errors() if one["type"] == _UNKNOWN), None)
        hint = None if unknown is None else body_hint(request, str(unknown))
        return problem(400, "invalid_input", detail, hint, errors=found[:20])

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> JSONResponse:
        kind = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http")
        answer = problem(error.status_code, kind, str(error.detail))
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(Exception)
    async def _bug(_: Request, error: Exception) -> JSONResponse:
        # Without its text, which may name a file or quote the request.
        frames = "".join(traceback.format_tb(error.__traceback__))
        _LOG.error("a request failed: %s\n%s", type(error).__name__, frames)
        return problem(500, "internal", "the service failed; its log says why")
