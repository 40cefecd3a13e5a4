"""The operations that only read, shared by ``MemorySystem`` and ``LightweightSearchSystem``.

They check arguments, call the engine and wrap its answers, without logic of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Unpack

from .errors import InvalidInputError
from .hints import nearest_hint, shown
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
from .layers.address import parse
from .layers.tree import Tree
from .layers.values import LAYERS, Entry, Exploration, Layer
from .layers.walk import explore
from .listings import PAGE, Records, T
from .plot import Plots
from .profile import LANGUAGES, Profile, profile_of
from .records import Episode, Message, Record, SemanticMemory
from .reports import Event, ExportReport
from .rerankers import rerank, widened
from .results import Context, SearchResults
from .status import TraceStep
from .store import OpenStore

# The field with the id of a record, by its kind.
ID_FIELDS = {"message": "message_id", "episode": "episode_id", "semantic": "memory_id"}

# The most levels that `tree` reads.
_DEEPEST = 32


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

        New messages are found at once. Hits of all kinds are merged by their relevance. A
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
        >>> memory.search("carol", "where does she live?")
        <SearchResults 0 hits for 'where does she live?', no such user: `carol`>
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

        The text opens with the current facts that answer the question, each with its date. Then
        come messages in the order of time, with ``[…]`` where others are left out. Of messages that
        match best but are too long for the budget, only the matching sentences are quoted. An
        outdated message is marked ``[outdated]`` and comes together with the fact that superseded
        it. Further lines of a message begin with a space, so that a message can't pass for a
        heading, a fact or another speaker.

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
        """The zone in which dates are shown; a date without a time is a day in this zone."""
        return self._config.timezone

    def _listed(self, options: ListOptions) -> tuple[dict[str, Any], int | None]:
        return list_options(options, zone=self._zone)

    def _turned_down(self, user: str, episodes: list[str] | None = None) -> list[Event]:
        """The sentences of episodes, by default of all, in which the rules found no facts."""
        return self._engine.turned_down(user, episodes)

    def _has(self, user: str) -> bool:
        counts = self._engine.stats(user)
        return bool(counts["messages"] or counts["semantic_memories"])

    def _refuse_turned(self, user: str, query: str, name: str) -> None:
        """Refuses a call whose user is unknown but whose query is the name of a user."""
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

    def profile(
        self,
        user_id: str,
        *,
        max_tokens: int | None = None,
        language: Literal["en", "zh"] | None = None,
    ) -> Profile:
        """The facts about a user that hold now, by category, with the facts they superseded.

        At most 50 facts of personal information, 100 of work history, 200 preferences, 50
        relationships and 50 goals; the least important ones are left out first.

        Parameters
        ----------
        user_id
            User id. An unknown user has an empty profile.
        max_tokens
            Maximum length as Markdown, in tokens of o200k_base; facts beyond it are left out.
        language
            Language of the headings, ``"en"`` or ``"zh"``; ``None``: the language of the facts.

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
        >>> [line.content for line in profile.sections["personal_info"]]
        ['Alice moved to Lyon last Friday [8 March 2024].']
        >>> [event.change for event in next(iter(profile)).history]
        ['ADD']
        """
        user = check.user(user_id)
        chosen = None if language is None else one_of(language, LANGUAGES, "language")
        facts = list(self.semantic_memories(user, include_superseded=True))
        revised = {
            fact.memory_id: [
                one for one in self.history(user, fact.memory_id) if isinstance(one, SemanticMemory)
            ]
            for fact in facts
            if fact.revision_count > 0
        }
        whole = profile_of(user, facts, revised, chosen)
        if max_tokens is None:
            return whole
        return whole._fitting(check.whole(max_tokens, "max_tokens", 1))

    def ls(self, uri: str = "cortex://", *, user_id: str | None = None) -> Sequence[Entry]:
        """The entries of a folder of the tree, with names and titles.

        ``cortex://`` has ``session/ID/timeline/YYYY-MM/DD``, a folder for each category of facts
        such as ``user/ID/preferences``, and ``agent/ID/cases``. ``episodica://TENANT/USER`` has the
        records by kind, at their own ``uri``. Names are percent-encoded ids. A folder is read when
        it is listed.

        Parameters
        ----------
        uri
            The folder.
        user_id
            Only records of this user. ``None``: all users; opens only users that may have
            records in the folder.

        Returns
        -------
        Sequence of Entry
            Folders, then texts in order of time.

        Raises
        ------
        InvalidInputError
            If ``uri`` is not an address, or nothing is there.

        Examples
        --------
        >>> [entry.name for entry in memory.ls("cortex://")]
        ['session', 'user', 'agent', 'resources']
        >>> [entry.title for entry in memory.ls("cortex://user/alice/personal_info")]
        ['Alice moved to Lyon last Friday [8 March 2024].']
        """
        return self._tree(user_id).entries(parse(check.text(uri, "uri")))

    def tree(self, uri: str = "cortex://", *, depth: int = 2, user_id: str | None = None) -> Entry:
        """A folder with its entries, down to a depth; ``print`` draws it.

        Parameters
        ----------
        uri, user_id
            As for :meth:`ls`.
        depth
            Levels below the folder, 1 to 32.

        Returns
        -------
        Entry
            The folder; its ``entries`` and theirs are the levels below.

        Raises
        ------
        InvalidInputError
            As for :meth:`ls`, and for a ``depth`` out of bounds.

        Examples
        --------
        >>> print(memory.tree("cortex://user/alice", depth=1))
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
        levels = min(check.whole(depth, "depth", 1), _DEEPEST)
        at = parse(check.text(uri, "uri"))
        top = Entry(str(at), at.names[-1] if at.names else "", "folder")
        return _deep(self._tree(user_id), top, levels)

    def read(self, uri: str, layer: Layer | None = None, *, user_id: str | None = None) -> str:
        """A text of the tree, in one of three layers.

        L0 is an abstract of at most 100 tokens, L1 an overview (of an episode: its narrative), L2
        the whole record (of an episode: its messages, verbatim). Folders have layers too.

        Parameters
        ----------
        uri
            The address of the text: from :meth:`ls`, or the ``uri`` of a record.
            ``….abstract.md`` and ``….overview.md`` name the layers L0 and L1.
        layer
            ``"L0"``, ``"L1"`` or ``"L2"``. ``None``: the layer that the address names, else L2.
        user_id
            As for :meth:`ls`.

        Returns
        -------
        str
            The text.

        Raises
        ------
        InvalidInputError
            If ``uri`` is not an address or nothing is there, and for an unknown layer.

        Examples
        --------
        >>> episode = next(memory.episodes("alice"))
        >>> memory.read(episode.uri, "L1") == episode.content
        True
        """
        chosen = None if layer is None else one_of(layer, LAYERS, "layer")
        return self._tree(user_id).read(parse(check.text(uri, "uri")), chosen)  # type: ignore[arg-type]

    def explore(
        self,
        query: str,
        uri: str = "cortex://",
        *,
        top_k: int = 5,
        user_id: str | None = None,
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
            The places that the walk looked at, each with its score and whether the walk went on
            there, and the hits that it found.

        Raises
        ------
        InvalidInputError
            As for :meth:`ls` and :meth:`search`.

        Examples
        --------
        >>> walk = memory.explore("where does she live?", "cortex://user/alice")
        >>> walk.steps[0].uri
        'cortex://user/alice/personal_info'
        >>> walk.hits[0].content
        'Alice moved to Lyon last Friday [8 March 2024].'
        """
        asked = check.query(query)
        at = parse(check.text(uri, "uri"))
        tree = self._tree(user_id)
        tree.entries(at)
        return explore(self, tree, asked, at, check.top_k(top_k))

    def _tree(self, user_id: str | None) -> Tree:
        return Tree(self, check.optional_user(user_id))

    def export(
        self,
        user_id: str,
        path: str | os.PathLike[str],
        *,
        format: Literal["jsonl", "markdown", "tree"] | None = None,
    ) -> ExportReport:
        """Writes all records of a user to a file, or their tree to a directory.

        JSONL, which :meth:`MemorySystem.import_` reads, has one record per line: messages, episodes
        and facts with their ids and all their versions, but not vectors, nor prompts and answers of
        a model (:meth:`trace`). Markdown is for people. A tree is a directory of Markdown files, as
        :meth:`tree` shows them; ``import_`` takes over the corrections in them.

        Parameters
        ----------
        user_id
            User id.
        path
            The file. An existing file is replaced when the export is complete. For a tree, a
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
        >>> memory.export("alice", "alice.jsonl").messages
        2
        """
        from .layers.folder import write
        from .transfer import FILE_FORMATS, export

        user = check.user(user_id)
        file = check.store_path(path)
        if user not in self.users():
            raise InvalidInputError(
                f"no such user: `{shown(user)}`", hint=nearest_hint(user, self.users())
            )
        if format == "tree":
            return write(Tree(self, user), user, file)
        chosen = None if format is None else one_of(format, FILE_FORMATS, "format")
        return export(self, user, file, chosen)


def _hits(top_k: object) -> Any:
    """The checked number of hits, or the checked number for each kind."""
    return top_k if isinstance(top_k, Mapping) else check.top_k(top_k)


def _deep(tree: Tree, top: Entry, levels: int) -> Entry:
    entries = tree.entries(parse(top.uri))
    if levels > 1:
        entries = [_deep(tree, one, levels - 1) if one.is_folder else one for one in entries]
    return replace(top, entries=tuple(entries))
