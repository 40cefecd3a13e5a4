"""Checks of single arguments: texts, ids, queries, numbers, paths."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from datetime import timedelta
from operator import index
from pathlib import Path
from typing import SupportsIndex

from ..config.endpoint import public_url
from ..errors import InvalidInputError
from ..hints import shown
from ..place import is_address
from .texts import MAX_NAME, check_length, check_text

MAX_TOP_K = 1000
# What the engine can count.
_LARGEST = sys.maxsize
# A wait longer than this is for ever.
_LONGEST_SECONDS = 1e12


def text(value: object, what: str) -> str:
    """A text that can be stored; refuses other types and lone surrogates."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{what} must be a str, not `{type(value).__name__}`")
    return value if value.isascii() else check_text(value, what)


def name(value: object, what: str) -> str:
    """A name or an id, which has a limited length."""
    return check_length(text(value, what), what, MAX_NAME)


def user(value: object) -> str:
    """A user id. The engine checks its length."""
    return text(value, "user_id")


def ids(value: object) -> list[str]:
    """One id, or several."""
    if isinstance(value, str):
        return [text(value, "id")]
    if not isinstance(value, Iterable):
        raise InvalidInputError(f"id must be a str or a list of them, not `{type(value).__name__}`")
    return [text(one, "id") for one in value]


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
    if number < least or number > (_LARGEST if most is None else most):
        bounds = f"at least {least}" if number < least else f"at most {_LARGEST}"
        if most is not None:
            bounds = f"between {least} and {most}"
        raise InvalidInputError(f"{what} must be {bounds}: `{shown(number)}`")
    return number


def top_k(value: object) -> int:
    """How many hits of each kind."""
    return whole(value, "top_k", 1, MAX_TOP_K)


def seconds(value: object, what: str) -> float:
    """A duration in seconds, not negative; infinity is allowed."""
    # `not >=` instead of `<`: NaN is not 0 or more either.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise InvalidInputError(f"{what} must be a number of seconds, 0 or more: `{shown(value)}`")
    return float(min(value, _LONGEST_SECONDS))


def share(value: object, what: str) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InvalidInputError(f"{what} must be a number from 0 to 1: `{shown(value)}`")
    return float(value)


def span(value: object) -> float:
    """A time from now on, in seconds: a ``timedelta`` or a number of seconds."""
    length = value.total_seconds() if isinstance(value, timedelta) else value
    return seconds(length, "expires_after")


def days(value: object, what: str) -> float:
    """A number of days, not negative."""
    if isinstance(value, timedelta):
        value = value / timedelta(days=1)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise InvalidInputError(f"{what} must be a number of days, 0 or more: `{shown(value)}`")
    return float(value)


def store_path(value: object) -> Path:
    """The absolute path of a store's directory, ``~`` expanded."""
    if not isinstance(value, (str, os.PathLike)):
        raise InvalidInputError(f"path must be a str or a Path, not `{type(value).__name__}`")
    name = os.fspath(value)
    if not isinstance(name, str) or not name:
        raise InvalidInputError(
            "path is empty" if not name else "path must be a str or a Path, not `bytes`"
        )
    if "://" in name:
        raise InvalidInputError(
            f"path is an address: `{shown(public_url(name))}`",
            hint="stores are directories of this machine, or `postgresql://` addresses",
        )
    return Path(text(name, "path")).expanduser().absolute()


def store_place(value: object) -> str:
    """Where a store is: the address of a database as it is, or an absolute path."""
    return text(value, "path") if is_address(value) else str(store_path(value))
