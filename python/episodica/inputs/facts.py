"""Facts as callers state them, checked and brought into the form that the engine takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias, get_args

from ..dates import rfc3339_day
from ..errors import InvalidInputError
from ..hints import nearest_hint, shown
from . import checks
from .names import time_in
from .texts import metadata_text

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

About: TypeAlias = Literal["user", "agent"]
ABOUT: tuple[About, ...] = get_args(About)

Importance: TypeAlias = Literal["low", "medium", "high", "critical"]
# Cortex-Mem's labels of importance, each as the number that it stands for.
IMPORTANCES: dict[str, float] = {"low": 0.25, "medium": 0.5, "high": 0.75, "critical": 1.0}


def fact_kinds(kinds: object, what: str) -> list[FactKind]:
    """One category of facts, or several."""
    names = (kinds,) if isinstance(kinds, str) else kinds
    if not isinstance(names, Iterable):
        raise InvalidInputError(f"{what} must be a list of names, not `{type(kinds).__name__}`")
    return [fact_kind(name, what) for name in names]


def fact_kind(kind: object, what: str = "kind") -> FactKind:
    """A category of facts."""
    for name in FACT_KINDS:
        if name == kind:
            return name
    raise InvalidInputError(
        f"{what} is unknown: `{shown(kind)}`", hint=nearest_hint(kind, FACT_KINDS)
    )


def importance(value: object, what: str) -> float:
    """An importance from 0 to 1, or one of the four labels."""
    if isinstance(value, str):
        if value not in IMPORTANCES:
            raise InvalidInputError(
                f"{what} is unknown: `{shown(value)}`", hint=nearest_hint(value, tuple(IMPORTANCES))
            )
        return IMPORTANCES[value]
    return checks.share(value, what)


def about_agent(about: object) -> bool | None:
    """Whether facts about an agent are meant; ``None`` for any."""
    if about is None:
        return None
    if about not in ABOUT:
        raise InvalidInputError(f"about is unknown: `{shown(about)}`", hint="say `user` or `agent`")
    return about == "agent"


def stated_fact(
    statement: object,
    kind: object,
    valid_from: object,
    metadata: object,
    agent_id: object,
    expires_after: object,
    about: object,
    zone: str | None = None,
) -> dict[str, Any]:
    """The arguments of ``Engine.remember``; a date without a time is midnight in ``zone``."""
    content = checks.text(statement, "statement")
    if not content.strip():
        raise InvalidInputError("statement is empty")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata must be a mapping, not `{type(metadata).__name__}`")
    kept = dict(metadata or {})
    if valid_from is None:
        valid_from, _ = time_in(kept)
    if agent_id is not None:
        kept["agent_id"] = checks.name(agent_id, "agent_id")
    if about_agent(about):
        kept["about"] = "agent"
    return {
        "content": content,
        "kind": None if kind is None else fact_kind(kind),
        "valid_from": None if valid_from is None else rfc3339_day(valid_from, "valid_from", zone),
        "expires_after": None if expires_after is None else checks.span(expires_after),
        "metadata": metadata_text(kept),
    }


def stated_slot(subject: object, attribute: object, value: object) -> dict[str, Any]:
    """Subject, attribute and value of a stated fact, as arguments of ``Engine.remember``."""
    given = {"subject": subject, "attribute": attribute, "value": value}
    told = {name: checks.text(text, name) for name, text in given.items() if text is not None}
    empty = next((name for name, text in told.items() if not text.strip()), None)
    if empty:
        raise InvalidInputError(f"{empty} is empty; leave it out if there is none")
    missing = {"attribute", "value"} - told.keys()
    if len(missing) == 1:
        raise InvalidInputError(f"attribute and value belong together: {missing.pop()} is missing")
    return told
