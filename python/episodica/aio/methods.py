"""The methods of the memory as coroutines.

Written by ``tools/async_methods.py`` from the synchronous classes: change those, then run it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from ..dates import TimeLike
from ..following import EventStream, Subscription
from ..forgetting import ForgettingReport
from ..inputs.calls import forgiving
from ..inputs.facts import About, FactKind, Importance
from ..inputs.forgetting import Forgettable
from ..inputs.options import (
    LIST_DEFAULTS,
    SEARCH_DEFAULTS,
    Format,
    Kind,
    ListOptions,
    SearchOptions,
    spelled_out,
)
from ..layers.values import Entry, Exploration, Layer
from ..listings import AsyncRecords
from ..plot.pictures import Plots
from ..plot.source import ThemeName
from ..profile import Profile
from ..progress import Progress
from ..records import Episode, Message, ProcedureStep, Record, SemanticMemory
from ..reports import (
    AddResult,
    BackupReport,
    CompactReport,
    DeleteReport,
    Event,
    Events,
    ExportReport,
    ImportReport,
    LearningReport,
    RebuildReport,
    VerifyReport,
)
from ..results import Context, Hit, SearchResults
from ..sessions import Session, SessionReport
from ..status import Health, StoreStats, TraceStep, Usage, UserStats
from ..system import MemorySystem
from .running import run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class AsyncMethods:
    """The methods of :class:`MemorySystem` as coroutines."""

    __slots__ = ("_memory",)

    def __init__(self, memory: MemorySystem) -> None:
        self._memory = memory

    async def users(self) -> list[str]:
        """The ids of all users of the tenant.

        Returns
        -------
        list of str
            User ids, sorted.

        Examples
        --------
        >>> await memory.users()
        ['alice']
        """
        return await run(self._memory.users)

    async def stats(self, user_id: str | None = None) -> UserStats | StoreStats:
        """Counts and sizes, of one user or of the whole store.

        Parameters
        ----------
        user_id
            User id; all counts of an unknown user are 0. Without one: the whole store.

        Returns
        -------
        UserStats or StoreStats
            The counts of the user, or of the store.

        Raises
        ------
        InvalidInputError
            For a user id that is empty or longer than 512 bytes.

        Examples
        --------
        >>> (await memory.stats("alice"))["messages"]
        2
        """
        return await run(self._memory.stats, user_id)

    async def health(self) -> Health:
        """Whether everything works that should: store, embedder, language model. Holds no secret.

        Returns
        -------
        Health
            ``status`` is ``"ok"`` or ``"degraded"``; ``failing`` names what does not work.

        Examples
        --------
        >>> (await memory.health()).status
        'ok'
        >>> (await memory.health())["store"]["backend"]
        'files'
        """
        return await run(self._memory.health)

    async def usage(self) -> Usage:
        """Tokens, calls and seconds by phase, model and user.

        Returns
        -------
        Usage
            The sums since the store was opened, and the same by phase, model and user.

        Examples
        --------
        >>> (await memory.usage()).calls
        0
        """
        return await run(self._memory.usage)

    @overload
    async def events(
        self,
        since: str | None = None,
        *,
        user_id: str | None = None,
        limit: int = 1000,
        follow: Literal[False] = False,
    ) -> Events: ...

    @overload
    async def events(
        self,
        since: str | None = None,
        *,
        user_id: str | None = None,
        limit: int = 1000,
        follow: Literal[True],
    ) -> EventStream: ...

    @overload
    async def events(
        self,
        since: str | None = None,
        *,
        user_id: str | None = None,
        limit: int = 1000,
        follow: bool,
    ) -> Events | EventStream: ...

    async def events(
        self,
        since: str | None = None,
        *,
        user_id: str | None = None,
        limit: int = 1000,
        follow: bool = False,
    ) -> Events | EventStream:
        """What happened to records: stored, written, learned, deleted, and sessions closed.

        Read from the logs, whoever wrote them and however long ago. With the cursor of the last
        event, each comes exactly once, across restarts and processes. The events of a user are in
        the order in which what they report refers to what came before: messages, episodes, facts.

        Parameters
        ----------
        since
            The ``cursor`` of an earlier call or event; ``"latest"`` for the end of the logs.
            ``None``: from their beginning.
        user_id
            Only this user.
        limit
            Maximum number of events; what one deletion removed comes together, though. With
            ``follow`` all come.
        follow
            Return an iterator that waits for more, for ``for`` and ``async for``.

        Returns
        -------
        Events or EventStream
            The events, and the cursor to continue with.

        Raises
        ------
        InvalidInputError
            For text that is not a cursor.

        Examples
        --------
        >>> events = await memory.events(user_id="alice")
        >>> [event.change for event in events][:3]
        ['MESSAGE', 'MESSAGE', 'EPISODE']
        >>> len(await memory.events(events.cursor))
        0
        """
        return await run(self._memory.events, since, user_id=user_id, limit=limit, follow=follow)

    async def on_event(
        self,
        callback: Callable[[Event], object],
        *,
        user_id: str | None = None,
        since: str | None = "latest",
    ) -> Subscription:
        """Calls a function with each event, in a thread of its own, until the memory is closed.

        It may call the memory. Its exceptions are counted and logged, and hurt nothing.

        Parameters
        ----------
        callback
            The function; it is given an :class:`Event`.
        user_id
            Only this user.
        since
            As for :meth:`events`.

        Returns
        -------
        Subscription
            Counts calls and failures; its ``close()`` ends the calls.

        Raises
        ------
        InvalidInputError
            For text that is not a cursor, or a callback that can't be called.

        Examples
        --------
        >>> subscription = await memory.on_event(print, user_id="bob")
        >>> subscription.errors
        0
        >>> subscription.close()
        """
        return await run(self._memory.on_event, callback, user_id=user_id, since=since)

    async def verify(
        self, user_id: str | None = None, *, progress: Progress = None
    ) -> VerifyReport:
        """Checks every record against the indexes and every line against the format.

        Changes nothing.

        Parameters
        ----------
        user_id
            Only this user. ``None``: all users.
        progress
            ``True`` for a progress bar on a terminal or in a notebook, or a callable that takes
            ``(step, done, total)``.

        Returns
        -------
        VerifyReport
            Counts and problems; ``errors`` is 0 for a sound store.

        Raises
        ------
        InvalidInputError
            For a user id that is empty or longer than 512 bytes.

        Examples
        --------
        >>> (await memory.verify()).errors
        0
        """
        return await run(self._memory.verify, user_id, progress=progress)

    async def backup(
        self, path: str | os.PathLike[str], *, progress: Progress = None
    ) -> BackupReport:
        """Copies the whole store, all tenants, to a directory that opens as a store.

        Others may write meanwhile: the copy is as whole as the store would be after a power cut at
        that moment. Everything acknowledged before the call is in it.

        Parameters
        ----------
        path
            The directory, which does not exist yet. It gets its name when the copy is whole.
        progress
            ``True`` for a progress bar on a terminal or in a notebook, or a callable that takes
            ``(step, done, total)``.

        Returns
        -------
        BackupReport
            How much was copied.

        Raises
        ------
        InvalidInputError
            For a directory that is not empty, or lies inside of the store.
        StoreIOError
            If it can't be written; nothing is left there then.

        Examples
        --------
        >>> (await memory.backup("copy")).users
        1
        >>> async with AsyncMemorySystem("copy") as copy:
        ...     (await copy.verify()).errors
        0
        """
        return await run(self._memory.backup, path, progress=progress)

    async def load_user_data_and_indices(self, user_id: str) -> RebuildReport:
        """Loads a user's records and indexes now instead of at the first search.

        Parameters
        ----------
        user_id
            User id. An unknown user loads nothing.

        Returns
        -------
        RebuildReport
            How much was read.

        Raises
        ------
        InvalidInputError
            For a user id that is empty or longer than 512 bytes.
        EmbeddingMismatchError
            If the vectors on disk come from another model.

        Examples
        --------
        >>> (await memory.load_user_data_and_indices("alice")).users
        1
        """
        return await run(self._memory.load_user_data_and_indices, user_id)

    async def close(self, timeout: float = 30.0) -> None:
        """Closes the system. A second call does nothing.

        Finishes pending work for at most ``timeout`` seconds and persists the rest.

        Parameters
        ----------
        timeout
            Seconds to spend on pending work, 0 or more.

        Raises
        ------
        InvalidInputError
            For a negative ``timeout``.

        Examples
        --------
        >>> await memory.close(timeout=5)
        >>> memory.closed
        True
        """
        await run(self._memory.close, timeout)

    @forgiving('memory.search("alice", "where does she live?", top_k=5)')
    @spelled_out(SearchOptions, SEARCH_DEFAULTS)
    async def search(
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
        >>> hits = await memory.search("alice", "where does she live?", kinds=["message"])
        >>> hits[0].content
        'I moved to Lyon last Friday.'
        >>> await memory.search("nobody", "where does she live?")
        <SearchResults 0 hits for 'where does she live?', no such user: `nobody`>
        """
        return await run(self._memory.search, user_id, query, top_k, kinds=kinds, **options)

    @forgiving('memory.context("alice", "where does she live?", max_tokens=1000)')
    @spelled_out(SearchOptions, SEARCH_DEFAULTS)
    async def context(
        self,
        user_id: str,
        query: str,
        max_tokens: int = 2000,
        *,
        format: Format = "text",
        kinds: Iterable[Kind] = ("episodic", "semantic", "message"),
        top_k: int | None = None,
        **options: Unpack[SearchOptions],
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
        top_k
            Has no effect: the budget decides how much takes part.
        user_id, query, method, since, until, session_id, agent_id, where, fact_kinds
            As for :meth:`search`.
        min_importance, about, threshold, explain, now
            As for :meth:`search`.
        include_superseded
            Has no effect.

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
        >>> context = await memory.context("alice", "where does she live?", max_tokens=200)
        >>> context.token_count <= 200
        True
        >>> [message.content for message in context.messages if "Lyon" in message.content]
        ['I moved to Lyon last Friday.']
        >>> import json
        >>> context = await memory.context("alice", "where does she live?", format="json")
        >>> [message["speaker"] for message in json.loads(context.text)["messages"]]
        ['Alice', 'assistant']
        """
        return await run(
            self._memory.context,
            user_id,
            query,
            max_tokens,
            format=format,
            kinds=kinds,
            top_k=top_k,
            **options,
        )

    @spelled_out(ListOptions, LIST_DEFAULTS)
    def episodes(self, user_id: str, **options: Unpack[ListOptions]) -> AsyncRecords[Episode]:
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
        AsyncRecords of Episode
            For ``async for``, which reads the records page by page.

        Raises
        ------
        InvalidInputError
            For an unknown option or operator, and for ``since`` after ``until``.

        Examples
        --------
        >>> [episode.message_count async for episode in memory.episodes("alice")]
        [2]
        """
        return AsyncRecords(self._memory.episodes(user_id, **options))

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
    ) -> AsyncRecords[SemanticMemory]:
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
        AsyncRecords of SemanticMemory
            For ``async for``, which reads the records page by page.

        Raises
        ------
        InvalidInputError
            For an unknown option or operator, and for ``since`` after ``until``.

        Examples
        --------
        >>> [fact.is_current async for fact in memory.semantic_memories("alice")]
        [True]
        """
        return AsyncRecords(
            self._memory.semantic_memories(
                user_id,
                include_superseded=include_superseded,
                kind=kind,
                attribute=attribute,
                min_importance=min_importance,
                about=about,
                **options,
            )
        )

    @spelled_out(ListOptions, LIST_DEFAULTS)
    def messages(self, user_id: str, **options: Unpack[ListOptions]) -> AsyncRecords[Message]:
        """The user's messages, verbatim, in order of arrival, read page by page.

        Parameters
        ----------
        user_id, since, until, session_id, agent_id, where, include_archived, newest_first, limit
            As for :meth:`episodes`; messages are never archived.

        Returns
        -------
        AsyncRecords of Message
            For ``async for``, which reads the records page by page.

        Raises
        ------
        InvalidInputError
            For an unknown option or operator, and for ``since`` after ``until``.

        Examples
        --------
        >>> [message.speaker async for message in memory.messages("alice")]
        ['Alice', 'assistant']
        """
        return AsyncRecords(self._memory.messages(user_id, **options))

    @forgiving('memory.get("alice", id)')
    async def get(self, user_id: str, id: str) -> Record | None:
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
        >>> episode = await anext(memory.episodes("alice"))
        >>> await memory.get("alice", episode.episode_id) == episode
        True
        >>> await memory.get("alice", episode.uri) == episode
        True
        >>> await memory.get("alice", "no such id") is None
        True
        """
        return await run(self._memory.get, user_id, id)

    @forgiving('memory.history("alice", id)')
    async def history(self, user_id: str, id: str) -> list[Record]:
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
        >>> fact = await anext(memory.semantic_memories("alice"))
        >>> await memory.history("alice", fact.memory_id) == [fact]
        True
        """
        return await run(self._memory.history, user_id, id)

    async def trace(self, user_id: str, id: str) -> list[TraceStep]:
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
        >>> episode = await anext(memory.episodes("alice"))
        >>> await memory.trace("alice", episode.episode_id)  # written by rules
        []
        """
        return await run(self._memory.trace, user_id, id)

    async def profile(
        self,
        user_id: str,
        *,
        max_tokens: int | None = None,
        language: Literal["en", "zh"] | None = None,
    ) -> Profile:
        """What is known of a user and holds now, by category, with what it was before.

        At most 50 facts of personal information, 100 of work history, 200 preferences, 50
        relationships and 50 goals; the least important ones are left out first.

        Parameters
        ----------
        user_id
            User id. An unknown user has an empty profile.
        max_tokens
            Maximum length as Markdown, in tokens of o200k_base: more facts are left out.
        language
            Of the headings, ``"en"`` or ``"zh"``; ``None``: that of the facts.

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
        >>> profile = await memory.profile("alice")
        >>> [line.content for line in profile.sections["personal_info"]]
        ['Alice moved to Lyon last Friday [8 March 2024].']
        >>> [event.change for event in next(iter(profile)).history]
        ['ADD']
        """
        return await run(self._memory.profile, user_id, max_tokens=max_tokens, language=language)

    async def ls(self, uri: str = "cortex://", *, user_id: str | None = None) -> Sequence[Entry]:
        """What is in a folder of the tree, with its names and titles.

        ``cortex://`` has ``session/ID/timeline/YYYY-MM/DD``, ``user/ID/preferences`` and its like,
        and ``agent/ID/cases``. ``episodica://TENANT/USER`` has the records by kind, at their own
        ``uri``. Names are percent-encoded ids. A folder is read when it is listed.

        Parameters
        ----------
        uri
            The folder.
        user_id
            Only records of this user. ``None``: of all users, of whom those are opened whose
            records may be in the folder.

        Returns
        -------
        Sequence of Entry
            Folders, then texts in order of time.

        Raises
        ------
        InvalidInputError
            For text that is not an address, and where nothing is.

        Examples
        --------
        >>> [entry.name for entry in await memory.ls("cortex://")]
        ['session', 'user', 'agent', 'resources']
        >>> [entry.title for entry in await memory.ls("cortex://user/alice/personal_info")]
        ['Alice moved to Lyon last Friday [8 March 2024].']
        """
        return await run(self._memory.ls, uri, user_id=user_id)

    async def tree(
        self, uri: str = "cortex://", *, depth: int = 2, user_id: str | None = None
    ) -> Entry:
        """A folder with what is below, so many levels deep; ``print`` draws it.

        Parameters
        ----------
        uri, user_id
            As for :meth:`ls`.
        depth
            Levels below the folder, 1 to 32.

        Returns
        -------
        Entry
            The folder; its ``entries`` and theirs have what is below.

        Raises
        ------
        InvalidInputError
            As for :meth:`ls`, and for a ``depth`` out of bounds.

        Examples
        --------
        >>> print(await memory.tree("cortex://user/alice", depth=1))
        cortex://user/alice
        ├── profile.md  what is known now
        ├── profile.json  what is known now
        ├── personal_info/
        ├── work_history/
        ├── preferences/
        ├── relationships/
        ├── goals/
        ├── entities/
        ├── events/
        └── decisions/
        """
        return await run(self._memory.tree, uri, depth=depth, user_id=user_id)

    async def read(
        self, uri: str, layer: Layer | None = None, *, user_id: str | None = None
    ) -> str:
        """A text of the tree, in one of three layers.

        L0 is an abstract of at most 100 tokens, L1 an overview (of an episode: its narrative), L2
        the thing itself (of an episode: its messages, verbatim). Folders have layers too.

        Parameters
        ----------
        uri
            Its address: one of :meth:`ls`, or the ``uri`` of a record. ``….abstract.md`` and
            ``….overview.md`` name the layers L0 and L1.
        layer
            ``"L0"``, ``"L1"`` or ``"L2"``. ``None``: the one that the address names, else L2.
        user_id
            As for :meth:`ls`.

        Returns
        -------
        str
            The text.

        Raises
        ------
        InvalidInputError
            For text that is not an address, where nothing is, and for another layer.

        Examples
        --------
        >>> episode = await anext(memory.episodes("alice"))
        >>> await memory.read(episode.uri, "L1") == episode.content
        True
        """
        return await run(self._memory.read, uri, layer, user_id=user_id)

    async def explore(
        self, query: str, uri: str = "cortex://", *, top_k: int = 5, user_id: str | None = None
    ) -> Exploration:
        """Walks through the tree from abstracts to contents, towards the answer of a question.

        Parameters
        ----------
        query
            The question.
        uri
            The folder where the walk begins.
        top_k
            Maximum number of hits.
        user_id
            As for :meth:`ls`.

        Returns
        -------
        Exploration
            The places that it looked at, each with its score and whether it went on there, and the
            hits that it found.

        Raises
        ------
        InvalidInputError
            As for :meth:`ls` and :meth:`search`.

        Examples
        --------
        >>> walk = await memory.explore("where does she live?", "cortex://user/alice")
        >>> walk.steps[0].uri
        'cortex://user/alice/personal_info'
        >>> walk.hits[0].content
        'Alice moved to Lyon last Friday [8 March 2024].'
        """
        return await run(self._memory.explore, query, uri, top_k=top_k, user_id=user_id)

    async def sessions(self, user_id: str) -> list[Session]:
        """The user's sessions in the order in which they began, with their states.

        Parameters
        ----------
        user_id
            User id. An unknown user has none.

        Returns
        -------
        list of Session
            Each with its state, its dates, and the number of its messages and episodes.

        Raises
        ------
        InvalidInputError
            For a user id that is empty or longer than 512 bytes.

        Examples
        --------
        >>> await memory.sessions("alice")
        [<Session 's1' active, 2024-03-11 09:30, 2 messages, 1 episodes>]
        """
        return await run(self._memory.sessions, user_id)

    async def export(
        self,
        user_id: str,
        path: str | os.PathLike[str],
        *,
        format: Literal["jsonl", "markdown", "tree"] | None = None,
    ) -> ExportReport:
        """Writes all records of a user to a file, or their tree to a directory.

        JSONL has a record a line, which :meth:`MemorySystem.import_` reads: messages, episodes and
        facts with their ids and all their versions. Prompts and answers of a model (:meth:`trace`)
        and vectors stay here. Markdown is for people. A tree is a directory of Markdown files, as
        :meth:`tree` shows them; ``import_`` takes over what was corrected in them.

        Parameters
        ----------
        user_id
            User id.
        path
            The file; one that exists is replaced, but only by a whole export. Of a tree: a
            directory that does not exist yet or is empty.
        format
            ``None``: Markdown if the name ends in ``.md``, else JSONL.

        Returns
        -------
        ExportReport
            How many records were written.

        Raises
        ------
        InvalidInputError
            For an unknown user or format, and for a directory that is not empty.
        StoreIOError
            If the file can't be written.

        Examples
        --------
        >>> (await memory.export("alice", "alice.jsonl")).messages
        2
        """
        return await run(self._memory.export, user_id, path, format=format)

    @forgiving('memory.update("alice", id, "Alice lives in Nice.")')
    async def update(self, user_id: str, id: str, content: str) -> Record:
        """Changes the text of an episode or a fact. :meth:`history` keeps the old one.

        Parameters
        ----------
        user_id
            User id.
        id
            Id or URI of an episode or a fact.
        content
            The new text.

        Returns
        -------
        Episode or SemanticMemory
            The record with the new text.

        Raises
        ------
        InvalidInputError
            For an unknown id, an empty text, or a message: messages never change.

        Examples
        --------
        >>> episode = await anext(memory.episodes("alice"))
        >>> (await memory.update("alice", episode.episode_id, "Alice has moved to Lyon.")).content
        'Alice has moved to Lyon.'
        >>> len(await memory.history("alice", episode.episode_id))
        2
        """
        return await run(self._memory.update, user_id, id, content)

    @forgiving('memory.delete("alice", id)')
    async def delete(
        self, user_id: str, id: str | Iterable[str], *, dry_run: bool = False
    ) -> DeleteReport:
        """Removes records, and what was derived from them.

        Afterwards no byte of their texts is in any file. Episodes that lose a message are written
        again without it; facts go that no other message proves.

        Parameters
        ----------
        user_id
            Whose records.
        id
            Id or URI of a message, episode or fact, or several: many are removed in one pass. An
            episode goes with its messages. Unknown ids remove nothing.
        dry_run
            Removes nothing and reports what would be removed.

        Returns
        -------
        DeleteReport
            How many records were removed and rewritten.

        Raises
        ------
        InvalidInputError
            For an id that is not a text.
        StoreIOError
            If a file can't be written. Call again: the next call finishes the deletion.

        Examples
        --------
        >>> (await memory.delete("alice", "no such id")).episodes
        0
        >>> (await memory.delete("alice", ["no such id", "nor this one"])).messages
        0
        """
        return await run(self._memory.delete, user_id, id, dry_run=dry_run)

    async def delete_where(
        self,
        user_id: str,
        *,
        where: Mapping[str, Any] | None = None,
        kinds: Iterable[Kind] | Kind | None = None,
        fact_kinds: Iterable[FactKind] | FactKind | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        dry_run: bool = False,
    ) -> DeleteReport:
        """Removes the records that meet all conditions, in one pass; see :meth:`delete`.

        Parameters
        ----------
        user_id
            Whose records.
        where
            What their metadata must say, with the operators of :meth:`search`.
        kinds
            ``"message"`` (default), ``"episodic"``, ``"semantic"``, or several. What was derived
            from messages follows them; an episode of which one message meets the conditions goes
            with all its messages, if episodes are asked for.
        fact_kinds
            Only facts of this category, such as ``"preference"``, or of these. Nothing else has
            one, so ``kinds`` is ``"semantic"`` then.
        since
            Nothing before this time.
        until
            Nothing after this time.
        session_id, agent_id
            Only this session, only this agent, as for :meth:`search`.
        dry_run
            Removes nothing and reports what would be removed.

        Returns
        -------
        DeleteReport
            How many records were removed and rewritten.

        Raises
        ------
        InvalidInputError
            Without any condition, and for an unknown operator.
        StoreIOError
            If a file can't be written. Call again: the next call finishes the deletion.

        Examples
        --------
        >>> (await memory.delete_where("alice", where={"channel": {"$in": ["fax"]}})).messages
        0
        """
        return await run(
            self._memory.delete_where,
            user_id,
            where=where,
            kinds=kinds,
            fact_kinds=fact_kinds,
            since=since,
            until=until,
            session_id=session_id,
            agent_id=agent_id,
            dry_run=dry_run,
        )

    async def forgetting(
        self,
        user_id: str,
        *,
        strength: float | None = 0.05,
        older_than: float | timedelta | None = None,
        unused_for: float | timedelta | None = None,
        max_uses: int | None = None,
        max_importance: float | Importance | None = None,
        kinds: Iterable[Forgettable] | Forgettable = "semantic",
        fact_kinds: Iterable[FactKind] | FactKind | None = None,
        exempt_kinds: Iterable[FactKind] | FactKind = (),
        where: Mapping[str, Any] | None = None,
        agent_id: str | None = None,
    ) -> ForgettingReport:
        """Which episodes and facts nobody needs any more, with reasons. Changes nothing.

        A record is proposed if all conditions hold. Facts that have expired are always proposed.
        Names, birthdays and allergies never are. :meth:`archive` takes the report.

        Parameters
        ----------
        user_id
            User id. An unknown user yields an empty report.
        strength
            Only what is weaker: ``confidence * exp(-0.1 * days since the last use / (1 + 0.2 *
            uses))``. A use is a search or a context that returns the record, and a message that
            says a fact again. ``None``: of any strength.
        older_than
            Only what was written down so many days ago or more: a number or a ``timedelta``.
        unused_for
            Only what was not used for so many days.
        max_uses
            Only what was used so many times at most.
        max_importance
            Only facts of this importance at most, 0 to 1 or a label as for :meth:`search`.
        kinds
            ``"semantic"``, ``"episodic"``, or both. With an episode its messages leave searches.
        fact_kinds
            Only facts of this category, or of these.
        exempt_kinds
            No facts of this category, or of these.
        where, agent_id
            As for :meth:`search`.

        Returns
        -------
        ForgettingReport
            The candidates, weakest first, and how many facts are exempt.

        Raises
        ------
        InvalidInputError
            For numbers out of bounds and unknown categories.

        Examples
        --------
        >>> await memory.forgetting("alice")
        <ForgettingReport 0 candidates, 0 exempt>
        >>> found = await memory.forgetting("alice", strength=None, max_uses=1000)
        >>> [candidate.text for candidate in found]
        ['Alice moved to Lyon last Friday [8 March 2024].']
        """
        return await run(
            self._memory.forgetting,
            user_id,
            strength=strength,
            older_than=older_than,
            unused_for=unused_for,
            max_uses=max_uses,
            max_importance=max_importance,
            kinds=kinds,
            fact_kinds=fact_kinds,
            exempt_kinds=exempt_kinds,
            where=where,
            agent_id=agent_id,
        )

    async def archive(
        self, user_id: str, id: str | Iterable[str] | ForgettingReport
    ) -> list[Record]:
        """Takes episodes and facts out of searches, contexts and listings; deletes nothing.

        :meth:`get`, :meth:`history` and exports still have them. An episode takes its messages
        with it; facts that were learned from it stay. A fact that is said again comes back.

        Parameters
        ----------
        user_id
            Whose records.
        id
            Id or URI of an episode or a fact, several, or the report of :meth:`forgetting`.

        Returns
        -------
        list of Episode or SemanticMemory
            The records as they are now.

        Raises
        ------
        InvalidInputError
            For an unknown id or that of a message; nothing is archived then.

        Examples
        --------
        >>> fact = await anext(memory.semantic_memories("alice"))
        >>> (await memory.archive("alice", fact.memory_id))[0].archived_at is None
        False
        >>> [fact.kind async for fact in memory.semantic_memories("alice")]
        []
        >>> [fact.kind async for fact in memory.semantic_memories("alice", include_archived=True)]
        ['personal_info']
        """
        return await run(self._memory.archive, user_id, id)

    async def restore(self, user_id: str, id: str | Iterable[str]) -> list[Record]:
        """Takes back episodes and facts that were archived, and facts that have expired.

        Parameters
        ----------
        user_id
            Whose records.
        id
            Id or URI of an episode or a fact, or several.

        Returns
        -------
        list of Episode or SemanticMemory
            The records as they are now.

        Raises
        ------
        InvalidInputError
            For an unknown id or that of a message; nothing is restored then.

        Examples
        --------
        >>> fact = await anext(memory.semantic_memories("alice", include_archived=True))
        >>> (await memory.restore("alice", fact.memory_id))[0].archived_at is None
        True
        """
        return await run(self._memory.restore, user_id, id)

    async def delete_user_data(self, user_id: str, *, dry_run: bool = False) -> DeleteReport:
        """Removes a user completely.

        Afterwards no byte of the user is on disk and no search finds them.

        Parameters
        ----------
        user_id
            User id. An unknown user is not an error.
        dry_run
            Removes nothing and reports how many records would be removed.

        Returns
        -------
        DeleteReport
            How many records and files were removed.

        Raises
        ------
        InvalidInputError
            For a user id that is empty or longer than 512 bytes.
        StoreIOError
            If a file can't be removed. Call again: the next call finishes the deletion.

        Examples
        --------
        >>> (await memory.delete_user_data("nobody")).messages
        0
        """
        return await run(self._memory.delete_user_data, user_id, dry_run=dry_run)

    async def remember_procedure(
        self,
        user_id: str,
        goal: str | None = None,
        steps: Iterable[Mapping[str, Any] | ProcedureStep | str] = (),
        *,
        outcome: str | None = None,
        worked: bool | None = None,
        messages: Iterable[Any] | None = None,
        kind: Literal["procedure", "case"] = "procedure",
        agent_id: str | None = None,
        valid_from: TimeLike | None = None,
        metadata: Mapping[str, Any] | None = None,
        expires_after: float | timedelta | None = None,
    ) -> SemanticMemory:
        """Keeps how an agent went about a goal, verbatim. It survives a power cut.

        It is a fact of its own, found by its goal and its steps, and shown in contexts as what
        worked and what failed. Other facts neither replace it nor repeat it; the same again is
        kept once.

        Parameters
        ----------
        user_id
            User id; a new one is created.
        goal
            What was to be achieved. ``None``: what the user says first in ``messages``.
        steps
            Mappings with ``action`` and optionally ``arguments``, ``result`` (any JSON) and
            ``error``, or an action's words alone.
        outcome
            What came of it, in words. ``None``: what the assistant says last in ``messages``.
        worked
            Whether the goal was reached. ``None``: no, if the last step has an error, else not
            known.
        messages
            The chat in which it was done, in place of steps: messages of OpenAI, Anthropic, Gemini
            or LangChain with calls of tools and their results. Those that were added under these
            ids prove it, and deleting one of them deletes what follows from it.
        kind
            ``"procedure"`` (how something is done) or ``"case"`` (a problem and its solution).
        agent_id
            The agent that did it; kept as ``metadata["agent_id"]``, and a filter of :meth:`search`.
        valid_from
            When it was done. ``None``: now.
        metadata
            Any JSON object.
        expires_after
            As for :meth:`remember`.

        Returns
        -------
        SemanticMemory
            The fact, new or known; its ``procedure`` has the steps.

        Raises
        ------
        InvalidInputError
            Without a goal, for steps without an action, for messages without tool calls, and for
            what is not JSON.

        Examples
        --------
        >>> done = await memory.remember_procedure(
        ...     "alice",
        ...     "Book a table for two",
        ...     [{"action": "call", "arguments": {"to": "Chez Paul"}, "error": "nobody answers"}],
        ...     agent_id="concierge",
        ... )
        >>> done.procedure.worked, done.procedure.steps[0].error
        (False, 'nobody answers')
        >>> hits = await memory.search("alice", "reserve a table", fact_kinds=["procedure"])
        >>> hits[0].content
        'Book a table for two [failed] 1. call({"to":"Chez Paul"}) -> error: nobody answers'
        """
        return await run(
            self._memory.remember_procedure,
            user_id,
            goal,
            steps,
            outcome=outcome,
            worked=worked,
            messages=messages,
            kind=kind,
            agent_id=agent_id,
            valid_from=valid_from,
            metadata=metadata,
            expires_after=expires_after,
        )

    @overload
    async def wait(
        self,
        user_id: str | None = None,
        timeout: float | None = None,
        *,
        report: Literal[False] = False,
        since: str | None = None,
    ) -> bool: ...

    @overload
    async def wait(
        self,
        user_id: str | None = None,
        timeout: float | None = None,
        *,
        report: Literal[True],
        since: str | None = None,
    ) -> LearningReport: ...

    @overload
    async def wait(
        self,
        user_id: str | None = None,
        timeout: float | None = None,
        *,
        report: bool,
        since: str | None = None,
    ) -> bool | LearningReport: ...

    async def wait(
        self,
        user_id: str | None = None,
        timeout: float | None = None,
        *,
        report: bool = False,
        since: str | None = None,
    ) -> bool | LearningReport:
        """Waits until the facts of all finished episodes are learned.

        Parameters
        ----------
        user_id
            Only this user.
        timeout
            Maximum wait in seconds. ``None``: no limit.
        report
            Return what became of each candidate for a fact, with the text before and the evidence,
            and the sentences that are no facts, with the reason. The rules read these anew from the
            stored messages, so a report is the same after a restart.
        since
            The report begins here: the ``cursor`` of an earlier report or of :meth:`events`.
            ``None``: with the beginning of the logs.

        Returns
        -------
        bool or LearningReport
            Whether nothing is pending any more; a report is true then.

        Raises
        ------
        InvalidInputError
            For a negative ``timeout``.

        Examples
        --------
        >>> await memory.wait("alice", timeout=10)
        True
        >>> [event.change for event in (await memory.wait("alice", report=True)).events]
        ['ADD']
        """
        return await run(self._memory.wait, user_id, timeout, report=report, since=since)

    @overload
    async def close_session(
        self,
        user_id: str,
        session_id: str,
        *,
        wait: Literal[False] = False,
        timeout: float | None = None,
    ) -> list[Episode]: ...

    @overload
    async def close_session(
        self, user_id: str, session_id: str, *, wait: Literal[True], timeout: float | None = None
    ) -> SessionReport: ...

    @overload
    async def close_session(
        self, user_id: str, session_id: str, *, wait: bool, timeout: float | None = None
    ) -> list[Episode] | SessionReport: ...

    async def close_session(
        self, user_id: str, session_id: str, *, wait: bool = False, timeout: float | None = None
    ) -> list[Episode] | SessionReport:
        """Ends a session: turns its buffered messages into episodes, and returns these.

        Its state goes from ``closing`` to ``closed`` as facts are learned and indexed. It is in the
        log: what a crash cut off goes on when the store is opened again.

        Parameters
        ----------
        user_id
            User id.
        session_id
            The session. An unknown one is not an error.
        wait
            Wait until the session is closed, and report everything that it left.
        timeout
            Maximum wait in seconds. ``None``: no limit.

        Returns
        -------
        list of Episode, or SessionReport
            The new episodes of this session; with ``wait``, the session with all its episodes and
            the facts learned from them, true if it is closed.

        Raises
        ------
        InvalidInputError
            For a user id that is empty or longer than 512 bytes, or a negative ``timeout``.
        StoreIOError
            If the log can't be written.

        Examples
        --------
        >>> bye = {"role": "user", "content": "Bye!", "session_id": "s2"}
        >>> (await memory.add_messages("alice", [bye])).buffered
        1
        >>> [episode.message_count for episode in await memory.close_session("alice", "s2")]
        [1]
        >>> await memory.close_session("alice", "s2")
        []
        >>> (await memory.close_session("alice", "s2", wait=True)).session.state
        'closed'
        """
        return await run(
            self._memory.close_session, user_id, session_id, wait=wait, timeout=timeout
        )

    async def retry_pending(self, user_id: str | None = None) -> int:
        """Retries work that an outage prevented: vectors, facts and texts of a model.

        Parameters
        ----------
        user_id
            Only this user. ``None``: all users.

        Returns
        -------
        int
            Number of records that are still pending.

        Raises
        ------
        InvalidInputError
            For a user id that is empty or longer than 512 bytes.

        Examples
        --------
        >>> await memory.retry_pending()
        0
        """
        return await run(self._memory.retry_pending, user_id)

    @forgiving('memory.add_messages("alice", [{"role": "user", "content": "I moved to Lyon."}])')
    async def add_messages(
        self,
        user_id: str,
        messages: Iterable[Mapping[str, Any] | Message] | str,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        progress: Progress = None,
    ) -> AddResult:
        """Adds messages. When it returns, they survive a power cut.

        Parameters
        ----------
        user_id
            The user, 1 to 512 bytes of UTF-8.
        messages
            Mappings with ``role`` and ``content`` (text, or a chat API's list of parts), and
            optionally ``name``, ``timestamp`` (ISO 8601, ``datetime``, or seconds or milliseconds
            since 1970; without offset: UTC; default: the neighbours' in the list, else now),
            ``session_id``, ``agent_id``, ``metadata`` (any JSON) and ``message_id`` (a known id is
            not added again; without one, the same text of the same speaker, time and session is
            not). The names that other programs use do as well, such as ``createdAt``, ``sender``
            or ``thread_id``. Messages and items of OpenAI, Anthropic, Gemini, Bedrock, LangChain,
            LlamaIndex, Pydantic AI and the AI SDK, objects with these attributes, and data frames
            with these columns go in as they are. A text is one message of the user. Other keys
            become ``metadata``, unless they look like a misspelling.
        session_id, agent_id
            The session and the agent of messages that name none. The agent is the one that a
            message is from or for, where a user talks with several.
        progress
            ``True`` for a progress bar on a terminal or in a notebook, or a callable that takes
            ``(step, done, total)``.

        Returns
        -------
        AddResult
            Counts, the ids of the completed episodes, and notes on what was left out.

        Raises
        ------
        InvalidInputError
            For the first invalid message, by its position from 0. No message is added then.

        Examples
        --------
        >>> await memory.add_messages("alice", [])
        AddResult(messages_added=0, duplicates=0, buffered=0, episodes=(), pending_semantic=0)
        >>> await memory.add_messages("alice", [{"role": "user"}])
        Traceback (most recent call last):
        episodica.InvalidInputError: message 0: `content` is missing
        """
        return await run(
            self._memory.add_messages,
            user_id,
            messages,
            session_id=session_id,
            agent_id=agent_id,
            progress=progress,
        )

    async def flush(self, user_id: str) -> list[Episode]:
        """Turns the user's buffered messages into episodes now, and returns these.

        Parameters
        ----------
        user_id
            User id.

        Returns
        -------
        list of Episode
            The new episodes; empty if nothing was in the buffer.

        Raises
        ------
        InvalidInputError
            For a user id that is empty or longer than 512 bytes.
        StoreIOError
            If the log can't be written.

        Examples
        --------
        >>> await memory.flush("alice")
        []
        """
        return await run(self._memory.flush, user_id)

    async def flush_all_buffers(self) -> dict[str, list[Episode]]:
        """Turns the buffered messages of all users into episodes; returns these by user.

        Returns
        -------
        dict of str to list of Episode
            The new episodes by user id; users without new episodes are left out.

        Examples
        --------
        >>> await memory.flush_all_buffers()
        {}
        """
        return await run(self._memory.flush_all_buffers)

    @forgiving('memory.remember("alice", "I live in Lyon.")')
    async def remember(
        self,
        user_id: str,
        statement: str,
        *,
        kind: FactKind | None = None,
        valid_from: TimeLike | None = None,
        metadata: Mapping[str, Any] | None = None,
        agent_id: str | None = None,
        expires_after: float | timedelta | None = None,
        about: About | None = None,
    ) -> SemanticMemory:
        """Adds a fact that is stated directly. When it returns, the fact survives a power cut.

        The rules reconcile it with known facts, as they do with facts learned from messages: one
        that says the same is returned instead of a second one, one that the statement contradicts
        is superseded. No message proves the fact; it stays until it is deleted or superseded.

        Parameters
        ----------
        user_id
            User id; a new one is created.
        statement
            The fact, in the first or third person. Kept as it stands.
        kind
            Its category. ``None``: the rules tell it from the words.
        valid_from
            From when on it held. ``None``: now.
        metadata
            Any JSON object.
        agent_id
            The agent that states it; kept as ``metadata["agent_id"]``, and a filter of
            :meth:`search`.
        expires_after
            For how long it is found from now on: seconds or a ``timedelta``. Then it is as if it
            was archived; :meth:`forgetting` lists it, :meth:`restore` takes it back. A fact that is
            stated again lasts for the longer time.
        about
            ``"agent"`` for a fact about the agent, which contexts show apart.

        Returns
        -------
        SemanticMemory
            The fact, new or known.

        Raises
        ------
        InvalidInputError
            For an empty statement, an unknown kind, or metadata that is not JSON.

        Examples
        --------
        >>> (await memory.remember("carol", "I live in Paris.", valid_from="2023-01-01")).is_current
        True
        >>> (await memory.remember("carol", "I live in Lyon.", valid_from="2024-03-08")).attribute
        'home'
        >>> [fact.content async for fact in memory.semantic_memories("carol")]
        ['I live in Lyon.']
        """
        return await run(
            self._memory.remember,
            user_id,
            statement,
            kind=kind,
            valid_from=valid_from,
            metadata=metadata,
            agent_id=agent_id,
            expires_after=expires_after,
            about=about,
        )

    async def import_(
        self,
        path: str | os.PathLike[str],
        user_id: str | None = None,
        *,
        format: str | None = None,
        progress: Progress = None,
    ) -> ImportReport:
        """Adds what a file holds: an export of this package, or a chat history of another program.

        An export's records keep their ids and versions; those that the user has are left out, so
        a second import adds nothing. Read as well are exports of assistants, coding agents,
        messengers and other memories, messages of chat APIs as JSON or JSONL, CSV, letters, and
        plain text with ``Name:`` on each line. Their last messages stay in the buffer until
        :meth:`flush`. What of a chat history can't be read is left out and named in the report.

        Parameters
        ----------
        path
            The file, a ZIP archive or a folder of such files, or ``"-"`` for standard input. Or
            the directory of an exported tree: facts and overviews that were corrected there become
            updates of ``user_id``, with their history; nothing is deleted.
        user_id
            The user. ``None``: the one that the file names.
        format
            The name of a format, ``"chatgpt"`` or ``"csv"`` for example; the guide to imports
            lists them. ``None``: the content tells.
        progress
            ``True`` for a progress bar on a terminal or in a notebook, or a callable that takes
            ``(step, done, total)``.

        Returns
        -------
        ImportReport
            How many records were added, how many were known, and what was left out.

        Raises
        ------
        InvalidInputError
            For a file that is damaged, or of which nothing is understood; naming file and line. Of
            an export nothing is added then, of a chat history the conversations before it are.
        StoreIOError
            If the file can't be read.

        Examples
        --------
        >>> from pathlib import Path
        >>> _ = Path("chat.txt").write_text("2024-03-11 09:30 Dan: I sold my car.")
        >>> (await memory.import_("chat.txt", "dan")).messages
        1
        >>> (await memory.import_("chat.txt", "dan")).known
        1
        """
        return await run(self._memory.import_, path, user_id, format=format, progress=progress)

    async def rebuild_indices(
        self, user_id: str | None = None, *, progress: Progress = None
    ) -> RebuildReport:
        """Rebuilds the indexes of one user or of all from the logs.

        Do this after a change of the embedding model.

        Parameters
        ----------
        user_id
            Only this user. ``None``: all users.
        progress
            ``True`` for a progress bar on a terminal or in a notebook, or a callable that takes
            ``(step, done, total)``.

        Returns
        -------
        RebuildReport
            How many records were read, and how many vectors were computed.

        Raises
        ------
        InvalidInputError
            For a user id that is empty or longer than 512 bytes.
        EmbeddingError
            If the embedder fails.

        Examples
        --------
        >>> (await memory.rebuild_indices("alice")).users
        1
        """
        return await run(self._memory.rebuild_indices, user_id, progress=progress)

    async def compact(
        self, user_id: str | None = None, *, progress: Progress = None
    ) -> CompactReport:
        """Makes the logs of one user or of all smaller.

        What nothing follows from any more goes: versions of a record that more than eight later
        ones follow, and notes that later ones replace. Messages, episodes and facts stay. A user
        more than half of whose log is of that kind is compacted without being asked. On PostgreSQL
        the lines are removed; the server's autovacuum gives the room back.

        Parameters
        ----------
        user_id
            Only this user. ``None``: all users.
        progress
            ``True`` for a progress bar on a terminal or in a notebook, or a callable that takes
            ``(step, done, total)``.

        Returns
        -------
        CompactReport
            How long the logs were, and how long they are now.

        Raises
        ------
        InvalidInputError
            For a user id that is empty or longer than 512 bytes.
        StoreIOError
            If the disk is full or fails; an interrupted compaction is finished at the next opening.

        Examples
        --------
        >>> (await memory.compact("alice")).users
        1
        """
        return await run(self._memory.compact, user_id, progress=progress)


