"""The conditions of ``forgetting``, checked and brought into the form that the engine takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from ..errors import InvalidInputError
from . import checks
from .facts import fact_kinds as categories
from .facts import importance
from .options import about_facts, conditions, one_of

Forgettable: TypeAlias = Literal["semantic", "episodic"]
_KINDS: tuple[Forgettable, ...] = ("semantic", "episodic")


def policy(
    *,
    strength: object,
    older_than: object,
    unused_for: object,
    max_uses: object,
    max_importance: object,
    kinds: object,
    fact_kinds: object,
    exempt_kinds: object,
    where: object,
    agent_id: object,
) -> dict[str, Any]:
    """The arguments of ``Engine.forgetting``."""
    names = (kinds,) if isinstance(kinds, str) else kinds
    if not isinstance(names, Iterable):
        raise InvalidInputError(f"kinds must be a list of names, not `{type(kinds).__name__}`")
    return {
        "strength": None if strength is None else checks.share(strength, "strength"),
        "older_than_days": None if older_than is None else checks.days(older_than, "older_than"),
        "unused_days": None if unused_for is None else checks.days(unused_for, "unused_for"),
        "max_uses": None if max_uses is None else checks.whole(max_uses, "max_uses", 0),
        "max_importance": (
            None if max_importance is None else importance(max_importance, "max_importance")
        ),
        "kinds": [one_of(name, _KINDS, "kind") for name in names],
        "exempt_kinds": categories(exempt_kinds, "exempt_kinds"),
        **about_facts(fact_kinds, None),
        "where": conditions(where),
        "agent_id": None if agent_id is None else checks.text(agent_id, "agent_id"),
    }
