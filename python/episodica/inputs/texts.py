"""Texts and JSON values of callers, checked for what the store can hold."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

from ..errors import InvalidInputError
from ..hints import shown

# The most characters of a name or an id, of a role, and of metadata as JSON.
MAX_NAME = 1_000
MAX_ROLE = 100
MAX_METADATA = 1_000_000
_MAX_JSON_DEPTH = 100
# Deeper places are not spelled out in errors.
_PLACE_DEPTH = 8
_PLAIN = frozenset((str, int, bool, type(None)))
_TEXT = frozenset((str,))
_encode_json = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
).encode


def check_text(text: str, what: str) -> str:
    """``text`` itself, if it has no lone surrogate. Every other character is fine, NUL included."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = f"U+{ord(text[error.start]):04X}"
        hint = (
            'text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") repairs such text'
        )
        raise InvalidInputError(
            f"{what} holds a lone surrogate at character {error.start}: `{code}`", hint=hint
        ) from None
    return text


def check_length(text: str, what: str, most: int) -> str:
    """``text`` itself, if it is not too long."""
    if len(text) > most:
        raise InvalidInputError(f"{what} has more than {most:,} characters: `{len(text):,}`")
    return text


def metadata_text(value: object) -> str:
    """Metadata as JSON of bounded length."""
    return check_length(json_text(value, "metadata"), "metadata", MAX_METADATA)


def json_text(value: object, what: str) -> str:
    """``value`` as JSON. Errors name the place of what JSON can't hold."""
    flat = (
        type(value) is dict
        and _PLAIN.issuperset(map(type, value.values()))
        and _TEXT.issuperset(map(type, value))
    )
    if not flat:
        _check_json(value, what, 0)
    try:
        text = _encode_json(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInputError(f"{what} is not JSON: {shown(error)}") from None
    return text if text.isascii() else check_text(text, what)


def _check_json(value: object, place: str, depth: int) -> None:
    if type(value) in _PLAIN:
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInputError(f"{place} is not JSON: `{value}`")
        return
    if depth >= _MAX_JSON_DEPTH:
        raise InvalidInputError(
            f"{place} is nested too deeply: more than `{_MAX_JSON_DEPTH}` levels"
        )
    for step, item in _json_items(value, place):
        if type(item) not in _PLAIN:
            _check_json(item, place + step if depth < _PLACE_DEPTH else place, depth + 1)


def _json_items(value: object, place: str) -> Iterable[tuple[str, object]]:
    """The items of an object or a list, each with the step that leads to it.

    A subclass of a plain type has none.
    """
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise InvalidInputError(f"{place} has a key that is not a str: `{shown(key)}`")
        return ((f".{shown(key)}", item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ((f"[{index}]", item) for index, item in enumerate(value))
    if isinstance(value, (str, int)):
        return ()
    raise InvalidInputError(
        f"{place} is not a JSON type: `{type(value).__name__}`",
        hint="convert it to text or numbers first",
    )
