"""The operations that only read, shared by ``MemorySystem`` and ``LightweightSearchSystem``.

Checks arguments, calls the engine, wraps its answers. No logic of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack

from .config import MemoryConfig
from .handle import EngineHandle
from .inputs import checks as check
from .inputs.options import (
    FORMATS,
    LIST_DEFAULTS,
    SEARCH_DEFAULTS,
    Format,
    Kind,
    ListOptions,
    SearchOptions,
    list_options,
    one_of,
    search_options,
    spelled_out,
)
from .listings import PAGE, Records, T
from .plot import Plots
from .progress import Progress, Reporter
from .records import Episode, Message, Record, SemanticMemory
from .reports import RebuildReport, VerifyReport
from .results import Context, SearchResults
from .status import Health, StoreStats, TraceStep, Usage, UserStats

if TYPE_CHECKING:
    from ._native import Engine


class MemoryReader:
    """Searches and reads a store. Use one of the two subclasses."""

    __slots__ = ("__weakref__", "_config", "_handle", "_path", "_tenant")

    def __init__(
        self,
        path: str | os.PathLike[str],
        tenant: str,
        config: MemoryConfig,
        read_only: bool,
        embedding: dict[str, Any] | None,
        llm: dict[str, Any] | None,
    ) -> None:
        self._path = check.store_path(path)
        self._tenant = check.text(tenant, "tenant")
        self._config = config
        self._handle = EngineHandle(
            self,
            str(self._path),
            tenant=self._tenant,
            config=config._engine_json(),
            read_only=read_only,
            embedding=embedding,
            llm=llm,
        )

    @property
    def _engine(self) -> Engine:
        return self._handle.get()

    @property
    def path(self) -> Path:
        """The store's directory."""
        return self._path

    @property
    def tenant(self) -> str:
        """The tenant."""
        return self._tenant

    @property
    def config(self) -> MemoryConfig:
        """The settings in force."""
        return self._config

    @property
    def closed(self) -> bool:
        """Whether the system is closed."""
        return self._handle.closed

    @property
    def plot(self) -> Plots:
        """Charts: ``timeline(user)``, ``scores(hits)``, ``map(user)``, ``usage()``.

        They need matplotlib: ``pip install 'episodica[plot]'``.
        """
        return Plots(self)

    @spelled_out(SearchOptions, SEARCH_DEFAULTS)
    def search(
        self,
        user_id: str,
        query: str,
        *,
        top_k: int | Mapping[Kind, int] = 10,
        kinds: Iterable[Kind] | None = None,
        **options: Unpack[SearchOptions],
    ) -> SearchResults:
        """Finds the episodes, facts and messages that answer a question, best first.

        What was just added is found at once. Hits of all kinds are merged by their relevance.

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
            day. For facts, the time in which they held.
        session_id
            Only this session.
        where
            Only records whose metadata has these keys with these values.
        threshold
            Least cosine similarity, -1 to 1; by default there is none.
        include_superseded
            Return facts that no longer hold as well.
        explain
            Build the tree of every score for :meth:`Hit.explain`; without it the terms are listed
            flat.
        now
            The moment that "yesterday" and "last month" in the query refer to. Default: the clock.

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
        <SearchResults 0 hits for 'where does she live?'>
        """
        question = check.query(query)
        checked = search_options(options, kinds=kinds, top_k=_hits(top_k))
        found = self._engine.search(check.user(user_id), question, checked)
        return SearchResults._lazy(found, question)

    @spelled_out(SearchOptions, SEARCH_DEFAULTS)
    def context(
        self,
        user_id: str,
        query: str,
        *,
        max_tokens: int = 2000,
        format: Format = "text",
        kinds: Iterable[Kind] = ("episodic", "semantic", "message"),
        top_k: int | None = None,
        **options: Unpack[SearchOptions],
    ) -> Context:
        """Packs the memories that answer a query into text for a prompt.

        The text opens with the facts that hold and bear on the question, each with its date. Then
        come excerpts in the order of time, with ``[…]`` where messages are left out. What no longer
        holds is marked ``[outdated]`` and comes together with the fact that superseded it. Further
        lines of a message begin with a space, so that a message can't pass for a heading, a fact
        or another speaker.

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
        top_k
            Has no effect: the budget decides how much takes part.
        user_id, query, method, since, until, session_id, where, threshold, explain, now
            As for :meth:`search`.
        include_superseded
            Has no effect.

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
        checked = search_options(options, kinds=kinds, top_k=top_k)
        form = one_of(format, FORMATS, "format")
        packed = self._engine.context(check.user(user_id), question, budget, form, checked)
        return Context(
            packed["text"],
            SearchResults._lazy(packed["hits"], question),
            packed["messages"],
            packed["facts"],
            packed["token_count"],
        )

    @spelled_out(ListOptions, LIST_DEFAULTS)
    def episodes(self, user_id: str, **options: Unpack[ListOptions]) -> Records[Episode]:
        """The user's episodes in order of time, read page by page.

        Parameters
        ----------
        user_id
            User id. An unknown user yields an empty listing.
        since, until
            Only records of this time, both ends included.
        session_id
            Only this session.
        newest_first
            Newest first instead of oldest first.
        limit
            Maximum number of records.

        Examples
        --------
        >>> [episode.message_count for episode in memory.episodes("alice")]
        [2]
        """
        return self._records(Episode, "episodes", user_id, "episode", list_options(options))

    @spelled_out(ListOptions, LIST_DEFAULTS)
    def semantic_memories(
        self,
        user_id: str,
        *,
        include_superseded: bool = False,
        **options: Unpack[ListOptions],
    ) -> Records[SemanticMemory]:
        """The user's facts in order of time, read page by page.

        Parameters
        ----------
        include_superseded
            Include facts that no longer hold.
        user_id, since, until, session_id, newest_first, limit
            As for :meth:`episodes`. The time of a fact is that from which it held.

        Examples
        --------
        >>> all(fact.is_current for fact in memory.semantic_memories("alice"))
        True
        """
        checked = list_options(options, include_superseded=include_superseded)
        return self._records(SemanticMemory, "facts", user_id, "semantic", checked)

    @spelled_out(ListOptions, LIST_DEFAULTS)
    def messages(self, user_id: str, **options: Unpack[ListOptions]) -> Records[Message]:
        """The user's messages, verbatim, in order of arrival, read page by page.

        Parameters are those of :meth:`episodes`.

        Examples
        --------
        >>> [message.speaker for message in memory.messages("alice")]
        ['Alice', 'assistant']
        """
        return self._records(Message, "messages", user_id, "message", list_options(options))

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
        return Records(f"{name} of {user!r}", record_type, pages, limit)

    def _pages(
        self, user: str, kind: str, options: dict[str, Any], most: int | None
    ) -> Iterator[Record]:
        offset = 0
        while most is None or offset < most:
            wanted = PAGE if most is None else min(PAGE, most - offset)
            page = self._engine.records(user, kind, {**options, "offset": offset, "limit": wanted})
            yield from page
            if len(page) < wanted:
                return
            offset += len(page)

    def get(self, user_id: str, id: str) -> Record | None:
        """The message, episode or fact with this id or URI, or ``None``.

        Examples
        --------
        >>> episode = next(memory.episodes("alice"))
        >>> memory.get("alice", episode.uri) == memory.get("alice", episode.episode_id) == episode
        True
        >>> memory.get("alice", "no such id") is None
        True
        """
        return self._engine.get(check.user(user_id), check.text(id, "id"))

    def history(self, user_id: str, id: str) -> list[Record]:
        """Every version of a record, oldest first; empty for an unknown id."""
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
        """
        return self._engine.trace(check.user(user_id), check.text(id, "id"))

    def users(self) -> list[str]:
        """The ids of all users of the tenant.

        Examples
        --------
        >>> memory.users()
        ['alice']
        """
        return self._engine.users()

    def stats(self, user_id: str | None = None) -> UserStats | StoreStats:
        """Counts and sizes, of one user or of the whole store.

        Parameters
        ----------
        user_id
            User id; all counts of an unknown user are 0. Without one: the whole store.

        Returns
        -------
        UserStats or StoreStats
            The counts of the user, or of the store.

        Examples
        --------
        >>> memory.stats("alice")["messages"]
        2
        """
        return self._engine.stats(check.optional_user(user_id))

    def health(self) -> Health:
        """Whether everything works that should: store, embedder, language model. Holds no secret.

        Returns
        -------
        Health
            ``status`` is ``"ok"`` or ``"degraded"``; ``failing`` names what does not work.

        Examples
        --------
        >>> memory.health().status
        'ok'
        >>> memory.health()["store"]["backend"]
        'files'
        """
        return self._engine.health()

    def usage(self) -> Usage:
        """Tokens, calls and seconds by phase, model and user.

        Returns
        -------
        Usage
            The sums since the store was opened, and the same by phase, model and user.

        Examples
        --------
        >>> memory.usage().calls
        0
        """
        return self._engine.usage()

    def verify(self, user_id: str | None = None, *, progress: Progress = None) -> VerifyReport:
        """Checks every record against the indexes and every line against the format.

        Changes nothing.

        Parameters
        ----------
        user_id
            Only this user.
        progress
            ``True`` for a progress bar on a terminal or in a notebook, or a callable that takes
            ``(step, done, total)``.

        Examples
        --------
        >>> memory.verify().errors
        0
        """
        with Reporter(progress) as callback:
            return self._engine.verify(check.optional_user(user_id), callback)

    def load_user_data_and_indices(self, user_id: str) -> RebuildReport:
        """Loads a user's records and indexes now instead of at the first search.

        Examples
        --------
        >>> memory.load_user_data_and_indices("alice").users
        1
        """
        return self._engine.load_user(check.user(user_id))

    def close(self, timeout: float = 30.0) -> None:
        """Closes the system. A second call does nothing.

        Finishes pending work for at most ``timeout`` seconds and persists the rest.

        Raises
        ------
        InvalidInputError
            For a negative ``timeout``.
        """
        self._handle.close(check.seconds(timeout, "timeout"))

    def __enter__(self) -> Self:
        self._handle.get()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        name = type(self).__name__
        raise TypeError(
            f"a {name} can't be copied or pickled; open another one by its path, `{name}(path)`"
        )

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<{type(self).__name__} {str(self._path)!r}, tenant {self._tenant!r}{state}>"


def _hits(top_k: object) -> Any:
    """The number of hits, which a search can't leave to the engine, or those of each kind."""
    return top_k if isinstance(top_k, Mapping) else check.top_k(top_k)
