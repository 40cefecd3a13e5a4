"""Search results: ranked hits with explained scores, and packed context."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast, overload

from .frames import DATE, Column, data_frame
from .records import Episode, Message, Record, SemanticMemory
from .value import Keyed, Portable, clip, day, from_fields, quoted
from .visible import visible

if TYPE_CHECKING:
    import pandas as pd

    from ._native import Results


_FRAME_COLUMNS = {
    "rank": "int64",
    "kind": "object",
    "is_current": "bool",
    "score": "float64",
    "timestamp": DATE,
    "title": "object",
    "content": "object",
    "snippet": "object",
    "id": "object",
    "uri": "object",
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Explanation(Portable):
    """The terms of a score as a tree: the values of children add up to that of their parent.

    Attributes
    ----------
    name : str
        The term: a leg, a layer, a boost, or the fusion of its children.
    value : float
        Its contribution.
    detail : str
        How it was computed, in words.
    children : tuple of Explanation
        The terms that make it up.

    Examples
    --------
    >>> legs = (Explanation("bm25", 1.0), Explanation("vector", 0.5))
    >>> print(Explanation("score", 1.5, "sum of", legs))
    1.5000  score: sum of
      1.0000  bm25
      0.5000  vector
    """

    name: str
    value: float
    detail: str = ""
    children: tuple[Explanation, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self._lines(0))

    def _lines(self, depth: int) -> Iterator[str]:
        detail = f": {self.detail}" if self.detail else ""
        yield f"{'  ' * depth}{self.value:.4f}  {visible(self.name + detail)}"
        for child in self.children:
            yield from child._lines(depth + 1)

    def __repr__(self) -> str:
        return f"<Explanation {clip(self.name)} {self.value:.4f}, {len(self.children)} terms>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hit(Keyed):
    """One result of a search.

    Attributes
    ----------
    kind : str
        ``"episodic"``, ``"semantic"`` or ``"message"``.
    id, uri : str
        Id and URI of the record; ``memory.get(user, hit.id)`` returns it.
    score : float
        Relevance, 0 to 1: how likely the hit answers the question, on one scale for every kind.
    rank : int
        Place among the hits, from 1.
    content, title : str
        The text and its title (empty for facts).
    snippet : str
        About 100 characters around the best match.
    timestamp : datetime
        When the message was said, the episode began or the fact became true.
    messages : tuple of Message
        The messages of an episode, best match first; of a message hit, the message itself.
    scores : dict of str to float
        Every term that took part: ``raw`` is the score before it was mapped to a relevance, the
        other terms are its parts.
    record : Message, Episode or SemanticMemory
        The whole record.
    explanation : Explanation or None
        The tree that :meth:`explain` prints; ``None`` unless the search was asked to ``explain``.
    superseded_by : tuple of str
        Ids of the facts that superseded this fact, or a fact that this message states; empty for
        episodes.
    episode : Episode or None
        Of a message hit, its episode, whose ``original_messages`` are its neighbours; ``None``
        while the message has none, and for other kinds.
    claims : tuple of SemanticMemory
        Of a message hit, the current facts that quote it; empty for other kinds.
    """

    kind: str
    id: str
    uri: str
    score: float
    rank: int
    content: str
    title: str
    timestamp: datetime
    messages: tuple[Message, ...]
    scores: dict[str, float]
    snippet: str
    record: Record
    explanation: Explanation | None = None
    superseded_by: tuple[str, ...] = ()
    episode: Episode | None = None
    claims: tuple[SemanticMemory, ...] = ()

    @property
    def is_current(self) -> bool:
        """Whether the record is current.

        For a fact the same as :attr:`SemanticMemory.is_current`: ``False`` if it has ended or has
        not begun. For a message ``False`` if it states a fact that has ended;
        :attr:`superseded_by` names the newer facts.
        """
        return not self._standing

    @property
    def _standing(self) -> str:
        """The state of a record that is not current, in a word; else empty."""
        if isinstance(self.record, SemanticMemory):
            return self.record._standing
        return "outdated" if self.superseded_by else ""

    def explain(self) -> Explanation:
        """The terms of the score as a tree.

        With ``search(..., explain=True)`` the tree shows the relevance, the raw score it comes
        from, and the terms that add up to the raw score. Without it, it lists :attr:`scores` flat.

        Returns
        -------
        Explanation
            The score and its terms.

        Examples
        --------
        >>> hit = memory.search("alice", "Lyon", kinds=["message"], explain=True)[0]
        >>> hit.explain().value == hit.score
        True
        """
        if self.explanation is not None:
            return self.explanation
        terms = tuple(Explanation(name, value) for name, value in self.scores.items())
        return Explanation(
            "score", self.score, "search with explain=True for how the terms add up", terms
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Hit:
        hit = from_fields(cls, data)
        record = hit.record
        # The messages of an episode are kept once.
        own = record.original_messages if isinstance(record, Episode) else (record,)
        known = {one.message_id: one for one in own if isinstance(one, Message)}
        messages = (known.get(one.message_id, one) for one in hit.messages)
        return replace(hit, messages=tuple(messages))

    def __repr__(self) -> str:
        state = f", {self._standing}" if self._standing else ""
        said = quoted(self.title or self.content)
        return f"<Hit {self.rank} {self.kind} {self.score:.4f} {said}{state}>"

    def __hash__(self) -> int:
        return hash((self.kind, self.id, self.rank))


class SearchResults(Sequence[Hit], Portable):
    """The hits of one search, best first. Each hit is built on first access.

    Examples
    --------
    >>> hits = memory.search("alice", "where does she live?")
    >>> [hit.kind for hit in hits][:1] == [hits[0].kind]
    True
    >>> hits.degraded
    ()
    """

    __slots__ = ("_degraded", "_hits", "_intent", "_notes", "_query", "_source")

    def __init__(
        self,
        hits: Iterable[Hit] = (),
        *,
        query: str = "",
        intent: str = "",
        degraded: Iterable[str] = (),
    ) -> None:
        self._hits: list[Hit | None] = list(hits)
        self._source: Results | None = None
        self._query = query
        self._intent = intent
        self._degraded = tuple(degraded)
        self._notes: tuple[str, ...] = ()

    @classmethod
    def _lazy(cls, source: Results, query: str) -> SearchResults:
        results = cls((), query=query, intent=source.intent, degraded=source.degraded)
        results._hits = [None] * len(source)
        results._source = source
        return results

    def _hit(self, index: int) -> Hit:
        hit = self._hits[index]
        if hit is None and self._source is not None:
            hit = self._hits[index] = self._source.hit(index % len(self._hits))
        return cast("Hit", hit)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> SearchResults: ...
    def __getitem__(self, index: int | slice) -> Hit | SearchResults:
        name: object = index
        if isinstance(name, str):
            # mem0 answers a search with a mapping.
            if name == "results":
                return self
            raise KeyError(f"{name}: a SearchResults is a list of hits: `results[0].content`")
        if isinstance(index, slice):
            hits = [self._hit(i) for i in range(*index.indices(len(self)))]
            return SearchResults(hits, query=self.query, intent=self.intent, degraded=self.degraded)
        return self._hit(index)

    def __len__(self) -> int:
        return len(self._hits)

    def __iter__(self) -> Iterator[Hit]:
        return map(self._hit, range(len(self._hits)))

    @property
    def query(self) -> str:
        """The query."""
        return self._query

    @property
    def intent(self) -> str:
        """Query type: ``entity``, ``temporal``, ``relational``, ``factual`` or ``general``."""
        return self._intent

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on an empty answer: the memory does not know the user."""
        return self._notes

    @property
    def degraded(self) -> tuple[str, ...]:
        """Parts of the search that could not run; normally empty."""
        return self._degraded

    def _of_kind(self, kind: str) -> tuple[Hit, ...]:
        kinds = self._source.kinds() if self._source else [hit.kind for hit in self]
        return tuple(self._hit(index) for index, one in enumerate(kinds) if one == kind)

    @property
    def episodic(self) -> tuple[Hit, ...]:
        """The hits that are episodes, best first."""
        return self._of_kind("episodic")

    @property
    def semantic(self) -> tuple[Hit, ...]:
        """The hits that are facts, best first."""
        return self._of_kind("semantic")

    @property
    def messages(self) -> tuple[Hit, ...]:
        """The hits that are messages, best first."""
        return self._of_kind("message")

    def to_pandas(self) -> pd.DataFrame:
        """The hits as a data frame: a row per hit, a column per term of the scores, dates in UTC.

        ``is_current`` is ``False`` for outdated facts.

        Returns
        -------
        pandas.DataFrame
            A row per hit.

        Raises
        ------
        MissingExtraError
            Without pandas: ``pip install 'episodica[pandas]'``.

        Examples
        --------
        >>> frame = memory.search("alice", "Lyon", kinds=["message"], top_k=1).to_pandas()
        >>> frame[["rank", "kind", "content"]].to_dict("records")
        [{'rank': 1, 'kind': 'message', 'content': 'I moved to Lyon last Friday.'}]
        """
        hits = list(self)
        columns = {
            name: Column([getattr(hit, name) for hit in hits], column_type)
            for name, column_type in _FRAME_COLUMNS.items()
        }
        for term in dict.fromkeys(term for hit in hits for term in hit.scores):
            columns[f"scores.{term}"] = Column([hit.scores.get(term) for hit in hits], "float64")
        return data_frame(columns)

    def to_dict(self) -> dict[str, Any]:
        """Query, intent, degraded legs and hits as plain JSON types.

        Returns
        -------
        dict of str to Any
            Only plain JSON types.

        Examples
        --------
        >>> sorted(memory.search("alice", "Lyon").to_dict())
        ['degraded', 'hits', 'intent', 'query']
        """
        return {
            "query": self.query,
            "intent": self.intent,
            "degraded": list(self.degraded),
            "hits": [hit.to_dict() for hit in self],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SearchResults:
        hits = map(Hit.from_dict, data["hits"])
        return cls(hits, query=data["query"], intent=data["intent"], degraded=data["degraded"])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SearchResults):
            return NotImplemented
        mine, theirs = ((one.query, one.intent, one.degraded, list(one)) for one in (self, other))
        return mine == theirs

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restore, (list(self), self.query, self.intent, self.degraded))

    def __str__(self) -> str:
        """One line per hit, for terminals."""
        lines = (
            f"{one.rank:>3}  {one.score:.4f}  {one.kind:<8}  {day(one.timestamp)}  "
            f"{clip(gist(one), 80)}"
            for one in self
        )
        return "\n".join((repr(self), *lines))

    def __repr__(self) -> str:
        degraded = f", without {clip(', '.join(self.degraded))}" if self.degraded else ""
        more = "".join(f", {note}" for note in self.notes)
        return f"<SearchResults {len(self)} hits for {quoted(self.query)}{degraded}{more}>"


