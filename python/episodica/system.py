"""``MemorySystem`` reads and writes a store; ``LightweightSearchSystem`` only reads one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, overload

from .config import MemoryConfig, resolve_config
from .corrections import Corrections
from .dates import TimeLike
from .inputs import checks as check
from .inputs.calls import forgiving, refuse_turned, user_first
from .inputs.facts import About, FactKind, stated_fact
from .inputs.messages import incoming
from .models import LLM, Embedding, embedding_spec, llm_spec
from .progress import Progress, Reporter
from .queries import MemoryReader
from .records import Episode, Message, SemanticMemory
from .reports import AddResult, CompactReport, Event, ImportReport, LearningReport, RebuildReport
from .rerankers import Reranker
from .sessions import SessionReport


class MemorySystem(Corrections):
    """Remembers conversations and finds the right moment again.

    Opens or creates a store in a directory. Needs no server, no key and no network. Any number of
    threads and processes may use it at once.

    Parameters
    ----------
    path
        The store's directory; ``~`` is expanded.
    config
        Settings. Default: :meth:`MemoryConfig.load` reads the environment and the settings file.
    tenant
        The tenant. Tenants share a store and never see each other's data.
    llm
        The language model. ``None``: that of ``config``, else none (offline). An
        :class:`LLMConfig`, or its fields in a mapping. Or a callable that takes the messages of a
        chat (and ``response_format``, ``max_tokens`` and ``temperature`` if its signature has
        them) and returns the answer's text or a chat completion; it may be a coroutine function.
        Its attribute ``model`` names the model.
    embedding
        The embedder. ``None``: that of ``config``, else the one inside the package. An
        :class:`EmbeddingConfig`, its fields in a mapping, or the path of a local folder. Or one
        of ``"openai:MODEL"``, ``"ollama:MODEL"``, ``"sentence-transformers:FOLDER"`` and
        ``"fastembed:MODEL"``. Or a callable from ``list[str]`` to a float32 array of shape (texts,
        dimension). Its attribute ``model`` names the model of the vectors; the default is its
        qualified name.
    reranker
        Orders the best 50 hits of each search: a callable from the query and a list of texts to a
        score for each text, such as a cross-encoder's, or a :class:`RerankEndpoint`. If it fails,
        the search keeps its own order and says so under ``degraded``.
    **overrides
        Fields of :class:`MemoryConfig`; they take precedence over ``config``.

    Raises
    ------
    ConfigError
        For unknown settings (the hint names the nearest one) and values out of bounds.
    StoreLockedError
        If another process has the store alone, for longer than ten seconds.
    StoreIOError
        If the directory can't be written, or is on a file system of a network.
    EmbeddingMismatchError
        If the vectors on disk come from another model.

    Examples
    --------
    The examples of the other methods continue this one.

    >>> from episodica import MemorySystem
    >>> with MemorySystem("example") as memory:
    ...     memory.add_messages("alice", [
    ...         {"role": "user", "name": "Alice", "content": "I moved to Lyon last Friday.",
    ...          "timestamp": "2024-03-11T09:30:00+01:00", "session_id": "s1"},
    ...         {"role": "assistant", "content": "How do you like it there?",
    ...          "timestamp": "2024-03-11T09:30:20+01:00", "session_id": "s1"},
    ...     ]).messages_added
    2
    """

    __slots__ = ()

    def __init__(
        self,
        path: str | os.PathLike[str] = "memories",
        *,
        config: MemoryConfig | None = None,
        tenant: str = "default",
        llm: LLM | None = None,
        embedding: Embedding | None = None,
        reranker: Reranker | None = None,
        **overrides: Any,
    ) -> None:
        settings = resolve_config(config, overrides)
        super().__init__(
            path,
            tenant,
            settings,
            read_only=False,
            embedding=embedding_spec(settings.embedding if embedding is None else embedding),
            llm=llm_spec(settings.llm if llm is None else llm),
            reranker=reranker,
        )

    @forgiving('memory.add_messages("alice", [{"role": "user", "content": "I moved to Lyon."}])')
    def add_messages(
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
            ``session_id``, ``agent_id``, ``metadata`` (any JSON) and ``message_id``. A known id is
            not added again; nor is, without an id, the same text of the same speaker, time and
            session. Names of other programs are known, too, such as ``createdAt``, ``sender``
            or ``thread_id``. Messages and items of OpenAI, Anthropic, Gemini, Bedrock, LangChain,
            LlamaIndex, Pydantic AI and the AI SDK, objects with these attributes, and data frames
            with these columns go in as they are. A text is one message of the user. Other keys
            become ``metadata``, unless they look like a misspelling.
        session_id, agent_id
            The session and the agent of messages that name none. If a user talks with several
            agents, the agent of a message is the one that wrote or gets it.
        progress
            ``True`` for a progress bar on a terminal or in a notebook, or a callable that takes
            ``(step, done, total)``.

        Returns
        -------
        AddResult
            Counts, the ids of the completed episodes, and notes on parts that were left out.

        Raises
        ------
        InvalidInputError
            For the first invalid message, by its position from 0. No message is added then.

        Examples
        --------
        >>> memory.add_messages("alice", [])
        AddResult(messages_added=0, duplicates=0, buffered=0, episodes=(), pending_semantic=0)
        >>> memory.add_messages("alice", [{"role": "user"}])
        Traceback (most recent call last):
        episodica.InvalidInputError: message 0: `content` is missing
        """
        user_id, messages = user_first(user_id, messages)
        agent = None if agent_id is None else check.text(agent_id, "agent_id")
        read = incoming(messages, agent, keeps_thinking=self._config.keep_thinking)
        user = check.user(user_id)
        if isinstance(messages, str):
            refuse_turned(user, messages, "add_messages", self._has)
        session = None if session_id is None else check.text(session_id, "session_id")
        with Reporter(progress) as callback:
            added = self._engine.add_messages(user, read.messages, session, callback)
        notes = read.notes()
        return replace(added, skipped=read.skipped, notes=notes) if notes else added

    def flush(self, user_id: str) -> list[Episode]:
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
        >>> memory.flush("alice")
        []
        """
        return self._engine.flush(check.user(user_id))

    def flush_all_buffers(self) -> dict[str, list[Episode]]:
        """Turns the buffered messages of all users into episodes; returns these by user.

        Returns
        -------
        dict of str to list of Episode
            The new episodes by user id; users without new episodes are left out.

        Examples
        --------
        >>> memory.flush_all_buffers()
        {}
        """
        return self._engine.flush_all()

    @forgiving('memory.remember("alice", "I live in Lyon.")')
    def remember(
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

        The rules reconcile it with known facts, as they do with facts learned from messages: a
        known fact that says the same is returned instead of a second one, and a known fact that the
        statement contradicts is superseded. The new fact has no source message; it stays until it
        is deleted or superseded.

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
            For how long searches find the fact from now on: seconds or a ``timedelta``. After that
            it counts as archived; :meth:`forgetting` lists it, :meth:`restore` takes it back. If a
            fact is stated again, the longer time counts.
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
        >>> memory.remember("carol", "I live in Paris.", valid_from="2023-01-01").is_current
        True
        >>> memory.remember("carol", "I live in Lyon.", valid_from="2024-03-08").attribute
        'home'
        >>> [fact.content for fact in memory.semantic_memories("carol")]
        ['I live in Lyon.']
        """
        user = check.user(user_id)
        fact = stated_fact(statement, kind, valid_from, metadata, agent_id, expires_after, about)
        refuse_turned(user, statement, "remember", self._has)
        return self._engine.remember(user, fact)

    def import_(
        self,
        path: str | os.PathLike[str],
        user_id: str | None = None,
        *,
        format: str | None = None,
        progress: Progress = None,
    ) -> ImportReport:
        """Adds what a file holds: an export of this package, or a chat history of another program.

        An export's records keep their ids and versions. Records that the user has are left out, so
        a second import adds nothing. Chat histories are exports of assistants, coding agents,
        messengers and other memories, messages of chat APIs as JSON or JSONL, CSV, e-mails, and
        plain text with ``Name:`` on each line. Their last messages stay in the buffer until
        :meth:`flush`. Parts that can't be read are left out and named in the report.

        Parameters
        ----------
        path
            The file, a ZIP archive or a folder of such files, or ``"-"`` for standard input. Or
            the directory of an exported tree: facts and overviews that were corrected there become
            updates of ``user_id``, with their history; nothing is deleted.
        user_id
            The user. ``None``: the user that the file names.
        format
            The name of a format, ``"chatgpt"`` or ``"csv"`` for example; the guide to imports
            lists them. ``None``: the content tells.
        progress
            ``True`` for a progress bar on a terminal or in a notebook, or a callable that takes
            ``(step, done, total)``.

        Returns
        -------
        ImportReport
            How many records were added, how many were known, and which parts were left out.

        Raises
        ------
        InvalidInputError
            For a file that is damaged, or of which nothing is understood; the error names file and
            line. Of an export, nothing is added then; of a chat history, the conversations before
            the fault are.
        StoreIOError
            If the file can't be read.

        Examples
        --------
        >>> from pathlib import Path
        >>> _ = Path("chat.txt").write_text("2024-03-11 09:30 Dan: I sold my car.")
        >>> memory.import_("chat.txt", "dan").messages
        1
        >>> memory.import_("chat.txt", "dan").known
        1
        """
        from .layers.folder import is_tree, read_back
        from .transfer import import_file

        file = path if str(path) == "-" else check.store_path(path)
        if user_id is not None and Path(file).is_dir() and is_tree(Path(file)):
            return read_back(self, check.user(user_id), Path(file))
        with Reporter(progress) as callback:
            return import_file(self, file, check.optional_user(user_id), format, callback)

    def rebuild_indices(
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
        >>> memory.rebuild_indices("alice").users
        1
        """
        with Reporter(progress) as callback:
            return self._engine.rebuild_indices(check.optional_user(user_id), callback)

    def compact(self, user_id: str | None = None, *, progress: Progress = None) -> CompactReport:
        """Makes the logs of one user or of all smaller.

        Removes lines that no longer have an effect: versions of a record that more than eight later
        versions follow, and notes that later notes replace. Messages, episodes and facts stay. If
        more than half of a user's log are such lines, it is compacted without a call. On
        PostgreSQL, the server's autovacuum gives the room of removed lines back.

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
        >>> memory.compact("alice").users
        1
        """
        with Reporter(progress) as callback:
            return self._engine.compact(check.optional_user(user_id), callback)

    @overload
    def wait(
        self,
        user_id: str | None = None,
        timeout: float | None = None,
        *,
        report: Literal[False] = False,
        since: str | None = None,
    ) -> bool: ...
    @overload
    def wait(
        self,
        user_id: str | None = None,
        timeout: float | None = None,
        *,
        report: Literal[True],
        since: str | None = None,
    ) -> LearningReport: ...
    @overload
    def wait(
        self,
        user_id: str | None = None,
        timeout: float | None = None,
        *,
        report: bool,
        since: str | None = None,
    ) -> bool | LearningReport: ...
    def wait(
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
            Return the decision on each candidate for a fact, with the text before and the evidence,
            and the sentences turned down, with the reason. The rules read these anew from the
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
        >>> memory.wait("alice", timeout=10)
        True
        >>> [event.change for event in memory.wait("alice", report=True).events]
        ['ADD']
        """
        longest = None if timeout is None else check.seconds(timeout, "timeout")
        user = check.optional_user(user_id)
        done = self._engine.wait(user, longest)
        if not report:
            return done
        learned: list[Event] = []
        formed: dict[str, list[str]] = {}
        page = self.events(since, user_id=user)
        while page.events:
            learned += (event for event in page if event.is_learning)
            for event in page:
                if event.change == "EPISODE":
                    formed.setdefault(event.user_id, []).append(event.id)
            page = self.events(page.cursor, user_id=user)
        refused = [one for user, ids in formed.items() for one in self._turned_down(user, ids)]
        return LearningReport(done, tuple(learned), page.cursor, tuple(refused))

    @overload
    def close_session(
        self,
        user_id: str,
        session_id: str,
        *,
        wait: Literal[False] = False,
        timeout: float | None = None,
    ) -> list[Episode]: ...
    @overload
    def close_session(
        self, user_id: str, session_id: str, *, wait: Literal[True], timeout: float | None = None
    ) -> SessionReport: ...
    @overload
    def close_session(
        self, user_id: str, session_id: str, *, wait: bool, timeout: float | None = None
    ) -> list[Episode] | SessionReport: ...
    def close_session(
        self, user_id: str, session_id: str, *, wait: bool = False, timeout: float | None = None
    ) -> list[Episode] | SessionReport:
        """Ends a session: turns its buffered messages into episodes, and returns these.

        Its state goes from ``closing`` to ``closed`` as facts are learned and indexed. The state is
        in the log: work that a crash cut off goes on when the store is opened again.

        Parameters
        ----------
        user_id
            User id.
        session_id
            The session. An unknown session is not an error.
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
        >>> memory.add_messages("alice", [bye]).buffered
        1
        >>> [episode.message_count for episode in memory.close_session("alice", "s2")]
        [1]
        >>> memory.close_session("alice", "s2")
        []
        >>> memory.close_session("alice", "s2", wait=True).session.state
        'closed'
        """
        user, session = check.user(user_id), check.text(session_id, "session_id")
        longest = None if timeout is None else check.seconds(timeout, "timeout")
        formed = self._engine.close_session(user, session)
        if not wait:
            return formed
        done = self._engine.wait(user, longest)
        found = next((one for one in self.sessions(user) if one.session_id == session), None)
        episodes = tuple(self.episodes(user, session_id=session))
        ids = {episode.episode_id for episode in episodes}
        facts = (
            fact
            for fact in self.semantic_memories(user, session_id=session)
            if ids.intersection(fact.source_episodes)
        )
        return SessionReport(done, found, episodes, tuple(facts))

    def retry_pending(self, user_id: str | None = None) -> int:
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
        >>> memory.retry_pending()
        0
        """
        return self._engine.retry_pending(check.optional_user(user_id))


class LightweightSearchSystem(MemoryReader):
    """Searches a store without writing to it or taking its writer lock.

    Works on read-only disks, and while another process writes. Parameters are those of
    :class:`MemorySystem`, without ``llm``.

    Raises
    ------
    StoreIOError
        If ``path`` has no store.

    Examples
    --------
    >>> from episodica import LightweightSearchSystem
    >>> with LightweightSearchSystem(memory.path) as reader:
    ...     reader.preload(["alice"]).users
    1
    """

    __slots__ = ()

    def _no_such(self, name: str) -> str:
        if not name.startswith("_") and hasattr(MemorySystem, name):
            return (
                f"a LightweightSearchSystem only reads: no `{name}`\n"
                "hint: open the store with `MemorySystem(path)` to write"
            )
        return super()._no_such(name)

    def __init__(
        self,
        path: str | os.PathLike[str] = "memories",
        *,
        config: MemoryConfig | None = None,
        tenant: str = "default",
        embedding: Embedding | None = None,
        reranker: Reranker | None = None,
        **overrides: Any,
    ) -> None:
        settings = resolve_config(config, overrides)
        spec = embedding_spec(settings.embedding if embedding is None else embedding)
        super().__init__(
            path, tenant, settings, read_only=True, embedding=spec, llm=None, reranker=reranker
        )

    def preload(self, users: Iterable[str] | None = None) -> RebuildReport:
        """Loads records and indexes of the users (default: all) now, not at the first search.

        Parameters
        ----------
        users
            User ids, or one of them. ``None``: all users.

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
        >>> with LightweightSearchSystem(memory.path) as reader:
        ...     reader.preload().users
        1
        """
        names = self.users() if users is None else [users] if isinstance(users, str) else users
        return sum(map(self.load_user_data_and_indices, names), RebuildReport())
