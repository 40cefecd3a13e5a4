"""The methods of the memory as coroutines.

Written by ``tools/async_methods.py`` from the synchronous classes: change those, then run it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from ..dates import TimeLike
from ..inputs.facts import FactKind
from ..inputs.options import (
    LIST_DEFAULTS,
    SEARCH_DEFAULTS,
    Format,
    Kind,
    ListOptions,
    SearchOptions,
    spelled_out,
)
from ..listings import AsyncRecords
from ..plot.pictures import Plots
from ..plot.source import ThemeName
from ..progress import Progress
from ..records import Episode, Message, Record, SemanticMemory
from ..reports import (
    AddResult,
    BackupReport,
    DeleteReport,
    ExportReport,
    ImportReport,
    RebuildReport,
    VerifyReport,
)
from ..results import Context, Hit, SearchResults
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

        See :meth:`MemorySystem.users`.
        """
        return await run(self._memory.users)

    async def stats(self, user_id: str | None = None) -> UserStats | StoreStats:
        """Counts and sizes, of one user or of the whole store.

        See :meth:`MemorySystem.stats`.
        """
        return await run(self._memory.stats, user_id)

    async def health(self) -> Health:
        """Whether everything works that should: store, embedder, language model. Holds no secret.

        See :meth:`MemorySystem.health`.
        """
        return await run(self._memory.health)

    async def usage(self) -> Usage:
        """Tokens, calls and seconds by phase, model and user.

        See :meth:`MemorySystem.usage`.
        """
        return await run(self._memory.usage)

    async def verify(
        self, user_id: str | None = None, *, progress: Progress = None
    ) -> VerifyReport:
        """Checks every record against the indexes and every line against the format.

        See :meth:`MemorySystem.verify`.
        """
        return await run(self._memory.verify, user_id, progress=progress)

    async def backup(
        self, path: str | os.PathLike[str], *, progress: Progress = None
    ) -> BackupReport:
        """Copies the whole store, all tenants, to a directory that opens as a store.

        See :meth:`MemorySystem.backup`.
        """
        return await run(self._memory.backup, path, progress=progress)

    async def load_user_data_and_indices(self, user_id: str) -> RebuildReport:
        """Loads a user's records and indexes now instead of at the first search.

        See :meth:`MemorySystem.load_user_data_and_indices`.
        """
        return await run(self._memory.load_user_data_and_indices, user_id)

    async def close(self, timeout: float = 30.0) -> None:
        """Closes the system. A second call does nothing.

        See :meth:`MemorySystem.close`.
        """
        await run(self._memory.close, timeout)

    @spelled_out(SearchOptions, SEARCH_DEFAULTS)
    async def search(
        self,
        user_id: str,
        query: str,
        *,
        top_k: int | Mapping[Kind, int] = 10,
        kinds: Iterable[Kind] | None = None,
        **options: Unpack[SearchOptions],
    ) -> SearchResults:
        """Finds the episodes, facts and messages that answer a question, best first.

        See :meth:`MemorySystem.search`.
        """
        return await run(self._memory.search, user_id, query, top_k=top_k, kinds=kinds, **options)

    @spelled_out(SearchOptions, SEARCH_DEFAULTS)
    async def context(
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

        See :meth:`MemorySystem.context`.
        """
        return await run(
            self._memory.context,
            user_id,
            query,
            max_tokens=max_tokens,
            format=format,
            kinds=kinds,
            top_k=top_k,
            **options,
        )

    @spelled_out(ListOptions, LIST_DEFAULTS)
    def episodes(self, user_id: str, **options: Unpack[ListOptions]) -> AsyncRecords[Episode]:
        """The user's episodes in order of time, read page by page.

        See :meth:`MemorySystem.episodes`.
        """
        return AsyncRecords(self._memory.episodes(user_id, **options))

    @spelled_out(ListOptions, LIST_DEFAULTS)
    def semantic_memories(
        self, user_id: str, *, include_superseded: bool = False, **options: Unpack[ListOptions]
    ) -> AsyncRecords[SemanticMemory]:
        """The user's facts in order of time, read page by page.

        See :meth:`MemorySystem.semantic_memories`.
        """
        return AsyncRecords(
            self._memory.semantic_memories(
                user_id, include_superseded=include_superseded, **options
            )
        )

    @spelled_out(ListOptions, LIST_DEFAULTS)
    def messages(self, user_id: str, **options: Unpack[ListOptions]) -> AsyncRecords[Message]:
        """The user's messages, verbatim, in order of arrival, read page by page.

        See :meth:`MemorySystem.messages`.
        """
        return AsyncRecords(self._memory.messages(user_id, **options))

    async def get(self, user_id: str, id: str) -> Record | None:
        """The message, episode or fact with this id or URI, or ``None``.

        See :meth:`MemorySystem.get`.
        """
        return await run(self._memory.get, user_id, id)

    async def history(self, user_id: str, id: str) -> list[Record]:
        """Every version of a record, oldest first; empty for an unknown id.

        See :meth:`MemorySystem.history`.
        """
        return await run(self._memory.history, user_id, id)

    async def trace(self, user_id: str, id: str) -> list[TraceStep]:
        """Prompts and answers behind a record, if ``MemoryConfig.trace`` was on when it was made.

        See :meth:`MemorySystem.trace`.
        """
        return await run(self._memory.trace, user_id, id)

    async def export(self, user_id: str, path: str | os.PathLike[str]) -> ExportReport:
        """Writes all records of a user to a file.

        See :meth:`MemorySystem.export`.
        """
        return await run(self._memory.export, user_id, path)

    async def update(self, user_id: str, id: str, content: str) -> Record:
        """Changes the text of an episode or a fact. :meth:`history` keeps the old one.

        See :meth:`MemorySystem.update`.
        """
        return await run(self._memory.update, user_id, id, content)

    async def delete(self, user_id: str, id: str | Iterable[str]) -> DeleteReport:
        """Removes records, and what was derived from them.

        See :meth:`MemorySystem.delete`.
        """
        return await run(self._memory.delete, user_id, id)

    async def delete_where(
        self,
        user_id: str,
        *,
        where: Mapping[str, Any] | None = None,
        kinds: Iterable[Kind] | Kind = "message",
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        session_id: str | None = None,
    ) -> DeleteReport:
        """Removes the records that meet all conditions, in one pass; see :meth:`delete`.

        See :meth:`MemorySystem.delete_where`.
        """
        return await run(
            self._memory.delete_where,
            user_id,
            where=where,
            kinds=kinds,
            since=since,
            until=until,
            session_id=session_id,
        )

    async def delete_user_data(self, user_id: str) -> DeleteReport:
        """Removes a user completely.

        See :meth:`MemorySystem.delete_user_data`.
        """
        return await run(self._memory.delete_user_data, user_id)

    async def add_messages(
        self,
        user_id: str,
        messages: Iterable[Mapping[str, Any] | Message],
        *,
        session_id: str | None = None,
        progress: Progress = None,
    ) -> AddResult:
        """Adds messages. When it returns, they survive a power cut.

        See :meth:`MemorySystem.add_messages`.
        """
        return await run(
            self._memory.add_messages, user_id, messages, session_id=session_id, progress=progress
        )

    async def flush(self, user_id: str) -> list[Episode]:
        """Turns the user's buffered messages into episodes now, and returns these.

        See :meth:`MemorySystem.flush`.
        """
        return await run(self._memory.flush, user_id)

    async def flush_all_buffers(self) -> dict[str, list[Episode]]:
        """Turns the buffered messages of all users into episodes; returns these by user.

        See :meth:`MemorySystem.flush_all_buffers`.
        """
        return await run(self._memory.flush_all_buffers)

    async def close_session(self, user_id: str, session_id: str) -> list[Episode]:
        """Ends a session: turns its buffered messages into episodes, and returns these.

        See :meth:`MemorySystem.close_session`.
        """
        return await run(self._memory.close_session, user_id, session_id)

    async def wait(self, user_id: str | None = None, timeout: float | None = None) -> bool:
        """Waits until the facts of all finished episodes are learned.

        See :meth:`MemorySystem.wait`.
        """
        return await run(self._memory.wait, user_id, timeout)

    async def remember(
        self,
        user_id: str,
        statement: str,
        *,
        kind: FactKind | None = None,
        valid_from: TimeLike | None = None,
        metadata: Mapping[str, Any] | None = None,
        agent_id: str | None = None,
    ) -> SemanticMemory:
        """Adds a fact that is stated directly. When it returns, the fact survives a power cut.

        See :meth:`MemorySystem.remember`.
        """
        return await run(
            self._memory.remember,
            user_id,
            statement,
            kind=kind,
            valid_from=valid_from,
            metadata=metadata,
            agent_id=agent_id,
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

        See :meth:`MemorySystem.import_`.
        """
        return await run(self._memory.import_, path, user_id, format=format, progress=progress)

    async def rebuild_indices(
        self, user_id: str | None = None, *, progress: Progress = None
    ) -> RebuildReport:
        """Rebuilds the indexes of one user or of all from the logs.

        See :meth:`MemorySystem.rebuild_indices`.
        """
        return await run(self._memory.rebuild_indices, user_id, progress=progress)

    async def retry_pending(self, user_id: str | None = None) -> int:
        """Retries work that an outage prevented: vectors, facts and texts of a model.

        See :meth:`MemorySystem.retry_pending`.
        """
        return await run(self._memory.retry_pending, user_id)


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

        See :meth:`Plots.timeline`.
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

        See :meth:`Plots.scores`.
        """
        return await run(self._plots.scores, hits, limit=limit, theme=theme)

    async def map(self, user_id: str, *, limit: int = 60, theme: ThemeName | None = None) -> Figure:
        """The user's episodes in two dimensions, similar ones near each other, coloured by time.

        See :meth:`Plots.map`.
        """
        return await run(self._plots.map, user_id, limit=limit, theme=theme)

    async def usage(self, *, theme: ThemeName | None = None) -> Figure:
        """Tokens sent to and received from language models, by phase.

        See :meth:`Plots.usage`.
        """
        return await run(self._plots.usage, theme=theme)
