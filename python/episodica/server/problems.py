"""Failures as ``application/problem+json`` (RFC 9457): the kind of the error and its hint.

Knows no framework but Starlette's answers: the MCP server has the same failures in another form.
"""

from __future__ import annotations

import logging
import re
from typing import Any

from pydantic import BaseModel
from starlette.responses import JSONResponse

from ..errors import EpisodicaError
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
    """A failure of the service itself: status, detail and hint, and its kind if it is unusual.

    ``challenge`` says what a key lacks, in the words of ``WWW-Authenticate``.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        hint: str | None = None,
        *,
        kind: str | None = None,
        retry_after: float | None = None,
        challenge: str = "",
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind or _KINDS[status]
        self.detail = detail
        self.hint = hint
        self.retry_after = RETRY_AFTER if status == 503 and retry_after is None else retry_after
        self.challenge = challenge

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


def status_of(error: EpisodicaError | ServiceError) -> int:
    """The status of the answer for an error."""
    return error.status if isinstance(error, ServiceError) else _STATUS.get(error.kind, 500)


def of_error(error: EpisodicaError) -> JSONResponse:
    """The answer for an error of the memory."""
    status = status_of(error)
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
