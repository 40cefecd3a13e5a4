"""Searches and listings: methods of ``MemorySystem``.

The functions check arguments, call the engine and wrap its answers, without logic of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Unpack

from .changes import changes, followed
from .errors import InvalidInputError
from .headings import LANGUAGES, Language
from .hints import meant, shown
from .inputs import checks as check
from .inputs.calls import forgiving
from .inputs.facts import About, FactKind, Importance
from .inputs.options import (
    FORMATS,
    ContextOptions,
    Format,
    Kind,
    ListOptions,
    SearchOptions,
    context_options,
    list_options,
    one_of,
    search_options,
    spelled_out,
)
from .listings import PAGE, Records, T
from .profile import Profile
from .profiling import is_own_name, profile_of
from .records import Episode, Message, Record, SemanticMemory
from .reports import Event
from .rerankers import rerank, widened
from .results import Context, SearchResults
from .status import TraceStep
from .store import OpenStore

# Users whose names are compared with an unknown one.
_MOST_COMPARED = 1_000
# The field with the id of a record, by its kind.
ID_FIELDS = {"message": "message_id", "episode": "episode_id", "semantic": "memory_id"}


@forgiving('memory.search("alice", "where does she live?", top_k=5)')
@spelled_out(SearchOptions)
def search(
    self: OpenStore,
    user_id: str,
    query: str,
    top_k: int | Mapping[Kind, int] = 10,
    *,
    kinds: Iterable[Kind] | None = None,
    **options: Unpack[SearchOptions],
) -> SearchResults:
    """Finds the moments that answer a question, best first.

    A moment is a message with its episode and the facts that quote it. Among them are facts that
    a model, the user or the application stated. New messages are found at once. Hits of all kinds
    are merged by their relevance. A ``reranker`` of the memory then orders the best 50, by
    ``hit.scores["rerank"]``.

    Parameters
    ----------
    user_id
        User id. An unknown user yields an empty result, whose ``notes`` name users like it.
    query
        The question, in any language, up to 32,768 characters.
    top_k
        Maximum number of hits, 1 to 1000, or the maximum of each kind:
        ``{"semantic": 5, "message": 10}``.
    kinds
        Any of ``"episodic"``, ``"semantic"`` and ``"message"``; ``"semantic"`` brings all facts,
        those that quote a message, too. ``None`` means moments and stated facts, and all facts
        if ``fact_kinds``, ``min_importance`` or ``about`` asks for facts.
    method
        ``"hybrid"`` (all signals), ``"rrf"`` (reciprocal rank fusion of words and vectors),
        ``"vector"`` (vectors alone), ``"bm25"`` (words alone) or ``"norlift"`` (episodes ranked
        by their facts).
    since, until
        Only records of this time, both ends included. A date without a time means the whole
        day in the zone in which dates are shown (the setting ``timezone``, else UTC). For
        facts, the time when they were true.
    session_id, agent_id
        Only this session, only this agent. An episode belongs to the sessions and agents of all
        its messages. A fact belongs to the sessions and agents of its source messages, and to
        the agent that stated it.
    where
        Only records whose metadata has these keys with these values, or meets conditions:
        ``{"n": {"$gte": 3}}`` with ``$eq $ne $gt $gte $lt $lte $in $nin $contains $icontains
        $exists $not``; ``$and``, ``$or`` and ``$not`` combine conditions. An episode and a fact
        have the metadata of their messages, too. mem0's words (``gte``, ``AND``) mean the same.
    fact_kinds
        Only facts of this category, such as ``"preference"``, or of these.
    min_importance
        Only facts of this importance or more: 0 to 1, ``"low"``, ``"medium"``, ``"high"`` or
        ``"critical"`` (.25, .5, .75, 1).
    about
        ``"user"``: no facts about agents; ``"agent"``: only facts about agents and
        their actions.
    threshold
        Least relevance (``hit.score``), 0 to 1; by default there is none.
    include_superseded
        Return outdated facts as well.
    explain
        Build the tree of every score for :meth:`Hit.explain`; without it the terms are listed
        flat.
    now
        The moment that "yesterday" and "last month" in the query refer to. Default: the clock.

    Returns
    -------
    SearchResults
        The hits, best first. ``degraded`` names the parts of the search that could not run.

    Raises
    ------
    InvalidInputError
        For an empty query or one that is too long, ``top_k`` out of bounds, unknown kinds or
        methods, or ``since`` after ``until``.

    Examples
    --------
    >>> hits = memory.search("alice", "where does she live?", kinds=["message"])
    >>> hits[0].content
    'I moved to Lyon last Friday.'
    >>> hits[0].episode.message_count
    2
    >>> memory.search("carol", "where does she live?")
    <SearchResults 0 hits for 'where does she live?', no such user: `carol`>
    >>> memory.context("Alice", "where does she live?").notes
    ('no such user: `Alice`; did you mean `alice`?',)
    """
    question, user = check.query(query), check.user(user_id)
    checked = search_options(options, kinds=kinds, top_k=_hits(top_k), zone=self._zone)
    wanted = checked if self._reranker is None else widened(checked)
    found = SearchResults._lazy(self._engine.search(user, question, wanted), question)
    if not found and not has_user(self, user):
        _refuse_turned(self, user, question, "search")
        found._notes = (_no_such_user(self, user),)
    return found if self._reranker is None else rerank(found, self._reranker, checked)


@forgiving('memory.context("alice", "where does she live?", max_tokens=1000)')
@spelled_out(ContextOptions)
def context(
    self: OpenStore,
    user_id: str,
    query: str,
    max_tokens: int = 2000,
    *,
    format: Format = "text",
    kinds: Iterable[Kind] = ("episodic", "semantic", "message"),
    **options: Unpack[ContextOptions],
) -> Context:
    """Packs the memories that answer a query into text for a prompt.

    The text has messages in the order of time, with ``[…]`` where others are left out. A relative
    date is followed by its day: "yesterday [3 September 2022]". Of messages that match best but
    are too long for the budget, only the matching sentences are quoted. Facts that a model, the
    user or the application stated, and that answer the question, open the text, each with its
    date; a message that one of them superseded is marked ``[outdated since …]``. Further lines of
    a message begin with a space, so that a message can't pass for a heading, a fact or another
    speaker.

    Parameters
    ----------
    max_tokens
        Budget for the text, in tokens of o200k_base, 1 or more; never exceeded.
    format
        How the text is written: ``"text"`` as above, with the fewest tokens; ``"json"``, an
        object with the lists ``facts``, ``summaries`` and ``messages``; ``"xml"``, tags with
        ``&``, ``<``, ``>`` and ``"`` of messages escaped.
    kinds
        What the text is made of; without ``"semantic"`` it has no facts. Without ``"message"``,
        facts that quote messages count, too.
    user_id, query, method, since, until, session_id, agent_id, where, fact_kinds
        As for :meth:`search`.
    min_importance, about, threshold, explain, now
        As for :meth:`search`.

    Returns
    -------
    Context
        The text, its records, and the number of its tokens.

    Raises
    ------
    InvalidInputError
        As for :meth:`search`, and for ``max_tokens`` below 1 or an unknown ``format``.

    Examples
    --------
    >>> context = memory.context("alice", "where does she live?", max_tokens=200)
    >>> context.token_count <= 200
    True
    >>> [message.content for message in context.messages if "Lyon" in message.content]
    ['I moved to Lyon last Friday.']
    >>> import json
    >>> context = memory.context("alice", "where does she live?", format="json")
    >>> [message["speaker"] for message in json.loads(context.text)["messages"]]
    ['Alice', 'assistant']
    """
    question = check.query(query)
    budget = check.whole(max_tokens, "max_tokens", 1)
    checked = context_options(options, kinds=kinds, zone=self._zone)
    form = one_of(format, FORMATS, "format")
    user = check.user(user_id)
    packed = packed_context(self, user, question, budget, form, checked)
    if not packed.text and not has_user(self, user):
        _refuse_turned(self, user, question, "context")
        packed.hits._notes = (_no_such_user(self, user),)
    return packed


def packed_context(
    self: OpenStore, user: str, question: str, budget: int, form: str, options: dict[str, Any]
) -> Context:
    """The context for checked arguments. The form "lines" is that of ``recall``."""
    packed = self._engine.context(user, question, budget, form, options)
    return Context(
        packed["text"],
        SearchResults._lazy(packed["hits"], question),
        packed["messages"],
        packed["facts"],
        packed["token_count"],
        packed["excerpts"],
        packed["reasons"],
        packed["relevance"],
        packed["found"],
    )


def _listed(self: OpenStore, options: ListOptions) -> tuple[dict[str, Any], int | None]:
    return list_options(options, zone=self._zone)


def turned_down(self: OpenStore, user: str, episodes: list[str] | None = None) -> list[Event]:
    """The sentences of episodes, by default of all, in which the rules found no facts."""
    return self._engine.turned_down(user, episodes)


def has_user(self: OpenStore, user: str) -> bool:
    """Whether the user has messages or facts."""
    counts = self._engine.stats(user)
    return bool(counts["messages"] or counts["semantic_memories"])


def _no_such_user(self: OpenStore, user: str) -> str:
    """A note on an answer for an unknown user, with names that are near."""
    known = self._engine.users()
    if user in known:
        return f"`{shown(user)}` has no records"
    # Comparing very many names takes seconds.
    hint = meant(user, known) if len(known) <= _MOST_COMPARED else ""
    return f"no such user: `{shown(user)}`" + (f"; {hint}" if hint else "")


def _refuse_turned(self: OpenStore, user: str, query: str, name: str) -> None:
    """Refuses a call whose user is unknown but whose query is the name of a user."""
    if query not in self._engine.users():
        return
    raise InvalidInputError(
        f"no such user: `{shown(user)}`; the query is one: `{shown(query)}`",
        hint=f"the user comes first: `memory.{name}({query!r}, {user!r})`",
    )


@spelled_out(ListOptions)
def episodes(self: OpenStore, user_id: str, **options: Unpack[ListOptions]) -> Records[Episode]:
    """The user's episodes in order of time, read page by page.

    Parameters
    ----------
    user_id
        User id. An unknown user yields an empty listing.
    since, until
        Only records of this time, both ends included, as for :meth:`search`.
    session_id, agent_id
        Only this session, only this agent, as for :meth:`search`.
    where
        Only records whose metadata meets these conditions, as for :meth:`search`.
    include_archived
        Include episodes and facts that were archived, and facts that have expired.
    newest_first
        Newest first instead of oldest first.
    limit
        Maximum number of records.

    Returns
    -------
    Records of Episode
        A sequence that reads its records when they are asked for.

    Raises
    ------
    InvalidInputError
        For an unknown option or operator, and for ``since`` after ``until``.

    Examples
    --------
    >>> [episode.message_count for episode in memory.episodes("alice")]
    [2]
    """
    return _records(self, Episode, "episodes", user_id, "episode", _listed(self, options))


@spelled_out(ListOptions)
def semantic_memories(
    self: OpenStore,
    user_id: str,
    *,
    include_superseded: bool = False,
    kind: Iterable[FactKind] | FactKind | None = None,
    attribute: str | None = None,
    min_importance: float | Importance | None = None,
    about: About | None = None,
    **options: Unpack[ListOptions],
) -> Records[SemanticMemory]:
    """The user's facts in order of time, read page by page.

    Parameters
    ----------
    include_superseded
        Include outdated facts.
    kind
        Only facts of this category, such as ``"preference"``, or of these.
    attribute
        Only facts that state this attribute of their subject, such as ``"home"``.
    min_importance, about
        Only facts of this importance or more, about the user or agents, as for :meth:`search`.
    user_id, since, until, session_id, agent_id, where, include_archived, newest_first, limit
        As for :meth:`episodes`. The time of a fact is when it began to hold.

    Returns
    -------
    Records of SemanticMemory
        A sequence that reads its records when they are asked for.

    Raises
    ------
    InvalidInputError
        For an unknown option or operator, and for ``since`` after ``until``.

    Examples
    --------
    >>> [fact.is_current for fact in memory.semantic_memories("alice")]
    [True]
    """
    checked = list_options(
        options,
        include_superseded=include_superseded,
        kind=kind,
        attribute=attribute,
        min_importance=min_importance,
        about=about,
        zone=self._zone,
    )
    return _records(self, SemanticMemory, "facts", user_id, "semantic", checked)


@spelled_out(ListOptions)
def messages(self: OpenStore, user_id: str, **options: Unpack[ListOptions]) -> Records[Message]:
    """The user's messages, verbatim, in order of arrival, read page by page.

    Parameters
    ----------
    user_id, since, until, session_id, agent_id, where, include_archived, newest_first, limit
        As for :meth:`episodes`; messages are never archived.

    Returns
    -------
    Records of Message
        A sequence that reads its records when they are asked for.

    Raises
    ------
    InvalidInputError
        For an unknown option or operator, and for ``since`` after ``until``.

    Examples
    --------
    >>> [message.speaker for message in memory.messages("alice")]
    ['Alice', 'assistant']
    """
    return _records(self, Message, "messages", user_id, "message", _listed(self, options))


def _records(
    self: OpenStore,
    record_type: type[T],
    name: str,
    user_id: str,
    kind: str,
    checked: tuple[dict[str, Any], int | None],
) -> Records[T]:
    """Fails at the call on a closed store; fetches pages as they are needed."""
    user = check.user(user_id)
    options, limit = checked
    self._handle.get()
    pages = partial(_pages, self, user, kind, options)
    return Records(
        f"{name} of {user!r}",
        record_type,
        pages,
        lambda: self._engine.count_records(user, kind, options),
        limit,
    )


def _pages(
    self: OpenStore, user: str, kind: str, options: dict[str, Any], offset: int, most: int | None
) -> Iterator[Record]:
    end = None if most is None else offset + most
    after: list[str] = []
    while end is None or offset < end:
        wanted = PAGE if end is None else min(PAGE, end - offset)
        place = {"offset": offset, "limit": wanted, "after": after}
        page = self._engine.records(user, kind, {**options, **place})
        yield from page
        if len(page) < wanted:
            return
        offset += len(page)
        after = [getattr(record, ID_FIELDS[kind]) for record in page]


@forgiving('memory.get("alice", id)')
def get(self: OpenStore, user_id: str, id: str) -> Record | None:
    """The message, episode or fact with this id or URI, or ``None``.

    Parameters
    ----------
    user_id
        User id.
    id
        Id or URI of a message, episode or fact.

    Returns
    -------
    Message, Episode, SemanticMemory or None
        The current version; ``None`` for an unknown id.

    Examples
    --------
    >>> episode = next(memory.episodes("alice"))
    >>> memory.get("alice", episode.episode_id) == episode
    True
    >>> memory.get("alice", episode.uri) == episode
    True
    >>> memory.get("alice", "no such id") is None
    True
    """
    return self._engine.get(check.user(user_id), check.text(id, "id"))


@forgiving('memory.history("alice", id)')
def history(self: OpenStore, user_id: str, id: str) -> list[Record]:
    """The versions of a record, oldest first; empty for an unknown id.

    All of the last nine are kept. Earlier ones leave when the log is compacted; see
    :meth:`MemorySystem.compact`.

    Parameters
    ----------
    user_id
        User id.
    id
        Id or URI of a message, episode or fact.

    Returns
    -------
    list of Message, Episode or SemanticMemory
        The versions, oldest first; empty for an unknown id.

    Examples
    --------
    >>> fact = next(memory.semantic_memories("alice"))
    >>> memory.history("alice", fact.memory_id) == [fact]
    True
    """
    return self._engine.history(check.user(user_id), check.text(id, "id"))


def trace(self: OpenStore, user_id: str, id: str) -> list[TraceStep]:
    """Prompts and answers that made a record, if ``MemoryConfig.trace`` was on then.

    Parameters
    ----------
    user_id
        User id. An unknown user yields an empty list.
    id
        Id or URI of an episode or a fact.

    Returns
    -------
    list of TraceStep
        One entry per call of the language model, oldest first; empty for what the rules made.

    Examples
    --------
    >>> episode = next(memory.episodes("alice"))
    >>> memory.trace("alice", episode.episode_id)  # written by rules
    []
    """
    return self._engine.trace(check.user(user_id), check.text(id, "id"))


def profile(
    self: OpenStore,
    user_id: str,
    *,
    of: str | None = None,
    max_tokens: int | None = None,
    language: Language | None = None,
) -> Profile:
    """What is known about a user, by category, with the facts that were superseded.

    It has the facts that were not ended. Without a model a quotation says what was true on its
    day. At most 50 facts of personal information, 100 of work history, 200 preferences, 50
    relationships and 50 goals; the least important ones are left out first.

    Parameters
    ----------
    user_id
        User id. An unknown user has an empty profile.
    of
        The name of another person who speaks in the messages; ``None``: the user.
    max_tokens
        Maximum length as Markdown, in tokens of o200k_base; facts beyond it are left out.
    language
        Language of the headings, ``"en"``, ``"zh"``, ``"de"``, ``"fr"`` or ``"es"``; ``None``: the
        language of the facts.

    Returns
    -------
    Profile
        The facts by category; ``to_markdown(max_tokens=…)`` and ``to_json()`` write it.

    Raises
    ------
    InvalidInputError
        For ``max_tokens`` below 1, or another language.

    Examples
    --------
    >>> profile = memory.profile("alice")
    >>> (profile.user_id, profile.language)
    ('alice', 'en')
    """
    user = check.user(user_id)
    chosen = None if language is None else one_of(language, LANGUAGES, "language")
    facts = list(semantic_memories(self, user, include_superseded=True))
    revised = {
        fact.memory_id: [
            one for one in history(self, user, fact.memory_id) if isinstance(one, SemanticMemory)
        ]
        for fact in facts
        if fact.revision_count > 0
    }
    told = semantic_memories(self, user, attribute="name", include_archived=True)
    own = {fact.value for fact in told if is_own_name(user, fact)}
    speaker = self._engine.main_speaker(user) or ""
    later = followed(changes(self, user), facts)
    person = None if of is None else check.name(of, "of")
    whole = profile_of(user, speaker, facts, revised, chosen, followed=later, own=own, of=person)
    if max_tokens is None:
        return whole
    return whole._fitting(check.whole(max_tokens, "max_tokens", 1))


def _hits(top_k: object) -> Any:
    """The checked number of hits, or the checked number for each kind."""
    return top_k if isinstance(top_k, Mapping) else check.top_k(top_k)
