"""Nemori's classes over ``episodica``. Called by :mod:`episodica.compat.nemori` only."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, get_args

from ...errors import EpisodicaError
from ...inputs.options import Kind, Method
from ...records import Episode, SemanticMemory
from ...system import MemorySystem as Store
from . import shapes
from .config import MemoryConfig, report_once

_lock = threading.Lock()
_open: dict[Path, tuple[Store, int]] = {}


def _acquire(config: MemoryConfig) -> tuple[Path, Store]:
    """The store of a path, shared by the whole process.

    Scripts open a memory in every worker; the settings of the first one apply.
    """
    path = Path(config.storage_path).expanduser().absolute()
    with _lock:
        store, holders = _open.get(path, (None, 0))
        if store is None:
            store = Store(path, **config.overrides())
        _open[path] = (store, holders + 1)
    return path, store


def _release(path: Path) -> None:
    with _lock:
        store, holders = _open.pop(path)
        if holders > 1:
            _open[path] = (store, holders - 1)
            return
    store.close()


class Records:
    """The records of one kind, as scripts ask a repository of Nemori for them."""

    def __init__(self, store: Store, kind: str) -> None:
        self._store = store
        self._kind = kind

    def list_user_items(self, owner_id: str) -> list[Episode] | list[SemanticMemory]:
        """All current records of an owner."""
        if self._kind == "semantic":
            return list(self._store.semantic_memories(owner_id))
        return list(self._store.episodes(owner_id))


class MemorySystem:
    """Nemori's core class.

    Parameters
    ----------
    config
        The settings; Nemori's defaults without one.
    language
        Accepted; languages are recognised by their script.
    **components
        Clients and repositories that Nemori lets one inject: accepted, named once in a warning,
        without effect.

    Examples
    --------
    >>> with MemorySystem(MemoryConfig(storage_path="nemori-memories")) as system:
    ...     _ = system.add_messages("ann", [{"role": "user", "content": "I play the viola."}])
    ...     _ = system.force_episode_creation("ann")
    ...     system.search_all("ann", "instrument")["episodic"][0]["message_count"]
    1
    """

    def __init__(
        self, config: MemoryConfig | None = None, language: str = "en", **components: Any
    ) -> None:
        self.config = config or MemoryConfig()
        self.language = language
        report_once(sorted(name for name, component in components.items() if component is not None))
        self._path, self._store = _acquire(self.config)
        self._closed = False

    def add_messages(self, owner_id: str, messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Adds messages.

        What was done, as Nemori tells it: an error is a status, not an exception.
        """
        before = self._buffered(owner_id)
        try:
            added = self._store.add_messages(owner_id, shapes.incoming(messages))
        except (EpisodicaError, KeyError) as error:
            return {"status": "error", "error": str(error), "buffer_size": before}
        made = [self._store.get(owner_id, one) for one in added.episodes]
        return {
            "status": "success",
            "buffer_size_before": before,
            "messages_added": added.messages_added,
            "episodes_created": [
                shapes.episode_info(one) for one in made if isinstance(one, Episode)
            ],
            "semantic_memories_created": [],
            "boundary_detections": [],
            "buffer_size_after": added.buffered,
        }

    def force_episode_creation(self, owner_id: str) -> dict[str, Any] | None:
        """Closes the buffer; the last episode, or ``None`` for an owner without any.

        Where all messages are in episodes already, that is the latest one: scripts take ``None``
        for a failure.
        """
        made = self._store.flush(owner_id) or list(
            self._store.episodes(owner_id, newest_first=True, limit=1)
        )
        return shapes.episode_info(made[-1]) if made else None

    def search_all(
        self,
        user_id: str,
        query: str,
        top_k_episodes: int | None = None,
        top_k_semantic: int | None = None,
        search_method: str = "hybrid",
    ) -> dict[str, list[dict[str, Any]]]:
        """Searches episodes and facts.

        Parameters
        ----------
        user_id, query
            Whose memory, and what is sought.
        top_k_episodes, top_k_semantic
            Most hits of each kind; by default the configuration's. 0 for none.
        search_method
            ``"hybrid"``, ``"vector"``, ``"bm25"`` (or ``"text"``), ``"norlift"``; any other is
            ``"hybrid"``, as in Nemori.
        """
        episodes = self.config.search_top_k_episodes if top_k_episodes is None else top_k_episodes
        facts = self.config.search_top_k_semantic if top_k_semantic is None else top_k_semantic
        return {
            "episodic": self._search(user_id, query, "episodic", episodes, search_method),
            "semantic": self._search(user_id, query, "semantic", facts, search_method),
        }

    def _search(
        self, user_id: str, query: str, kind: Kind, top_k: int, name: str
    ) -> list[dict[str, Any]]:
        if top_k < 1 or not query.strip():
            return []
        method = _method(name, norlift=bool(self.config.enable_norlift_ranking))
        return [
            shapes.found(hit, name)
            for hit in self._store.search(user_id, query, kinds=[kind], top_k=top_k, method=method)
        ]

    def wait_for_semantic_generation(self, owner_id: str, timeout: float = 30.0) -> bool:
        """Waits until the owner's facts are learned; ``False`` after the timeout."""
        return self._store.wait(owner_id, timeout)

    def get_semantic_generation_status(self, owner_id: str | None = None) -> dict[str, Any]:
        """The number of episodes whose facts are still to be learned."""
        pending = int(self._store.stats(owner_id).get("pending_semantic", 0))
        tasks = [
            {"owner_id": owner_id, "status": "pending", "done": False, "running": False}
        ] * pending
        return {
            "active_tasks": pending,
            "total_tasks": pending,
            "tasks": [dict(one) for one in tasks],
        }

    def get_stats(self, owner_id: str | None = None) -> dict[str, Any]:
        """Counts of the store and, if ``owner_id`` is given, of the owner."""
        made: dict[str, Any] = {
            "system": self._store.stats().to_dict(),
            "performance": self._store.usage().to_dict(),
            "config": self.config.to_dict(),
        }
        if owner_id is not None:
            counts = self._store.stats(owner_id).to_dict()
            made["user"] = {
                **counts,
                "buffer_size": counts.get("buffered", 0),
                "episode_count": counts.get("episodes", 0),
                "semantic_count": counts.get("semantic_memories", 0),
            }
        return made

    def load_user_data_and_indices(self, owner_id: str) -> None:
        """Loads an owner's records and indexes now."""
        self._store.load_user_data_and_indices(owner_id)

    def load_user_data_and_indices_for_method(
        self, owner_id: str, search_method: str = "vector"
    ) -> None:
        """Loads an owner's records and indexes now, whatever the method."""
        self._store.load_user_data_and_indices(owner_id)

    @property
    def storage(self) -> dict[str, Records]:
        """Nemori's repositories of episodes (``"episode"``) and facts (``"semantic"``)."""
        return {kind: Records(self._store, kind) for kind in ("episode", "episodic", "semantic")}

    def delete_episode(
        self, owner_id: str, episode_id: str, cascade_semantic: bool = True
    ) -> dict[str, Any]:
        """Removes an episode and the facts learned from it alone."""
        report = self._store.delete(owner_id, episode_id)
        return {
            "episode_deleted": report.episodes > 0,
            "semantic_deleted": report.semantic_memories,
        }

    def delete_user_data(self, owner_id: str) -> dict[str, bool]:
        """Removes everything of an owner."""
        self._store.delete_user_data(owner_id)
        return dict.fromkeys(
            ("buffer", "episodic_storage", "semantic_storage", "search_index"), True
        )

    def _buffered(self, owner_id: str) -> int:
        return int(self._store.stats(owner_id).get("buffered", 0))

    def close(self) -> None:
        """Releases the store, which closes with its last user. A second call does nothing."""
        if not self._closed:
            self._closed = True
            _release(self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class NemoriMemory:
    """Nemori's façade.

    Parameters
    ----------
    config
        The settings; Nemori's defaults without one.
    memory_system
        A system to use instead of one of its own; it is closed together with this.
    **components
        As for :class:`MemorySystem`.

    Examples
    --------
    >>> with NemoriMemory(MemoryConfig(storage_path="nemori-memories")) as memory:
    ...     _ = memory.add_messages("bob", [{"role": "user", "content": "I live in Ghent."}])
    ...     _ = memory.flush("bob")
    ...     memory.wait_for_semantic("bob", timeout=30)
    ...     [hit["type"] for hit in memory.search("bob", "where?", top_k_semantic=0)["episodic"]]
    True
    ['episodic']
    """

    def __init__(
        self,
        config: MemoryConfig | None = None,
        *,
        memory_system: MemorySystem | None = None,
        **components: Any,
    ) -> None:
        self.config = config or (memory_system.config if memory_system else MemoryConfig())
        self._memory_system = memory_system or MemorySystem(
            self.config, self.config.language, **components
        )

    @classmethod
    def from_env(cls, **components: Any) -> Self:
        """A memory with default settings and those of the environment."""
        return cls(MemoryConfig(), **components)

    def add_messages(self, user_id: str, messages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Adds messages; see :meth:`MemorySystem.add_messages`."""
        return self._memory_system.add_messages(user_id, list(messages))

    def flush(self, user_id: str) -> dict[str, Any] | None:
        """Closes the buffer into an episode; see :meth:`MemorySystem.force_episode_creation`."""
        return self._memory_system.force_episode_creation(user_id)

    def wait_for_semantic(self, user_id: str, timeout: float = 30.0) -> bool:
        """Waits until the user's facts are learned; ``False`` after the timeout."""
        return self._memory_system.wait_for_semantic_generation(user_id, timeout)

    def search(
        self,
        user_id: str,
        query: str,
        *,
        top_k_episodes: int | None = None,
        top_k_semantic: int | None = None,
        search_method: str = "hybrid",
    ) -> dict[str, list[dict[str, Any]]]:
        """Searches episodes and facts; see :meth:`MemorySystem.search_all`."""
        return self._memory_system.search_all(
            user_id, query, top_k_episodes, top_k_semantic, search_method
        )

    async def asearch(
        self,
        user_id: str,
        query: str,
        *,
        top_k_episodes: int | None = None,
        top_k_semantic: int | None = None,
        search_method: str = "hybrid",
    ) -> dict[str, list[dict[str, Any]]]:
        """:meth:`search` in a thread."""
        return await asyncio.to_thread(
            self._memory_system.search_all,
            user_id,
            query,
            top_k_episodes,
            top_k_semantic,
            search_method,
        )

    def stats(self, user_id: str | None = None) -> dict[str, Any]:
        """Counts; see :meth:`MemorySystem.get_stats`."""
        return self._memory_system.get_stats(user_id)

    def close(self) -> None:
        """Releases the store."""
        self._memory_system.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _method(name: str, *, norlift: bool) -> Method:
    if name == "text":
        return "bm25"
    if name == "vector" and norlift:
        return "norlift"
    return next((one for one in get_args(Method) if one == name), "hybrid")
