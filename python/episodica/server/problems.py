"""Failures as ``application/problem+json`` (RFC 9457): the kind of the error and its hint."""

from __future__ import annotations

import logging
import re
import traceback
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from ..errors import EpisodicaError
from ..hints import nearest_hint
from ..inputs.options import SEARCH_SYNONYMS
from ..visible import visible

MEDIA_TYPE = "application/problem+json"
_LOG = logging.getLogger("episodica.server")
_A_FILE = "a file of the server"
# Absolute paths as errors show them.
_PATH = re.compile(r"`(?:/|[A-Za-z]:\\|\\\\)[^`]*`")
_STATUS = {
    "invalid_input": 400,
    "read_only": 403,
    "store_locked": 503,
    "store_rolled_back": 503,
    "store_unavailable": 503,
    "io": 503,
    "closed": 503,
    "interrupted": 503,
    "embedding": 503,
    "llm": 503,
}
_TITLES = {
    400: "Invalid request",
    401: "A key is needed",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    406: "Not acceptable",
    408: "Too slow",
    409: "Conflict",
    410: "Gone",
    413: "Too large",
    415: "Unsupported media type",
    429: "Too many requests",
    500: "Internal error",
    503: "Not available now",
}
_UNKNOWN = "extra_forbidden"
# Seconds after which a client may try again.
RETRY_AFTER = 1


class Problem(BaseModel):
    """What went wrong."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    kind: str
    hint: str | None = None
    errors: list[dict[str, Any]] | None = None


# The usual kind of a failure with a status.
_KINDS = {
    400: "invalid_input",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    408: "too_slow",
    410: "deleted",
    413: "too_large",
    415: "media_type",
    429: "rate_limited",
    503: "busy",
}


class ServiceError(Exception):
    """A failure of the service itself: status, detail and hint, and its kind if it is unusual."""

    def __init__(
        self,
        status: int,
        detail: str,
        hint: str | None = None,
        *,
        kind: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind or _KINDS[status]
        self.detail = detail
        self.hint = hint
        self.retry_after = retry_after

    def response(self) -> JSONResponse:
        """The answer for this failure."""
        return problem(self.status, self.kind, self.detail, self.hint, retry_after=self.retry_after)


def not_found(what: str) -> ServiceError:
    """The error for a record or user that does not exist."""
    return ServiceError(404, f"there is no such {what}")


def problem(
    status: int,
    kind: str,
    detail: str,
    hint: str | None = None,
    *,
    errors: list[dict[str, Any]] | None = None,
    retry_after: float | None = None,
) -> JSONResponse:
    """An answer in the form of the standard."""
    body = Problem(
        title=_TITLES.get(status, "Failure"),
        status=status,
        detail=visible(detail),
        kind=kind,
        hint=hint,
        errors=errors,
    )
    headers = {}
    if status == 503 and retry_after is None:
        retry_after = RETRY_AFTER
    if retry_after is not None:
        headers["Retry-After"] = str(max(1, round(retry_after + 0.5)))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(
        body.model_dump(exclude_none=True), status, headers=headers, media_type=MEDIA_TYPE
    )


def of_error(error: EpisodicaError) -> JSONResponse:
    """The answer for an error of the memory."""
    status = _STATUS.get(error.kind, 500)
    message = without_paths(error.message, error.path)
    if status >= 500:
        _LOG.warning("%s: %s", error.kind, message)
    hint = None if error.hint is None else without_paths(error.hint, error.path)
    return problem(status, error.kind, message, hint)


def without_paths(text: str, known: str | None = None) -> str:
    """A text for clients and logs, without the names of files: they contain users' ids.

    ``known`` is a path that the text may contain.
    """
    if known:
        text = text.replace(known, _A_FILE)
    return _PATH.sub(f"`{_A_FILE}`", text)


class WithoutPaths(logging.Filter):
    """Takes the names of files out of the lines of a log."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrites the record and keeps it."""
        record.msg, record.args = without_paths(record.getMessage()), None
        return True


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