def gist(hit: Hit) -> str:
    """A hit in one line: what a message says and who says it, or a title."""
    said = hit.title or hit.content
    if hit.kind == "message" and hit.messages:
        said = f"{hit.messages[0].speaker}: {hit.content}"
    return f"({hit._standing}) {said}" if hit._standing else said


def _restore(hits: list[Hit], query: str, intent: str, degraded: tuple[str, ...]) -> SearchResults:
    return SearchResults(hits, query=query, intent=intent, degraded=degraded)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Context(Portable):
    """Memories packed for a prompt.

    Attributes
    ----------
    text : str
        Ready to paste; ``str(context)`` is the same.
    hits : SearchResults
        The hits it was made from, best first.
    messages : tuple of Message
        Every original message that ``text`` quotes, in full or in part (:attr:`excerpts`): word
        for word but for the days of its relative dates, in brackets, with further lines indented
        by a space, or escaped in JSON and XML.
    facts : tuple of SemanticMemory
        The stated facts that open ``text``, in its order.
    token_count : int
        Tokens of ``text`` (o200k_base), at most the budget.
    excerpts : tuple of str
        The ids of the messages that ``text`` quotes in part, with ``[…]`` for omissions.
    reasons : mapping of str to str
        Why ``text`` has a message that did not match by itself, by the message's id: ``"reply"``
        (to the question of a hit), ``"question"`` (that a short hit answers) or ``"later"`` (the
        best hit's speaker says it later, about the same thing).
    relevance : float
        How likely the memory answers the question, 0 to 1, whatever the budget. It is low if the
        question names a speaker and others' facts match it better; 0 for a greeting, and if a
        memory of 300 messages has no word, name or day of the question.
    found : bool
        ``False`` if the answer is probably not in this memory: :attr:`relevance` is below 0.5.
        ``text`` is the same.
    """

    text: str
    hits: SearchResults
    messages: tuple[Message, ...]
    facts: tuple[SemanticMemory, ...]
    token_count: int
    excerpts: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    relevance: float = 1.0
    found: bool = True

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of an empty answer must know; see :attr:`SearchResults.notes`."""
        return self.hits.notes

    def explain(self) -> str:
        """Why each fact and message is in ``text``.

        Returns
        -------
        str
            A line for each fact, then for each message, in the order of ``text``: the rank among
            :attr:`hits`, or the reason (:attr:`reasons`), and the beginning of its words. Before
            them, a line that says so if nothing was :attr:`found`.

        Examples
        --------
        >>> context = memory.context("alice", "where does she live?", max_tokens=200)
        >>> print(context.explain().splitlines()[-2])
        hit 1: I moved to Lyon last Friday.
        """
        ranks = {hit.id: f"hit {hit.rank}" for hit in self.hits}
        known = [
            (fact.content, ranks.get(fact.memory_id, "what a message says is over"))
            for fact in self.facts
        ]
        found = (
            {message.message_id: "hit" for message in self.messages} | ranks | dict(self.reasons)
        )
        said = [(message.content, found[message.message_id]) for message in self.messages]
        lines = [f"{reason}: {clip(visible(text))}" for text, reason in known + said]
        if not self.found:
            lines.insert(0, f"probably not in this memory: relevance {self.relevance:.2f}")
        return "\n".join(lines)

    def __bool__(self) -> bool:
        """Whether anything was found: as JSON or XML, an empty context has a text, too."""
        return bool(self.messages or self.facts or (self.hits and self.text))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        size = f"{self.token_count} tokens, {len(self.messages)} messages"
        more = "".join(f", {note}" for note in self.notes)
        return f"<Context {size}: {quoted(self.text)}{more}>"

    def __hash__(self) -> int:
        return hash(self.text)
