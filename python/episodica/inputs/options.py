"""Checks of what callers pass beside messages: ids, queries, search options, limits."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from operator import index
from pathlib import Path
from typing import Any, Literal, SupportsIndex, TypeAlias

from ..dates import TimeLike, rfc3339, rfc3339_end, to_utc
from ..errors import InvalidInputError
from ..hints import nearest_hint
from .messages import check_text, json_text

Kind: TypeAlias = Literal["episodic", "semantic", "message"]
Method: TypeAlias = Literal["hybrid", "rrf", "vector", "bm25", "norlift"]

KINDS: tuple[Kind, ...] = ("episodic", "semantic", "message")
METHODS: tuple[Method, ...] = ("hybrid", "rrf", "vector", "bm25", "norlift")
_MAX_TOP_K = 1000


def text(value: object, what: str) -> str:
    """A text that can be stored; refuses other types and lone surrogates."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{what} must be a str, not `{type(value).__name__}`")
    return value if value.isascii() else check_text(value, what)


def user(value: object) -> str:
    """A user id. Its length is the engine's business."""
    return text(value, "user_id")


def optional_user(value: object) -> str | None:
    """A user id, or ``None`` for all users."""
    return None if value is None else user(value)


def query(value: object) -> str:
    """A query with something in it."""
    checked = text(value, "query")
    if not checked.strip():
        raise InvalidInputError(
            "query is empty",
            hint="ask for something, or list records with `memory.episodes(user_id)`",
        )
    return checked


def whole(value: object, what: str, least: int, most: int | None = None) -> int:
    """A whole number within its bounds."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise InvalidInputError(f"{what} must be a whole number, not `{type(value).__name__}`")
    number = index(value)
    if number < least or (most is not None and number > most):
        bounds = f"at least {least}" if most is None else f"between {least} and {most}"
        raise InvalidInputError(f"{what} must be {bounds}: `{number}`")
    return number


def top_k(value: object) -> int:
    """How many hits of each kind."""
    return whole(value, "top_k", 1, _MAX_TOP_K)


def seconds(value: object, what: str) -> float:
    """A duration in seconds, not negative; infinity is allowed."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or math.isnan(value)
        or value < 0
    ):
        raise InvalidInputError(f"{what} must be a number of seconds, 0 or more: `{value!r:.40}`")
    return float(value)


def window(since: TimeLike | None, until: TimeLike | None) -> dict[str, str | None]:
    """The two ends of a time range, both included."""
    start = None if since is None else rfc3339(since, "since")
    end = None if until is None else rfc3339_end(until, "until")
    if start and end and to_utc(start) > to_utc(end):
        raise InvalidInputError(f"since is later than until: `{start}` > `{end}`")
    return {"since": start, "until": end}


def search_options(
    *,
    top_k: int | None,
    kinds: Iterable[str] | str,
    method: str,
    since: TimeLike | None,
    until: TimeLike | None,
    session_id: str | None,
    where: Mapping[str, Any] | None,
    threshold: float | None,
    explain: bool,
    now: TimeLike | None,
) -> dict[str, Any]:
    """The options of a search as the engine takes them. A ``top_k`` (checked before) of ``None`` leaves the number to the engine."""
    return {
        "top_k": top_k,
        "kinds": _kinds(kinds),
        "method": _one_of(method, METHODS, "method"),
        **window(since, until),
        "session_id": None if session_id is None else text(session_id, "session_id"),
        "where": _where(where),
        "threshold": _threshold(threshold),
        "explain": bool(explain),
        "now": None if now is None else rfc3339(now, "now"),
    }


def list_options(
    *,
    since: TimeLike | None,
    until: TimeLike | None,
    session_id: str | None,
    newest_first: bool,
    include_superseded: bool = False,
) -> dict[str, Any]:
    """The options of a listing as the engine takes them, without its place."""
    return {
        **window(since, until),
        "session_id": None if session_id is None else text(session_id, "session_id"),
        "newest_first": bool(newest_first),
        "include_superseded": bool(include_superseded),
    }


def store_path(value: object) -> Path:
    """The directory of a store, ``~`` expanded, independent of later changes of the working directory."""
    if not isinstance(value, (str, os.PathLike)):
        raise InvalidInputError(f"path must be a str or a Path, not `{type(value).__name__}`")
    name = os.fspath(value)
    if not isinstance(name, str) or not name:
        raise InvalidInputError(
            "path is empty" if not name else "path must be a str or a Path, not `bytes`"
        )
    return Path(text(name, "path")).expanduser().absolute()


def _one_of(value: object, known: tuple[str, ...], what: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise InvalidInputError(
            f"{what} is unknown: `{value!s:.40}`", hint=nearest_hint(value, known)
        )
    return value


def _kinds(kinds: object) -> list[str]:
    if isinstance(kinds, str):
        kinds = (kinds,)
    if not isinstance(kinds, Iterable):
        raise InvalidInputError(f"kinds must be a list of names, not `{type(kinds).__name__}`")
    names = list(dict.fromkeys(_one_of(kind, KINDS, "kind") for kind in kinds))
    if not names:
        raise InvalidInputError(
            "kinds is empty", hint="name at least one of `episodic`, `semantic`, `message`"
        )
    return names


def _where(where: object) -> str | None:
    if where is None:
        return None
    if not isinstance(where, Mapping):
        raise InvalidInputError(
            f"where must be a mapping of metadata keys to values, not `{type(where).__name__}`"
        )
    return json_text(dict(where), "where")


def _threshold(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -1 <= value <= 1:
        raise InvalidInputError(f"threshold is a cosine, between -1 and 1: `{value!r:.40}`")
    return float(value)
