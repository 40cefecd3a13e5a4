"""LangGraph's filters on values: equality, nested mappings, and ``$eq $ne $gt $gte $lt $lte``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from episodica import InvalidInputError

_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def matches(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether a value has what a filter asks of its keys; no filter admits all.

    Raises
    ------
    InvalidInputError
        For an unknown operator.

    Examples
    --------
    >>> matches({"color": "red", "size": 3}, {"color": "red", "size": {"$gt": 2}})
    True
    """
    return all(_agrees(value.get(key), asked) for key, asked in (wanted or {}).items())


def _agrees(value: Any, asked: Any) -> bool:
    if isinstance(asked, Mapping):
        if any(str(key).startswith("$") for key in asked):
            return all(_compares(value, name, limit) for name, limit in asked.items())
        return isinstance(value, Mapping) and matches(value, asked)
    if isinstance(asked, (list, tuple)):
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(asked)
            and all(map(_agrees, value, asked))
        )
    return bool(value == asked)


def _compares(value: Any, name: str, limit: Any) -> bool:
    if name == "$eq":
        return bool(value == limit)
    if name == "$ne":
        return bool(value != limit)
    if name not in _ORDERS:
        known = ", ".join(["$eq", "$ne", *_ORDERS])
        raise InvalidInputError(f"unknown operator of a filter: `{name}`", hint=f"known: {known}")
    try:
        return _ORDERS[name](float(value), float(limit))
    except (TypeError, ValueError):
        return False  # only numbers have an order
