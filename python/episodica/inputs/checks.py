"""Checks of single arguments: texts, ids, queries, numbers, paths."""

from __future__ import annotations

import math
import os
from operator import index
from pathlib import Path
from typing import SupportsIndex

from ..errors import InvalidInputError
from .messages import check_text

MAX_TOP_K = 1000


def text(value: object, what: str) -> str:
    """A text without lone surrogates."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{what} must be a str, not `{type(value).__name__}`")
    return value if value.isascii() else check_text(value, what)


def user(value: object) -> str:
    """A user id; the engine checks its length."""
    return text(value, "user_id")


def optional_user(value: object) -> str | None:
    """A user id, or ``None`` for all users."""
    return None if value is None else user(value)


def query(value: object) -> str:
    """A query that is not blank."""
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
    """How many hits."""
    return whole(value, "top_k", 1, MAX_TOP_K)


def seconds(value: object, what: str) -> float:
    """A duration in seconds, 0 or more; may be infinite."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or math.isnan(value)
        or value < 0
    ):
        raise InvalidInputError(f"{what} must be a number of seconds, 0 or more: `{value!r:.40}`")
    return float(value)


def store_path(value: object) -> Path:
    """The absolute directory of a store, ``~`` expanded."""
    if not isinstance(value, (str, os.PathLike)):
        raise InvalidInputError(f"path must be a str or a Path, not `{type(value).__name__}`")
    name = os.fspath(value)
    if not isinstance(name, str) or not name:
        raise InvalidInputError(
            "path is empty" if not name else "path must be a str or a Path, not `bytes`"
        )
    return Path(text(name, "path")).expanduser().absolute()
