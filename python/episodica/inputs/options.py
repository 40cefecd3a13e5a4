"""The options of searches and listings: their names, types, defaults and checks.

``search``, ``context`` and the listings take them as ``**options: Unpack[…]``. So each option is
declared once, here, for type checkers, editors, ``help()`` and every caller that passes it on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ForwardRef, Literal, TypeAlias, TypedDict, TypeVar

from ..dates import TimeLike, aware, rfc3339_day, rfc3339_end
from ..errors import InvalidInputError
from ..hints import nearest_hint, shown
from . import checks
from .facts import About, FactKind, Importance, about_agent, fact_kinds, importance
from .texts import json_text

Kind: TypeAlias = Literal["episodic", "semantic", "message"]
Method: TypeAlias = Literal["hybrid", "rrf", "vector", "bm25", "norlift"]

Format: TypeAlias = Literal["text", "json", "xml"]
Duplicates: TypeAlias = Literal["version", "error"]

KINDS: tuple[Kind, ...] = ("episodic", "semantic", "message")
# What a search finds that names no kinds: messages, and facts that don't just quote a message.
_MOMENTS: tuple[Kind, ...] = ("message", "semantic")
METHODS: tuple[Method, ...] = ("hybrid", "rrf", "vector", "bm25", "norlift")
FORMATS: tuple[Format, ...] = ("text", "json", "xml")
DUPLICATES: tuple[Duplicates, ...] = ("version", "error")
# How to treat records in a file that the user has deleted.
DELETED: tuple[str, ...] = ("skip", "add")

# What other libraries call an option.
_MANY = ("k", "n", "n_results", "num_results", "size", "topk")
SEARCH_SYNONYMS = {
    **dict.fromkeys((*_MANY, "limit"), "top_k"),
    **dict.fromkeys(("filter", "filters", "metadata"), "where"),
    **dict.fromkeys(("budget", "tokens", "token_budget", "max_length"), "max_tokens"),
    **dict.fromkeys(("type", "types", "memory_type"), "kinds"),
    **dict.fromkeys(("kind", "category", "categories"), "fact_kinds"),
    **dict.fromkeys(("importance",), "min_importance"),
    **dict.fromkeys(("reference_date",), "now"),
    **dict.fromkeys(("run_id", "conversation_id", "thread_id"), "session_id"),
}
_LIST_SYNONYMS = {
    **dict.fromkeys((*_MANY, "top_k"), "limit"),
    **dict.fromkeys(("filter", "filters", "metadata"), "where"),
    **dict.fromkeys(("run_id", "conversation_id", "thread_id"), "session_id"),
    **dict.fromkeys(("order", "order_by", "reverse", "sort"), "newest_first"),
}
_KIND_SYNONYMS = {
    **dict.fromkeys(("fact", "facts", "semantic_memories"), "semantic"),
    **dict.fromkeys(("episode", "episodes"), "episodic"),
}

_F = TypeVar("_F", bound=Callable[..., Any])


class ContextOptions(TypedDict, total=False):
    """The options that ``search`` and ``context`` share."""

    method: Method
    since: TimeLike | None
    until: TimeLike | None
    session_id: str | None
    agent_id: str | None
    where: Mapping[str, Any] | None
    fact_kinds: Iterable[FactKind] | FactKind | None
    min_importance: float | Importance | None
    about: About | None
    threshold: float | None
    explain: bool
    now: TimeLike | None


class SearchOptions(ContextOptions, total=False):
    """The options of ``search``."""

    include_superseded: bool


class ListOptions(TypedDict, total=False):
    """The options of every listing."""

    since: TimeLike | None
    until: TimeLike | None
    session_id: str | None
    agent_id: str | None
    where: Mapping[str, Any] | None
    include_archived: bool
    newest_first: bool
    limit: int | None


# The defaults of options that are not ``None`` without a value.
_DEFAULTS: dict[str, Any] = {
    "method": "hybrid",
    "explain": False,
    "include_superseded": False,
    "include_archived": False,
    "newest_first": False,
}


def spelled_out(options: type) -> Callable[[_F], _F]:
    """Lets ``help()`` and ``inspect.signature`` show every option in place of ``**options``."""

    def decorate(function: _F) -> _F:
        signature = inspect.signature(function)
        *fixed, _ = signature.parameters.values()
        named = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_DEFAULTS.get(name),
                annotation=_written(annotation),
            )
            for name, annotation in options.__annotations__.items()
        ]
        function.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*fixed, *named]
        )
        return function

    return decorate


def _written(annotation: object) -> object:
    """The annotation as other parameters have it: as text."""
    return annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation


def search_options(
    given: ContextOptions,
    *,
    kinds: Iterable[str] | str | None,
    top_k: int | Mapping[Kind, int] | None,
    zone: str | None = None,
) -> dict[str, Any]:
    """The options of a search as the engine takes them; ``None`` leaves ``top_k`` to the engine.

    Dates without a time are days in ``zone``.
    """
    options = _with_defaults(given, SearchOptions)
    now = options["now"]
    names, per_kind = _MOMENTS if kinds is None else _kinds(kinds), {}
    if isinstance(top_k, Mapping):
        wanted: dict[Any, int] = dict(top_k)
        per_kind = {name: checks.top_k(wanted[name]) for name in _kinds(wanted)}
        if kinds is not None and set(names) != set(per_kind):
            raise InvalidInputError(
                f"top_k names other kinds than kinds does: `{', '.join(per_kind)}`",
                hint="leave `kinds` out: the keys of `top_k` say which kinds to search",
            )
        names, top_k = list(per_kind), min(sum(per_kind.values()), checks.MAX_TOP_K)
    return {
        "top_k": None if top_k is None else checks.top_k(top_k),
        "per_kind": list(per_kind.items()),
        "kinds": list(names),
        "stated_only": kinds is None and not per_kind,
        "method": one_of(options["method"], METHODS, "method"),
        **_window(options, zone),
        "where": conditions(options["where"]),
        **about_facts(options["fact_kinds"], options["min_importance"], options["about"]),
        "threshold": _threshold(options["threshold"]),
        "include_superseded": bool(options["include_superseded"]),
        "explain": bool(options["explain"]),
        "now": None if now is None else rfc3339_day(now, "now", zone),
    }


def context_options(
    given: ContextOptions, *, kinds: Iterable[str] | str | None, zone: str | None = None
) -> dict[str, Any]:
    """The options of a context as the engine takes them."""
    for name in given:
        if SEARCH_SYNONYMS.get(name, name) == "top_k":
            hint = "`max_tokens` limits the text"
        elif name == "include_superseded":
            hint = "the text marks outdated messages; `search` takes this option"
        else:
            continue
        raise InvalidInputError(f"context takes no `{name}`", hint=hint)
    return search_options(given, kinds=kinds, top_k=None, zone=zone)


def list_options(
    given: ListOptions,
    *,
    include_superseded: bool = False,
    kind: Iterable[FactKind] | FactKind | None = None,
    attribute: str | None = None,
    min_importance: float | Importance | None = None,
    about: About | None = None,
    zone: str | None = None,
) -> tuple[dict[str, Any], int | None]:
    """The options of a listing as the engine takes them, and the maximum number of records."""
    options = _with_defaults(given, ListOptions)
    limit = options["limit"]
    return {
        **_window(options, zone),
        "where": conditions(options["where"]),
        "newest_first": bool(options["newest_first"]),
        "include_superseded": bool(include_superseded),
        "include_archived": bool(options["include_archived"]),
        **about_facts(kind, min_importance, about, "kind"),
        "attribute": None if attribute is None else checks.text(attribute, "attribute"),
    }, None if limit is None else checks.whole(limit, "limit", 0)


def about_facts(
    kinds: object, least: object, about: object = None, what: str = "fact_kinds"
) -> dict[str, Any]:
    """Conditions that only facts can meet: category, importance, subject."""
    return {
        "fact_kinds": [] if kinds is None else fact_kinds(kinds, what),
        "min_importance": None if least is None else importance(least, "min_importance"),
        "about_agent": about_agent(about),
    }


def delete_options(
    kinds: Iterable[str] | str | None,
    *,
    fact_kinds: Iterable[FactKind] | FactKind | None,
    where: Mapping[str, Any] | None,
    since: TimeLike | None,
    until: TimeLike | None,
    session_id: str | None,
    agent_id: str | None,
    zone: str | None = None,
) -> tuple[list[str], dict[str, Any]]:
    """The kinds and the conditions of ``delete_where`` as the engine takes them."""
    origin = {"session_id": session_id, "agent_id": agent_id}
    window = _window({"since": since, "until": until, **origin}, zone)
    facts = about_facts(fact_kinds, None)
    if kinds is None:
        kinds = "semantic" if facts["fact_kinds"] else "message"
    return _kinds(kinds), {**window, **facts, "where": conditions(where)}


def _with_defaults(given: Mapping[str, Any], options: type) -> dict[str, Any]:
    known = options.__annotations__
    for name in given:
        if name not in known:
            synonyms = SEARCH_SYNONYMS if options is SearchOptions else _LIST_SYNONYMS
            meant = synonyms.get(name)
            hint = f"did you mean `{meant}`?" if meant else nearest_hint(name, known)
            raise InvalidInputError(f"unknown option: `{shown(name)}`", hint=hint)
    return {**{name: _DEFAULTS.get(name) for name in known}, **given}


def _window(options: Mapping[str, Any], zone: str | None) -> dict[str, str | None]:
    """Session, agent and time range; both ends of the range are included."""
    since, until = options["since"], options["until"]
    start = None if since is None else rfc3339_day(since, "since", zone)
    end = None if until is None else rfc3339_end(until, "until", zone)
    if start and end and aware(start) > aware(end):
        raise InvalidInputError(f"since is later than until: `{start}` > `{end}`")
    origin = {
        name: None if options[name] is None else checks.text(options[name], name)
        for name in ("session_id", "agent_id")
    }
    return {"since": start, "until": end, **origin}


def one_of(value: object, known: tuple[str, ...], what: str) -> str:
    """One of a few words; the hint of the error names the nearest."""
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
    names = list(dict.fromkeys(_kind(kind) for kind in kinds))
    if not names:
        raise InvalidInputError(
            "kinds is empty", hint="name at least one of `episodic`, `semantic`, `message`"
        )
    return names


def _kind(kind: object) -> str:
    meant = _KIND_SYNONYMS.get(kind) if isinstance(kind, str) else None
    if meant:
        raise InvalidInputError(f"kind is unknown: `{kind}`", hint=f"did you mean `{meant}`?")
    return one_of(kind, KINDS, "kind")


def conditions(where: object) -> str | None:
    """Conditions on metadata, as JSON."""
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
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InvalidInputError(f"threshold is a relevance, between 0 and 1: `{shown(value)}`")
    return float(value)