class AsyncPlots:
    """The pictures of :class:`Plots` as coroutines."""

    __slots__ = ("_plots",)

    def __init__(self, plots: Plots) -> None:
        self._plots = plots

    async def timeline(
        self,
        user_id: str,
        *,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        limit: int = 20,
        facts: int = 4,
        theme: ThemeName | None = None,
    ) -> Figure:
        """The user's episodes over time: why each ended, and its facts, superseded ones struck.

        Parameters
        ----------
        user_id
            User id.
        since, until
            Only episodes of this time, both ends included.
        limit
            Maximum number of episodes, 1 to 200; the newest are shown.
        facts
            Maximum number of facts per episode, 0 or more; the most important are shown.
        theme
            ``"light"`` or ``"dark"``.

        Returns
        -------
        matplotlib.figure.Figure
            The chart; ``savefig`` writes it to a file.

        Raises
        ------
        InvalidInputError
            For an argument out of bounds, and for an unknown theme.
        MissingExtraError
            Without matplotlib.

        Examples
        --------
        >>> figure = await memory.plot.timeline("alice")
        >>> figure.savefig("timeline.png")
        """
        return await run(
            self._plots.timeline,
            user_id,
            since=since,
            until=until,
            limit=limit,
            facts=facts,
            theme=theme,
        )

    async def scores(
        self, hits: Iterable[Hit], *, limit: int = 10, theme: ThemeName | None = None
    ) -> Figure:
        """The contributions of legs and layers to each hit's score, as stacked bars.

        Parameters
        ----------
        hits
            The result of :meth:`MemorySystem.search`, or some of its hits.
        limit
            Maximum number of hits of each kind, 1 to 50.
        theme
            ``"light"`` or ``"dark"``.

        Returns
        -------
        matplotlib.figure.Figure
            The chart; ``savefig`` writes it to a file.

        Raises
        ------
        InvalidInputError
            For an argument out of bounds, and for an unknown theme.
        MissingExtraError
            Without matplotlib.

        Examples
        --------
        >>> figure = await memory.plot.scores(await memory.search("alice", "Lyon"))
        """
        return await run(self._plots.scores, hits, limit=limit, theme=theme)

    async def map(self, user_id: str, *, limit: int = 60, theme: ThemeName | None = None) -> Figure:
        """The user's episodes in two dimensions, similar ones near each other, coloured by time.

        The axes are the principal coordinates of the episodes' cosine similarities.

        Parameters
        ----------
        user_id
            User id.
        limit
            Maximum number of episodes, 1 to 200; the newest are shown.
        theme
            ``"light"`` or ``"dark"``.

        Returns
        -------
        matplotlib.figure.Figure
            The chart; ``savefig`` writes it to a file.

        Raises
        ------
        InvalidInputError
            For an argument out of bounds, and for an unknown theme.
        MissingExtraError
            Without matplotlib.

        Examples
        --------
        >>> figure = await memory.plot.map("alice")
        """
        return await run(self._plots.map, user_id, limit=limit, theme=theme)

    async def usage(self, *, theme: ThemeName | None = None) -> Figure:
        """Tokens sent to and received from language models, by phase.

        Parameters
        ----------
        theme
            ``"light"`` or ``"dark"``.

        Returns
        -------
        matplotlib.figure.Figure
            The chart; ``savefig`` writes it to a file.

        Raises
        ------
        InvalidInputError
            For an unknown theme.
        MissingExtraError
            Without matplotlib.

        Examples
        --------
        >>> figure = await memory.plot.usage()
        """
        return await run(self._plots.usage, theme=theme)
