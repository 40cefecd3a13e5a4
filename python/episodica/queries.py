"""The operations that only read, shared by ``MemorySystem`` and ``LightweightSearchSystem``.

Checks arguments, calls the engine, wraps its answers. No logic of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Unpack

from .errors import InvalidInputError
from .hints import shown
from .inputs import checks as check
from .inputs.calls import forgiving
from .inputs.facts import About, FactKind, Importance
from .inputs.options import (
    CONTEXT_DEFAULTS,
    FORMATS,
    LIST_DEFAULTS,
    SEARCH_DEFAULTS,
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
from .plot import Plots
from .records import Episode, Message, Record, SemanticMemory
from .reports import Event
from .rerankers import rerank, widened
from .results import Context, SearchResults
from .status import TraceStep
from .store import OpenStore

# The field of each kind of record that names it.
ID_FIELDS = {"message": "message_id", "episode": "episode_id", "semantic": "memory_id"}


class MemoryReader(OpenStore):
    """Searches and reads a store. Use one of the two subclasses."""

    __slots__ = ()

    @property
    def plot(self) -> Plots:
        """Charts: ``timeline(user)``, ``scores(hits)``, ``map(user)``, ``usage()``.

        They need matplotlib: ``pip install 'episodica[plot]'``.
        """
        return Plots(self)

    @forgiving('memory.search("alice", "where does she live?", top_k=5)')
    @spelled_out(SearchOptions, SEARCH_DEFAULTS)
    def search(
        self,
        user_id: str,
        query: str,
        top_k: int | Mapping[Kind, int] = 10,
        *,
        kinds: Iterable[Kind] | None = None,
        **options: Unpack[SearchOptions],
    ) -> SearchResults:
        """Finds the episodes, facts and messages that answer a question, best first.

        What was just added is found at once. Hits of all kinds are merged by their relevance. A
        ``reranker`` of the memory then orders the best 50, by ``hit.scores["rerank"]``.

        Parameters
        ----------
        user_id
            User id. An unknown user yields an empty result.
        query
            The question, in any language, up to 32,768 characters.
        top_k
            Maximum number of hits, 1 to 1000, or the maximum of each kind:
            ``{"semantic": 5, "message": 10}``.
        kinds
            Any of ``"episodic"``, ``"semantic"`` and ``"message"``; ``None`` means all three.
        method
            ``"hybrid"`` (all signals), ``"rrf"`` (reciprocal rank fusion of words and vectors),
            ``"vector"`` (vectors alone), ``"bm25"`` (words alone) or ``"norlift"`` (episodes ranked
            by their facts).
        since, until
            Only records of this time, both ends included. A date without a time means the whole
            day in the zone in which dates are shown (the setting ``timezone``, else UTC). For
            facts, the time in which they held.
        session_id, agent_id
            Only this session, only this agent. An episode belongs to the sessions and agents of all
            its messages, a fact to those of the messages that prove it and to the agent that stated
            it.
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
            ``"user"``: no facts about agents; ``"agent"``: only facts about agents, and what they
            did.
        threshold
            Least relevance (``hit.score``), 0 to 1; by default there is none.
        include_superseded
            Return facts that no longer hold as well.
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
        >>> memory.search("nobody", "where does she live?")
        <SearchResults 0 hits for 'where does she live?', no such user: `nobody`>
        """
        question, user = check.query(query), check.user(user_id)
        checked = search_options(options, kinds=kinds, top_k=_hits(top_k), zone=self._zone)
        wanted = checked if self._reranker is None else widened(checked)
        found = SearchResults._lazy(self._engine.search(user, question, wanted), question)
        if not found and not self._has(user):
            self._refuse_turned(user, question, "search")
            found._note = f", no such user: `{shown(user)}`"
        return found if self._reranker is None else rerank(found, self._reranker, checked)

    @forgiving('memory.context("alice", "where does she live?", max_tokens=1000)')
    @spelled_out(ContextOptions, CONTEXT_DEFAULTS)
    def context(
        self,
        user_id: str,
        query: str,
        max_tokens: int = 2000,
        *,
        format: Format = "text",
        kinds: Iterable[Kind] = ("episodic", "semantic", "message"),
        **options: Unpack[ContextOptions],
    ) -> Context:
        """Packs the memories that answer a query into text for a prompt.

        The text opens with the facts that hold and bear on the question, each with its date. Then
        come messages in the order of time, with ``[…]`` where others are left out. Of the best that
        are too long for the budget, the sentences that match are quoted. What no longer holds is
        marked ``[outdated]`` and comes together with the fact that superseded it. Further lines of
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
            What the text is made of; without ``"semantic"`` it has no facts.
        user_id, query, method, since, until, session_id, agent_id, where, fact_kinds
            As for :meth:`search`.
        min_importance, about, threshold, explain, now
            As for :meth:`search`.

        Returns
        -------
        Context
            The text, what it contains, and the number of its tokens.

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
        packed = self._engine.context(user, question, budget, form, checked)
        if not packed["text"] and not self._has(user):
            self._refuse_turned(user, question, "context")
        return Context(
            packed["text"],
            SearchResults._lazy(packed["hits"], question),
            packed["messages"],
            packed["facts"],
            packed["token_count"],
            packed["excerpts"],
            packed["reasons"],
        )

    @property
    def _zone(self) -> str | None:
        """The zone in which dates are shown: dates without a time are its days."""
        return self._config.timezone

    def _listed(self, options: ListOptions) -> tuple[dict[str, Any], int | None]:
        return list_options(options, zone=self._zone)

    def _turned_down(self, user: str, episodes: list[str] | None = None) -> list[Event]:
        """The sentences of episodes, by default of all, that are no facts to the rules."""
        return self._engine.turned_down(user, episodes)

    def _has(self, user: str) -> bool:
        """Whether anything of the user is stored."""
        counts = self._engine.stats(user)
        return bool(counts["messages"] or counts["semantic_memories"])

    def _refuse_turned(self, user: str, query: str, name: str) -> None:
        """Refuses a call for an unknown user whose query is a user."""
        if query not in self._engine.users():
            return
        raise InvalidInputError(
            f"no such user: `{shown(user)}`; the query is one: `{shown(query)}`",
            hint=f"the user comes first: `memory.{name}({query!r}, {user!r})`",
        )

    @spelled_out(ListOptions, LIST_DEFAULTS)
    def episodes(self, user_id: str, **options: Unpack[ListOptions]) -> Records[Episode]:
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
        return self._records(Episode, "episodes", user_id, "episode", self._listed(options))

    @spelled_out(ListOptions, LIST_DEFAULTS)
    def semantic_memories(
        self,
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
            Include facts that no longer hold.
        kind
            Only facts of this category, such as ``"preference"``, or of these.
        attribute
            Only facts that state this attribute of their subject, such as ``"home"``.
        min_importance, about
            Only facts of this importance or more, about the user or agents, as for :meth:`search`.
        user_id, since, until, session_id, agent_id, where, include_archived, newest_first, limit
            As for :meth:`episodes`. The time of a fact is that from which it held.

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
        return self._records(SemanticMemory, "facts", user_id, "semantic", checked)

    @spelled_out(ListOptions, LIST_DEFAULTS)
    def messages(self, user_id: str, **options: Unpack[ListOptions]) -> Records[Message]:
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
        return self._records(Message, "messages", user_id, "message", self._listed(options))

    def _records(
        self,
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
        pages = partial(self._pages, user, kind, options)
        return Records(
            f"{name} of {user!r}",
            record_type,
            pages,
            lambda: self._engine.count_records(user, kind, options),
            limit,
        )

    def _pages(
        self, user: str, kind: str, options: dict[str, Any], offset: int, most: int | None
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
    def get(self, user_id: str, id: str) -> Record | None:
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

        Raises
        ------
        InvalidInputError
            For an argument that is not a text.

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
    def history(self, user_id: str, id: str) -> list[Record]:
        """Every version of a record, oldest first; empty for an unknown id.

        Parameters
        ----------
        user_id
            User id.
        id
            Id or URI of a message, episode or fact.

        Returns
        -------
        list of Message, Episode or SemanticMemory
            Every version, oldest first; empty for an unknown id.

        Raises
        ------
        InvalidInputError
            For an argument that is not a text.

        Examples
        --------
        >>> fact = next(memory.semantic_memories("alice"))
        >>> memory.history("alice", fact.memory_id) == [fact]
        True
        """
        return self._engine.history(check.user(user_id), check.text(id, "id"))

    def trace(self, user_id: str, id: str) -> list[TraceStep]:
        """Prompts and answers behind a record, if ``MemoryConfig.trace`` was on when it was made.

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

        Raises
        ------
        InvalidInputError
            For an argument that is not a text.

        Examples
        --------
        >>> episode = next(memory.episodes("alice"))
        >>> memory.trace("alice", episode.episode_id)  # written by rules
        []
        """
        return self._engine.trace(check.user(user_id), check.text(id, "id"))


def _hits(top_k: object) -> Any:
    """The number of hits, which a search can't leave to the engine, or those of each kind."""
    return top_k if isinstance(top_k, Mapping) else check.top_k(top_k)
