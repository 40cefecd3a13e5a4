"""Facts as callers state them, checked and brought into the one form that the engine takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

from ..dates import rfc3339
from ..errors import InvalidInputError
from ..hints import nearest_hint, shown
from . import checks
from .texts import json_text

FactKind: TypeAlias = Literal[
    "personal_info",
    "work_history",
    "preference",
    "relationship",
    "goal",
    "entity",
    "event",
    "case",
    "decision",
    "procedure",
]
FACT_KINDS: tuple[FactKind, ...] = get_args(FactKind)


def stated_fact(
    statement: object,
    kind: object,
    valid_from: object,
    metadata: object,
    agent_id: object,
) -> dict[str, Any]:
    """What ``Engine.remember`` takes.

    Raises
    ------
    InvalidInputError
        For an empty statement, an unknown kind, and what is not JSON.
    """
    content = checks.text(statement, "statement")
    if not content.strip():
        raise InvalidInputError("statement is empty")
    if kind is not None and kind not in FACT_KINDS:
        raise InvalidInputError(
            f"kind is unknown: `{shown(kind)}`", hint=nearest_hint(kind, FACT_KINDS)
        )
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata must be a mapping, not `{type(metadata).__name__}`")
    kept = dict(metadata or {})
    if agent_id is not None:
        kept["agent_id"] = checks.text(agent_id, "agent_id")
    return {
        "content": content,
        "kind": kind,
        "valid_from": None if valid_from is None else rfc3339(valid_from, "valid_from"),
        "metadata": json_text(kept, "metadata"),
    }
