"""``MemorySystem`` reads and writes a store; ``LightweightSearchSystem`` only reads one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from .config import MemoryConfig, resolve_config
from .inputs import checks as check
from .inputs.messages import normalise
from .models import LLM, Embedding, embedding_spec, llm_spec
from .progress import Progress, Reporter
from .queries import MemoryReader
from .records import Episode, Message, Record, record_from_dict
from .reports import AddResult, DeleteReport, RebuildReport


class MemorySystem(MemoryReader):
    """Remembers conversations and finds the right moment again. Opens or creates a store in a directory.

    Needs no server, no key and no network. May be used from several threads; one process writes a
    store at a time.

    Parameters
    ----------
    path
        The store's directory; ``~`` is expanded.
    config
        Settings; without them :meth:`MemoryConfig.load` reads environment and file.
    tenant
        Whose part of the store this is; tenants never see each other.
    llm
        ``None`` (what ``config`` names, else offline), an :class:`LLMConfig` (or its fields in a
        mapping), or a callable that gets the messages of a chat (and, if its signature has room,
        ``response_format``, ``max_tokens`` and ``temperature``) and returns the answer's text or a
        chat completion; coroutine functions serve as well. Its attribute ``model`` names the model.
    embedding
        ``None`` (what ``config`` names, else the embedder inside the package), an
        :class:`EmbeddingConfig` (or its fields in a mapping, or just the path of a local folder),
        or a callable from ``list[str]`` to an array of shape (texts, dimension), float32. A
        callable's attribute ``model`` names the model that its vectors come from; without one its
        qualified name does.
    **overrides
        Fields of :class:`MemoryConfig`, which win over ``config``.

    Raises
    ------
    ConfigError
        For unknown settings, with the nearest known one as hint, and values out of bounds.
    StoreLockedError
        When the store is open for writing elsewhere.
    EmbeddingMismatchError
        When the vectors on disk come from another model.

    Examples
    --------
    The examples of the other methods continue this one, but for the ``with``.

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
        )

    def add_messages(
        self,
        user_id: str,
        messages: Iterable[Mapping[str, Any] | Message],
        *,
        session_id: str | None = None,
        progress: Progress = None,
    ) -> AddResult:
        """Remembers messages. When it returns, they survive a power cut.

        Parameters
        ----------
        user_id
            Whose memory; 1 to 512 bytes of UTF-8.
        messages
            Mappings with ``role`` and ``content`` (text, or a chat API's list of parts), optionally
            ``name``, ``timestamp`` (ISO 8601, ``datetime`` or seconds since 1970; missing = now,
            without offset = UTC), ``session_id``, ``metadata`` (any JSON) and ``message_id`` (the
            same id twice is added once). Other keys are ignored, unless they look like a typing
            error.
        session_id
            The session of messages that name none themselves.
        progress
            ``True`` for a bar on a terminal or in a notebook, or a callable that gets ``(step,
            done, total)``.

        Returns
        -------
        AddResult
            Counts, and the ids of the episodes that were completed.

        Raises
        ------
        InvalidInputError
            For the first message that can't be right, by its position from 0; then none of them is
            added.

        Examples
        --------
        >>> memory.add_messages("alice", [])
        AddResult(messages_added=0, duplicates=0, buffered=0, episodes=(), pending_semantic=0)
        >>> memory.add_messages("alice", [{"role": "user"}])
        Traceback (most recent call last):
        episodica.InvalidInputError: message 0: `content` is missing
        """
        checked = normalise(messages)
        user = check.user(user_id)
        session = None if session_id is None else check.text(session_id, "session_id")
        with Reporter(progress) as callback:
            return AddResult.from_dict(self._engine.add_messages(user, checked, session, callback))

    def flush(self, user_id: str) -> list[Episode]:
        """Closes the user's open buffer into episodes now, and returns them.

        Examples
        --------
        >>> memory.flush("alice")
        []
        """
        return list(map(Episode.from_dict, self._engine.flush(check.user(user_id))))

    def flush_all_buffers(self) -> dict[str, list[Episode]]:
        """Closes the open buffers of all users; the new episodes by user.

        Examples
        --------
        >>> memory.flush_all_buffers()
        {}
        """
        return {
            user: list(map(Episode.from_dict, made))
            for user, made in self._engine.flush_all().items()
        }

    def close_session(self, user_id: str, session_id: str) -> list[Episode]:
        """Ends a session: its open messages become episodes, which are returned."""
        made = self._engine.close_session(check.user(user_id), check.text(session_id, "session_id"))
        return list(map(Episode.from_dict, made))

    def wait(self, user_id: str | None = None, timeout: float | None = None) -> bool:
        """Waits until the semantic memories of all finished episodes are learned.

        Parameters
        ----------
        user_id
            Only this user.
        timeout
            Longest wait in seconds; ``None`` = as long as it takes.

        Returns
        -------
        bool
            ``True`` when nothing is pending any more.

        Examples
        --------
        >>> memory.wait("alice", timeout=10)
        True
        """
        longest = None if timeout is None else check.seconds(timeout, "timeout")
        return self._engine.wait(check.optional_user(user_id), longest)

    def update(self, user_id: str, id: str, content: str) -> Record:
        """Gives an episode or a semantic memory a new text; the old one stays in :meth:`history`.

        Raises
        ------
        InvalidInputError
            For an unknown id, an empty text, and messages, which stay as they were said.

        Examples
        --------
        >>> episode = next(memory.episodes("alice"))
        >>> memory.update("alice", episode.episode_id, "Alice told that she had moved to Lyon.").content
        'Alice told that she had moved to Lyon.'
        >>> len(memory.history("alice", episode.episode_id))
        2
        """
        return record_from_dict(
            self._engine.update(
                check.user(user_id), check.text(id, "id"), check.text(content, "content")
            )
        )

    def delete(self, user_id: str, id: str) -> DeleteReport:
        """Removes a record and what was made of it alone. An unknown id removes nothing.

        Examples
        --------
        >>> memory.delete("alice", "no such id").episodes
        0
        """
        return DeleteReport.from_dict(
            self._engine.delete(check.user(user_id), check.text(id, "id"))
        )

    def delete_user_data(self, user_id: str) -> DeleteReport:
        """Removes everything of a user: afterwards no byte is on disk and no search finds them. An unknown user is no error.

        Examples
        --------
        >>> memory.delete_user_data("nobody")
        DeleteReport(messages=0, episodes=0, semantic_memories=0, files=0)
        """
        return DeleteReport.from_dict(self._engine.delete_user_data(check.user(user_id)))

    def rebuild_indices(
        self, user_id: str | None = None, *, progress: Progress = None
    ) -> RebuildReport:
        """Makes the indexes anew from the logs, of one user or of all; also the way to another embedding model.

        Parameters
        ----------
        user_id
            Only this user.
        progress
            ``True`` for a bar on a terminal or in a notebook, or a callable that gets ``(step,
            done, total)``.

        Examples
        --------
        >>> memory.rebuild_indices("alice").users
        1
        """
        with Reporter(progress) as callback:
            return RebuildReport.from_dict(
                self._engine.rebuild_indices(check.optional_user(user_id), callback)
            )

    def retry_pending(self, user_id: str | None = None) -> int:
        """Does again what an outage left undone (vectors, facts, texts of a model).

        How many records are still pending then.
        """
        return self._engine.retry_pending(check.optional_user(user_id))


class LightweightSearchSystem(MemoryReader):
    """Searches a store without ever writing to it or taking its writer lock; works on read-only disks and beside a writer.

    Parameters are those of :class:`MemorySystem`, without ``llm``: reading needs none.

    Raises
    ------
    StoreIOError
        When there is no store at ``path``.

    Examples
    --------
    >>> from episodica import LightweightSearchSystem
    >>> with LightweightSearchSystem(memory.path) as reader:
    ...     reader.preload(["alice"]).users
    1
    """

    __slots__ = ()

    def __init__(
        self,
        path: str | os.PathLike[str] = "memories",
        *,
        config: MemoryConfig | None = None,
        tenant: str = "default",
        embedding: Embedding | None = None,
        **overrides: Any,
    ) -> None:
        settings = resolve_config(config, overrides)
        spec = embedding_spec(settings.embedding if embedding is None else embedding)
        super().__init__(path, tenant, settings, read_only=True, embedding=spec, llm=None)

    def preload(self, users: Iterable[str] | None = None) -> RebuildReport:
        """Reads these users' records and indexes (all users' without a list) into memory now instead of at the first search."""
        names = self.users() if users is None else [users] if isinstance(users, str) else users
        return sum(map(self.load_user_data_and_indices, names), RebuildReport())
