"""``MemorySystem`` reads and writes a store; ``LightweightSearchSystem`` only reads one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from . import carrying, corrections, explaining, forming, operation, queries, recalling
from . import changes as changed
from .awaiting import Awaiter
from .config import MemoryConfig, resolve_config
from .models import LLM, Embedding, embedding_spec, llm_spec
from .plot import Plots
from .reports import RebuildReport
from .rerankers import Reranker
from .store import OpenStore


class AnyMemory(OpenStore):
    """A memory to read from: what both systems offer."""

    __slots__ = ()

    search = queries.search
    context = queries.context
    recall = recalling.recall
    explain = explaining.explain
    messages = queries.messages
    episodes = queries.episodes
    semantic_memories = queries.semantic_memories
    get = queries.get
    history = queries.history
    trace = queries.trace
    profile = queries.profile
    changes = changed.changes

    ls = carrying.ls
    tree = carrying.tree
    read = carrying.read
    explore = carrying.explore
    export = carrying.export

    users = operation.users
    sessions = operation.sessions
    stats = operation.stats
    health = operation.health
    usage = operation.usage
    events = operation.events
    on_event = operation.on_event
    verify = operation.verify
    backup = operation.backup
    load_user_data_and_indices = operation.load_user_data_and_indices

    @property
    def plot(self) -> Plots:
        """Charts: ``timeline(user)``, ``scores(hits)``, ``map(user)``, ``usage()``.

        They need matplotlib: ``pip install 'episodica[plot]'``.
        """
        return Plots(self)


class MemorySystem(AnyMemory):
    """Remembers conversations and finds the right moment again.

    Opens or creates a store in a directory. Needs no server, no key and no network. Any number of
    threads and processes may use it at once.

    Every method raises :class:`InvalidInputError` for an argument of the wrong type, and for a user
    id that is empty or longer than 512 bytes.

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
        them) and returns the answer's text or a chat completion. Its attribute ``model`` names the
        model. It may be a coroutine function, as may ``embedding``, ``reranker`` and callbacks:
        they run on an event loop of the package, so they must not share clients or locks with
        coroutines of the program. :class:`AsyncMemorySystem` awaits them on the program's loop.
    embedding
        The embedder. ``None``: that of ``config``, else the one inside the package. An
        :class:`EmbeddingConfig`, its fields in a mapping, or the path of a local folder. Or one
        of ``"openai:MODEL"``, ``"ollama:MODEL"``, ``"sentence-transformers:FOLDER"`` and
        ``"fastembed:MODEL"``. Or a callable from ``list[str]`` to a float32 array of shape (texts,
        dimension). Its attribute ``model`` names the model of the vectors; the default is its
        qualified name.
    reranker
        Orders the best 50 hits of each search: a callable from the query and a list of texts to a
        score for each text, such as a cross-encoder's. If it fails, the search keeps its own order
        and says so under ``degraded``.
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
        self._open(Awaiter(), path, tenant, settings, llm, embedding, reranker)

    def _open(
        self,
        awaiter: Awaiter,
        path: str | os.PathLike[str],
        tenant: str,
        settings: MemoryConfig,
        llm: LLM | None,
        embedding: Embedding | None,
        reranker: Reranker | None,
    ) -> None:
        embedder = settings.embedding if embedding is None else embedding
        super().__init__(
            path,
            tenant,
            settings,
            awaiter,
            read_only=False,
            embedding=embedding_spec(embedder, awaiter),
            llm=llm_spec(settings.llm if llm is None else llm, awaiter),
            reranker=reranker,
        )

    add_messages = forming.add_messages
    estimate = forming.estimate
    remember = forming.remember
    remember_procedure = forming.remember_procedure
    flush = forming.flush
    flush_all_buffers = forming.flush_all_buffers
    close_session = forming.close_session
    wait = forming.wait

    update = corrections.update
    delete = corrections.delete
    delete_where = corrections.delete_where
    delete_user_data = corrections.delete_user_data
    forgetting = corrections.forgetting
    archive = corrections.archive
    close_fact = corrections.close_fact
    keep_change = changed.keep_change
    restore = corrections.restore

    import_ = carrying.import_
    rebuild_indices = operation.rebuild_indices
    compact = operation.compact
    retry_pending = operation.retry_pending


class LightweightSearchSystem(AnyMemory):
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
        awaiter = Awaiter()
        embedder = settings.embedding if embedding is None else embedding
        super().__init__(
            path,
            tenant,
            settings,
            awaiter,
            read_only=True,
            embedding=embedding_spec(embedder, awaiter),
            llm=None,
            reranker=reranker,
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
