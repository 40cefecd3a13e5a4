"""Why a record came as an answer, or why it did not: ``memory.explain``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Unpack

from .errors import InvalidInputError
from .hints import shown
from .inputs import checks as check
from .inputs.calls import forgiving
from .inputs.options import KINDS, Kind, SearchOptions, context_options, search_options, spelled_out
from .queries import get, packed_context
from .records import Episode, Message, Record, SemanticMemory
from .results import Context, Explanation, Hit, SearchResults, gist
from .store import OpenStore
from .value import Value, clip
from .visible import visible

# What a search can rank.
_DEEPEST = 1_000
_NEVER = datetime.max.replace(tzinfo=UTC)
# Records that are named as standing before.
_BEFORE = 3
# A budget in which everything that bears on a question fits.
_ROOM = 1_000_000
# The options that leave records out.
_FILTERS = (
    *("since", "until", "session_id", "agent_id", "where"),
    *("fact_kinds", "min_importance", "about", "threshold"),
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Standing(Value):
    """How a record stands to a question.

    Attributes
    ----------
    id, kind : str
        The record; ``kind`` is ``"episodic"``, ``"semantic"`` or ``"message"``.
    found : bool
        Whether the search returns it.
    in_context : bool
        Whether the context has it: a message is quoted, or a fact stated.
    rank : int or None
        Its place among all records of its kind, without filters, from 1; ``None`` if it is not
        among the first 1,000.
    score : float
        Its relevance, 0 to 1; 0 without a rank.
    explanation : Explanation or None
        The terms of its score.
    before : tuple of Hit
        The best hits of its kind that stand before it, at most three.
    reasons : tuple of str
        What leaves it out of the search, then of the context; empty if both have it.
    """

    id: str
    kind: str
    found: bool
    in_context: bool
    rank: int | None
    score: float
    explanation: Explanation | None
    before: tuple[Hit, ...]
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        place = "not ranked" if self.rank is None else f"rank {self.rank} of its kind"
        came = f"found: {_yes(self.found)}, in the context: {_yes(self.in_context)}"
        lines = [visible(f"{self.kind} {self.id}: {place}, {came}")]
        lines += [f"left out: {visible(reason)}" for reason in self.reasons]
        lines += [f"before it: {hit.score:.4f}  {visible(clip(gist(hit)))}" for hit in self.before]
        return "\n".join((*lines, *(() if self.explanation is None else (str(self.explanation),))))

    def __repr__(self) -> str:
        place = "not ranked" if self.rank is None else f"rank {self.rank}"
        return f"<Standing of {clip(self.id)}: {place}, {len(self.reasons)} reasons>"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


@forgiving('memory.explain("alice", "where does she live?", id)')
@spelled_out(SearchOptions)
def explain(
    self: OpenStore,
    user_id: str,
    query: str,
    id: str,
    *,
    top_k: int = 10,
    max_tokens: int = 2000,
    kinds: Iterable[Kind] | None = None,
    **options: Unpack[SearchOptions],
) -> Standing:
    """Why a record does not come as an answer, or why it does.

    Parameters
    ----------
    user_id, query
        The user and the question.
    id
        Id or URI of a message, episode or fact.
    top_k, max_tokens, kinds
        What :meth:`search` and :meth:`context` were asked with; ``kinds=None`` is the default of
        each. A ``reranker`` of the memory does not take part.
    method, since, until, session_id, agent_id, where, fact_kinds
        As for :meth:`search`.
    min_importance, about, threshold, include_superseded, explain, now
        As for :meth:`search`.

    Returns
    -------
    Standing
        Its rank, its terms, what stood before it, and which filter or bound left it out.

    Raises
    ------
    InvalidInputError
        As for :meth:`search`, and for an id that the user does not have.

    Examples
    --------
    >>> message = memory.messages("alice")[1]
    >>> standing = memory.explain("alice", "Lyon", message.message_id, top_k=1, kinds=["message"])
    >>> standing.found, standing.rank, standing.before[0].content
    (False, 2, 'I moved to Lyon last Friday.')
    >>> standing.reasons[0]
    'top_k=1: its place among the hits is 2'
    """
    user, question = check.user(user_id), check.query(query)
    budget = check.whole(max_tokens, "max_tokens", 1)
    record = get(self, user, id)
    if record is None:
        raise InvalidInputError(
            f"{shown(user)} has no record `{shown(id)}`",
            hint="an id of `memory.messages`, `episodes` or `semantic_memories`; a deleted record "
            "is gone",
        )
    asked = _Asked(self, user, question, record, options, kinds)
    ranking = asked.ranked({"include_superseded": True, "explain": True})
    rank = next((hit.rank for hit in ranking if hit.id == asked.id), None)
    hit = ranking[rank - 1] if rank else None
    out_of_search = asked.why_not_found(top_k)
    out_of_context = asked.why_not_packed(budget)
    return Standing(
        asked.id,
        asked.kind,
        not out_of_search,
        not out_of_context,
        rank,
        hit.score if hit else 0.0,
        hit.explain() if hit else None,
        tuple(ranking[: min(_BEFORE, (rank or _DEEPEST) - 1)]),
        tuple(dict.fromkeys((*out_of_search, *out_of_context))),
    )


def _period(record: Record) -> tuple[datetime, datetime]:
    """The first and the last moment of a record, as ``since`` and ``until`` compare them."""
    if isinstance(record, SemanticMemory):
        return record.valid_from, record.valid_to or _NEVER
    if isinstance(record, Episode):
        return record.timestamp, record.ended_at or record.timestamp
    return record.timestamp, record.timestamp


class _Asked:
    """One question, asked again and again, each time with less that may leave the record out."""

    def __init__(
        self,
        memory: OpenStore,
        user: str,
        question: str,
        record: Record,
        options: SearchOptions,
        kinds: Iterable[Kind] | None,
    ) -> None:
        self._memory, self._user, self._question = memory, user, question
        self._options: dict[str, Any] = dict(options)
        self._kinds = kinds if kinds is None or isinstance(kinds, str) else tuple(kinds)
        names = search_options({}, kinds=kinds, top_k=None)["kinds"]
        self._names = KINDS if kinds is None else tuple(names)
        self._record = record
        if isinstance(record, Message):
            self.kind, self.id = "message", record.message_id
        elif isinstance(record, Episode):
            self.kind, self.id = "episodic", record.episode_id
        else:
            self.kind, self.id = "semantic", record.memory_id

    def ranked(self, options: dict[str, Any]) -> SearchResults:
        """All records of the kind that these options admit, best first."""
        kept = {key: self._options[key] for key in ("method", "now") if key in self._options}
        return self._search(kept | options, (self.kind,), _DEEPEST)

    def why_not_found(self, top_k: int) -> list[str]:
        """What leaves the record out of the search; empty if it is found."""
        found = self._search(self._options, self._kinds, top_k)
        if self.id in (hit.id for hit in found):
            return []
        reasons = self._why_left_out()
        if reasons:
            return reasons
        wide = self._search(self._options, self._kinds, _DEEPEST)
        place = next((hit.rank for hit in wide if hit.id == self.id), None)
        if place is not None:
            return [f"top_k={top_k}: its place among the hits is {place}"]
        if self._kinds is None and isinstance(self._record, SemanticMemory | Episode):
            names = "facts that quote a message" if self.kind == "semantic" else "episodes"
            return [f"kinds: {names} come with their message, unless `kinds` asks for them"]
        if self.kind not in self._names:
            return [f"kinds: does not ask for {self.kind!r}"]
        return [f"rank: it is not among the first {_DEEPEST:,} of its kind"]

    def why_not_packed(self, max_tokens: int) -> list[str]:
        """What leaves the record out of the context; empty if it is inside."""
        if self._is_in(self._context(max_tokens)):
            return []
        reasons = self._why_left_out()
        if reasons:
            return reasons
        if self.kind not in self._names:
            return [f"kinds: does not ask for {self.kind!r}"]
        if self._is_in(self._context(_ROOM)):
            return [f"max_tokens={max_tokens}: better lines fill the context"]
        if isinstance(self._record, SemanticMemory):
            return ["context: a message tells it, or it does not bear on the question"]
        if isinstance(self._record, Episode):
            return ["context: its messages stand in place of its summary"]
        return ["context: it does not bear on the question"]

    def _why_left_out(self) -> list[str]:
        """Each filter that alone leaves the record out, and its end."""
        record = self._record
        reasons = [
            f"{name}={self._options[name]!r}: leaves it out"
            for name in _FILTERS
            if self._options.get(name) is not None and self._is_left_out_by(name)
        ]
        ended = isinstance(record, SemanticMemory) and not record.is_current
        if ended and not self._options.get("include_superseded"):
            reasons.append("include_superseded=False: it is outdated")
        return reasons

    def _is_left_out_by(self, name: str) -> bool:
        """Whether an option leaves the record out, even if it were the only record of its day.

        A search ranks a part of a large memory only, so that it lacks records that a filter admits.
        """
        only: Any = {name: self._options[name], "include_superseded": True}
        begin, end = _period(self._record)
        if name in ("since", "until"):
            checked = search_options(only, kinds=None, top_k=1, zone=self._memory._zone)
            bound = datetime.fromisoformat(checked[name])
            return bound > end if name == "since" else bound < begin
        beside: dict[str, Any] = {"since": begin, "until": begin, "include_superseded": True}
        if name == "threshold":
            beside = {"include_superseded": True}
        return self._is_among(beside) and not self._is_among(beside | only)

    def _is_among(self, options: dict[str, Any]) -> bool:
        return self.id in (hit.id for hit in self.ranked(options))

    def _search(
        self, options: dict[str, Any], kinds: Iterable[str] | None, top_k: int
    ) -> SearchResults:
        given: Any = options
        checked = search_options(given, kinds=kinds, top_k=top_k, zone=self._memory._zone)
        found = self._memory._engine.search(self._user, self._question, checked)
        return SearchResults._lazy(found, self._question)

    def _context(self, max_tokens: int) -> Context:
        given: Any = {k: one for k, one in self._options.items() if k != "include_superseded"}
        checked = context_options(given, kinds=self._names, zone=self._memory._zone)
        return packed_context(self._memory, self._user, self._question, max_tokens, "text", checked)

    def _is_in(self, packed: Context) -> bool:
        inside = {hit.id for hit in packed.hits}
        inside.update(one.message_id for one in packed.messages)
        inside.update(one.memory_id for one in packed.facts)
        return self.id in inside
